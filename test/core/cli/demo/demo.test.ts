import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { encodeWav, parseWav } from '../../../../core/audio/pcm.ts';
import { earshot, startEarshot } from '../../../helpers/cli.ts';
import { eventually } from '../../../helpers/eventually.ts';
import { isThorough } from '../../../helpers/thorough.ts';

const FIXTURE = join(import.meta.dirname, '../../../fixtures/tomorrow.wav');

/** A directory for temporary files, which must be empty in the end. */
async function tempDir(t: ExecutionContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-demo-test-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** The first seconds of the recording, to save time. */
async function shortRecording(dir: string, { silent = false } = {}): Promise<string> {
  const { samples, sampleRate } = parseWav(await readFile(FIXTURE));
  const short = samples.slice(0, 2.5 * sampleRate);
  const file = join(dir, 'short.wav');
  await writeFile(file, encodeWav(silent ? short.fill(0) : short, sampleRate));
  return file;
}

/** Each plays a whole demo. */
function testLong(title: string, run: (t: ExecutionContext) => Promise<void>): void {
  if (isThorough) test(title, run);
}

test('demo --exit --json reports every event, ends with the whole conversation, and leaves nothing', async t => {
  const temp = await tempDir(t);
  const { code, stdout, stderr } = await earshot(['demo', '--exit', '--json'], { TMPDIR: temp });
  t.is(code, 0, stderr);
  t.is(stderr, '');
  const events = stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line));
  const names = events.map(({ event }) => event);
  for (const name of ['listening', 'radio', 'device', 'segments', 'memory_created'])
    t.true(names.includes(name), name);
  t.is(names.filter(name => name === 'conversation').length, 1);
  t.is(names.at(-1), 'conversation');
  const { conversation } = events.at(-1);
  t.is(conversation.status, 'completed');
  t.not(conversation.structured.title, '');
  const text = conversation.transcript_segments.map((segment: { text: string }) => segment.text).join(' ');
  t.regex(text, /Good morning.*doctor tomorrow.*bread and milk/);
  t.deepEqual(await readdir(temp), []);
});

test('demo prints a story, keeps running for a look around, and ends at Ctrl-C', async t => {
  const temp = await tempDir(t);
  const audio = await shortRecording(await tempDir(t));
  const demo = startEarshot(['demo', '--audio', audio], { TMPDIR: temp });
  t.teardown(() => demo.kill());
  const exited = once(demo, 'exit');
  const lines: string[] = [];
  for await (const line of createInterface({ input: demo.stdout ?? t.fail() })) {
    lines.push(line);
    if (line.includes('Ctrl-C')) break;
  }
  const story = lines.join('\n');
  t.regex(story, /listens on http.*wearables\..*"Omi".*plays short\.wav.*0:00 {2}SPEAKER_00 {2}\w+/s);
  t.regex(story, /conversation has ended.*Speaker 0: \w+/s);
  const key = /KEY=(omi_dev_\w+)/.exec(story)?.[1];
  const urls = [...story.matchAll(/curl .* '(http[^']+)'/g)].map(([, url = '']) => url);
  t.is(urls.length, 2);
  for (const url of urls) {
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
    t.is(response.status, 200);
  }
  demo.kill('SIGINT');
  t.deepEqual(await exited, [0, null]);
  t.deepEqual(await readdir(temp), []);
});

test('demo reports that no recogniser is ready, and how to install one', async t => {
  const temp = await tempDir(t);
  const { code, stdout, stderr } = await earshot(['demo', '--exit'], { TMPDIR: temp, EARSHOT_STT: '[]' });
  t.is(code, 1);
  t.is(stdout, '');
  t.regex(stderr, /^error: no speech recogniser is ready [^\n]+\n$/);
  t.deepEqual(await readdir(temp), []);
});

testLong('demo --exit gives up if nothing is recognised', async t => {
  const temp = await tempDir(t);
  const audio = await shortRecording(await tempDir(t), { silent: true });
  const { code, stderr } = await earshot(['demo', '--exit', '--limit', '2', '--audio', audio], {
    TMPDIR: temp,
  });
  t.is(code, 1);
  t.regex(stderr, /^error: no conversation was finished within \d+ s\n$/);
  t.deepEqual(await readdir(temp), []);
});

test('demo names a recording that it cannot play', async t => {
  const { code, stderr } = await earshot(['demo', '--audio', import.meta.filename]);
  t.is(code, 1);
  t.regex(stderr, /^error: .*demo\.test\.ts: .*no WAV.*\n$/);
});

test('the processes of the demo end with it, even when it is killed', async t => {
  const demo = startEarshot(['demo', '--json'], { TMPDIR: await tempDir(t) });
  t.teardown(() => demo.kill());
  for await (const line of createInterface({ input: demo.stdout ?? t.fail() })) {
    if (JSON.parse(line).event === 'device') break;
  }
  const children = await childrenOf(demo.pid ?? t.fail());
  t.is(children.length, 2);
  demo.kill('SIGKILL');
  await Promise.all(children.map(gone));
  t.false(children.some(isAlive));
});

async function childrenOf(pid: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=']);
  const rows = stdout
    .trim()
    .split('\n')
    .map(row => row.trim().split(/\s+/).map(Number));
  return rows.flatMap(([child, parent]) => (child && parent === pid ? [child] : []));
}

async function gone(pid: number): Promise<void> {
  await eventually(() => !isAlive(pid));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
