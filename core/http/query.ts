/**
 * Schemas of the query parameters that several resources share: text in, value out. An empty parameter counts as
 * absent.
 */
import { z } from 'zod';
import { toInstant } from './instant.ts';

const MAX_PARAMETER_CHARS = 4000;

/** `limit` and `offset`: values out of range are clamped, anything but an integer is an error. */
export function integer(options: { from: number; to?: number; absent: number }) {
  const { from, to = Number.MAX_SAFE_INTEGER, absent } = options;
  const value = optional('int_parsing', 'Input should be a valid integer', text =>
    /^[+-]?\d+$/.test(text) ? Math.min(Math.max(Number(text), from), to) : null,
  );
  const range = options.to === undefined ? `At least ${from}` : `From ${from} to ${to}`;
  return value
    .transform(given => given ?? absent)
    .meta({
      description: `${range}; values beyond are clamped`,
      override: { type: 'integer', default: absent },
    });
}

/** A count: a value out of range is an error. */
export function integerWithin({ from, to, absent }: { from: number; to: number; absent: number }) {
  const message = `Input should be an integer from ${from} to ${to}`;
  return optional('int_parsing', message, text => (/^[+-]?\d+$/.test(text) ? Number(text) : null))
    .transform((given, context) => {
      const value = given ?? absent;
      if (value >= from && value <= to) return value;
      const type = value < from ? 'greater_than_equal' : 'less_than_equal';
      context.addIssue({ code: 'custom', message, params: { type } });
      return z.NEVER;
    })
    .meta(shownAs({ type: 'integer', minimum: from, maximum: to, default: absent }));
}

/** Describes the value that a parameter's text stands for; the length limit of the text would only confuse. */
function shownAs(schema: Readonly<Record<string, unknown>>) {
  return {
    override({ jsonSchema }: { jsonSchema: Record<string, unknown> }) {
      delete jsonSchema.maxLength;
      Object.assign(jsonSchema, schema);
    },
  };
}

/** A required number. */
export function number() {
  return z
    .string()
    .transform((text, context) => {
      const trimmed = text.trim();
      const value = NUMBER.test(trimmed) ? Number(trimmed) : Number.NaN;
      if (Number.isFinite(value)) return value;
      const [type, message] =
        trimmed === '' ? ['missing', 'Field required'] : ['float_parsing', 'Input should be a valid number'];
      context.addIssue({ code: 'custom', message, params: { type } });
      return z.NEVER;
    })
    .meta(shownAs({ type: 'number' }));
}
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/** A single value. */
export function word() {
  return optional('string_type', 'Input should be a string', text => text);
}

/** A single value out of a table. */
export function choice<T extends string>(known: readonly T[]) {
  const message = `Input should be one of: ${known.join(', ')}`;
  return optional('enum', message, text => known.find(value => value === text) ?? null).meta({
    override: { type: 'string', enum: [...known] },
  });
}

export function boolean() {
  return optional(
    'bool_parsing',
    'Input should be true or false',
    text => BOOLEANS.get(text.toLowerCase()) ?? null,
  ).meta(shownAs({ type: 'boolean' }));
}
const BOOLEANS = new Map([
  ...['true', '1', 'yes', 'on'].map(text => [text, true] as const),
  ...['false', '0', 'no', 'off'].map(text => [text, false] as const),
]);

/** Names of the parameters that may occur several times: lists. */
export function repeatedIn(query: z.ZodObject): ReadonlySet<string> {
  const names = Object.keys(query.shape);
  return new Set(names.filter(name => query.shape[name]?.meta()?.param?.explode === true));
}

/**
 * Parses a query string. Of repeated parameters the last one counts or, where repetition is allowed, all of them,
 * joined by commas.
 */
export function valuesOf(querystring: string, repeated: ReadonlySet<string>): Record<string, string> {
  const given = new URLSearchParams(querystring);
  if (repeated.size === 0) return Object.fromEntries(given);
  const lists = [...repeated]
    .filter(name => given.has(name))
    .map(name => [name, given.getAll(name).join(',')]);
  return { ...Object.fromEntries(given), ...Object.fromEntries(lists) };
}

/**
 * Comma-separated values out of a table, spaces ignored; undefined where none is left.
 * @param repeated the parameter may also be repeated, once for each value
 */
export function listOf<T extends string>(
  isKnown: (text: string) => text is T,
  known: readonly T[],
  repeated = false,
) {
  const message = `Input should be of: ${known.join(', ')}`;
  return optional('enum', message, text => {
    const names = text.split(',').map(name => name.trim());
    const given = names.filter(name => name !== '');
    return given.every(isKnown) ? given : null;
  })
    .transform(given => (given && given.length > 0 ? given : undefined))
    .meta({
      description: 'Any of these',
      param: { style: 'form', explode: repeated },
      override: { type: 'array', items: { type: 'string', enum: [...known] } },
    });
}

/** A point and its surroundings: degrees, and metres. */
export function near({ usualM, maxM }: { usualM: number; maxM: number }) {
  const example = '52.52,13.405,300';
  const message = `Input should be latitude,longitude or latitude,longitude,metres (at most ${maxM}), such as ${example}`;
  return optional('value_error', message, text => {
    const parts = text.split(',').map(part => part.trim());
    if (parts.length < 2 || parts.length > 3 || !parts.every(part => NUMBER.test(part))) return null;
    const [latitude = 0, longitude = 0, radiusM = usualM] = parts.map(Number);
    const isOnEarth = Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180;
    return isOnEarth && radiusM > 0 && radiusM <= maxM ? { latitude, longitude, radiusM } : null;
  }).meta({
    description: `Where it was said: latitude,longitude or latitude,longitude,metres. Usually ${usualM} m, at most ${maxM}`,
    ...shownAs({ type: 'string', examples: [example] }),
  });
}

/**
 * An inclusive bound as epoch ms: a date-time (UTC unless it names a zone), or a day in UTC.
 * @param edge which end of that day is meant
 */
export function instant(edge: 'start' | 'end') {
  return optional('datetime_parsing', 'Input should be a date-time or YYYY-MM-DD', text =>
    toInstant(text, edge),
  ).meta({
    description: `Inclusive: a date-time, in UTC unless it names a zone, or the ${edge} of a day in UTC`,
    format: 'date-time',
  });
}

/** Undefined when absent or empty. `parse` returns null for values that it rejects. */
function optional<T>(type: string, message: string, parse: (text: string) => T | null) {
  return z
    .string()
    .max(MAX_PARAMETER_CHARS)
    .transform((text, context) => {
      const trimmed = text.trim();
      if (trimmed === '') return undefined;
      const value = parse(trimmed);
      if (value !== null) return value;
      context.addIssue({ code: 'custom', message, params: { type } });
      return z.NEVER;
    })
    .optional();
}
