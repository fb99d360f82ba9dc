import test from 'ava';
import { READS } from '../../../../core/http/access-log.ts';
import { openDatabases } from '../../../helpers/databases.ts';
import { completedConversation, openDomain } from '../../../helpers/domain.ts';
import { documentOf, operationsOf } from '../../../helpers/openapi.ts';
import { openRest } from '../../../helpers/rest.ts';
import { openServer } from '../../../helpers/services.ts';

const DATABASES = await openDatabases(test);
/** Operations with a scope whose answers contain names and states, but no content. */
const WITHOUT_CONTENT = ['listFolders', 'listDevices', 'getDevice'];

for (const { name, open } of DATABASES)
  test(`${name}: owners see reads with key and time, without content, also after a restart`, async t => {
    const rest = await openRest(t, open);
    const { accesses, clock, keys, send, user, users } = rest;
    const { id } = await completedConversation(rest, user.id, ['Secret of the garden'], { title: 'Garden' });
    const { record } = await keys.create(user.id, { name: 'phone' });
    for (let times = 0; times < 3; times++) await send('GET', `/v1/dev/user/conversations/${id}`);
    await clock.advance(1000);
    await send('GET', '/v1/dev/user/memories');
    await send('GET', '/v1/dev/user/conversations/unknown');
    const { status, body } = await send('GET', '/v1/users/accesses');
    t.is(status, 200);
    t.deepEqual(
      body.map(({ operation, data, subject_id, count, reader, via }: Record<string, unknown>) => [
        ...[operation, data, subject_id, count, reader, via],
      ]),
      [
        ['listMemories', 'memories', null, 1, 'session', 'rest'],
        ['getConversation', 'conversations', id, 3, 'session', 'rest'],
      ],
    );
    t.notRegex(JSON.stringify(body), /Garden|Secret/);

    const other = await users.add('other');
    t.deepEqual(await accesses.list(other.id, { limit: 9 }), []);
    const read = { via: 'mcp', operation: 'listMemories', data: 'memories', subject: null } as const;
    await clock.advance(1000); // ids of one millisecond are ordered only within the range of their counter
    accesses.record({ userId: user.id, reader: 'key', readerId: record.id, ...read });
    accesses.record({ userId: 'gone', reader: 'key', readerId: record.id, ...read });
    const [newest] = await accesses.list(user.id, { limit: 1 });
    t.like(newest, { reader: 'key', readerName: 'phone', via: 'mcp' });
    const page = await send('GET', `/v1/users/accesses?limit=1&before=${newest?.id}`);
    t.is(page.body[0].operation, 'listMemories');
    t.deepEqual((await send('GET', '/v1/users/accesses?before=x')).body, []);

    await clock.advance(89 * 86_400_000);
    await accesses.prune();
    t.is((await accesses.list(user.id, { limit: 9 })).length, 3);
    await clock.advance(2 * 86_400_000);
    await accesses.prune();
    t.is((await accesses.list(user.id, { limit: 9 })).length, 0);
  });

test("a user's log is bounded in memory and on disk, and failed writes are repeated", async t => {
  const { accesses, storage, users } = await openDomain(t);
  const { id: userId } = await users.add('ada');
  const read = { userId, reader: 'session', readerId: null, via: 'rest', operation: 'getMemory' } as const;
  const add = storage.privacy.addAccesses;
  storage.privacy.addAccesses = () => Promise.reject(new Error('the disk is full'));
  accesses.record({ ...read, data: 'memories', subject: 'm1' });
  await t.throwsAsync(accesses.flush(), { message: 'the disk is full' });
  storage.privacy.addAccesses = add;
  t.like(await accesses.list(userId, { limit: 9 }), [{ subject: 'm1', count: 1 }]);

  for (let each = 0; each < 30_000; each++)
    accesses.record({ ...read, data: 'memories', subject: `m${each}` });
  await accesses.flush();
  const all = await storage.privacy.accesses(userId, { limit: 99_999 });
  t.is(all.length, 10_002);
  t.is(all.find(({ subject }) => subject === null)?.count, 20_000);
  await accesses.prune();
  t.is((await storage.privacy.accesses(userId, { limit: 99_999 })).length, 5000);
});

test('every operation that returns content is logged, and the list contains no other', async t => {
  const server = await openServer(t, { stt: [] });
  const document = await documentOf(server.url);
  const operations = operationsOf(document).map(({ operation }) => operation);
  const ids = new Set(operations.map(({ operationId }) => operationId));
  t.deepEqual(
    Object.keys(READS).filter(id => !ids.has(id)),
    [],
  );
  const scoped = operations.filter(
    ({ 'x-required-scope': scope = '', 'x-required-action': action = '' }) =>
      scope.endsWith(':read') || action.startsWith('read_'),
  );
  t.true(scoped.length > 15);
  t.deepEqual(
    scoped.map(({ operationId }) => operationId).filter(id => !READS[id] && !WITHOUT_CONTENT.includes(id)),
    [],
  );
});
