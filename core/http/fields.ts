/** Schemas for kinds of fields that several bodies share. */
import { z } from 'zod';
import { LATEST, minuteOf } from '../domain/wall-clock.ts';
import { toInstant } from './instant.ts';

/** Maximum length of an id or name. */
const MAX_NAME_CHARS = 200;
/** Maximum length of a search text: longer than the 32 words that are used. */
export const MAX_QUERY_CHARS = 1000;
/** Longer than any date-time, time of day, language code, or speaker label. */
export const MAX_CODE_CHARS = 100;

/** Text, trimmed; blank only where it `mayBeEmpty`; `max` counts Unicode code points. */
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

/** Whether a text has more Unicode code points than `max`; a code point has at most two UTF-16 units. */
function isLonger(text: string, max: number): boolean {
  return text.length > max && (text.length > 2 * max || [...text].length > max);
}

/** Text for names: on a single line, as lists and terminals show it. */
export function name(bounds: { max: number }) {
  return text(bounds).superRefine((given, context) => {
    if (!CONTROL.test(given)) return;
    const message = 'String should not have control characters, such as line breaks';
    context.addIssue({ code: 'custom', message, params: { type: 'value_error' } });
  });
}
const CONTROL = /\p{Cc}/u;

/** Years have four digits: no form of longer ones is read by every client. */
const EARLIEST = Date.parse('0000-01-01T00:00:00Z');

/** A date-time, in UTC unless it names a zone, or a day (its beginning in UTC), as epoch ms. */
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

/** A time of day in the user's time zone, as minutes after midnight. */
export function timeField() {
  return z
    .string()
    .max(MAX_CODE_CHARS)
    .transform((given, context) => {
      const minute = minuteOf(given);
      if (minute !== null) return minute;
      context.addIssue({
        code: 'custom',
        message: 'Input should be a time of day, HH:MM',
        params: { type: 'time_parsing' },
      });
      return z.NEVER;
    })
    .meta({
      pattern: '^([01]?[0-9]|2[0-3]):[0-5][0-9]$',
      description: 'HH:MM in the time zone of the notification settings',
    });
}

/** Fields of a point on the Earth, in degrees. */
export const pointFields = {
  latitude: z.number().min(-90).max(90),
  longitude: z.number().min(-180).max(180),
};

const MAX_PLACE_CHARS = 500;

/** Where a conversation was held. */
export const geolocation = z
  .object({
    ...pointFields,
    address: optional(text({ max: MAX_PLACE_CHARS }), null),
    google_place_id: optional(text({ max: MAX_PLACE_CHARS }), null),
    location_type: optional(text({ max: MAX_PLACE_CHARS }), null),
  })
  .transform(({ google_place_id: googlePlaceId, location_type: locationType, ...place }) => ({
    ...place,
    googlePlaceId,
    locationType,
  }));

/** Body of a PATCH: changes the fields that it contains, at least one. */
export function someOf<Shape extends z.ZodRawShape>(shape: Shape) {
  return z
    .object(shape)
    .refine(body => Object.values(body).some(value => value !== undefined), {
      message: `At least one of: ${Object.keys(shape).join(', ')}`,
      params: { type: 'missing' },
    })
    .meta({ minProperties: 1 });
}

/** A field that may be missing or null, with the same meaning: its value is then `absent`. */
export function optional<Schema extends z.ZodType, Absent>(schema: Schema, absent: Absent) {
  const value = schema.nullish().transform((given): z.output<Schema> | Absent => given ?? absent);
  return absent === null ? value : value.meta({ override: { default: absent } });
}
