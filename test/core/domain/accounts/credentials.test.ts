import { createHash } from 'node:crypto';
import test from 'ava';
import { type Principal, requireScope } from '../../../../core/domain/accounts/credentials.ts';
import { requireGrant } from '../../../../core/domain/accounts/grants.ts';
import { createKeys, parseScopes } from '../../../../core/domain/accounts/keys.ts';
import { createUsers } from '../../../../core/domain/accounts/users.ts';
import { AppError } from '../../../../core/runtime/errors.ts';
import { openDomain } from '../../../helpers/domain.ts';

test('A user is found by the user name as typed, and credentials name this server as issuer', async t => {
  const { users, clock } = await openDomain(t);
  const anna = await users.add('  Anna Ö ');
  t.like(anna, { name: 'Anna Ö', issuer: 'earshot', subject: anna.id, createdAt: clock.now() });
  t.deepEqual(await users.byName('Anna Ö'), anna);
  t.deepEqual(await users.list(), [anna]);
});

test('A name that is taken, blank, too long or unprintable is rejected', async t => {
  const { users } = await openDomain(t);
  await users.add('anna');
  await t.throwsAsync(users.add(' anna '), { message: /"anna" already/ });
  for (const name of ['', '  ', 'x'.repeat(101), 'a\u0007b'])
    await t.throwsAsync(users.add(name), { message: /1 to 100/ });
  t.is((await users.add('🙂'.repeat(100))).name.length, 200);
});

test('An unknown name gets an error with the existing names and how to add one', async t => {
  const { users, clock } = await openDomain(t);
  await t.throwsAsync(users.byName('bob'), { message: /no user "bob", nor any other: earshot user add/ });
  for (let index = 0; index < 12; index += 1) {
    await users.add(`user${index}`);
    clock.advance(1);
  }
  const error = await t.throwsAsync(users.byName('bob'), { instanceOf: AppError });
  t.is(error.code, 'not_found');
  t.regex(error.message, /user0, user1, .* and 2 more\. Add one: earshot user add/);
});

test('The first account is created once, even if two processes start at the same moment', async t => {
  const domain = await openDomain(t);
  const twin = createUsers(domain);
  const made = await Promise.all([domain.users.ensureFirst('owner'), twin.ensureFirst('owner')]);
  t.is(made.filter(user => user !== null).length, 1);
  t.is(await domain.users.ensureFirst('another'), null);
  t.deepEqual(
    (await domain.users.list()).map(({ name }) => name),
    ['owner'],
  );
});

test('A key is shown once, stored as a hash, and recognised later', async t => {
  const { users, keys, storage } = await openDomain(t);
  const { id } = await users.add('anna');
  const { key, record } = await keys.create(id, { name: ' pendant ', scopes: ['listen'] });

  t.regex(key, /^omi_dev_[0-9a-f]{32}$/);
  t.is(record.hash, createHash('sha256').update(key).digest('hex'));
  t.is(record.hint, `omi_dev_${key.slice(8, 12)}...${key.slice(-4)}`);
  t.is(record.name, 'pendant');
  t.deepEqual((await keys.verify(key))?.key, record);
  t.deepEqual(await keys.list(id), [{ ...record, lastUsedAt: record.createdAt }]);
  t.false(JSON.stringify(await storage.keys.list(id)).includes(key.slice(8)));
  for (const wrong of ['', key.slice(1), `${key}0`, key.toUpperCase(), `${key}\n`, key.replace(/.$/, 'g')])
    t.is(await keys.verify(wrong), null);
});

test('Keys are unique, and a key without named scopes has all read scopes and no others', async t => {
  const domain = await openDomain(t);
  const { id } = await domain.users.add('anna');
  const keys = createKeys(domain);
  const made = await Promise.all(Array.from({ length: 20 }, () => keys.create(id, { name: 'k' })));
  t.is(new Set(made.map(({ key }) => key)).size, 20);
  t.deepEqual(made[0]?.record.scopes, [
    'conversations:read',
    'memories:read',
    'action_items:read',
    'goals:read',
  ]);
  await t.throwsAsync(keys.create(id, { name: ' ' }), { message: /1 to 100/ });
});

test('Duplicate scopes are merged; an unknown one is named together with all that exist', t => {
  t.deepEqual(parseScopes(['listen', ' conversations:read ', 'listen', '']), [
    'listen',
    'conversations:read',
  ]);
  const error = t.throws(() => parseScopes(['listen', 'converse']), { instanceOf: AppError });
  t.is(error.code, 'invalid_request');
  t.regex(error.message, /"converse".*conversations:read, .*, listen/);
  t.throws(() => parseScopes(['']), { message: /at least one scope/ });
});

test('A key authenticates its user within its scopes; an ID token authenticates its user for everything', async t => {
  const { users, keys, credentials } = await openDomain(t);
  const anna = await users.add('anna');
  const { key, record } = await keys.create(anna.id, { name: 'k', scopes: ['listen'] });

  const byKey = await credentials.authenticate(`Bearer ${key}`);
  t.deepEqual(byKey, { user: anna, kind: 'key', scopes: new Set(['listen']), keyId: record.id } as Principal);
  t.notThrows(() => requireScope(byKey, 'listen'));
  const denied = t.throws(() => requireScope(byKey, 'conversations:read'), { instanceOf: AppError });
  t.like(denied, {
    code: 'forbidden',
    message: 'Insufficient permissions. Required scope: conversations:read',
  });

  const byToken = await credentials.authenticate(`bearer  ${await users.token('anna')} `);
  t.like(byToken, { user: anna, kind: 'token', scopes: 'all' });
  t.is(byToken.keyId, undefined);
  t.notThrows(() => requireScope(byToken, 'goals:write'));
});

test('Creating a key with a memory scope grants the scope that vector search needs, and rotation keeps it', async t => {
  const { users, keys, credentials, storage } = await openDomain(t);
  const { id } = await users.add('anna');
  const principal = async (raw: string) => credentials.token(raw);
  const reader = await keys.create(id, { name: 'reader', scopes: ['memories:read'] });
  const writer = await keys.create(id, { name: 'writer', scopes: ['memories:write', 'listen'] });

  await t.notThrowsAsync(requireGrant(storage, await principal(reader.key), 'memories:read'));
  await t.notThrowsAsync(requireGrant(storage, await principal(writer.key), 'memories:write'));
  const denied = await t.throwsAsync(requireGrant(storage, await principal(writer.key), 'memories:read'), {
    instanceOf: AppError,
  });
  t.like(denied, { code: 'forbidden', detail: { code: 'missing_grant', grant: 'memories:read' } });

  const rotated = await keys.rotate(id, reader.record.id);
  t.like(rotated.record, { id: reader.record.id, scopes: ['memories:read'], name: 'reader' });
  await t.throwsAsync(principal(reader.key), { message: /revoked/ });
  await t.notThrowsAsync(requireGrant(storage, await principal(rotated.key), 'memories:read'));

  const token = await principal(await users.token('anna'));
  await t.notThrowsAsync(requireGrant(storage, token, 'memories:write'));
  const held = await principal(rotated.key);
  await keys.remove(id, reader.record.id);
  await t.throwsAsync(requireGrant(storage, held, 'memories:read'), { instanceOf: AppError });
});

test('Nobody can rotate or delete keys of others, and a user has at most a hundred keys', async t => {
  const { users, keys, storage } = await openDomain(t);
  const [anna, ben] = [await users.add('anna'), await users.add('ben')];
  const made = await Promise.all(Array.from({ length: 99 }, () => keys.create(anna.id, { name: 'k' })));
  const id = made[0]?.record.id ?? '';
  for (const attempt of [keys.rotate(ben.id, id), keys.remove(ben.id, id), keys.get(ben.id, id)])
    await t.throwsAsync(attempt, { message: 'Key not found' });
  const race = await Promise.allSettled([1, 2, 3].map(() => keys.create(anna.id, { name: 'k' })));
  t.is(race.filter(({ status }) => status === 'fulfilled').length, 1);
  const error = await t.throwsAsync(keys.create(anna.id, { name: 'k' }), { instanceOf: AppError });
  t.like(error, { code: 'conflict', message: 'At most 100 API keys: delete one that is not used' });
  t.is((await storage.keys.list(anna.id)).length, 100);
  await t.notThrowsAsync(keys.create(ben.id, { name: 'k' }));
});

test('The last use of a key is shown at once, and stored later without a write per request', async t => {
  const { users, keys, storage, clock, events } = await openDomain(t);
  const { id } = await users.add('anna');
  const { key, record } = await keys.create(id, { name: 'k' });
  t.is(record.lastUsedAt, null);
  clock.advance(5000);
  await keys.verify(key);
  const shown = async () => (await keys.get(id, record.id)).lastUsedAt;
  const stored = async () => (await storage.keys.get(id, record.id))?.lastUsedAt;
  t.is(await shown(), clock.now());
  t.is(await stored(), null);
  await keys.flush();
  t.is(await stored(), clock.now());

  const before = clock.now();
  clock.advance(1000);
  await keys.verify(key);
  const failing = createKeys({
    clock,
    events,
    storage: {
      ...storage,
      keys: {
        ...storage.keys,
        used: async () => {
          throw new Error('away');
        },
      },
    },
  });
  await failing.verify(key);
  await t.throwsAsync(failing.flush(), { message: 'away' });
  t.is((await failing.list(id))[0]?.lastUsedAt, clock.now());
  t.is(await stored(), before);
  t.is((await createKeys({ clock, storage, events }).list(id))[0]?.lastUsedAt, before);
});

test('Every other credential is rejected with the expected kind of credential', async t => {
  const { users, keys, credentials, storage, local } = await openDomain(t);
  const anna = await users.add('anna');
  const { key, record } = await keys.create(anna.id, { name: 'k' });
  await storage.keys.remove(anna.id, record.id);
  const { token: stranger } = await local.issue({ subject: 'nobody', name: 'Nobody' });
  const refused: [string | undefined, RegExp][] = [
    [undefined, /missing/],
    ['', /missing/],
    [key, /malformed/],
    ['Bearer', /malformed/],
    ['Bearer a b', /malformed/],
    [`Basic ${key}`, /malformed/],
    [`Bearer ${key}`, /revoked API key/],
    ['Bearer omi_dev_x', /Unknown/],
    ['Bearer x.y.z', /Invalid ID token/],
    [`Bearer ${stranger}`, /unknown here/],
  ];
  for (const [header, reason] of refused) {
    const error = await t.throwsAsync(credentials.authenticate(header), { instanceOf: AppError });
    t.is(error.code, 'unauthorized');
    t.regex(error.message, reason);
    t.regex(error.message, /API key \(omi_dev_…\) or an ID token/);
    t.false(error.message.includes(key));
  }
});

test("A token is issued only to users of this server's own identity provider", async t => {
  const { users, storage } = await openDomain(t);
  await storage.users.insert({
    id: '01890000-0000-7000-8000-000000000001',
    name: 'guest',
    nameKey: 'guest',
    issuer: 'https://id.example',
    subject: '7',
    createdAt: 1,
    memoryAccess: true,
    signedOutAt: null,
    role: 'owner',
    disabledAt: null,
  });
  await t.throwsAsync(users.token('guest'), { message: /signed in by https:\/\/id\.example/ });
  await t.throwsAsync(users.token('bob'), { message: /There are: guest/ });
});

test('An unreachable identity provider does not make a credential wrong', async t => {
  const { credentials, users, providers } = await openDomain(t);
  await users.add('anna');
  const token = await users.token('anna');
  providers.working.pop();
  providers.missing.push('local');
  const error = await t.throwsAsync(credentials.token(token), { instanceOf: AppError });
  t.like(error, { code: 'unavailable', retryAfter: 5 });
  t.regex(error.message, /provider local does not work now/);
  await t.throwsAsync(credentials.token('x.y.z'), { code: 'unauthorized' }); // whoever created it
});

test('Without an identity provider of its own the server creates no account, and says how to get one', async t => {
  const { users, providers } = await openDomain(t);
  providers.working.pop();
  t.is(await users.ensureFirst('owner'), null);
  const error = await t.throwsAsync(users.add('anna'), { instanceOf: AppError });
  t.is(error.code, 'conflict');
  t.regex(error.message, /add local to identity/);
});

test('The first token from an external provider creates an account, and the next one finds it', async t => {
  const { users } = await openDomain(t);
  const issuer = 'https://id.example';
  const from = (subject: string, name: string) =>
    users.fromIdentity({ issuer, subject, name, issuedAt: 1000 }, true);
  await users.add('Anna');
  const joined = await from('7', ' Anna\n');
  t.like(joined, { name: 'Anna (2)', issuer, subject: '7', signedOutAt: null });
  t.deepEqual(await from('7', 'another name'), joined);
  t.is((await from('8', 'Anna'))?.name, 'Anna (3)');
  t.is((await from('9', '\u0000'))?.name, 'someone');
  t.is((await from('10', '🙂'.repeat(300)))?.name, '🙂'.repeat(90));

  const atOnce = await Promise.all(Array.from({ length: 5 }, () => from('11', 'Ben')));
  t.is(new Set(atOnce.map(user => user?.id)).size, 1);
  t.is((await users.list()).length, 6);
  t.is(await users.fromIdentity({ issuer, subject: '12', name: 'C', issuedAt: 1 }, false), null);
});

test('A sign-out revokes earlier tokens of every issuer, but neither keys nor later tokens', async t => {
  const { users, keys, credentials, clock } = await openDomain(t);
  const { id } = await users.add('anna');
  const { key } = await keys.create(id, { name: 'k' });
  const before = await users.token('anna');
  await t.notThrowsAsync(credentials.token(before));
  await users.signOut(' anna ');
  const error = await t.throwsAsync(credentials.token(before), { instanceOf: AppError });
  t.like(error, { code: 'unauthorized' });
  t.regex(error.message, /was signed out/);
  clock.advance(1);
  await t.notThrowsAsync(credentials.token(await users.token('anna')));
  await t.notThrowsAsync(credentials.token(key));

  const issuer = 'https://id.example';
  const at = (issuedAt: number) => users.fromIdentity({ issuer, subject: '7', name: 'Ben', issuedAt }, true);
  await at(clock.now());
  await users.signOut('Ben');
  t.is(await at(clock.now()), null);
  t.like(await at(clock.now() + 1), { name: 'Ben' });
  await t.throwsAsync(users.signOut('nobody'), { code: 'not_found' });
});
