import test from 'ava';
import { type Codec, checkFormat } from '../../../../core/audio/codecs.ts';
import { concatSamples } from '../../../../core/audio/pcm.ts';
import { createHearing, type Pending } from '../../../../core/listen/channel/hearing.ts';
import { createSilence } from '../../../../core/listen/channel/silence.ts';
import { createMetrics } from '../../../../core/runtime/metrics.ts';
import { adtsFrames, messagesOf } from '../../../helpers/packets.ts';
import { join, random, rms, silence, speech } from '../../../helpers/sound.ts';
import { loudVad, WINDOW } from '../../../helpers/vad.ts';

interface Message {
  number: number;
  gapMs: number;
  bytes: Uint8Array;
}

const FRESH = { through: 0, received: 0, receivedSample: 0, anchorAt: 0 };

/** The hearing of one channel, and its utterances. */
async function openEars(codec: Codec, stored: typeof FRESH = FRESH) {
  const metrics = createMetrics({ now: () => 0, plugins: () => [], jobs: async () => [] });
  const utterances: Pending[] = [];
  const heard = new Map<number, { start: number; pcm: Int16Array }>();
  const hearing = await createHearing({
    connection: {
      ...{ userId: 'u', language: 'en', source: 'omi', deviceId: null, timeoutMs: 600_000, stream: null },
      ...{ from: null, recordedAt: null, ack: false, customStt: false, withProfile: true, sttService: null },
      format: checkFormat({ codec, sampleRate: 16_000, channels: 1 }),
      tagged: false,
    },
    channel: 0,
    stored,
    vad: loudVad,
    now: () => 0,
    metrics,
    maxQueuedBytes: 1e9,
    signal: new AbortController().signal,
    onUtterance: entry => utterances.push(entry),
    onAudio: ({ number }, start, pcm) => heard.set(number, { start, pcm }),
    silence: createSilence({ timeoutMs: 600_000, onOver: () => {} }),
    onAnchor: async () => {},
  });
  const entry = ({ number, gapMs, bytes }: Message) =>
    ({ kind: 'audio', number, gapMs, at: 0, bytes: Buffer.from(bytes) }) as const;
  return {
    hearing,
    heard,
    utterances,
    take: (message: Message) => hearing.take(entry(message)),
    pass: (message: Message) => hearing.pass(entry(message)),
    async takeAll(messages: readonly Message[]) {
      for (const message of messages) await hearing.take(entry(message));
      await hearing.flush();
      return utterances.map(({ utterance: { startSample, endSample } }) => [startSample, endSample]);
    },
    counts: metrics.streams(codec),
  };
}

/** End of the last message that was heard, in samples. */
function endOf(heard: ReadonlyMap<number, { start: number; pcm: Int16Array }>): number {
  return Math.max(...[...heard.values()].map(({ start, pcm }) => start + pcm.length));
}

const sound = join(silence(0.5), speech('health').subarray(0, 32_000), silence(1));
const SENT: [Codec, Uint8Array[], ms: number][] = [
  ['pcm16', pieces(messagesOf(sound, 'pcm16'), 320), 10],
  ['opus', messagesOf(sound, 'opus'), 10],
  ['opus_fs320', messagesOf(sound, 'opus_fs320'), 20],
  ['lc3', messagesOf(sound, 'lc3'), 10],
  ['aac', adtsFrames('tomorrow.aac'), 64],
];

/** As small as from a device. */
function pieces(messages: Uint8Array[], bytes: number): Uint8Array[] {
  const whole = Buffer.concat(messages);
  return Array.from({ length: Math.ceil(whole.length / bytes) }, (_, i) =>
    whole.subarray(i * bytes, (i + 1) * bytes),
  );
}

/** One packet in ten is lost, up to three in a row and up to 200 ms, and reported. */
function lossy(messages: Uint8Array[], ms: number): Message[] {
  const dice = random(3);
  const most = Math.min(3, Math.floor(200 / ms));
  let gapMs = 0;
  return messages
    .flatMap((bytes, i) => {
      if (i > 5 && i < 0.8 * messages.length && dice() > 0.8 && gapMs < most * ms) {
        gapMs += ms;
        return [];
      }
      const message = { number: 0, gapMs, bytes };
      gapMs = 0;
      return [message];
    })
    .map((message, number) => ({ ...message, number }));
}

const whole = (messages: Uint8Array[]): Message[] =>
  messages.map((bytes, number) => ({ number, gapMs: 0, bytes }));

for (const [codec, messages, ms] of SENT) {
  test(`with one in ten packets of ${codec} lost, utterances keep their number and positions`, async t => {
    const control = await (await openEars(codec)).takeAll(whole(messages));
    const sent = lossy(messages, ms);
    const lostMs = sent.reduce((sum, { gapMs }) => sum + gapMs, 0);
    t.true(lostMs >= 4 * ms);
    const ears = await openEars(codec);
    const found = await ears.takeAll(sent);
    t.is(found.length, control.length);
    for (const [i, [start = 0, end = 0]] of control.entries()) {
      t.true(Math.abs((found[i]?.[0] ?? 0) - start) <= 2 * WINDOW);
      t.true(Math.abs((found[i]?.[1] ?? 0) - end) <= 8 * WINDOW);
    }
    t.is(endOf(ears.heard), messages.length * ms * 16, 'time is kept');
    t.is(ears.counts.gapSamples, lostMs * 16);
    t.is(ears.counts.concealedSamples, lostMs * 16);
  });

  test(`${codec} that resumes right after a loss sounds as before`, async t => {
    const sent = lossy(messages, ms);
    const first = await openEars(codec);
    for (const message of sent) await first.take(message);
    const losses = sent.filter(({ number, gapMs }) => gapMs > 0 && number > 20);
    const loudest = losses.map(({ number }) => ({ number, level: rms(first.heard.get(number)?.pcm ?? []) }));
    const { number } = loudest.reduce((a, b) => (b.level > a.level ? b : a));
    const { start, pcm } = first.heard.get(number) ?? { start: 0, pcm: new Int16Array() };
    const again = await openEars(codec, {
      ...FRESH,
      through: start,
      received: number,
      receivedSample: start,
    });
    for (const message of sent) await again.take(message);
    const replayed = again.heard.get(number);
    t.is(replayed?.start, start);
    t.is(replayed?.pcm.length, pcm.length);
    const difference = rms(pcm.map((sample, i) => sample - (replayed?.pcm[i] ?? 0))) / rms(pcm);
    // For LC3 the concealment is different noise each time.
    t.true(difference < (codec === 'pcm16' ? 1e-9 : codec === 'lc3' ? 1.5 : 0.1), `differs by ${difference}`);
    t.false(again.heard.has(number - 1));
  });
}

test('a gap of more than 200 ms ends the utterance, and is not concealed', async t => {
  const messages = pieces(messagesOf(sound, 'pcm16'), 320);
  for (const [gapMs, count] of [
    [200, 1],
    [201, 2],
  ] as const) {
    const ears = await openEars('pcm16');
    const sent = whole(messages).map(message => (message.number === 120 ? { ...message, gapMs } : message));
    t.is((await ears.takeAll(sent)).length, count);
    t.is(ears.counts.concealedSamples, count === 1 ? 3200 : 0);
    t.is(endOf(ears.heard), sound.length + gapMs * 16);
  }
});

test('a short gap reported in a message of one channel does not end an utterance of the other', async t => {
  const ears = await openEars('pcm16');
  const messages = pieces(messagesOf(sound, 'pcm16'), 320);
  for (const [i, bytes] of messages.entries()) {
    await ears.take({ number: 2 * i, gapMs: 0, bytes });
    await ears.pass({ number: 2 * i + 1, gapMs: i === 120 ? 40 : 0, bytes });
  }
  await ears.hearing.flush();
  t.is(ears.utterances.length, 1);
  t.is(endOf(ears.heard), sound.length + 640);
});

test('samples that a client splits between messages are joined when a stream is resumed', async t => {
  const all = pieces(messagesOf(sound, 'pcm16'), 321);
  const sent = whole(all);
  const first = await openEars('pcm16');
  for (const message of sent) await first.take(message);
  const number = 100; // starts with a whole sample, unlike the first one of the lead-in, 81
  const start = first.heard.get(number)?.start ?? 0;
  const again = await openEars('pcm16', {
    ...FRESH,
    through: start,
    received: number,
    receivedSample: start,
  });
  for (const message of sent.slice(number - 19)) await again.take(message);
  const rest = (ears: typeof first) =>
    concatSamples(all.slice(number).map((_, i) => ears.heard.get(number + i)?.pcm ?? new Int16Array()));
  t.deepEqual(rest(again), rest(first));
});
