import type { z } from 'zod';
import { AppError, type Issue } from '../runtime/errors.ts';
import { excessIn } from './excess.ts';

/** Part of a request that a value came from: the first element of every `loc`. */
export type Where = 'path' | 'query' | 'body';

/** Maximum number of mistakes that are reported for one request. */
const MAX_ISSUES = 20;

/**
 * Parses a value by its schema. `invalid_request` with an issue for each of its first 20 mistakes. A list that is too
 * long is refused before its items are visited: the schema would validate them all.
 */
export function validate<T extends z.ZodType>(schema: T, value: unknown, where: Where): z.output<T> {
  const excess = excessIn(schema, value);
  if (excess) refuse([{ ...excess, loc: [where, ...excess.loc] }]);
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  return refuse(result.error.issues.slice(0, MAX_ISSUES).map(issue => toIssue(issue, value, where)));
}

function refuse(issues: Issue[]): never {
  throw new AppError('invalid_request', 'The request is not valid', { issues });
}

function toIssue(issue: z.core.$ZodIssue, value: unknown, where: Where): Issue {
  const path = issue.path.map(step => (typeof step === 'symbol' ? String(step) : step));
  const loc = [where, ...path];
  if (isMissing(issue, value)) return { loc, msg: 'Field required', type: 'missing' };
  return { loc, msg: issue.message, type: typeOf(issue) };
}

function isMissing(issue: z.core.$ZodIssue, value: unknown): boolean {
  return issue.code === 'invalid_type' && valueAt(value, issue.path) === undefined;
}

function valueAt(value: unknown, path: PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, step) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, step) : undefined),
    value,
  );
}

/**
 * The machine-readable kind, with the names that existing clients know. A schema's own `params.type` has priority.
 */
function typeOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `${TYPE_NAMES[issue.expected] ?? issue.expected}_type`;
    case 'too_small':
      return issue.origin === 'string'
        ? 'string_too_short'
        : isCounted(issue)
          ? 'too_short'
          : 'greater_than_equal';
    case 'too_big':
      return issue.origin === 'string'
        ? 'string_too_long'
        : isCounted(issue)
          ? 'too_long'
          : 'less_than_equal';
    case 'invalid_value':
      return 'enum';
    case 'invalid_format':
      return 'string_pattern_mismatch';
    case 'custom':
      return typeof issue.params?.type === 'string' ? issue.params.type : 'value_error';
    default:
      return 'value_error';
  }
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  int: 'int',
  number: 'float',
  boolean: 'bool',
  array: 'list',
  object: 'dict',
};

function isCounted({ origin }: { origin: string }): boolean {
  return origin === 'array' || origin === 'set';
}
