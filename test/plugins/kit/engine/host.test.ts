import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { Clock } from '../../../../core/contract/model.ts';
import type { Utterance } from '../../../../core/contract/plugin.ts';
import { type EngineSettings, startEngine } from '../../../../plugins/kit/engine/host.ts';
import { growingUtterance, utteranceOf } from '../../../../plugins/kit/suites/stt.ts';
import { eventually } from '../../../helpers/eventually.ts';
import { manualClock } from '../../../helpers/manual-clock.ts';
import { contextOf, pidOf } from '../../stt/context.ts';
import { sounds, writeToneModel } from '../../stt/tone-model.ts';

const never = new AbortController().signal;

/** sherpa-onnx with the tiny model, straight on the host. */
async function engine(t: ExecutionContext, settings: Partial<EngineSettings> = {}, clock?: Clock) {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-engine-'));
  await writeToneModel(directory);
  const { context, logged, failed, stop } = contextOf(clock);
  t.teardown(async () => {
    await stop();
    await rm(directory, { recursive: true });
  });
  const files = { model: join(directory, 'tones.onnx'), tokens: join(directory, 'tokens.txt') };
  const started = startEngine(
    {
      name: 'tones',
      entry: new URL('../../../../plugins/kit/sherpa/sherpa-main.ts', import.meta.url),
      options: {
        kind: 'zipformer2-ctc',
        files,
        numThreads: 1,
        hotwords: false,
        punctuation: null,
        language: 'en',
      },
      loadMs: 60_000,
      silentMs: 20_000,
      remedy: 'try again',
      ...settings,
    },
    context,
  );
  return { ...started, logged, failed, stop };
}

async function textOf(pieces: AsyncIterable<{ text: string }>): Promise<string> {
  const texts: string[] = [];
  for await (const { text } of pieces) texts.push(text);
  return texts.join(' ');
}

test('a process that hangs is killed, and the next utterance is recognised by another', async t => {
  const clock = manualClock();
  const silentMs = 20_000;
  const { logged, open, started } = await engine(t, { silentMs }, clock);
  await started();
  const session = await open({ language: 'en', signal: never });
  const hung = pidOf(logged);
  process.kill(hung, 'SIGSTOP');
  const answer = textOf(session.transcribe(growingUtterance(0).utterance, never));
  const lost = answer.catch(() => 'lost');
  // It may have answered the first question before it stood still; a later one it does not.
  while ((await Promise.race([clock.asleep(silentMs), lost])) !== 'lost') clock.advance(silentMs);
  await t.throwsAsync(answer, { code: 'timeout', message: /did not answer for 20000 ms/ });
  await clock.asleep(100);
  clock.advance(100);
  t.is(await textOf(session.transcribe(utteranceOf(sounds('low high'), 0), never)), 'low high');
  t.not(pidOf(logged), hung);
});

test('a model that does not load in time fails, and its process ends', async t => {
  const entry = new URL('./silent-main.ts', import.meta.url);
  const { started } = await engine(t, { entry, loadMs: 100 });
  await t.throwsAsync(started(), { code: 'timeout', message: /did not load its model within 100 ms/ });
});

test('an engine that dies again and again is given up, and everybody is told', async t => {
  const { failed, logged, open, started } = await engine(t, { maxCrashes: 2 });
  await started();
  const session = await open({ language: 'en', signal: never });
  for (const round of [1, 2]) {
    const growing = growingUtterance(0);
    growing.push(sounds('low'));
    const answer = textOf(session.transcribe(growing.utterance, never));
    await Promise.race([growing.read, answer]);
    process.kill(pidOf(logged), 'SIGKILL');
    await t.throwsAsync(answer, { code: 'upstream_error', message: /ended with SIGKILL$/ }, `round ${round}`);
  }
  t.regex((await failed).message, /ended with SIGKILL/);
  await t.throwsAsync(session.failed, { code: 'upstream_error' });
  await t.throwsAsync(open({ language: 'en', signal: never }), { code: 'upstream_error' });
  t.deepEqual(
    logged.filter(({ level }) => level === 'warn').map(({ message }) => message),
    ['tones: lost its process, starting it again'],
  );
});

test('a process that stands still is sent about a second of audio and no more', async t => {
  const { logged, open, started, stop } = await engine(t);
  await started();
  const session = await open({ language: 'en', signal: never });
  process.kill(pidOf(logged), 'SIGSTOP');
  let read = 0;
  const utterance: Utterance = {
    ...utteranceOf(new Int16Array(0), 0),
    async *pcm() {
      for (; read < 1500; read++) yield new Int16Array(320);
    },
  };
  const answer = textOf(session.transcribe(utterance, never));
  for (let turns = 0; turns < 2000; turns++) await turn();
  t.true(read >= 50 && read <= 60, `${read} chunks of 20 ms`);
  await stop();
  await t.throwsAsync(answer, { code: 'upstream_error' });
});

test('a stopped engine refuses, and leaves no process', async t => {
  const { logged, open, started, stop } = await engine(t);
  await started();
  const session = await open({ language: 'en', signal: never });
  await stop();
  t.throws(() => process.kill(pidOf(logged), 0), { code: 'ESRCH' });
  await t.throwsAsync(textOf(session.transcribe(utteranceOf(sounds('low'), 0), never)), {
    code: 'upstream_error',
    message: /is stopped/,
  });
});

test('the process ends when the one that started it is killed', async t => {
  const parent = spawn(process.execPath, [join(import.meta.dirname, 'parent-main.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => parent.kill('SIGKILL'));
  const [line] = await once(parent.stdout, 'data');
  const pid = Number.parseInt(String(line), 10);
  t.true(pid > 0, String(line));
  parent.kill('SIGKILL');
  // Nobody tells us of a grandchild's end.
  await eventually(() => !isRunning(pid));
  t.false(isRunning(pid));
});

/** One that has ended stays listed, as a zombie, where nobody asks for its status: some containers' first process. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}
