import { z } from 'zod';
import { shapeOf } from './keys.ts';
import { suggestion } from './nearest.ts';

/** Error of an invalid configuration. The message names each wrong key, its place, and the valid values. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    const list = problems.map(problem => `\n  ${problem}`).join('');
    super(
      `The configuration has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:${list}`,
    );
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** Problem with one key. */
export interface Problem {
  path: string[];
  message: string;
  /** True: the key has no value and needs one. */
  isMissing?: true;
}

/** Parses `value`; returns the result, or all problems. */
export function check<Schema extends z.core.$ZodType>(
  schema: Schema,
  value: unknown,
): { data: z.output<Schema> | undefined; problems: Problem[] } {
  const slips = unknownKeys(schema, value);
  const result = z.core.safeParse(schema, value, { error: explain });
  if (result.success) return { data: result.data, problems: slips };
  return {
    data: undefined,
    problems: [...slips, ...result.error.issues.flatMap(issue => describeIssue(issue, value))],
  };
}

function describeIssue(issue: z.core.$ZodIssue, value: unknown): Problem[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') return []; // reported by unknownKeys, with suggestions
  if (issue.code !== 'custom' && valueAt(value, path) === undefined)
    return [{ path, message: 'is required', isMissing: true }];
  if (issue.code === 'invalid_key') return [{ path, message: issue.issues[0]?.message ?? issue.message }];
  if (issue.code === 'invalid_union' && issue.message === 'Invalid input') {
    return [{ path, message: issue.errors.map(errors => errors[0]?.message).join(', or ') }];
  }
  return [{ path, message: issue.message }];
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, key) => Object(inner)[key], value);
}

/** Lists unknown keys, also where the schema would drop them silently, so that typos are reported. */
function unknownKeys(schema: z.core.$ZodType, value: unknown, path: string[] = []): Problem[] {
  const shape = shapeOf(schema);
  if (shape === null || !isRecord(value)) return [];
  const known = Object.keys(shape);
  return Object.entries(value).flatMap(([key, child]) => {
    const childSchema = Object.hasOwn(shape, key) ? shape[key] : undefined;
    if (childSchema) return unknownKeys(childSchema, child, [...path, key]);
    return [{ path: [...path, key], message: `is not a known key; ${suggestion(key, known)}` }];
  });
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a section of key: value',
  record: 'a section of key: value',
};

const UNITS: Readonly<Record<string, string>> = { string: ' characters', array: ' entries' };

/** Words for an issue; a message written in the schema itself wins. Values are shown of choices only: never a secret. */
function explain(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    return `must be ${KINDS[issue.expected] ?? issue.expected}`;
  }
  if (issue.code === 'invalid_value') {
    const values = issue.values.map(String).join(', ');
    const choice = issue.values.length === 1 ? values : `one of ${values}`;
    return `must be ${choice}, not ${JSON.stringify(issue.input)}`;
  }
  if (issue.code === 'too_small') return limit(issue.origin, 'at least', issue.minimum);
  if (issue.code === 'too_big') return limit(issue.origin, 'at most', issue.maximum);
  return undefined;
}

function limit(origin: string, bound: string, value: number | bigint): string {
  const unit = UNITS[origin];
  return unit === undefined ? `must be ${bound} ${value}` : `must have ${bound} ${value}${unit}`;
}
