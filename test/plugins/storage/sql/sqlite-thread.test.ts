import test, { type ExecutionContext } from 'ava';
import { memory, user } from '../../../../plugins/kit/suites/storage/rows.ts';
import { openSqlite } from '../../../../plugins/storage/sql/sqlite.ts';
import { createThread } from '../../../../plugins/storage/sql/sqlite-thread.ts';
import { storageContext, temporaryStorage } from '../../../helpers/storage.ts';

const MOODY = new URL('flaky-thread-main.ts', import.meta.url);

function moody(t: ExecutionContext, limits: NonNullable<Parameters<typeof createThread>[4]> = {}) {
  const context = storageContext();
  const { search, close } = createThread('/nowhere', context, async () => ['found here'], MOODY, limits);
  t.teardown(close);
  return (text: string) => search('memories', { userId: 'anna', text, limit: 1 });
}

test('data is found by a separate thread as soon as it is committed', async t => {
  const { storage, file, close } = await temporaryStorage();
  t.teardown(close);
  await storage.users.insert(user('anna'));
  const { search, close: closeSearch } = createThread(file, storageContext(), async () => {
    throw new Error('it was searched here');
  });
  const find = (text: string) => search('memories', { userId: 'anna', text, limit: 10 });
  t.deepEqual(await find('tea'), []);
  await storage.memories.insert([memory('m1', 'anna', { content: 'Drinks green tea' })]);
  t.deepEqual(await find('tea'), ['m1']);
  await storage.memories.remove('anna', 'm1');
  t.deepEqual(await find('tea'), []);
  await closeSearch();
});

test('the thread copies the log into the database, and restarts the log', async t => {
  const { storage, file, close } = await temporaryStorage();
  t.teardown(close);
  const { copyLog, close: closeThread } = createThread(file, storageContext(), async () => []);
  const dialect = openSqlite(file, storageContext());
  t.teardown(() => dialect.close());
  const log = async () => (await dialect.reader.raw('pragma wal_checkpoint(noop)'))[0];
  await storage.users.insert(user('anna'));
  t.true((await log()).log > 1);
  t.true(await copyLog());
  t.like(await log(), { log: 1, checkpointed: 0 });
  t.is((await storage.users.list()).length, 1);
  await closeThread();
  t.false(await copyLog());
});

test('queries that the thread cannot answer run on the connection itself', async t => {
  const find = moody(t);
  t.deepEqual(await find('tea'), ['found aside']);
  t.deepEqual(await find('fail'), ['found here']);
  t.deepEqual(await find('tea'), ['found aside']);
});

test('queries run on the connection when the thread has ended, and it is not restarted at once', async t => {
  const find = moody(t);
  const waiting = find('say nothing');
  t.deepEqual(await find('end'), ['found here']);
  t.deepEqual(await waiting, ['found here']);
  t.deepEqual(await find('tea'), ['found here']);
});

test('after a while it is restarted', async t => {
  const find = moody(t, { pauseMs: 0 });
  t.deepEqual(await find('end'), ['found here']);
  t.deepEqual(await find('tea'), ['found aside']);
});

test('a silent thread is abandoned', async t => {
  const find = moody(t, { answerMs: 1 });
  t.deepEqual(await find('say nothing'), ['found here']);
  t.deepEqual(await find('tea'), ['found here']);
});

test('the queue of searches is bounded', async t => {
  const find = moody(t, { maxWaiting: 2 });
  const waiting = [find('say nothing'), find('say nothing')];
  await t.throwsAsync(find('tea'), { code: 'unavailable', message: /2 searches wait already/ });
  await t.throwsAsync(find('end'), { code: 'unavailable' });
  t.is(waiting.length, 2);
});

test('a search whose file cannot be opened runs on the connection, which reports why', async t => {
  const cause = new Error('there is no such file');
  const { search, close } = createThread('/nowhere/earshot.db', storageContext(), async () => {
    throw cause;
  });
  t.teardown(close);
  await t.throwsAsync(search('memories', { userId: 'anna', text: 'tea', limit: 1 }), { is: cause });
});
