import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { type BackupSettings, createBackups } from '../../../core/backup/backups.ts';
import { nameOf } from '../../../core/backup/names.ts';
import { placeAt } from '../../../core/backup/places.ts';
import { openProgram } from '../../../core/backup/program.ts';
import { openBucket, type S3Settings } from '../../../core/backup/s3.ts';
import { command } from '../../helpers/cli.ts';
import { ACCESS_KEY, s3Server, signatureOf } from '../../helpers/s3-server.ts';
import { openDatabase } from '../../helpers/sqlite.ts';

const DAY_MS = 24 * 3_600_000;
const never = new AbortController().signal;
const NAME = nameOf(Date.UTC(2026, 0, 1), false);

async function temporary(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-places-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

async function fileOf(t: ExecutionContext, content: string | Buffer, name = NAME): Promise<string> {
  const file = join(await temporary(t), name);
  await writeFile(file, content);
  return file;
}

async function bucket(t: ExecutionContext, changes: Partial<S3Settings> = {}) {
  const storage = await s3Server(t);
  const { endpoint } = storage;
  const settings = {
    endpoint,
    region: 'us-east-1',
    bucket: 'backups',
    prefix: 'home',
    pathStyle: true,
    ...ACCESS_KEY,
  };
  return { storage, settings, place: openBucket({ ...settings, ...changes }, [0, 0]) };
}

/** Daily backups of a small data directory, on a clock that the test moves. */
async function daily(t: ExecutionContext, changes: Partial<BackupSettings>) {
  const dataDir = await temporary(t);
  await writeFile(join(dataDir, 'server.json'), '{}');
  const clock = { at: Date.UTC(2026, 0, 1), now: () => clock.at };
  const settings: BackupSettings = {
    ...{ enabled: true, directory: join(dataDir, 'backups'), recipients: [] },
    ...{ command: [], listCommand: [], removeCommand: [], readCommand: [] },
    s3: { region: 'us-east-1', prefix: '', pathStyle: true },
    keep: { daily: 2, weekly: 0, monthly: 0 },
    ...changes,
  };
  const backups = createBackups({
    ...{ dataDir, configFile: null, settings, log: pino({ level: 'silent' }) },
    clock: { ...clock, now: clock.now, sleep: async () => {} },
    storage: {
      async snapshot(target) {
        const database = openDatabase(target);
        database.exec('create table users (id text)');
        database.close();
        return { users: 0 };
      },
    },
  });
  await backups.nightly();
  const nextDay = () => {
    clock.at += DAY_MS;
    return backups.nightly();
  };
  return { backups, clock, settings, nextDay };
}

test("the test's storage checks signatures as in Amazon's published example", t => {
  const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
  const headers = {
    host: 'examplebucket.s3.amazonaws.com',
    range: 'bytes=0-9',
    'x-amz-content-sha256': empty,
    'x-amz-date': '20130524T000000Z',
  };
  const request = { method: 'GET', path: '/test.txt', query: new URLSearchParams(), headers, body: empty };
  const signed = Object.keys(headers).join(';');
  const secret = ACCESS_KEY.secretAccessKey;
  t.is(
    signatureOf(request, { signed, date: '20130524T000000Z', region: 'us-east-1', secret }),
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  );
});

test('a bucket on an S3 server stores a backup of several parts, and returns it', async t => {
  const { storage, place } = await bucket(t);
  const content = randomBytes(17 * 1024 * 1024);
  await place.store(await fileOf(t, content), never);
  t.true(storage.objects.get(`home/${NAME}`)?.body.equals(content));
  t.is(storage.seen.filter(({ method }) => method === 'PUT').length, 2);
  t.is(storage.uploads.size, 0);
  const stored = await place.read?.(NAME, never);
  t.true(stored && (await buffer(stored)).equals(content));
  t.deepEqual(await place.list?.(never), [
    { name: NAME, createdAt: Date.UTC(2026, 0, 1), bytes: content.length },
  ]);
  await place.remove?.(NAME, never);
  t.deepEqual(await place.list?.(never), []);
});

test('uploads of a killed server are aborted, and lists of many pages are read completely', async t => {
  const { storage, place } = await bucket(t);
  for (let day = 1; day <= 5; day++) {
    const name = nameOf(Date.UTC(2025, 0, day), false);
    storage.uploads.set(`left-${day}`, { key: `home/${name}`, parts: new Map() });
    storage.objects.set(`home/${name}`, { body: Buffer.from('x'), etag: '' });
  }
  storage.uploads.set('foreign', { key: 'home/earshot-notes.txt', parts: new Map() });
  storage.objects.set('home/earshot-notes.txt', { body: Buffer.from('x'), etag: '' });
  await place.store(await fileOf(t, 'content'), never);
  t.deepEqual([...storage.uploads.keys()], ['foreign']);
  t.is((await place.list?.(never))?.length, 6);
});

test('busy storage is retried; a corrupt copy is detected, removed and reported', async t => {
  const file = await fileOf(t, 'content');
  const { storage, place } = await bucket(t);
  let refusals = 0;
  storage.faults.refuse = ({ method }) =>
    method === 'PUT' && refusals++ < 2 ? { status: 503, code: 'SlowDown' } : null;
  await place.store(file, never);
  t.is(storage.objects.size, 1);
  storage.objects.clear();

  storage.faults.spoil = true;
  await t.throwsAsync(place.store(file, never), { message: /stored .* with a different content/ });
  storage.faults.hidesMd5 = true;
  await t.throwsAsync(place.store(file, never), { message: /stored .* with a different content/ });
  t.is(storage.objects.size, 0, 'nothing bad stays');
  storage.faults.spoil = false;
  await place.store(file, never); // read back, because there is no checksum
  storage.objects.clear();

  storage.faults.completesBadly = true;
  await t.throwsAsync(place.store(file, never), { message: /s3:\/\/backups\/home: InternalError/ });
  storage.faults.completesBadly = false;
  storage.faults.refuse = ({ method }) => (method === 'PUT' ? { status: 503, code: 'SlowDown' } : null);
  await t.throwsAsync(place.store(file, never), { message: /answered HTTP 503, SlowDown/ });
  t.deepEqual([storage.objects.size, storage.uploads.size], [0, 0]);
});

const REFUSED: [string, Partial<S3Settings>, RegExp][] = [
  [
    'a wrong secret',
    { secretAccessKey: 'wrong' },
    /HTTP 403, SignatureDoesNotMatch: check backup\.s3\.secretAccessKey/,
  ],
  ['an unknown key', { accessKeyId: 'nobody' }, /InvalidAccessKeyId: check backup\.s3\.accessKeyId/],
  ['another region', { region: 'moon-1' }, /AuthorizationHeaderMalformed: check backup\.s3\.region/],
  [
    'no such bucket',
    { bucket: 'other' },
    /s3:\/\/other\/home answered HTTP 404, NoSuchBucket: create the bucket/,
  ],
  ['nobody listening', { endpoint: 'http://127.0.0.1:1' }, /s3:\/\/backups\/home cannot be reached: /],
];
for (const [what, changes, message] of REFUSED) {
  test(`storage with ${what} is reported with instructions, and without the secret`, async t => {
    const { place } = await bucket(t, changes);
    const error = await t.throwsAsync(place.store(await fileOf(t, 'content'), never), { message });
    t.notRegex(`${error?.message} ${error?.stack}`, /wJalrXUtnFEMI|wrong/);
  });
}

test('each daily backup is copied once, old copies follow the same rules, and failures are reported until one succeeds', async t => {
  const { storage, settings: s3 } = await bucket(t);
  const { backups, nextDay } = await daily(t, { s3 });
  await nextDay();
  await backups.nightly(); // a restart
  const stored = () => [...storage.objects.keys()].sort();
  t.deepEqual(stored(), ['home/earshot-2026-01-02T000000Z.tar.zst']);
  const puts = () => storage.seen.filter(({ method }) => method === 'PUT').length;
  t.is(puts(), 1);
  await nextDay();
  storage.faults.refuse = () => ({ status: 403, code: 'AccessDenied' });
  await t.throwsAsync(nextDay(), { message: /s3:\/\/backups\/home answered HTTP 403, AccessDenied/ });
  t.regex((await backups.state()).failed?.message ?? '', /AccessDenied/);
  t.regex((await backups.state()).copies[0]?.error ?? '', /AccessDenied/);
  delete storage.faults.refuse;
  await backups.nightly();
  const state = await backups.state();
  t.is(state.failed, null);
  t.like(state.copies[0], {
    place: 's3://backups/home',
    name: 'earshot-2026-01-04T000000Z.tar.zst',
    error: null,
  });
  t.deepEqual(stored(), [
    'home/earshot-2026-01-03T000000Z.tar.zst',
    'home/earshot-2026-01-04T000000Z.tar.zst',
  ]);
  t.regex((await backups.remains())[1]?.what ?? '', /copies of these backups in s3:\/\/backups\/home/);
});

test('each month a copy is read back, and a corrupt one is reported', async t => {
  const { storage, settings: s3 } = await bucket(t);
  const { backups, clock, nextDay } = await daily(t, { s3 });
  await nextDay();
  const first = clock.at;
  storage.faults.decayed = true;
  await nextDay();
  t.like((await backups.state()).copies[0], { readAt: first, error: null });
  clock.at += 29 * DAY_MS;
  await t.throwsAsync(nextDay(), { message: /the copy of earshot-.* has another content than the backup/ });
  storage.faults.decayed = false;
  await backups.nightly();
  t.like((await backups.state()).copies[0], { readAt: clock.at, error: null });
});

/** Programs that keep backups in a folder, as `rclone rcat`, `lsf`, `deletefile` and `cat` do. */
const programsOf = (folder: string) => ({
  command: ['sh', '-c', `cat > '${folder}/{name}'`],
  listCommand: ['ls', folder],
  removeCommand: ['rm', `${folder}/{name}`],
  readCommand: ['cat', `${folder}/{name}`],
});

test('a program gets each backup at its standard input, is listed, and old ones are deleted by another', async t => {
  const folder = await temporary(t);
  const { backups, settings, nextDay } = await daily(t, programsOf(folder));
  for (let day = 0; day < 3; day++) await nextDay();
  const kept = (await readdir(folder)).sort();
  t.deepEqual(kept, ['earshot-2026-01-03T000000Z.tar.zst', 'earshot-2026-01-04T000000Z.tar.zst']);
  const { newest } = await backups.state();
  t.true((await readFile(join(folder, kept[1] ?? ''))).equals(await readFile(newest?.file ?? '')));
  const { place, name } = placeAt(`command:${kept[0]}`, settings);
  t.is(name, kept[0] ?? '');
  t.is(place.name, 'command:sh');
});

const FAILING: [string, (folder: string) => Record<string, string[]>, RegExp][] = [
  [
    'fails',
    () => ({ command: ['sh', '-c', 'echo no room >&2; exit 3'] }),
    /backup\.command: sh ended with 3: no room/,
  ],
  [
    'does not exist',
    () => ({ command: ['no-such-program'] }),
    /backup\.command: no-such-program cannot be run: ENOENT/,
  ],
  [
    'ends before it has read everything',
    () => ({ command: ['true'] }),
    /true ended before it had read the whole/,
  ],
  [
    'does not list what it took',
    () => ({ listCommand: ['true'] }),
    /backup\.listCommand: does not list earshot-/,
  ],
  [
    'has kept something else',
    folder => ({ command: ['sh', '-c', `cat >/dev/null; echo x > '${folder}/{name}'`] }),
    /printed another content/,
  ],
  [
    'breaks off while it reads',
    folder => ({ readCommand: ['sh', '-c', `cat '${folder}/{name}'; exit 1`] }),
    /backup\.readCommand: sh ended with 1/,
  ],
];
for (const [what, changes, message] of FAILING) {
  test(`a program that ${what} is reported`, async t => {
    const folder = await temporary(t);
    const place = openProgram({ ...programsOf(folder), ...changes(folder) });
    await t.throwsAsync(place?.store(await fileOf(t, randomBytes(1024 * 1024)), never) ?? Promise.resolve(), {
      message,
    });
  });
}

test('an unknown or unconfigured place is rejected by name', t => {
  const settings = {
    ...programsOf('/tmp'),
    command: [],
    s3: { region: 'us-east-1', prefix: '', pathStyle: true },
  };
  t.throws(() => placeAt('s3://my-backups/a', settings), { message: /EARSHOT_BACKUP__S3__ENDPOINT/ });
  t.throws(() => placeAt('s3://A/b', settings), { message: /s3:\/\/A\/b is not the address of a bucket/ });
  t.throws(() => placeAt('ftp://host/b', settings), {
    message: /ftp:\/\/host\/b is not the address of a bucket/,
  });
  t.throws(() => placeAt('command:', settings), { message: /needs backup\.command/ });
});

test('on the command line a backup goes to a bucket, is listed there, and comes back from there', async t => {
  const storage = await s3Server(t);
  const base = await temporary(t);
  const dataDir = join(base, 'data');
  await mkdir(join(dataDir, 'audio'), { recursive: true });
  const { endpoint } = storage;
  const file = join(base, 'secret');
  await writeFile(file, ACCESS_KEY.secretAccessKey);
  const env = {
    EARSHOT_BACKUP__S3__ENDPOINT: endpoint,
    EARSHOT_BACKUP__S3__ACCESS_KEY_ID: ACCESS_KEY.accessKeyId,
    EARSHOT_BACKUP__S3__SECRET_ACCESS_KEY_FILE: file,
  };
  const run = async (...args: string[]) => {
    const ran = await command(['--data-dir', dataDir, ...args], env);
    t.is(ran.code, 0, ran.stderr);
    t.notRegex(ran.stdout + ran.stderr, /wJalrXUtnFEMI/);
    return ran.stdout;
  };
  await run('user', 'add', 'ada');
  const made = JSON.parse(await run('backup', '--to', 's3://backups/home', '--json'));
  t.regex(made.file, /^s3:\/\/backups\/home\/earshot-.*\.tar\.zst$/);
  t.deepEqual(await readdir(join(dataDir, 'backups')), [], 'nothing stays here');
  const listed = JSON.parse(await run('backup', 'list', '--from', 's3://backups/home', '--json'));
  t.is(listed.backups.length, 1);
  await rm(dataDir, { recursive: true });
  t.regex(await run('restore', 's3://backups/home', '--dry-run'), /users +1/);
  await run('restore', made.file);
  t.regex(await run('user', 'list'), /ada/);
  t.deepEqual((await readdir(base)).sort(), ['data', 'secret'], 'nothing of the way is left');
});
