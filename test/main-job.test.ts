import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { pino } from 'pino';
import { createClock } from '../bridge/clock.ts';
import type { BridgeEvent } from '../bridge/events.ts';
import { startBridge } from '../bridge/main.ts';
import { ConfigSchema } from '../config/schema.ts';
import { samplesToBytes } from '../core/audio/pcm.ts';
import sentences from './fixtures/sentences.json' with { type: 'json' };
import { eventually } from './helpers/eventually.ts';
import { connectListen } from './helpers/listen-client.ts';
import { buildServer, type TestServer } from './helpers/services.ts';
import { join as joined, silence, speech } from './helpers/sound.ts';
import { isThorough } from './helpers/thorough.ts';
import { wordErrorRate } from './helpers/word-error-rate.ts';

const test = anyTest as TestFn<{ server: TestServer }>;

/** More is expected of the bundled recording than of other sentences of the same synthetic voices. */
const BUNDLED = 'tomorrow';
const MAX_WER = { bundled: 0.15, other: 0.25 };
/** Faster than real time, as five recordings in real time would take a minute. */
const SPEED = 4;

test.before(async t => {
  t.context.server = await buildServer({ stt: ['pocketsphinx'] });
});
test.after.always(t => t.context.server?.stop());

async function tempDir(t: ExecutionContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-bridge-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

const recordingOf = (name: string) =>
  join(import.meta.dirname, name === BUNDLED ? '../bridge/simulator/recording.wav' : `fixtures/${name}.wav`);

/** Plays a recording through a simulated pendant and the bridge; resolves to the id of the conversation. */
async function wear(t: ExecutionContext, server: TestServer, name: string): Promise<string> {
  const created = Promise.withResolvers<string>();
  const bridge = await startBridge({
    config: ConfigSchema.parse({
      dataDir: await tempDir(t),
      bridge: { core: server.url.replace('http', 'ws'), key: server.key, conversationTimeoutS: 4 },
    }),
    log: pino({ level: 'silent' }),
    clock: createClock(Date.now),
    simulate: { audio: recordingOf(name), speed: SPEED },
    onEvent(event: BridgeEvent) {
      if (event.event === 'memory_created') created.resolve(event.memory.id);
    },
  });
  try {
    return await created.promise;
  } finally {
    await bridge.stop();
  }
}

for (const [name, { text }] of Object.entries(sentences)) {
  if (!isThorough && name !== BUNDLED) continue; // `npm run quality` measures more speech
  const limit = name === BUNDLED ? MAX_WER.bundled : MAX_WER.other;
  test.serial(
    `"${name}" travels from a pendant's packets into the database with at most ${limit * 100} % of words wrong`,
    async t => {
      const { server } = t.context;
      const id = await wear(t, server, name);
      const { body } = await server.get(`/v1/dev/user/conversations/${id}?include_transcript=true`);
      const conversation = body as { structured: { title: string }; transcript_segments: { text: string }[] };
      const heard = conversation.transcript_segments.map(segment => segment.text).join(' ');
      const wer = wordErrorRate(text, heard);
      t.log(`${(wer * 100).toFixed(0)} %: ${heard}`);
      t.true(wer <= limit, `${(wer * 100).toFixed(0)} % of words wrong: ${heard}`);
      t.not(conversation.structured.title, '');
    },
  );
}

/** Ticks of 10 ms each. */
const BUSY_TICKS = 5;

/** Processor time that a process has used, in ticks. */
async function ticksOf(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return Number(fields[11]) + Number(fields[12]);
}

/** Our own recogniser's process. */
async function recogniserPid(): Promise<number> {
  for (const entry of await readdir('/proc')) {
    const command = await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '');
    if (!command.includes('pocketsphinx-main')) continue;
    const status = await readFile(`/proc/${entry}/status`, 'utf8').catch(() => '');
    if (status.includes(`PPid:\t${process.pid}\n`)) return Number(entry);
  }
  throw new Error('the recogniser has no process');
}

test.serial(
  'a recogniser killed during an utterance is reported and restarted, and no word is missing',
  async t => {
    const { server } = t.context;
    const client = await connectListen(server.url, server.key, {
      codec: 'pcm16',
      sample_rate: 16000,
      client_device_id: 'k',
    });
    await client.until('service_status', event => event.status === 'ready');
    const whole = joined(speech('health'), silence(1));
    const half = Math.round(whole.length / 2);
    const pid = await recogniserPid();
    const idle = await ticksOf(pid);
    client.socket.send(samplesToBytes(whole.subarray(0, half)));
    // It is working on the utterance once it has used some processor time.
    await eventually(
      () => ticksOf(pid),
      ticks => ticks >= idle + BUSY_TICKS,
    );
    process.kill(pid, 'SIGKILL');
    client.socket.send(samplesToBytes(whole.subarray(half)));
    await client.until(
      'service_status',
      event => event.status === 'stt_initiating' && event.reason === 'upstream_error',
    );
    client.socket.send(JSON.stringify({ type: 'finish_conversation' }));
    await client.until('memory_created');
    const heard = client
      .segments()
      .map(segment => segment.text)
      .join(' ');
    t.true(wordErrorRate(sentences.health.text, heard) <= MAX_WER.other, heard);
    client.socket.close();
  },
);
