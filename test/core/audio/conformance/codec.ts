/**
 * Requirements for every codec's decoder, as plain checks that throw: run each against a codec.
 *
 *     for (const check of codecChecks) test(check.title, () => check.run(subject));
 */
import assert from 'node:assert/strict';
import type { Decoded, Decoder } from '../../../../core/audio/codecs.ts';
import { concatSamples } from '../../../../core/audio/pcm.ts';
import { garbageCollector, held } from '../../../helpers/memory.ts';
import { random, rms } from '../../../helpers/sound.ts';

export interface CodecSubject {
  open(): Promise<Decoder>;
  /** A sound at 16 kHz mono of at least a second, and its encoded messages. */
  sound: Int16Array;
  messages: Uint8Array[];
  /** Samples of each message except the last. */
  messageSamples: number;
  /** Least correlation of the sound and the decoded sound. */
  likeness: number;
  /** Samples by which the decoded sound may lag. */
  lagSamples: number;
  /** Invalid messages, each replacing one of `messages`; empty if all bytes are valid. */
  broken: Uint8Array[];
  /** Bytes of a sample, if messages may be cut anywhere and a partial one is carried over; absent: they are packets. */
  sampleBytes?: number;
  /** Returns the most samples that a message of this many bytes may have. */
  maxSamples(bytes: number): number;
}

export interface CodecCheck {
  title: string;
  run(subject: CodecSubject): Promise<void>;
}

export const codecChecks: CodecCheck[] = [
  { title: 'gives the sound back that was encoded, in its whole length', run: returnsSound },
  { title: 'makes silence of the same length of what is broken, counts it and goes on', run: bridgesBroken },
  { title: 'makes nothing of an empty message', run: dropsEmpty },
  { title: 'bears a message that is far too long', run: bearsOversize },
  { title: 'never throws, whatever bytes come, and decodes well afterwards', run: bearsNoise },
  { title: 'makes up the sound of a short loss, and goes on', run: conceals },
  { title: 'serves 1,000 streams at once, each by itself', run: servesMany },
  { title: 'gives all of its memory back', run: givesBack },
];

const MEBIBYTE = 2 ** 20;
/** Messages that a decoder may need to recover after damage. */
const RECOVERY_MESSAGES = 4;

async function returnsSound(subject: CodecSubject): Promise<void> {
  const decoded = await withDecoder(subject, decoder => decodeEach(decoder, subject.messages));
  checkLengths(subject, decoded.slice(0, -1));
  assert.equal(badOf(decoded), 0, 'nothing is broken');
  checkLikeness(subject, decoded, 0);
}

async function bridgesBroken(subject: CodecSubject): Promise<void> {
  const { messages, broken, messageSamples } = subject;
  const before = Math.floor(messages.length / 3);
  for (const message of broken) {
    await withDecoder(subject, async decoder => {
      await decodeEach(decoder, messages.slice(0, before));
      const { pcm, bad } = await decoder.decode(message);
      assert.equal(pcm.length, messageSamples, 'silence is as long as what was lost');
      assert.ok(
        pcm.every(sample => sample === 0),
        'it is silence',
      );
      assert.ok(bad >= 1, 'it is counted');
      await checkRest(subject, decoder, before + 1);
    });
  }
}

async function dropsEmpty(subject: CodecSubject): Promise<void> {
  await withDecoder(subject, async decoder => {
    assert.equal((await decoder.decode(new Uint8Array(0))).pcm.length, 0);
    await decodeEach(decoder, subject.messages.slice(0, 10));
    assert.equal((await decoder.decode(new Uint8Array(0))).pcm.length, 0);
    await checkRest(subject, decoder, 10);
  });
}

async function bearsOversize(subject: CodecSubject): Promise<void> {
  const { messages, maxSamples } = subject;
  const noise = noiseMaker(1);
  await withDecoder(subject, async decoder => {
    await decodeEach(decoder, messages.slice(0, 10));
    const { pcm } = await decoder.decode(noise.bytes(MEBIBYTE));
    assert.ok(pcm.length <= maxSamples(MEBIBYTE), `${pcm.length} samples of one message`);
    await checkRest(subject, decoder, 10);
  });
}

async function bearsNoise(subject: CodecSubject): Promise<void> {
  const { messages, maxSamples, sampleBytes = 1 } = subject;
  const noise = noiseMaker(2);
  await withDecoder(subject, async decoder => {
    for (let round = 0; round < 3000; round++) {
      const damaged = noise.damage(messages[noise.below(messages.length)] ?? new Uint8Array(1), round);
      const message = damaged.subarray(damaged.length % sampleBytes);
      const { pcm } = await decoder.decode(message);
      assert.ok(pcm.length <= maxSamples(message.length), `${pcm.length} samples of ${message.length} bytes`);
    }
    await checkRest(subject, decoder, 0);
  });
}

/** Lost samples; a loss need not be a multiple of a message. */
const LOSSES = [1, 47, 160, 333, 3200];
/** Least loudness of concealed audio, as a share of the audio just before it. */
const LEAST_LOUDNESS = 0.2;

async function conceals(subject: CodecSubject): Promise<void> {
  const { messages } = subject;
  await withDecoder(subject, async decoder => {
    const pcm = decoder.conceal(500);
    assert.equal(pcm.length, 500, 'before anything was heard');
    assert.equal(rms(pcm), 0, 'nothing to go by is silence');
    await checkRest(subject, decoder, 0);
  });
  const loudest = await withDecoder(subject, async decoder => {
    const levels = (await decodeEach(decoder, messages.slice(0, -10))).map(({ pcm }) => rms(pcm));
    return levels.indexOf(Math.max(...levels));
  });
  for (const samples of LOSSES)
    await withDecoder(subject, async decoder => {
      const heard = await decodeEach(decoder, messages.slice(0, loudest + 1));
      const made = decoder.conceal(samples);
      assert.equal(made.length, samples, 'it is as long as the loss');
      const before = rms(heard.at(-1)?.pcm ?? []);
      const loudness = rms(made.subarray(0, 160)) / before;
      assert.ok(
        samples < 100 || loudness > LEAST_LOUDNESS,
        `its loudness is ${loudness.toFixed(2)} of that before`,
      );
      await checkRest(subject, decoder, loudest + 1);
    });
}

async function servesMany(subject: CodecSubject): Promise<void> {
  const { messages } = subject;
  const start = Math.floor(messages.length / 2);
  const shown = messages.slice(start, start + 3);
  const expected = await withDecoder(subject, decoder => decodeEach(decoder, shown));
  const decoders = await Promise.all(Array.from({ length: 1000 }, () => subject.open()));
  for (const [i, message] of shown.entries()) {
    for (const decoder of decoders) assert.deepEqual(await decoder.decode(message), expected[i]);
  }
  for (const decoder of decoders) decoder.close();
}

/** Rounds before the first measurement, in which caches and pools fill. */
const WARM_ROUNDS = 3;
const ROUNDS = 6;
const STREAMS_PER_ROUND = 200;
/** 14 kB for each stream of the later rounds. */
const MAX_GROWTH_BYTES = 8 * MEBIBYTE;

async function givesBack(subject: CodecSubject): Promise<void> {
  const collect = garbageCollector();
  const messages = subject.messages.slice(0, 3);
  let atFirst = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const decoders = await Promise.all(Array.from({ length: STREAMS_PER_ROUND }, () => subject.open()));
    for (const decoder of decoders) await decodeEach(decoder, messages);
    for (const decoder of decoders) decoder.close();
    decoders.length = 0;
    collect();
    if (round === WARM_ROUNDS - 1) atFirst = held();
  }
  const grown = held() - atFirst;
  assert.ok(grown < MAX_GROWTH_BYTES, `memory grew by ${(grown / MEBIBYTE).toFixed(1)} MiB`);
}

async function withDecoder<T>(subject: CodecSubject, use: (decoder: Decoder) => Promise<T>): Promise<T> {
  const decoder = await subject.open();
  try {
    return await use(decoder);
  } finally {
    decoder.close();
  }
}

async function decodeEach(decoder: Decoder, messages: Uint8Array[]): Promise<Decoded[]> {
  const decoded: Decoded[] = [];
  for (const message of messages) decoded.push(await decoder.decode(message));
  return decoded;
}

/** Checks that the messages from here on are decoded correctly. */
async function checkRest(subject: CodecSubject, decoder: Decoder, from: number): Promise<void> {
  const rest = await decodeEach(decoder, subject.messages.slice(from));
  const settled = rest.slice(RECOVERY_MESSAGES);
  checkLengths(subject, settled.slice(0, -1));
  assert.equal(badOf(settled), 0, 'what comes after it is whole');
  checkLikeness(subject, settled, from + RECOVERY_MESSAGES);
}

function checkLengths({ messageSamples }: CodecSubject, decoded: Decoded[]): void {
  for (const { pcm } of decoded) assert.equal(pcm.length, messageSamples);
}

function checkLikeness(subject: CodecSubject, decoded: Decoded[], fromMessage: number): void {
  const heard = concatSamples(decoded.map(({ pcm }) => pcm));
  const said = subject.sound.subarray(fromMessage * subject.messageSamples);
  let best = 0;
  for (let lag = 0; lag <= subject.lagSamples; lag++) {
    best = Math.max(best, correlation(said, heard.subarray(lag)));
  }
  assert.ok(best >= subject.likeness, `likeness is ${best.toFixed(4)}, less than ${subject.likeness}`);
}

function correlation(a: Int16Array, b: Int16Array): number {
  let [both, first, second] = [0, 0, 0];
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a[i] ?? 0, b[i] ?? 0];
    both += x * y;
    first += x * x;
    second += y * y;
  }
  return both / Math.sqrt(first * second);
}

function badOf(decoded: Decoded[]): number {
  return decoded.reduce((sum, { bad }) => sum + bad, 0);
}

/** Creates random bytes, always the same for a seed. */
function noiseMaker(seed: number) {
  const uniform = random(seed);
  const below = (limit: number) => Math.min(limit - 1, Math.floor(((uniform() + 1) / 2) * limit));
  const bytes = (length: number) => Uint8Array.from({ length }, () => below(256));

  /** Changes a byte, cuts the end, or adds bytes in front, in turn, at random places. */
  function damage(message: Uint8Array, turn: number): Uint8Array {
    if (turn % 4 === 0) return bytes(1 + below(600));
    if (turn % 4 === 1) return message.slice(0, 1 + below(message.length));
    if (turn % 4 === 2) return Uint8Array.from([...bytes(1 + below(3)), ...message]);
    const changed = Uint8Array.from(message);
    changed[below(changed.length)] = below(256);
    return changed;
  }
  return { below, bytes, damage };
}
