import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createVolatileDisk, parseJournal, restore, type Step } from '../../helpers/disk-journal.ts';
import { compilePreload, type Preload } from '../../helpers/preload.ts';
import { openDatabase } from '../../helpers/sqlite.ts';
import { openStorage } from '../../helpers/storage.ts';
import { amount } from '../../helpers/thorough.ts';
import { createDice, type Dice } from '../../torture/dice.ts';
import { AT_ONCE, lastStored } from './promised-rows.ts';

const MOMENTS = amount(12, 100);
/** Enough for several checkpoints of the write-ahead log. */
const TRANSACTIONS = 300;
const SEED = 1;
const PROMISES = 'promises';
const DATABASE = 'earshot.db';
const LOG = `${DATABASE}-wal`;

const preload = compilePreload('disk-journal');

if (preload instanceof Error) {
  test("a process's writes can be traced, or this is not CI and the power-loss tests are skipped", t => {
    t.log(`SKIPPED: what a power loss leaves of the database, for it cannot be watched here. ${preload}`);
    t.falsy(process.env.CI, String(preload));
  });
} else {
  testsWith(preload);
}

function testsWith(preload: Preload): void {
  test(`after a power loss at any of ${MOMENTS} moments (seed ${SEED}) every committed transaction exists completely`, async t => {
    const { steps, directory } = await watchWriter(t, preload);
    const count = (kind: Step['kind'], name: string) =>
      steps.filter(step => step.kind === kind && step.name === name).length;
    t.true(count('sync', LOG) >= TRANSACTIONS / AT_ONCE);
    t.true(count('write', DATABASE) > 100, 'the write-ahead log was copied into the database');
    const beginnings = steps.filter(
      ({ kind, name, offset }) => kind === 'write' && name === LOG && offset === 0,
    );
    t.true(beginnings.length > 1, 'which then began anew');
    t.deepEqual(waits(steps), [], 'the thread that commits waits for no sync');
    const disk = createVolatileDisk();
    for (const step of steps) disk.take(step);
    t.deepEqual(disk.read(DATABASE), await readFile(join(directory, DATABASE)), 'no step was missed');

    const found: string[] = [];
    for await (const fault of faults(t, steps)) found.push(fault);
    t.deepEqual(found, []);
  });

  for (const [what, file] of Object.entries({ 'write-ahead log': LOG, database: DATABASE }))
    test(`without syncs of the ${what}, the same moments would show a loss`, async t => {
      const { steps } = await watchWriter(t, preload);
      const begun = steps.findIndex(({ name }) => name === PROMISES);
      const others = steps.filter(
        ({ kind, name }, index) => kind !== 'sync' || name !== file || index < begun,
      );
      const { value } = await faults(t, others).next();
      t.regex(value ?? 'no loss', /^after step \d+: /);
      t.log(value);
    });
}

/** Syncs that the writing thread itself waited for, from the first promise to the last. */
function waits(steps: readonly Step[]): Step[] {
  const isPromise = ({ name, kind }: Step) => name === PROMISES && kind === 'write';
  const writer = steps.find(({ kind }) => kind === 'sync')?.offset;
  const found: Step[] = [];
  let written: Step | undefined;
  for (const step of steps.slice(steps.findIndex(isPromise), steps.findLastIndex(isPromise))) {
    if (step.kind === 'write' && step.name !== PROMISES) written = step;
    // SQLite does so when it restarts the log: the background thread is seldom too late for that.
    const isHeader = written?.name === LOG && written.offset === 0;
    if (step.kind === 'sync' && step.offset === writer && !isHeader) found.push(step);
  }
  return found;
}

test('a sync covers only writes that completed before it started', t => {
  const disk = createVolatileDisk();
  const take = (kind: Step['kind'], name: string, offset = 0, data = '') =>
    disk.take({ kind, name, offset, data: Buffer.from(data), end: 0 });
  const unlucky: Dice = { next: () => 1, between: from => from, pick: ([first]) => first as never };
  const found = () => String(disk.afterPowerLoss(unlucky).get('file'));
  const [one, other] = [1, 2];
  take('create', 'file');
  take('begin sync', '', one);
  take('sync names', '', one);
  take('write', 'file', 0, 'abc');
  take('begin sync', 'file', one);
  take('write', 'file', 3, 'd');
  take('begin sync', 'file', other);
  take('write', 'file', 0, 'A');
  t.is(found(), '');
  take('sync', 'file', other);
  t.is(found(), 'abcd');
  take('sync', 'file', one);
  t.is(found(), 'abcd');
});

/** All disk operations of a process. */
async function watchWriter(t: ExecutionContext, preload: Preload) {
  const directory = await temporaryDirectory(t);
  const journal = join(await temporaryDirectory(t), 'journal');
  const files = [DATABASE, PROMISES].map(name => join(directory, name));
  const script = join(import.meta.dirname, 'promising-writer.ts');
  const writer = spawn(process.execPath, [script, ...files, `${TRANSACTIONS}`], {
    env: { ...process.env, ...preload, DISK_JOURNAL: journal, DISK_JOURNAL_OF: directory },
    stdio: 'inherit',
  });
  const [code] = await once(writer, 'exit');
  t.is(code, 0);
  return { steps: parseJournal(await readFile(journal)), directory };
}

/** Cuts the power at random moments, and returns every error found. */
async function* faults(t: ExecutionContext, steps: readonly Step[]): AsyncGenerator<string, undefined> {
  const dice = createDice(SEED);
  const moments = Array.from({ length: MOMENTS }, () => dice.between(0, steps.length)).sort((a, b) => a - b);
  const parent = await temporaryDirectory(t);
  const disk = createVolatileDisk();
  let done = 0;
  let promised: number | null = null;
  for (const moment of moments) {
    for (const step of steps.slice(done, moment)) {
      if (step.name !== PROMISES) disk.take(step);
      else if (step.kind === 'write') promised = Number(step.data);
    }
    done = moment;
    const directory = join(parent, `${moment}`);
    await restore(directory, disk.afterPowerLoss(dice));
    const wrong = await faultOf(join(directory, DATABASE), promised);
    await rm(directory, { recursive: true });
    if (wrong) yield `after step ${moment}: ${wrong}`;
  }
}

/** @param promised the last transaction reported as committed; null: none */
async function faultOf(file: string, promised: number | null): Promise<string | null> {
  try {
    const { storage, close } = await openStorage(file);
    try {
      await storage.migrate();
      const stored = await lastStored(storage);
      if ((stored ?? -1) < (promised ?? -1)) return `${promised} was promised, ${stored} is there`;
    } finally {
      await close();
    }
    return integrityFault(file);
  } catch (error) {
    return String(error);
  }
}

function integrityFault(file: string): string | null {
  const database = openDatabase(file);
  try {
    const said = database.prepare('pragma integrity_check').get()?.integrity_check;
    return said === 'ok' ? null : `integrity_check: ${said}`;
  } finally {
    database.close();
  }
}

async function temporaryDirectory(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-power-'));
  t.teardown(() => rm(directory, { recursive: true }));
  return directory;
}
