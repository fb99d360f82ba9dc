import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createKey } from '../../../core/backup/archive.ts';
import { type BackupSettings, createBackups } from '../../../core/backup/backups.ts';
import { inspectBackup, restoreBackup } from '../../../core/backup/restore.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import { openDatabase } from '../../helpers/sqlite.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A data directory with content of every kind, and a clock that the test moves. */
async function room(t: ExecutionContext, changes: Partial<BackupSettings> = {}) {
  const base = await mkdtemp(join(tmpdir(), 'earshot-backups-'));
  t.teardown(() => rm(base, { recursive: true, force: true }));
  const dataDir = join(base, 'data');
  for (const folder of [
    'audio',
    'exports/ada',
    'plugins/local',
    'plugins/sherpa-onnx/zipformer-en-2023',
    'plugins/index',
  ])
    await mkdir(join(dataDir, folder), { recursive: true });
  await writeFile(join(dataDir, 'audio/000000000001.log'), 'sound');
  await writeFile(join(dataDir, 'exports/ada/1.zip'), 'everything');
  await writeFile(join(dataDir, 'plugins/local/key.pem'), 'key');
  await writeFile(join(dataDir, 'earshot.db-wal'), 'log');
  await writeFile(join(dataDir, 'server.json.new'), 'draft');
  const index = openDatabase(join(dataDir, 'plugins/index/vectors.db'));
  index.exec('pragma journal_mode = wal; create table vectors (id text); insert into vectors values (1)');
  t.teardown(() => index.close());
  const configFile = join(base, 'earshot.yaml');
  await writeFile(configFile, 'port: 8420');
  const clock = { at: Date.UTC(2026, 0, 1), now: () => clock.at, sleep: async () => {} };
  const state = { failure: null as Error | null, snapshots: 0, rowsTold: 2 };
  const settings: BackupSettings = {
    ...{ enabled: true, directory: join(dataDir, 'backups'), recipients: [] },
    ...{ command: [], listCommand: [], removeCommand: [], readCommand: [] },
    s3: { region: 'us-east-1', prefix: 'earshot', pathStyle: true },
    keep: { daily: 2, weekly: 0, monthly: 0 },
    ...changes,
  };
  const backups = createBackups({
    ...{ dataDir, configFile, clock, settings, log: pino({ level: 'silent' }) },
    storage: {
      async snapshot(target) {
        state.snapshots += 1;
        if (state.failure) throw state.failure;
        const database = openDatabase(target);
        database.exec('create table users (id text); insert into users values (1), (2)');
        database.close();
        await appendFile(join(dataDir, 'audio/000000000001.log'), ' that came meanwhile');
        return { users: state.rowsTold };
      },
    },
  });
  return { base, dataDir, settings, clock, state, backups, index };
}

async function made(backups: ReturnType<typeof createBackups>) {
  backups.begin(null);
  while (backups.progress().running) await new Promise(setImmediate);
  const { backup, error } = backups.progress();
  if (!backup) throw new Error(error ?? 'nothing');
  return backup;
}

test('a backup contains all data, and restores the state of one moment', async t => {
  const { base, dataDir, backups } = await room(t);
  const backup = await made(backups);
  t.like(backup, { rows: 2, encrypted: false });
  const { files } = await inspectBackup(backup.file, null);
  t.deepEqual(files.map(({ path }) => path).sort(), [
    ...['audio/000000000001.log', 'configuration/earshot.yaml', 'earshot.db'],
    ...['plugins/index/vectors.db', 'plugins/local/key.pem'],
  ]);
  t.deepEqual(await readdir(join(dataDir, 'backups')), [backup.file.split('/').at(-1) ?? '']);
  const restored = join(base, 'restored');
  await restoreBackup({ file: backup.file, identity: null, dataDir: restored, replace: false });
  t.is(await readFile(join(restored, 'audio/000000000001.log'), 'utf8'), 'sound');
  const index = openDatabase(join(restored, 'plugins/index/vectors.db'));
  t.like(index.prepare('select count(*) as rows from vectors').get(), { rows: 1 });
  index.close();
});

test('a restore replaces only the requested data, keeps the backups, and changes nothing if it fails', async t => {
  const { base, dataDir, backups } = await room(t);
  const { file } = await made(backups);
  await writeFile(join(dataDir, 'later'), 'x');
  const request = { file, identity: null, dataDir, replace: false };
  await t.throwsAsync(restoreBackup(request), { code: 'conflict', message: /is not empty: .* --replace/ });
  const broken = join(base, 'broken');
  await writeFile(broken, (await readFile(file)).subarray(0, -20));
  await t.throwsAsync(restoreBackup({ ...request, file: broken, replace: true }), { code: 'invalid_input' });
  t.true((await readdir(dataDir)).includes('later'));
  const { replaced } = await restoreBackup({ ...request, replace: true });
  t.deepEqual((await readdir(dataDir)).sort(), [
    'audio',
    'backups',
    'configuration',
    'earshot.db',
    'plugins',
  ]);
  t.true((await readdir(replaced ?? '')).includes('later'));
  t.deepEqual((await readdir(base)).length, 4, 'no draft is left');
});

test('copies that outlive a deleted account are listed', async t => {
  const { base, dataDir, backups, clock } = await room(t);
  t.deepEqual(await backups.remains(), []);
  await mkdir(join(dataDir, 'backups'));
  await writeFile(join(dataDir, 'backups/earshot-20260101-v3.db'), 'x');
  await mkdir(join(base, 'data.replaced-2026-01-01T000000'));
  t.deepEqual(await backups.remains(), [
    { what: 'copies of the database from before an update', until: null },
    { what: 'data that a restore has replaced', until: null },
  ]);
  await made(backups);
  const [whole] = await backups.remains();
  t.deepEqual(whole, { what: 'backups of the whole server', until: clock.at + 2 * DAY_MS });
});

test('an interrupted restore changes nothing, and drafts of killed ones are named', async t => {
  const { base, dataDir, backups } = await room(t);
  const { file } = await made(backups);
  const request = { file, identity: null, dataDir, replace: true };
  const before = await readdir(dataDir);
  const interrupted = new AbortController();
  const restoring = restoreBackup({ ...request, signal: interrupted.signal });
  const drafts = async () => (await readdir(base)).filter(name => name.startsWith('data.restoring-'));
  while ((await drafts()).length === 0) await new Promise(setImmediate);
  interrupted.abort(new AppError('unavailable', 'Interrupted'));
  await t.throwsAsync(restoring, { message: 'Interrupted' });
  t.deepEqual(await drafts(), []);
  t.deepEqual(await readdir(dataDir), before);
  await mkdir(join(base, 'data.restoring-0a1b2c3d'));
  const { abandoned } = await restoreBackup(request);
  t.deepEqual(abandoned, [join(base, 'data.restoring-0a1b2c3d')]);
  await t.throwsAsync(restoreBackup({ ...request, file: base }), {
    message: /is a directory: name the file/,
  });
});

test('a backup is made daily, the first a day after installation; old ones are deleted after a new one', async t => {
  const { settings, clock, state, backups } = await room(t);
  const count = async () =>
    (await readdir(settings.directory)).filter(name => name.startsWith('earshot-')).length;
  await backups.nightly();
  t.is(state.snapshots, 0);
  clock.at += DAY_MS;
  await backups.nightly();
  await backups.nightly(); // a restart
  t.deepEqual([state.snapshots, await count()], [1, 1]);
  for (let day = 0; day < 3; day++) {
    clock.at += DAY_MS;
    await backups.nightly();
  }
  t.deepEqual([state.snapshots, await count()], [4, 2]);
});

test('a failed backup is reported, leaves nothing behind, and no older one is deleted', async t => {
  const { settings, clock, state, backups } = await room(t);
  for (let day = 0; day < 3; day++) {
    clock.at += DAY_MS;
    await backups.nightly();
  }
  const before = await readdir(settings.directory);
  state.failure = new AppError('storage_full', 'No space left');
  clock.at += DAY_MS;
  await t.throwsAsync(backups.nightly(), { message: 'No space left' });
  t.deepEqual(await readdir(settings.directory), before);
  t.like((await backups.state()).failed, { at: clock.at, message: 'No space left' });
  state.failure = null;
  clock.at += HOUR_MS;
  await backups.nightly();
  t.is((await backups.state()).failed, null);
});

test('each month the newest is restored as a test, and damage is reported', async t => {
  const { settings, clock, backups } = await room(t);
  await backups.nightly();
  clock.at += DAY_MS;
  await backups.nightly();
  const { rehearsed, newest } = await backups.state();
  t.deepEqual(rehearsed, { at: clock.at, file: newest?.file ?? '', error: null });
  clock.at += 31 * DAY_MS;
  await made(backups);
  const { newest: later } = await backups.state();
  await writeFile(later?.file ?? '', 'damaged by time');
  await t.throwsAsync(backups.nightly(), { code: 'invalid_input' });
  t.regex((await backups.state()).rehearsed?.error ?? '', /not a backup of Earshot/);
  t.deepEqual(
    (await readdir(settings.directory)).filter(name => name.startsWith('.')),
    [],
  );
});

test('an encrypted backup is made for its recipients, and a program copies it elsewhere', async t => {
  const { recipient, identity } = await createKey();
  const elsewhere = await mkdtemp(join(tmpdir(), 'earshot-elsewhere-'));
  t.teardown(() => rm(elsewhere, { recursive: true }));
  const { clock, backups } = await room(t, { recipients: [recipient], command: ['cp', '{file}', elsewhere] });
  await backups.nightly();
  clock.at += DAY_MS;
  await backups.nightly();
  const [name = ''] = await readdir(elsewhere);
  t.regex(name, /\.tar\.zst\.age$/);
  t.like((await inspectBackup(join(elsewhere, name), identity)).rows, { users: 2 });
});

test('an encrypted one is restored for a trial each month before it gets its name, with a key that is then forgotten', async t => {
  const [{ recipient, identity }, stranger] = [await createKey(), await createKey()];
  const { settings, clock, state, backups } = await room(t, { recipients: [recipient] });
  const rehearsedAt = async () => (await backups.state()).rehearsed?.at;
  await backups.nightly();
  clock.at += DAY_MS;
  await backups.nightly();
  const first = clock.at;
  const { rehearsed, newest } = await backups.state();
  t.deepEqual(rehearsed, { at: first, file: newest?.file ?? '', error: null });
  await t.throwsAsync(inspectBackup(newest?.file ?? '', stranger.identity), { code: 'invalid_input' });
  t.is((await readFile(newest?.file ?? '', 'latin1')).match(/-> X25519/g)?.length, 2);
  clock.at += DAY_MS;
  await backups.nightly();
  t.is(await rehearsedAt(), first, 'once a month');
  clock.at += 31 * DAY_MS;
  state.rowsTold = 3; // as where the database on the disk is not what was read of it
  await t.throwsAsync(backups.nightly(), { code: 'invalid_input', message: /database in the backup/ });
  const after = await backups.state();
  t.regex(after.failed?.message ?? '', /database in the backup/);
  t.is(after.newest?.createdAt, first + DAY_MS, 'a bad one gets no name');
  state.rowsTold = 2;
  await backups.nightly();
  t.is(await rehearsedAt(), clock.at);
  t.like((await inspectBackup((await backups.state()).newest?.file ?? '', identity)).rows, { users: 2 });
  t.deepEqual(
    (await readdir(settings.directory)).filter(each => each.startsWith('.')),
    [],
  );
});

test('a program that fails is told with what it said', async t => {
  const { clock, backups } = await room(t, { command: ['ls', '/nowhere'] });
  await backups.nightly();
  clock.at += DAY_MS;
  await t.throwsAsync(backups.nightly(), { message: /backup\.command: ls ended with 2: .*\/nowhere/ });
  t.truthy((await backups.state()).newest);
  const other = await room(t, { command: ['no-such-program'] });
  await other.backups.nightly();
  other.clock.at += DAY_MS;
  await t.throwsAsync(other.backups.nightly(), { message: /no-such-program cannot be run: ENOENT/ });
});

test('a stop ends a running backup, and none is made if they are disabled', async t => {
  const { backups, settings } = await room(t);
  backups.begin(null);
  await backups.stop();
  t.is(backups.progress().backup, null);
  t.deepEqual(await readdir(settings.directory), []);
  const off = await room(t, { enabled: false });
  off.clock.at += 2 * DAY_MS;
  await off.backups.nightly();
  t.is(off.state.snapshots, 0);
});
