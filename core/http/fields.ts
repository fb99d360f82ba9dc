/** The kinds of fields that bodies share, as schemas. */
import { z } from 'zod';
import { LATEST } from '../domain/wall-clock.ts';
import { toInstant } from './instant.ts';

/** Longest id or name. */
const MAX_NAME_CHARS = 200;
/** Longest search text: more than the 32 words that count. */
export const MAX_QUERY_CHARS = 1000;
/** Longer than any date-time, time of day, code of a language, or label of a speaker. */
export const MAX_CODE_CHARS = 100;

/** Text without the blanks around it, blank only where it `mayBeEmpty`; `max` counts Unicode code points. */
export function text({
  max = MAX_NAME_CHARS,
  mayBeEmpty = false,
}: {
  max?: number;
  mayBeEmpty?: boolean;
} = {}) {
  return z
    .string()
    .overwrite(given => given.toWellFormed().trim())
    .superRefine((given, context) => {
      const refuse = (type: string, message: string) =>
        context.addIssue({ code: 'custom', message, params: { type } });
      if (given === '' && !mayBeEmpty) refuse('string_too_short', 'String should have at least 1 character');
      if (isLonger(given, max)) refuse('string_too_long', `String should have at most ${max} characters`);
      if (given.includes('\0')) refuse('value_error', 'String should not have a NUL character');
    })
    .meta({ minLength: mayBeEmpty ? 0 : 1, maxLength: max });
}

/** Whether a text has more Unicode code points than that; one has two UTF-16 units at most. */
function isLonger(text: string, max: number): boolean {
  return text.length > max && (text.length > 2 * max || [...text].length > max);
}

/** The same for what things are called: on one line, as lists and terminals show it. */
export function name(bounds: { max: number }) {
  return text(bounds).superRefine((given, context) => {
    if (!CONTROL.test(given)) return;
    const message = 'String should not have control characters, such as line breaks';
    context.addIssue({ code: 'custom', message, params: { type: 'value_error' } });
  });
}
const CONTROL = /\p{Cc}/u;

/** Years of four digits: more have no form that every client reads. */
const EARLIEST = Date.parse('0000-01-01T00:00:00Z');

/** A date-time, in UTC unless it names a zone, or a day (its beginning in UTC): epoch ms. */
export function instant() {
  return z
    .string()
    .max(MAX_CODE_CHARS)
    .transform((given, context) => {
      const value = toInstant(given.trim(), 'start');
      if (value !== null && value >= EARLIEST && value <= LATEST) return value;
      const message = 'Input should be a date-time of the years 0 to 9999, in UTC';
      context.addIssue({ code: 'custom', message, params: { type: 'datetime_parsing' } });
      return z.NEVER;
    })
    .meta({ format: 'date-time', description: 'In UTC unless it contains a time zone' });
}

/** A body of a PATCH: changes what it names, and has to name something. */
export function someOf<Shape extends z.ZodRawShape>(shape: Shape) {
  return z
    .object(shape)
    .refine(body => Object.values(body).some(value => value !== undefined), {
      message: `At least one of: ${Object.keys(shape).join(', ')}`,
      params: { type: 'missing' },
    })
    .meta({ minProperties: 1 });
}

/** May be left out, or null, which is the same: then it is `absent`. */
export function optional<Schema extends z.ZodType, Absent>(schema: Schema, absent: Absent) {
  const value = schema.nullish().transform((given): z.output<Schema> | Absent => given ?? absent);
  return absent === null ? value : value.meta({ override: { default: absent } });
}
