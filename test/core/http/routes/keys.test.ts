import test, { type ExecutionContext } from 'ava';
import { SCOPES } from '../../../../core/domain/accounts/keys.ts';
import { openDatabases } from '../../../helpers/databases.ts';
import { openRest } from '../../../helpers/rest.ts';

const RAW = /^omi_dev_[0-9a-f]{32}$/;
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const READ = ['conversations:read', 'memories:read', 'action_items:read', 'goals:read'];
const UNKNOWN = '01890000-0000-7000-8000-000000000000';
const KEYS = '/v1/dev/keys';

type Rest = Awaited<ReturnType<typeof openRest>>;

/** Behaviour of API keys: one sentence per test. */
const RULES: [string, (t: ExecutionContext, rest: Rest) => Promise<void>][] = [
  [
    'a key is shown once, and afterwards by its ends',
    async (t, { send, clock, storage, user }) => {
      const { status, body } = await send('POST', KEYS, { name: '  Kitchen 🍳 ', scopes: ['listen'] });
      t.is(status, 200);
      const { key, ...record } = body;
      t.regex(key, RAW);
      t.regex(record.id, ID);
      t.deepEqual(record, {
        id: record.id,
        name: 'Kitchen 🍳',
        key_prefix: `omi_dev_${key.slice(8, 12)}...${key.slice(-4)}`,
        scopes: ['listen'],
        created_at: new Date(clock.now()).toISOString(),
        last_used_at: null,
      });
      const listed = await send('GET', KEYS);
      t.deepEqual(listed.body, [record]);
      t.false(JSON.stringify(await storage.keys.list(user.id)).includes(key.slice(8)));
    },
  ],
  [
    'keys are listed newest first, only to their owner',
    async (t, { send, clock, users, keys, user }) => {
      for (const name of ['one', 'two', 'three']) {
        await keys.create(user.id, { name });
        clock.advance(1);
      }
      const ben = await users.add('ben');
      await keys.create(ben.id, { name: 'another' });
      const names = ({ body }: { body: { name: string }[] }) => body.map(({ name }) => name);
      t.deepEqual(names(await send('GET', KEYS)), ['three', 'two', 'one']);
      t.deepEqual(names(await send('GET', KEYS, undefined, await users.token('ben'))), ['another']);
    },
  ],
  [
    'without scopes, or with null, a key has all read scopes; otherwise the given ones, without duplicates',
    async (t, { send }) => {
      const scopes = async (given: object) => (await send('POST', KEYS, { name: 'k', ...given })).body.scopes;
      t.deepEqual(await scopes({}), READ);
      t.deepEqual(await scopes({ scopes: null }), READ);
      t.deepEqual(await scopes({ scopes: [...SCOPES] }), [...SCOPES]);
      t.deepEqual(await scopes({ scopes: ['listen', 'goals:write', 'listen'] }), ['listen', 'goals:write']);
    },
  ],
  [
    'invalid values are rejected, each error with its path and kind',
    async (t, { issues }) => {
      const refused: [object, Record<string, string>][] = [
        [{}, { 'body.name': 'missing' }],
        [{ name: null }, { 'body.name': 'string_type' }],
        [{ name: ' \t' }, { 'body.name': 'string_too_short' }],
        [{ name: '🙂'.repeat(101) }, { 'body.name': 'string_too_long' }],
        [{ name: 'a\u0000b' }, { 'body.name': 'value_error' }],
        [{ name: 'k', scopes: [] }, { 'body.scopes': 'too_short' }],
        [{ name: 'k', scopes: 'listen' }, { 'body.scopes': 'list_type' }],
        [{ name: 'k', scopes: ['listen', 'all'] }, { 'body.scopes.1': 'enum' }],
        [
          { name: 1, scopes: [null] },
          { 'body.name': 'string_type', 'body.scopes.0': 'enum' },
        ],
      ];
      for (const [body, expected] of refused)
        t.deepEqual(await issues('POST', KEYS, body), expected, JSON.stringify(body));
    },
  ],
  [
    'names have 1 to 100 characters, and an account a hundred keys',
    async (t, { send, keys, user }) => {
      t.is((await send('POST', KEYS, { name: '🙂'.repeat(100) })).status, 200);
      for (let made = 1; made < 100; made += 1) await keys.create(user.id, { name: 'k' });
      const full = await send('POST', KEYS, { name: 'k' });
      t.is(full.status, 409);
      t.deepEqual(full.body, { detail: 'At most 100 API keys: delete one that is not used' });
      const [{ id }] = (await send('GET', KEYS)).body;
      t.is((await send('DELETE', `${KEYS}/${id}`)).status, 204);
      t.is((await send('POST', KEYS, { name: 'k' })).status, 200);
    },
  ],
  [
    'a rotated key keeps its id and scopes, and the old one is rejected at the next request',
    async (t, { send }) => {
      const { key, ...before } = (await send('POST', KEYS, { name: 'k', scopes: ['memories:read'] })).body;
      t.is((await send('GET', '/v1/dev/key', undefined, key)).status, 200);
      const { status, body } = await send('POST', `${KEYS}/${before.id}/rotate`);
      t.is(status, 200);
      t.not(body.key, key);
      t.like(body, { id: before.id, name: 'k', scopes: ['memories:read'], created_at: before.created_at });
      t.not(body.key_prefix, before.key_prefix);
      const refused = await send('GET', '/v1/dev/key', undefined, key);
      t.is(refused.status, 401);
      t.is(refused.headers.get('www-authenticate'), 'Bearer');
      t.is((await send('GET', '/v1/dev/key', undefined, body.key)).body.id, before.id);
      const search = '/v1/dev/user/memories/vector/search?query=tea';
      t.is((await send('GET', search, undefined, body.key)).status, 200); // the grant is unchanged
    },
  ],
  [
    'a deleted key is rejected at the next request, and no longer listed',
    async (t, { send }) => {
      const { key, id } = (await send('POST', KEYS, { name: 'k' })).body;
      const removed = await send('DELETE', `${KEYS}/${id}`);
      t.deepEqual([removed.status, removed.body], [204, null]);
      t.is((await send('GET', '/v1/dev/user/conversations', undefined, key)).status, 401);
      t.deepEqual((await send('GET', KEYS)).body, []);
      for (const gone of [id, UNKNOWN, 'nonsense', '%F0%9F%94%91'])
        for (const [method, path] of [
          ['DELETE', `${KEYS}/${gone}`],
          ['POST', `${KEYS}/${gone}/rotate`],
        ] as const) {
          const answer = await send(method, path);
          t.deepEqual([answer.status, answer.body], [404, { detail: 'Key not found' }], `${method} ${path}`);
        }
    },
  ],
  [
    'a key can read its own description, with its last use, and no other',
    async (t, { send, clock, keys, storage, user, token }) => {
      const { key, ...record } = (await send('POST', KEYS, { name: 'k', scopes: ['listen'] })).body;
      clock.advance(1500);
      const asked = await send('GET', '/v1/dev/key', undefined, key);
      t.deepEqual(asked.body, { ...record, last_used_at: new Date(clock.now()).toISOString() });
      t.is((await storage.keys.get(user.id, record.id))?.lastUsedAt, null);
      await keys.flush();
      t.is((await storage.keys.get(user.id, record.id))?.lastUsedAt, clock.now());
      t.is((await send('GET', '/v1/dev/key', undefined, token)).status, 401);
      const denied = await send('GET', KEYS, undefined, key);
      t.is(denied.status, 401);
      t.deepEqual(denied.body, {
        detail: 'Not with an API key (omi_dev_…): send "Authorization: Bearer <credential>" with an ID token',
      });
    },
  ],
  [
    'each scope permits its own routes, and the error names a missing one',
    async (t, { send, keys, user }) => {
      const routes: [string, string][] = [
        ['conversations:read', '/v1/dev/user/conversations'],
        ['conversations:read', '/v1/dev/user/folders'],
        ['memories:read', '/v1/dev/user/memories'],
        ['memories:read', '/v1/dev/user/memories/vector/search?query=tea'],
        ['action_items:read', '/v1/dev/user/action-items'],
        ['goals:read', '/v1/dev/user/goals'],
      ];
      for (const scope of SCOPES) {
        const { key } = await keys.create(user.id, { name: scope, scopes: [scope] });
        for (const [needed, path] of routes) {
          const { status, body } = await send('GET', path, undefined, key);
          const detail = `Insufficient permissions. Required scope: ${needed}`;
          if (scope === needed) t.is(status, 200, `${scope} ${path}`);
          else t.deepEqual([status, body], [403, { detail }], `${scope} ${path}`);
        }
      }
    },
  ],
  [
    'vector search needs the stored grant in addition to the scope, and says so',
    async (t, { send, keys, storage, user }) => {
      const { key, record } = await keys.create(user.id, { name: 'k', scopes: ['memories:read'] });
      const search = () => send('GET', '/v1/dev/user/memories/vector/search?query=tea', undefined, key);
      t.is((await search()).status, 200);
      await storage.grants.removeOf(user.id, record.id);
      const { status, body } = await search();
      t.is(status, 403);
      t.deepEqual(body.detail, {
        code: 'missing_grant',
        grant: 'memories:read',
        message: 'This key holds no stored grant memories:read: create a key with that scope',
      });
      t.is((await send('GET', '/v1/dev/user/memories', undefined, key)).status, 200); // which needs none
    },
  ],
];

const databases = await openDatabases(test);
for (const { name, open } of databases)
  for (const [rule, holds] of RULES)
    test(`On ${name}, ${rule}`, async t => holds(t, await openRest(t, open)));
