import { z } from 'zod';
import type { ApiKey } from '../../contract/model.ts';
import { type Keys, MAX_KEY_NAME_CHARS, SCOPES } from '../../domain/accounts/keys.ts';
import { name, optional } from '../fields.ts';
import { type Route, route } from '../route.ts';

const Scopes = z.array(z.enum(SCOPES)).max(SCOPES.length);

const RECORD = {
  id: z.string(),
  name: z.string(),
  key_prefix: z.string().describe('Abbreviated key: `omi_dev_1a2b...9z0y`'),
  scopes: Scopes,
  created_at: z.iso.datetime(),
  last_used_at: z.iso
    .datetime()
    .nullable()
    .describe('Time of the last use, up to a minute late; null: never'),
};
const KeyJson = z.object(RECORD).meta({ id: 'Key' });

const NewKeyJson = z
  .object({ ...RECORD, key: z.string().describe('The key, which is shown only once') })
  .meta({ id: 'NewKey' });

const KEY_EXAMPLE = { name: 'Kitchen tablet', scopes: ['conversations:read'] };

const KeyBody = z
  .object({
    name: name({ max: MAX_KEY_NAME_CHARS }),
    scopes: optional(Scopes.min(1), undefined).describe('Scopes; absent: all read scopes'),
  })
  .meta({ id: 'KeyCreate', override: { examples: [KEY_EXAMPLE] } });

const ONE = { params: z.object({ key_id: z.string() }), query: z.object({}) };

/** A user's own keys. */
export function keyRoutes(keys: Keys): Route[] {
  return [
    route({
      method: 'get',
      id: 'listKeys',
      path: '/v1/dev/keys',
      tag: 'Keys',
      summary: 'List API keys, newest first',
      credential: 'idToken',
      params: z.object({}),
      query: z.object({}),
      response: z.array(KeyJson),
      handle: async ({ principal: { user } }) => (await keys.list(user.id)).map(keyJson),
    }),
    route({
      method: 'post',
      id: 'createKey',
      path: '/v1/dev/keys',
      tag: 'Keys',
      summary: 'Create an API key; a memory scope also stores the grant of the same name',
      credential: 'idToken',
      errors: ['conflict'],
      params: z.object({}),
      query: z.object({}),
      body: KeyBody,
      response: NewKeyJson,
      async handle({ principal: { user }, body: { name, scopes } }) {
        const { record, key } = await keys.create(user.id, { name, ...(scopes && { scopes }) });
        return { ...keyJson(record), key };
      },
    }),
    route({
      method: 'post',
      id: 'rotateKey',
      path: '/v1/dev/keys/{key_id}/rotate',
      tag: 'Keys',
      summary: 'Rotate an API key: its id, scopes and grants stay, and the old key is refused at once',
      credential: 'idToken',
      errors: ['not_found'],
      ...ONE,
      response: NewKeyJson,
      async handle({ principal: { user }, params }) {
        const { record, key } = await keys.rotate(user.id, params.key_id);
        return { ...keyJson(record), key };
      },
    }),
    route({
      method: 'delete',
      id: 'deleteKey',
      path: '/v1/dev/keys/{key_id}',
      tag: 'Keys',
      summary: 'Revoke an API key',
      credential: 'idToken',
      errors: ['not_found'],
      ...ONE,
      handle: ({ principal: { user }, params }) => keys.remove(user.id, params.key_id),
    }),
    route({
      method: 'get',
      id: 'getOwnKey',
      path: '/v1/dev/key',
      tag: 'Keys',
      summary: 'Get the API key of this request',
      credential: 'apiKey',
      params: z.object({}),
      query: z.object({}),
      response: KeyJson,
      handle: async ({ principal: { user, keyId } }) => keyJson(await keys.get(user.id, keyId ?? '')),
    }),
  ];
}

function keyJson(key: ApiKey): z.input<typeof KeyJson> {
  return {
    id: key.id,
    name: key.name,
    key_prefix: key.hint,
    scopes: key.scopes,
    created_at: new Date(key.createdAt).toISOString(),
    last_used_at: key.lastUsedAt === null ? null : new Date(key.lastUsedAt).toISOString(),
  };
}
