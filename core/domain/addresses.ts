/** Addresses that users give, of notification channels and calendars: checked in one way, wherever they come from. */
import { z } from 'zod';
import { nearest } from '../../config/nearest.ts';
import { AppError } from '../runtime/errors.ts';
import { type CheckUrl, requireUrl } from './apps/hooks.ts';

/** A plugin whose users give an address. */
export interface Addressed {
  address(zod: typeof z): z.ZodObject;
}

const MAX_ADDRESS_CHARS = 4000;
/** Maximum number of errors that are reported for an address. */
const MAX_ISSUES = 20;
/** Unknown field names up to this length are compared with the known ones, to suggest one. */
const MAX_FIELD_CHARS = 100;

/** Parses an address; `invalid_request` also where nothing may be sent there. */
export function allowedAddress(
  addressed: Addressed,
  given: Record<string, unknown>,
  checkUrl: CheckUrl,
): Record<string, unknown> {
  const parsed = parseAddress(addressed, given);
  for (const field of fieldsOf(addressed, ({ format }) => format === 'uri'))
    if (typeof parsed[field] === 'string') requireUrl(checkUrl, parsed[field], ['body', 'address', field]);
  return parsed;
}

/** `invalid_request` names every field that is invalid or unknown. */
export function parseAddress(addressed: Addressed, given: Record<string, unknown>): Record<string, unknown> {
  refuseUnknown(addressed, given);
  const result = addressed.address(z).safeParse(given);
  if (!result.success) {
    const issues = result.error.issues.slice(0, MAX_ISSUES).map(({ path, message }) => ({
      loc: ['body', 'address', ...path.map(step => (typeof step === 'number' ? step : String(step)))],
      msg: message,
      type: 'value_error',
    }));
    const told = issues.map(({ loc, msg }) => `${loc.slice(2).join('.') || 'address'}: ${msg}`);
    throw new AppError('invalid_request', told.join('; '), { issues });
  }
  const parsed = Object.entries(result.data).filter(([, value]) => value !== undefined);
  if (JSON.stringify(result.data).length > MAX_ADDRESS_CHARS) throw tooLong();
  return Object.fromEntries(parsed);
}

/** Refuses unknown fields, which a plugin's schema may drop silently: `servre` for `server`. */
export function refuseUnknown(addressed: Addressed, given: Record<string, unknown>): void {
  const { properties = {}, additionalProperties } = addressSchema(addressed);
  if (additionalProperties) return; // the schema accepts any field
  const known = Object.keys(properties);
  const unknown = Object.keys(given).filter(field => !known.includes(field));
  if (unknown.length === 0) return;
  const issues = unknown.slice(0, MAX_ISSUES).map(field => ({
    loc: ['body', 'address', field],
    msg: `is not a field of this address; ${meantBy(field, known)}`,
    type: 'extra_forbidden',
  }));
  throw new AppError('invalid_request', issues.map(({ loc, msg }) => `${loc[2]} ${msg}`).join('; '), {
    issues,
  });
}

/** The fields of an address as a JSON schema. */
export function addressSchema(addressed: Addressed) {
  const { $schema: _, ...schema } = z.toJSONSchema(addressed.address(z), {
    io: 'input',
    unrepresentable: 'any',
  });
  return schema;
}

/** Returns the names of the fields that are secret. */
export function secretFieldsOf(addressed: Addressed): Set<string> {
  return fieldsOf(addressed, schema => schema.secret === true);
}

function fieldsOf(
  addressed: Addressed,
  fits: (schema: z.core.JSONSchema.JSONSchema) => boolean,
): Set<string> {
  const { properties } = addressSchema(addressed);
  const found = Object.entries(properties ?? {}).filter(
    ([, schema]) => typeof schema === 'object' && fits(schema),
  );
  return new Set(found.map(([field]) => field));
}

function meantBy(field: string, known: readonly string[]): string {
  const meant = field.length > MAX_FIELD_CHARS ? null : nearest(field, known);
  if (meant !== null) return `did you mean ${meant}?`;
  return known.length === 0 ? 'it has none' : `there are: ${known.join(', ')}`;
}

function tooLong(): AppError {
  const msg = `address should have at most ${MAX_ADDRESS_CHARS} characters`;
  return new AppError('invalid_request', msg, {
    issues: [{ loc: ['body', 'address'], msg, type: 'value_error' }],
  });
}
