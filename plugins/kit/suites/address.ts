/** Requirements for addresses that users give, of notification channels and calendars. */
import assert from 'node:assert/strict';
import { z } from 'zod';
import { isSecret, keysOf } from '../../../config/keys.ts';
import { checkDescriptions, tellUnmarked } from './options.ts';

/** A plugin whose users give an address. */
interface Addressed {
  address(zod: typeof z): z.ZodObject;
}

const NONSENSE = [null, undefined, 42, 'text', [], true];
const NONSENSE_VALUES = [...NONSENSE, '', '\u0000', 'a\r\nb', ' ', '\ud800', 'x'.repeat(100_000), {}, -1];

export function schemaOf(addressed: Addressed): z.ZodObject {
  const schema = addressed.address(z);
  assert.ok(
    schema instanceof z.ZodObject,
    'address() does not return an object schema made with the zod that it was given',
  );
  return schema;
}

export function parseAddress(addressed: Addressed, address: unknown): Record<string, unknown> {
  return schemaOf(addressed).parse(address);
}

export function explainsAddress(addressed: Addressed): void {
  const schema = schemaOf(addressed);
  checkDescriptions(schema);
  assert.ok(z.toJSONSchema(schema, { io: 'input' }), 'it cannot be converted to JSON Schema');
}

export function marksSecrets(addressed: Addressed): void {
  const schema = schemaOf(addressed);
  const unmarked = tellUnmarked(schema);
  assert.ok(unmarked === '', unmarked);
  for (const { path, secret } of keysOf(schema)) {
    const [field = ''] = path;
    const isHidden = isSecret(schema.shape[field]);
    assert.ok(
      !secret || isHidden,
      `${path.join('.')} is a secret: mark ${field} as a whole, or it will be shown`,
    );
  }
}

export function refusesNonsense(addressed: Addressed): void {
  const schema = schemaOf(addressed);
  for (const nonsense of NONSENSE)
    assert.ok(!schema.safeParse(nonsense).success, `${String(nonsense)} was accepted as an address`);
  for (const field of Object.keys(schema.shape)) {
    for (const value of NONSENSE_VALUES)
      assert.doesNotThrow(
        () => schema.safeParse({ [field]: value }),
        `the schema threw for a value of ${field}`,
      );
    assert.ok(
      !schema.safeParse({ [field]: 42n }).success,
      `${field} accepted a value that JSON cannot represent`,
    );
  }
}

export function keepsAddress(addressed: Addressed, address: unknown): void {
  const parsed = parseAddress(addressed, address);
  const stored = JSON.parse(JSON.stringify(parsed));
  assert.deepEqual(stored, parsed, 'a part of the address is lost in JSON');
  assert.deepEqual(
    parseAddress(addressed, stored),
    parsed,
    'the address is different after it was stored as JSON',
  );
}
