import type { z } from 'zod';
import type { Issue } from '../runtime/errors.ts';

type Def = z.core.$ZodTypes['_zod']['def'];
type Loc = Issue['loc'];

/**
 * Returns the first list, or object with arbitrary keys, in the value that has more items than its schema allows;
 * null: none. Visits no more of the value than the schema allows.
 */
export function excessIn(schema: z.core.$ZodType, value: unknown, loc: Loc = []): Issue | null {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'array':
      return Array.isArray(value) ? excessInList(schema, def.element, value, loc) : null;
    case 'object':
      return isObject(value)
        ? firstOf(Object.keys(def.shape), key => excessAt(def.shape[key], value[key], [...loc, key]))
        : null;
    case 'record':
      return isObject(value) ? excessInRecord(schema, def.valueType, value, loc) : null;
    case 'union':
      return firstOf(def.options, option => excessIn(option, value, loc));
    default:
      return excessAt(innerOf(def), value, loc);
  }
}

/** Maximum characters of a string, or items of a list, that a schema allows; undefined: unlimited. */
export function maximumOf(schema: z.core.$ZodType): number | undefined {
  const bounds = (schema._zod.def.checks ?? []).map(({ _zod: { def } }) => def);
  const bound = bounds.find(def => def.check === 'max_length');
  return bound && 'maximum' in bound ? Number(bound.maximum) : undefined;
}

/** Returns the schema inside a wrapper such as `optional` or `default`. */
function innerOf(def: Def): z.core.$ZodType | undefined {
  if (def.type === 'pipe') return def.in;
  return 'innerType' in def ? def.innerType : undefined;
}

function excessAt(schema: z.core.$ZodType | undefined, value: unknown, loc: Loc): Issue | null {
  return schema && value !== undefined ? excessIn(schema, value, loc) : null;
}

function excessInList(list: z.core.$ZodType, item: z.core.$ZodType, value: unknown[], loc: Loc) {
  const maximum = maximumOf(list);
  if (maximum !== undefined && value.length > maximum) return tooLong('List', maximum, loc);
  return firstOf([...value.keys()], at => excessIn(item, value[at], [...loc, at]));
}

function excessInRecord(
  record: z.core.$ZodType,
  valueType: z.core.$ZodType,
  value: Record<string, unknown>,
  loc: Loc,
): Issue | null {
  const most = (record as z.ZodType).meta()?.maxProperties;
  const keys = Object.keys(value);
  if (typeof most === 'number' && keys.length > most) return tooLong('Object', most, loc);
  return firstOf(keys, key => excessIn(valueType, value[key], [...loc, key]));
}

function tooLong(what: string, most: number, loc: Loc): Issue {
  return { loc, msg: `${what} should have at most ${most} items`, type: 'too_long' };
}

function firstOf<T>(all: readonly T[], look: (one: T) => Issue | null): Issue | null {
  for (const one of all) {
    const found = look(one);
    if (found) return found;
  }
  return null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
