import anyTest, { type TestFn } from 'ava';
import { type Codec, checkFormat, createDecoder } from '../../../core/audio/codecs.ts';
import { SAMPLE_RATE } from '../../../core/audio/pcm.ts';
import { KEEP_ALIVE_BYTES } from '../../../core/listen/protocol.ts';
import { eventually } from '../../helpers/eventually.ts';
import { connectListen, type ListenClient } from '../../helpers/listen-client.ts';
import { adtsFrames, messagesOf } from '../../helpers/packets.ts';
import { buildServer, countingStt, type TestServer } from '../../helpers/services.ts';
import { random, speech } from '../../helpers/sound.ts';

const test = anyTest as TestFn<{ server: TestServer }>;

const GAP_MS = 5000;
const SEED = 7;
const said = speech('budget');
const atHalfRate = said.filter((_, i) => i % 2 === 0);

/** Real messages of each codec, and the longest audio that noise can decode to, in ms. */
const SENT: Record<Codec, { messages: Uint8Array[]; sampleRate: number; longestMs: number }> = {
  pcm8: { messages: messagesOf(atHalfRate, 'pcm8'), sampleRate: 8000, longestMs: 200 },
  pcm16: { messages: messagesOf(said, 'pcm16'), sampleRate: SAMPLE_RATE, longestMs: 100 },
  opus: { messages: messagesOf(said, 'opus'), sampleRate: SAMPLE_RATE, longestMs: 120 },
  opus_fs320: { messages: messagesOf(said, 'opus_fs320'), sampleRate: SAMPLE_RATE, longestMs: 120 },
  aac: { messages: adtsFrames('tomorrow.aac'), sampleRate: SAMPLE_RATE, longestMs: 64 },
  lc3: { messages: messagesOf(said, 'lc3'), sampleRate: SAMPLE_RATE, longestMs: 10 },
  lc3_fs1030: { messages: messagesOf(said, 'lc3_fs1030'), sampleRate: SAMPLE_RATE, longestMs: 10 },
};

test.before(async t => {
  t.context.server = await buildServer(countingStt());
});
test.after.always(t => t.context.server?.stop());

const isAudio = ({ length }: Uint8Array) => length > KEEP_ALIVE_BYTES;

/**
 * Replaces some by random bytes, by shortened messages (cut at whole samples, as more would shift the rest)
 * or by empty ones.
 */
function corrupted(messages: Uint8Array[], share: number) {
  const uniform = random(SEED);
  const below = (limit: number) => Math.min(limit - 1, Math.floor(((uniform() + 1) / 2) * limit));
  let count = 0;
  const made = messages.map(message => {
    if (below(1000) >= share * 1000) return message;
    count += 1;
    const kind = count % 3;
    if (kind === 0) return new Uint8Array(0);
    if (kind === 1) return Uint8Array.from(message, () => below(256));
    return message.subarray(0, 4 + 2 * below((message.length - 4) / 2));
  });
  return { messages: made, count };
}

async function metric(server: TestServer, line: string): Promise<number> {
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  return Number(
    metrics
      .split('\n')
      .find(text => text.startsWith(`${line} `))
      ?.slice(line.length) ?? 0,
  );
}

/**
 * Returns whether audio is not on disk yet when its client leaves: it would be examined, and counted, again.
 */
const isPending = async (server: TestServer) =>
  (await metric(server, 'earshot_spool_bytes{state="pending"}')) > 0;

const counted = async (server: TestServer, codec: string) => ({
  seconds: await metric(server, `earshot_stream_audio_seconds_total{codec="${codec}"}`),
  bad: await metric(server, `earshot_stream_bad_frames_total{codec="${codec}"}`),
});

function talk(client: ListenClient, parts: Uint8Array[][]): void {
  for (const part of parts) {
    for (const message of part) client.socket.send(message);
    client.socket.send(JSON.stringify({ type: 'gap', ms: GAP_MS }));
  }
  client.socket.send(JSON.stringify({ type: 'finish_conversation' }));
}

for (const [codec, { messages, sampleRate, longestMs }] of Object.entries(SENT)) {
  /** Decodes these messages in sequence. */
  async function decoded(parts: Uint8Array[][]) {
    const decoder = await createDecoder(checkFormat({ codec, sampleRate, channels: 1 }));
    let samples = 0;
    let bad = 0;
    for (const message of parts.flat().filter(isAudio)) {
      const result = await decoder.decode(message);
      samples += result.pcm.length;
      bad += result.bad;
    }
    decoder.close();
    return { seconds: samples / SAMPLE_RATE, bad };
  }

  /** Start of the first and of the last utterance, and the counters. */
  async function heard(server: TestServer, parts: Uint8Array[][]) {
    const before = await counted(server, codec);
    const client = await connectListen(server.url, server.key, {
      ...{
        codec,
        sample_rate: sampleRate,
        conversation_timeout: 600,
        client_device_id: codec,
      },
    });
    talk(client, parts);
    await client.until('conversation_finished');
    await eventually(async () => !(await isPending(server)));
    const { readyState, OPEN } = client.socket;
    const after = await counted(server, codec);
    client.socket.close();
    const starts = client.segments().map(({ start }) => start);
    return {
      isAlive: readyState === OPEN,
      seconds: after.seconds - before.seconds,
      bad: after.bad - before.bad,
      first: starts[0] ?? Number.NaN,
      last: starts.at(-1) ?? Number.NaN,
    };
  }

  test(`a session of ${codec} survives corrupt messages, and later messages keep their times`, async t => {
    const { server } = t.context;
    const clean = await heard(server, [messages, messages, messages]);
    t.is(clean.bad, 0);
    for (const share of [0.01, 0.1, 0.5]) {
      const part = corrupted(messages, share);
      const parts = [messages, part.messages, messages];
      const result = await heard(server, parts);
      const expected = await decoded(parts);
      const what = `${share * 100} % of ${messages.length}`;
      t.true(result.isAlive, what);
      t.is(result.bad, expected.bad, what);
      t.true(Math.abs(result.seconds - expected.seconds) < 1e-6, `${what}: ${result.seconds} s of audio`);
      const lost = clean.seconds - result.seconds;
      t.true(
        Math.abs(lost) <= (part.count * longestMs) / 1000 + 1e-6,
        `${what}: ${lost} s for ${part.count}`,
      );
      t.true(Math.abs(result.first - clean.first) < 0.1, `${what}: begins at ${result.first} s`);
      t.true(Math.abs(result.last - (clean.last - lost)) < 0.1, `${what}: goes on at ${result.last} s`);
    }
    const { bad } = await counted(server, codec);
    t.is(bad > 0, !codec.startsWith('pcm'), 'what can be told from audio is counted');
  });
}
