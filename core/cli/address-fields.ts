/** Addresses of calendars and notification channels on the command line. */
import { AppError } from '../runtime/errors.ts';

interface Place {
  /** Without its secrets. */
  address: Readonly<Record<string, unknown>>;
  /** Names of its secrets. */
  secrets: readonly string[];
}

/** `name=text`, or `name:=JSON` for what is no text. */
export function addressOf(fields: string[]): Record<string, unknown> {
  const entries = fields.map(field => {
    const [, name = '', sign, value = ''] = /^([^=:]+)(:?=)(.*)$/s.exec(field) ?? [];
    if (sign === '=') return [name, value];
    if (sign === ':=') return [name, fromJson(name, value)];
    throw new AppError('invalid_request', `"${field.slice(0, 20)}" is not a field: write name=value`);
  });
  return Object.fromEntries(entries);
}

function fromJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AppError('invalid_request', `${name}:= needs JSON; for plain text write ${name}=text`);
  }
}

/** Where it goes, field by field; of secrets only that there is one. */
export function placeOf({ address, secrets }: Place): string[] {
  const shown = Object.entries(address).map(
    ([field, value]) => `${field}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return [...shown, ...secrets.map(field => `${field}=***`)];
}
