import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createLog } from '../../../core/runtime/log.ts';
import { createLogFile } from '../../../core/runtime/log-file.ts';
import { eventually } from '../../helpers/eventually.ts';
import { reportSkipped } from '../../helpers/skips.ts';
import { HOW_TO_GET_A_DISK, mountSmallDisk } from '../../helpers/small-disk.ts';

const ROOT = join(import.meta.dirname, '../../..');
const KiB = 1024;

async function directory(t: ExecutionContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-log-file-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** A log to a file, and the lines on standard error. */
function logTo(path: string, maxBytes = 4 * KiB, keep = 3) {
  const elsewhere: string[] = [];
  const file = createLogFile({
    ...{ path, maxBytes, keep, retryMs: 0 },
    fallback: { write: line => void elsewhere.push(line) },
  });
  return { file, log: createLog({ level: 'info', format: 'json' }, file), elsewhere };
}

const numbersIn = (text: string): number[] =>
  text.split('\n').flatMap(line => (line === '' ? [] : [JSON.parse(line).number ?? -1]));

test('a full log file is rotated, the configured number is kept, and no line of theirs is lost', async t => {
  const dir = await directory(t);
  const path = join(dir, 'made/earshot.log');
  const { file, log, elsewhere } = logTo(path);
  for (let number = 0; number < 200; number += 1) log.info({ number }, 'x'.repeat(100));
  await file.close();
  t.deepEqual((await readdir(join(dir, 'made'))).sort(), [
    'earshot.log',
    'earshot.log.1',
    'earshot.log.2',
    'earshot.log.3',
  ]);
  const texts: string[] = [];
  for (const name of [`${path}.3`, `${path}.2`, `${path}.1`, path]) {
    const { size, mode } = await stat(name);
    t.true(size < 5 * KiB, `${name}: ${size}`);
    t.is(mode & 0o777, 0o600);
    texts.push(await readFile(name, 'utf8'));
  }
  const numbers = numbersIn(texts.join(''));
  t.true(numbers.length > 60 && numbers.length < 200);
  t.deepEqual(
    numbers,
    Array.from(numbers, (_, index) => 200 - numbers.length + index),
  );
  t.deepEqual(elsewhere, []);

  const again = logTo(path);
  again.log.info({ number: 200 }, 'after a restart');
  await again.file.close();
  t.is(numbersIn(await readFile(path, 'utf8')).at(-1), 200);
});

test('while a log file cannot be opened or renamed, its lines go to standard error', async t => {
  const dir = await directory(t);
  await writeFile(join(dir, 'blocked'), 'a file where the directory would be');
  const path = join(dir, 'blocked/earshot.log');
  const { file, log, elsewhere } = logTo(path);
  log.info({ number: 1 }, 'first');
  await eventually(() => elsewhere.length >= 2);
  t.regex(elsewhere[0] ?? '', /"reason":"E(NOTDIR|EXIST)[^"]*".*cannot be written/);
  t.deepEqual(numbersIn(elsewhere[1] ?? ''), [1]);

  await rm(join(dir, 'blocked'));
  await eventually(async () => {
    log.info({ number: 2 }, 'again');
    return (await readFile(path, 'utf8').catch(() => '')).includes('again');
  });

  await mkdir(`${path}.1/occupied`, { recursive: true }); // nothing can be renamed to it
  await mkdir(`${path}.2/occupied`, { recursive: true });
  await mkdir(`${path}.3/occupied`, { recursive: true });
  const before = elsewhere.length;
  for (let number = 10; number < 60; number += 1) log.info({ number }, 'x'.repeat(200));
  await eventually(() => elsewhere.length > before);
  for (const number of [1, 2, 3]) await rm(`${path}.${number}`, { recursive: true });
  await eventually(async () => {
    log.info({ number: 60 }, 'mended');
    return (await readFile(path, 'utf8').catch(() => '')).includes('mended');
  });
  const rotated = await readFile(`${path}.1`, 'utf8');
  const seen = new Set(numbersIn([rotated, await readFile(path, 'utf8'), elsewhere.join('')].join('')));
  for (let number = 10; number <= 60; number += 1) t.true(seen.has(number), `${number}`);
  await file.close();
});

test('a log file on a full disk loses at most the line that fills it, and continues when there is space', async t => {
  const disk = mountSmallDisk(256 * KiB);
  if (!disk) return reportSkipped(t, 'disk', 'a log file on a full disk', HOW_TO_GET_A_DISK);
  t.teardown(disk.unmount);
  const path = join(disk.dir, 'earshot.log');
  const { file, log, elsewhere } = logTo(path, 64 * KiB);
  log.info({ number: 0 }, 'there is room');
  await eventually(async () => (await readFile(path, 'utf8').catch(() => '')).includes('room'));
  await disk.fill();
  for (const number of [1, 2, 3]) log.info({ number }, 'y'.repeat(5000)); // the file's last page has room for part of one
  await eventually(() => elsewhere.some(line => line.includes('"number":3')));
  t.regex(elsewhere[0] ?? '', /ENOSPC/);
  t.deepEqual(numbersIn(elsewhere.slice(1).join('')).slice(-2), [2, 3]);
  await disk.empty();
  await eventually(async () => {
    log.info({ number: 2 }, 'room again');
    return (await readFile(path, 'utf8')).includes('room again');
  });
  await file.close();
});

test('the server logs to the file to its last line, also if it cannot start', async t => {
  const dir = await directory(t);
  const path = join(dir, 'logs/earshot.log');
  const start = (env: Record<string, string> = {}) =>
    spawn(process.execPath, [join(ROOT, 'core/main.ts')], {
      cwd: dir,
      env: {
        PATH: process.env.PATH,
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
        ...{ EARSHOT_PORT: '0', EARSHOT_STT: '[]', EARSHOT_LOG__FILE: 'logs/earshot.log' },
        ...env,
      },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
  const server = start();
  t.teardown(() => server.kill('SIGKILL'));
  let errors = '';
  server.stderr?.on('data', text => {
    errors += text;
  });
  await once(server, 'message');
  server.kill('SIGTERM');
  await once(server, 'close');
  const text = await readFile(path, 'utf8');
  t.regex(text, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|^\[\d{4}-\d\d-\d\d/, 'lines for people have the day');
  t.regex(text, /first account made/);
  t.regex(text.trim().split('\n').at(-1) ?? '', /stopping/);
  t.false(text.includes('\u001b'), 'without colours');
  t.notRegex(errors, /first account made/);

  const blocked = start({ EARSHOT_LOG__FILE: '/dev/null/earshot.log' });
  t.teardown(() => blocked.kill('SIGKILL'));
  errors = '';
  blocked.stderr?.on('data', data => {
    errors += data;
  });
  await once(blocked, 'message');
  await eventually(() => /log file cannot be written/.test(errors));
  blocked.kill('SIGTERM');
  const [code] = await once(blocked, 'close');
  t.is(code, 0);
  t.regex(errors, /stopping/);
});
