import { createHash } from 'node:crypto';
import test from 'ava';
import { createCredentials, type Principal, requireScope } from '../../../core/domain/credentials.ts';
import { createKeys, parseScopes } from '../../../core/domain/keys.ts';
import { createUsers } from '../../../core/domain/users.ts';
import { AppError } from '../../../core/errors.ts';
import { openDomain } from '../../helpers/domain.ts';

test('A user is found by the name people type, and vouched for by this server', async t => {
  const { users, clock } = await openDomain(t);
  const anna = await users.add('  Anna Ö ');
  t.like(anna, { name: 'Anna Ö', issuer: 'earshot', subject: anna.id, createdAt: clock.now() });
  t.deepEqual(await users.byName('Anna Ö'), anna);
  t.deepEqual(await users.list(), [anna]);
});

test('A name that is taken, blank, endless or unprintable is refused', async t => {
  const { users } = await openDomain(t);
  await users.add('anna');
  await t.throwsAsync(users.add(' anna '), { message: /"anna" already/ });
  for (const name of ['', '  ', 'x'.repeat(101), 'a\u0007b'])
    await t.throwsAsync(users.add(name), { message: /1 to 100/ });
  t.is((await users.add('🙂'.repeat(100))).name.length, 200);
});

test('An unknown name is answered with the names there are, and how to add one', async t => {
  const { users, clock } = await openDomain(t);
  await t.throwsAsync(users.byName('bob'), { message: /no user "bob", nor any other: npx earshot user add/ });
  for (let index = 0; index < 12; index += 1) {
    await users.add(`user${index}`);
    clock.advance(1);
  }
  const error = await t.throwsAsync(users.byName('bob'), { instanceOf: AppError });
  t.is(error.code, 'not_found');
  t.regex(error.message, /user0, user1, .* and 2 more\. Add one: npx earshot user add/);
});

test('The first account is made once, also when two processes start at the same moment', async t => {
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

test('A key is shown once, stored as a hash, and known again', async t => {
  const { users, keys, storage } = await openDomain(t);
  const { id } = await users.add('anna');
  const { key, record } = await keys.create(id, { name: ' pendant ', scopes: ['listen'] });

  t.regex(key, /^omi_dev_[0-9a-f]{32}$/);
  t.is(record.hash, createHash('sha256').update(key).digest('hex'));
  t.is(record.hint, `omi_dev_${key.slice(8, 12)}...${key.slice(-4)}`);
  t.is(record.name, 'pendant');
  t.deepEqual(await keys.verify(key), record);
  t.deepEqual(await keys.list(id), [record]);
  t.false(JSON.stringify(await storage.keys.list(id)).includes(key.slice(8)));
  for (const wrong of ['', key.slice(1), `${key}0`, key.toUpperCase(), `${key}\n`, key.replace(/.$/, 'g')])
    t.is(await keys.verify(wrong), null);
});

test('No two keys are alike, and a key without named scopes may read everything and no more', async t => {
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

test('Scopes are taken once each; an unknown one is named together with all there are', t => {
  t.deepEqual(parseScopes(['listen', ' conversations:read ', 'listen', '']), [
    'listen',
    'conversations:read',
  ]);
  const error = t.throws(() => parseScopes(['listen', 'converse']), { instanceOf: AppError });
  t.is(error.code, 'invalid_request');
  t.regex(error.message, /"converse".*conversations:read, .*, listen/);
  t.throws(() => parseScopes(['']), { message: /at least one scope/ });
});

test('A key stands for its user within its scopes; an ID token for its user in everything', async t => {
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
  t.deepEqual(byToken, { user: anna, kind: 'token', scopes: 'all' });
  t.notThrows(() => requireScope(byToken, 'goals:write'));
});

test('Every other credential is refused with what was expected', async t => {
  const { users, keys, credentials, storage, identity } = await openDomain(t);
  const anna = await users.add('anna');
  const { key, record } = await keys.create(anna.id, { name: 'k' });
  await storage.keys.remove(anna.id, record.id);
  const stranger = await identity().issue({ subject: 'nobody', name: 'Nobody' });
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

test('A token is issued only for users whom this server vouches for', async t => {
  const { users, storage } = await openDomain(t);
  await storage.users.insert({
    id: '01890000-0000-7000-8000-000000000001',
    name: 'guest',
    issuer: 'https://id.example',
    subject: '7',
    createdAt: 1,
  });
  await t.throwsAsync(users.token('guest'), { message: /issued by https:\/\/id\.example/ });
  await t.throwsAsync(users.token('bob'), { message: /There are: guest/ });
});

test('An identity provider that cannot be asked is no wrong credential', async t => {
  const domain = await openDomain(t);
  const credentials = createCredentials({
    ...domain,
    identity: () => {
      throw new AppError('unavailable', 'The identity provider is being started again');
    },
  });
  const error = await t.throwsAsync(credentials.token('x.y.z'), { instanceOf: AppError });
  t.is(error.code, 'unavailable');
});
