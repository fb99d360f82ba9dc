import test from 'ava';
import { createCommits } from '../../../../plugins/storage/sql/sqlite-commits.ts';

const COMMIT_FAILED = new Error('the disk is full');
const LATE = new Error('too late');

/** Transactions on a connection that only records its statements. */
function commits({
  fails = () => false,
  waitMs,
}: {
  fails?: (sql: string) => boolean;
  waitMs?: number;
} = {}) {
  const ran: string[] = [];
  const connection = { isOpen: false };
  const transaction = createCommits<typeof connection>(
    {
      acquire: async () => connection,
      release: () => ran.push('release'),
      async run(_, sql) {
        ran.push(sql);
        if (fails(sql)) throw COMMIT_FAILED;
        if (sql.startsWith('begin')) connection.isOpen = true;
        if (sql === 'commit' || sql === 'rollback') connection.isOpen = false;
      },
      isOpen: ({ isOpen }) => isOpen,
      tooLate: () => LATE,
    },
    { togetherMs: Number.POSITIVE_INFINITY, ...(waitMs !== undefined && { waitMs }) },
  );
  return { ran, connection, transaction };
}

test('a single transaction is begun and committed', async t => {
  const { ran, transaction } = commits();
  t.is(await transaction(async () => 'done'), 'done');
  t.deepEqual(ran, ['begin immediate', 'commit', 'release']);
});

test('transactions started meanwhile share the next commit, and are not reported before it', async t => {
  const { ran, transaction } = commits();
  const note = (name: string) =>
    transaction(async () => void ran.push(name)).then(() => ran.push(`${name} is told`));
  const second = Promise.withResolvers<unknown>();
  const first = transaction(async () => {
    ran.push('first');
    setImmediate(() => second.resolve(note('second')));
  }).then(() => ran.push('first is told'));
  await Promise.all([first, second.promise]);
  t.deepEqual(ran.slice(0, 6), [
    'begin immediate',
    'first',
    'savepoint one',
    'second',
    'release one',
    'commit',
  ]);
  t.deepEqual(ran.slice(6).sort(), ['first is told', 'release', 'second is told']);
});

test('a transaction whose work throws is rolled back alone', async t => {
  const { ran, transaction } = commits();
  const mishap = new RangeError('of its own');
  const refused = async () => {
    throw mishap;
  };
  const results = await Promise.allSettled([
    transaction(async () => 1),
    transaction(refused),
    transaction(async () => 3),
  ]);
  t.deepEqual(results, [
    { status: 'fulfilled', value: 1 },
    { status: 'rejected', reason: mishap },
    { status: 'fulfilled', value: 3 },
  ]);
  t.deepEqual(ran, [
    ...['begin immediate', 'savepoint one', 'rollback to one'],
    ...['savepoint one', 'release one', 'commit', 'release'],
  ]);
  await t.throwsAsync(transaction(refused), { is: mishap });
  t.is(await transaction(async () => 4), 4);
});

test('a failed commit fails all transactions that share it, and none after it', async t => {
  let isFull = true;
  const { connection, transaction } = commits({ fails: sql => sql === 'commit' && isFull });
  const results = await Promise.allSettled([transaction(async () => 1), transaction(async () => 2)]);
  t.deepEqual(
    results.map(result => 'reason' in result && result.reason),
    [COMMIT_FAILED, COMMIT_FAILED],
  );
  t.false(connection.isOpen, 'and it is undone');
  isFull = false;
  t.is(await transaction(async () => 3), 3);
});

test('an error that ends the transaction fails all that were in it', async t => {
  const { connection, transaction } = commits();
  const results = await Promise.allSettled([
    transaction(async () => 1),
    transaction(async () => {
      connection.isOpen = false; // like SQLite on a full disk
      throw COMMIT_FAILED;
    }),
    transaction(async () => 3),
  ]);
  t.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'rejected', 'fulfilled'],
  );
});

test('a caller that waits for a transaction that never ends is rejected, and never run', async t => {
  const { transaction } = commits({ waitMs: 5 });
  const end = Promise.withResolvers<void>();
  const endless = transaction(() => end.promise);
  let isRun = false;
  const late = transaction(async () => {
    isRun = true;
  });
  await t.throwsAsync(late, { is: LATE });
  end.resolve();
  await endless;
  await transaction(async () => {});
  t.false(isRun);
});
