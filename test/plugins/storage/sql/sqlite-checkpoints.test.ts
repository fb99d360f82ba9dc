import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createCheckpoints } from '../../../../plugins/storage/sql/sqlite-checkpoints.ts';
import { storageContext } from '../../../helpers/storage.ts';

interface Connection {
  pragma(source: string): unknown;
  exec(sql: string): void;
  close(): void;
}
const Database: new (file: string) => Connection = createRequire(import.meta.url)('better-sqlite3');
const PAGES = 20;

/** A database that receives rows until its log has `PAGES` pages, and more. `ran` records the steps. */
async function logged(t: ExecutionContext, thread: 'copies all' | 'leaves a rest' | 'is lost') {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-log-'));
  const connect = () => new Database(join(directory, 'log.db'));
  const [writer, other] = [connect(), connect()];
  t.teardown(async () => {
    writer.close();
    other.close();
    await rm(directory, { recursive: true });
  });
  for (const pragma of ['journal_mode = wal', 'wal_autocheckpoint = 0']) writer.pragma(pragma);
  writer.exec('create table rows (content)');
  const ran: string[] = [];
  const { look, close } = createCheckpoints(
    {
      async copyLog() {
        ran.push('copy');
        if (thread === 'copies all' || (thread === 'leaves a rest' && ran.at(-2) === 'hold')) {
          other.pragma('wal_checkpoint(passive)');
          other.pragma('user_version = 0');
        }
        return thread !== 'is lost';
      },
      async acquire() {
        ran.push('hold');
        return writer;
      },
      release: () => ran.push('let go'),
    },
    storageContext(),
    PAGES,
  );
  /** Resolves to the pages of the log afterwards. */
  async function writeRows(count: number): Promise<number> {
    for (let row = 0; row < count; row++) {
      writer.exec('insert into rows values (zeroblob(2000))');
      await look(writer);
    }
    return (writer.pragma('wal_checkpoint(noop)') as { log: number }[])[0]?.log ?? 0;
  }
  return { other, ran, close, writeRows };
}

const ONCE = ['copy', 'hold', 'copy', 'let go'];

test('a log that has grown is checkpointed, and restarts', async t => {
  const { ran, writeRows } = await logged(t, 'copies all');
  t.true((await writeRows(100)) < 2 * PAGES);
  t.deepEqual(ran.slice(0, 4), ['copy', 'hold', 'let go', 'copy']);
});

test('commits during a checkpoint are copied while nobody commits', async t => {
  const { ran, writeRows } = await logged(t, 'leaves a rest');
  t.true((await writeRows(100)) < 2 * PAGES);
  t.deepEqual(ran.slice(0, 5), [...ONCE, 'copy']);
});

test('pages that the thread does not copy are copied by the connection itself', async t => {
  const { ran, writeRows } = await logged(t, 'is lost');
  t.true((await writeRows(100)) < 2 * PAGES);
  t.deepEqual(ran.slice(0, 4), ONCE);
});

test('during a read the log grows, is not checkpointed after each commit, and restarts afterwards', async t => {
  const { other, ran, writeRows } = await logged(t, 'is lost');
  other.exec('begin; select count(*) from rows');
  const length = await writeRows(100);
  t.true(length > 5 * PAGES);
  t.true(ran.length <= (ONCE.length * length) / PAGES, `${ran.length} steps for ${length} pages`);
  other.exec('commit');
  t.true((await writeRows(100)) < 2 * PAGES);
});

test('before a close, the checkpoint is left to the closing connection', async t => {
  const { ran, close, writeRows } = await logged(t, 'is lost');
  close();
  t.true((await writeRows(100)) > 5 * PAGES);
  t.deepEqual(ran, []);
});
