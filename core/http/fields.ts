/** The kinds of fields that bodies share, as schemas. */
import { z } from 'zod';
import { toInstant } from './instant.ts';

/** Text without the blanks around it, never blank; `max` counts Unicode code points. */
export function text({ max }: { max?: number } = {}) {
  return z
    .string()
    .overwrite(given => given.toWellFormed().trim())
    .superRefine((given, context) => {
      const refuse = (type: string, message: string) =>
        context.addIssue({ code: 'custom', message, params: { type } });
      if (given === '') refuse('string_too_short', 'String should have at least 1 character');
      if (max !== undefined && [...given].length > max)
        refuse('string_too_long', `String should have at most ${max} characters`);
      if (given.includes('\0')) refuse('value_error', 'String should not have a NUL character');
    })
    .meta({ minLength: 1, ...(max === undefined ? {} : { maxLength: max }) });
}

/** Years of four digits, and room for what begins then to end in one, too. */
const EARLIEST = Date.parse('0000-01-01T00:00:00Z');
const LATEST = Date.UTC(9900, 0);

/** A date-time, in UTC unless it names a zone, or a day (its beginning in UTC): epoch ms. */
export function instant() {
  return z
    .string()
    .transform((given, context) => {
      const value = toInstant(given.trim(), 'start');
      if (value !== null && value >= EARLIEST && value < LATEST) return value;
      const message = 'Input should be a date-time of the years 0 to 9899';
      context.addIssue({ code: 'custom', message, params: { type: 'datetime_parsing' } });
      return z.NEVER;
    })
    .meta({ format: 'date-time', description: 'In UTC unless it names a zone' });
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
