import { type ChildProcess, execFileSync, fork, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { type BackupSettings, createBackups } from '../../../core/backup/backups.ts';
import { createBackup } from '../../../core/backup/create.ts';
import { checkDatabase } from '../../../core/backup/database-check.ts';
import { listBackups } from '../../../core/backup/names.ts';
import { finishRestore, inspectBackup, restoreBackup } from '../../../core/backup/restore.ts';
import { recordInstallation, refuseLostDatabase } from '../../../core/runtime/installation.ts';
import { ACCESS_KEY, s3Server } from '../../helpers/s3-server.ts';
import { reportSkipped } from '../../helpers/skips.ts';
import { HOW_TO_GET_A_DISK, mountSmallDisk } from '../../helpers/small-disk.ts';
import { openStorage } from '../../helpers/storage.ts';
import { amount, isThorough } from '../../helpers/thorough.ts';

const DAY_MS = 24 * 3_600_000;
const START = Date.UTC(2026, 0, 1);
/** Moments at which the process is killed, spread over the making of one backup. */
const KILLS = amount(2, 20);

async function temporary(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-interrupted-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

function settingsOf(directory: string, s3: BackupSettings['s3']): BackupSettings {
  return {
    ...{ enabled: true, directory, recipients: [], s3 },
    ...{ command: [], listCommand: [], removeCommand: [], readCommand: [] },
    keep: { daily: 2, weekly: 0, monthly: 0 },
  };
}

/** Backs up until it is killed; resolves to the process once one backup is complete. */
async function begin(request: object): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 'interrupted-backup.ts'), [JSON.stringify(request)]);
  await once(child, 'message');
  return child;
}

test("however a backup is interrupted, every file with a backup's name is complete, here and in its copies", async t => {
  const base = await temporary(t);
  const storage = await s3Server(t);
  const { endpoint, objects, uploads } = storage;
  const dataDir = join(base, 'data');
  const directory = join(dataDir, 'backups');
  await mkdir(join(dataDir, 'plugins/local'), { recursive: true });
  await writeFile(join(dataDir, 'plugins/local/key.pem'), randomBytes(2 * 1024 * 1024));
  const database = join(dataDir, 'earshot.db');
  const opened = await openStorage(database);
  await opened.storage.migrate();
  await opened.close();
  const s3 = {
    region: 'us-east-1',
    prefix: 'home',
    pathStyle: true,
    bucket: 'backups',
    endpoint,
    ...ACCESS_KEY,
  };
  const settings = settingsOf(directory, s3);
  let at = START - DAY_MS; // the first run only notes that there is no backup yet
  const run = async () => {
    at += 10 * DAY_MS;
    const child = await begin({ dataDir, database, settings, at });
    t.teardown(() => child.kill('SIGKILL'));
    return child;
  };

  const measured = await run();
  await once(measured, 'message');
  const began = performance.now();
  await once(measured, 'message');
  const tookMs = performance.now() - began;
  measured.kill('SIGKILL');
  await once(measured, 'exit');

  const copy = join(base, 'copy');
  for (let kill = 0; kill < KILLS; kill++) {
    const child = await run();
    await sleep((tookMs * (kill + 0.5)) / KILLS);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const here = await listBackups(directory);
    t.true(here.length > 0);
    for (const { file } of here) await t.notThrowsAsync(inspectBackup(file, null), `killed ${kill}: ${file}`);
    for (const [key, { body }] of objects) {
      await writeFile(copy, body);
      await t.notThrowsAsync(inspectBackup(copy, null), `killed ${kill}: ${key}`);
    }
  }
  const last = await run();
  await once(last, 'message');
  last.kill('SIGSTOP'); // killed between two backups or during the next one: only files from before count
  t.true(uploads.size <= 1);
  t.true(objects.size <= 3, [...objects.keys()].join());
  last.kill('SIGKILL');
});

test('two servers make backups in one directory at the same time', async t => {
  const base = await temporary(t);
  const directory = join(base, 'backups');
  const settings = settingsOf(directory, { region: 'us-east-1', prefix: '', pathStyle: true });
  const run = async (name: string) => {
    const dataDir = join(base, name);
    await mkdir(dataDir);
    await writeFile(join(dataDir, 'server.json'), randomBytes(2 * 1024 * 1024));
    const database = join(dataDir, 'earshot.db');
    const opened = await openStorage(database);
    await opened.storage.migrate();
    await opened.close();
    const child = fork(join(import.meta.dirname, 'interrupted-backup.ts'), [
      JSON.stringify({ dataDir, database, settings, at: START }),
    ]);
    t.teardown(() => child.kill('SIGKILL'));
    const ended = once(child, 'exit').then(() => {
      throw new Error(`the server on ${name} failed`);
    });
    ended.catch(() => {});
    for (let made = 0; made < 5; made++) await Promise.race([once(child, 'message'), ended]);
    child.kill('SIGSTOP');
  };
  await t.notThrowsAsync(Promise.all([run('one'), run('two')]));
  const found = await listBackups(directory);
  t.true(found.length > 0);
  for (const { file } of found) await t.notThrowsAsync(inspectBackup(file, null));
});

test('drafts of killed processes and of other machines a day ago are removed, and no others', async t => {
  const base = await temporary(t);
  const database = join(base, 'earshot.db');
  const { storage, close } = await openStorage(database);
  t.teardown(close);
  await storage.migrate();
  const to = join(base, 'backups');
  const { pid: ended } = spawnSync('true');
  const [killed, running] = [
    `.${hostname()}-${ended}.unfinished`,
    `.${hostname()}-${process.ppid}.unfinished`,
  ];
  const [old, recent] = ['.elsewhere-1.unfinished', '.elsewhere-2.unfinished'];
  for (const name of [killed, running, old, recent]) await mkdir(join(to, name), { recursive: true });
  const now = Date.now();
  await utimes(join(to, old), now / 1000 - 25 * 3600, now / 1000 - 25 * 3600);
  const { file } = await createBackup({
    ...{ dataDir: base, configFile: null, storage, clock: { now: () => now }, to, recipients: [] },
    signal: new AbortController().signal,
  });
  t.deepEqual((await readdir(to)).sort(), [recent, running, basename(file)].sort());
});

const mounted = mountSmallDisk(8 * 1024 * 1024);
test.after.always(() => mounted?.unmount());
test('a data directory that is a mount point is replaced in place, the database last', async t => {
  if (!mounted) return reportSkipped(t, 'disk', 'a restore into a mount point', HOW_TO_GET_A_DISK);
  const base = await temporary(t);
  const dataDir = join(base, 'data');
  await mkdir(join(dataDir, 'plugins/local'), { recursive: true });
  await writeFile(join(dataDir, 'plugins/local/key.pem'), 'old key');
  await writeFile(join(dataDir, 'server.json'), 'old record');
  const { storage, close } = await openStorage(join(dataDir, 'earshot.db'));
  t.teardown(close);
  await storage.migrate();
  const request = { configFile: null, storage, clock: Date, recipients: [] };
  const { signal } = new AbortController();
  const { file } = await createBackup({ ...request, dataDir, to: join(base, 'backups'), signal });

  const dir = mounted.dir;
  await mkdir(join(dir, 'lost+found'));
  const restore = { file, identity: null, dataDir: dir };
  t.is((await restoreBackup({ ...restore, replace: false })).replaced, null);
  t.is(await readFile(join(dir, 'plugins/local/key.pem'), 'utf8'), 'old key');

  await writeFile(join(dir, 'server.json'), 'new record');
  await mkdir(join(dir, 'backups'));
  await mkdir(join(dir, 'restoring-12345678'));
  await writeFile(join(dir, 'later'), 'x');
  await t.throwsAsync(restoreBackup({ ...restore, replace: false }), { code: 'conflict' });
  const { replaced, abandoned } = await restoreBackup({ ...restore, replace: true });
  t.deepEqual(abandoned, [join(dir, 'restoring-12345678')]);
  t.is(await readFile(join(dir, 'server.json'), 'utf8'), 'old record');
  t.is(await readFile(join(replaced ?? '', 'server.json'), 'utf8'), 'new record');
  t.deepEqual((await readdir(replaced ?? '')).sort(), ['earshot.db', 'later', 'plugins', 'server.json']);
  t.deepEqual((await readdir(dir)).sort(), [
    ...['backups', 'earshot.db', 'lost+found', 'plugins', basename(replaced ?? '')],
    ...['restoring-12345678', 'server.json'],
  ]);
  const again = await openStorage(join(dir, 'earshot.db'));
  await t.notThrowsAsync(again.storage.migrate());
  const made = await createBackup({
    ...{ ...request, storage: again.storage, dataDir: dir, to: join(base, 'two'), signal },
  });
  await again.close();
  const { files } = await inspectBackup(made.file, null);
  t.deepEqual(files.map(({ path }) => path).sort(), ['earshot.db', 'plugins/local/key.pem', 'server.json']);

  await recordInstallation(dir, true);
  const stuck = join(dir, 'audio');
  await mkdir(stuck);
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', stuck]); // cannot be moved
  t.teardown(() => execFileSync('umount', ['--lazy', stuck]));
  await t.throwsAsync(restoreBackup({ ...restore, replace: true }), {
    message: /in part only \(EBUSY\), and previous data is in .*replaced-/,
  });
  const lost = await openStorage(join(dir, 'earshot.db'));
  await t.throwsAsync(refuseLostDatabase(dir, lost.storage), { message: /its own database is missing/ });
  await lost.close();
});

/** Content of a data directory by path, without its backups and what restores leave. */
async function contentOf(directory: string): Promise<Record<string, string>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name));
  const content: Record<string, string> = {};
  for (const file of files.sort()) {
    const path = relative(directory, file);
    if (!/^(backups|replaced-|restoring-|restored-|arriving-)/.test(path))
      content[path] = (await readFile(file)).toString('base64');
  }
  return content;
}

const MODEL = 'plugins/sherpa-onnx/sherpa-onnx-streaming-zipformer-en-2023-06-26/tokens.txt';

/** Kills a restore into `dataDir` at each of its changes to the disk, or every few, and starts a server each time. */
async function killRestores(
  t: ExecutionContext,
  dataDir: string,
  every = 1,
): Promise<{ kept: number; taken: number }> {
  const base = await temporary(t);
  const source = join(base, 'source');
  await mkdir(join(source, 'plugins/local'), { recursive: true });
  await writeFile(join(source, 'plugins/local/key.pem'), 'new');
  await writeFile(join(source, 'server.json'), 'new');
  const { storage, close } = await openStorage(join(source, 'earshot.db'));
  await storage.migrate();
  const { file } = await createBackup({
    ...{ dataDir: source, configFile: null, storage, clock: Date, recipients: [] },
    ...{ to: join(base, 'backups'), signal: new AbortController().signal },
  });
  await close();
  const previous = { 'earshot.db': 'old', 'server.json': 'old', 'plugins/local/key.pem': 'old' };
  const folder = dirname(dataDir);
  const beside = `${basename(dataDir)}.replaced-`;
  const around = async () => [
    ...(await readdir(dataDir)).filter(name => name.startsWith('replaced-')).map(name => join(dataDir, name)),
    ...(await readdir(folder)).filter(name => name.startsWith(beside)).map(name => join(folder, name)),
  ];
  const counts = { kept: 0, taken: 0 };
  let whole: Record<string, string> | null = null;
  for (let killAt = 1; ; killAt += every) {
    for (const name of await readdir(dataDir)) await rm(join(dataDir, name), { recursive: true });
    for (const path of await around()) await rm(path, { recursive: true });
    const files = { ...previous, 'audio/1.log': 'old', [MODEL]: 'a model', 'backups/one': 'a backup' };
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(dataDir, path)), { recursive: true });
      await writeFile(join(dataDir, path), content);
    }
    const before = await contentOf(dataDir);
    const child = fork(join(import.meta.dirname, 'interrupted-restore.ts'), [
      JSON.stringify({ file, identity: null, dataDir, replace: true, killAt }),
    ]);
    const [status, signal] = await once(child, 'exit');
    const replaced = await finishRestore(dataDir); // as a start does
    const after = await contentOf(dataDir);
    t.is(await readFile(join(dataDir, 'backups/one'), 'utf8'), 'a backup', `killed at ${killAt}`);
    const isOld = 'audio/1.log' in after;
    if (isOld) t.deepEqual(after, before, `killed at ${killAt}`);
    else {
      whole ??= after;
      t.deepEqual(after, whole, `killed at ${killAt}`);
      t.is(after[MODEL], before[MODEL]);
      const [old = '', ...others] = await around();
      t.deepEqual(others, []);
      t.deepEqual({ ...(await contentOf(old)), [MODEL]: before[MODEL] }, before, `killed at ${killAt}`);
      if (signal === 'SIGKILL' && replaced !== undefined) t.is(replaced, old);
    }
    t.is(await finishRestore(dataDir), undefined, 'nothing is left to do');
    counts[isOld ? 'kept' : 'taken'] += 1;
    if (signal === null) {
      t.is(status, 0);
      t.deepEqual(
        Object.keys(after).sort(),
        ['earshot.db', MODEL, 'plugins/local/key.pem', 'server.json'].sort(),
      );
      return counts;
    }
  }
}

test('a restore killed at any change to the disk leaves the previous data or the backup, each as a whole', async t => {
  const dataDir = join(await temporary(t), 'data');
  await mkdir(dataDir);
  const { kept, taken } = await killRestores(t, dataDir);
  t.log(`killed ${kept + taken - 1} times`);
  t.true(kept >= 4 && taken >= 4, `${kept}, ${taken}`);
});

const fixed = mountSmallDisk(8 * 1024 * 1024);
test.after.always(() => fixed?.unmount());
/** Distance between the changes of a mount point at which a restore is killed. */
const EVERY = amount(3, 1);
test('the same in a mount point', async t => {
  if (!fixed) return reportSkipped(t, 'disk', 'a killed restore into a mount point', HOW_TO_GET_A_DISK);
  const { kept, taken } = await killRestores(t, fixed.dir, EVERY);
  t.log(`killed ${kept + taken - 1} times`);
  t.true(kept >= 4 / EVERY && taken >= 8 / EVERY, `${kept}, ${taken}`);
});

const disk = mountSmallDisk(90 * 1024 * 1024);
test.after.always(() => disk?.unmount());
test('if the disk becomes full no backup is made, and the previous one stays', async t => {
  if (!disk) return reportSkipped(t, 'disk', 'a backup on a full disk', HOW_TO_GET_A_DISK);
  const dataDir = await temporary(t);
  await writeFile(join(dataDir, 'server.json'), randomBytes(64 * 1024));
  const database = join(dataDir, 'earshot.db');
  const { storage, close } = await openStorage(database);
  t.teardown(close);
  await storage.migrate();
  const clock = { at: START, now: () => clock.at, sleep: async () => {} };
  const state = { full: false };
  const directory = join(disk.dir, 'backups');
  const backups = createBackups({
    ...{ dataDir, configFile: null, clock, log: pino({ level: 'silent' }) },
    settings: settingsOf(directory, { region: 'us-east-1', prefix: '', pathStyle: true }),
    storage: {
      async snapshot(target) {
        const rows = await storage.snapshot(target);
        if (state.full) await disk.fill();
        return rows;
      },
    },
  });
  await backups.nightly();
  clock.at += DAY_MS;
  await backups.nightly();
  const before = await readdir(directory);
  clock.at += DAY_MS;
  state.full = true;
  await t.throwsAsync(backups.nightly(), { message: /ENOSPC|no space/i });
  await disk.empty();
  t.deepEqual(await readdir(directory), before);
  const [{ file = '' } = {}] = await listBackups(directory);
  await t.notThrowsAsync(inspectBackup(file, null));
  state.full = false;
  await backups.nightly();
  t.is((await listBackups(directory)).length, 2);
});

for (const delayMs of isThorough ? [0, 30, 120] : [30])
  test(`a backup that starts ${delayMs} ms after a migration contains the database before or after it, complete`, async t => {
    const directory = await temporary(t);
    const database = join(directory, 'earshot.db');
    const [migrating, reading] = [await openStorage(database), await openStorage(database)];
    const target = join(directory, 'snapshot.db');
    const [, rows] = await Promise.all([
      migrating.storage.migrate(),
      sleep(delayMs).then(() => reading.storage.snapshot(target)),
    ]);
    await Promise.all([migrating.close(), reading.close()]);
    await t.notThrowsAsync(checkDatabase(target, rows));
    const restored = await openStorage(target);
    await t.notThrowsAsync(restored.storage.migrate());
    t.deepEqual(await restored.storage.users.list(), []);
    await restored.close();
  });
