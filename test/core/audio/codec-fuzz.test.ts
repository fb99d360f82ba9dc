import '../../helpers/memory.ts'; // imported before the modules that it measures
import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import {
  type Codec,
  checkFormat,
  createDecoder,
  type Decoded,
  type Decoder,
} from '../../../core/audio/codecs.ts';
import { garbageCollector, held, moduleMemory } from '../../helpers/memory.ts';
import { mutator } from '../../helpers/mutations.ts';
import { adtsFrames, messagesOf } from '../../helpers/packets.ts';
import { speech } from '../../helpers/sound.ts';
import { amount } from '../../helpers/thorough.ts';

/** `EARSHOT_TEST_SEED` selects other messages. */
const SEED = Number(process.env.EARSHOT_TEST_SEED ?? 2026);
const MESSAGES = amount(10_000, 200_000);
/** Measured from the end of the second quarter, when pools and caches are full, to the end. */
const MAX_GROWTH_BYTES = 2 ** 20;
/** Messages that a decoder may need to recover after damage. */
const RECOVERY_MESSAGES = 4;
/** Messages between two checks of the event loop's delay. */
const TURN_MESSAGES = 5000;

interface Subject {
  sampleRate: number;
  messages: Uint8Array[];
  /** Least and most samples that may result from this message. Called once per message, in order. */
  samples(message: Uint8Array): readonly [least: number, most: number];
  /** Highest number of packets in a message, all of which may be invalid. */
  packets(message: Uint8Array): number;
}

const sound = speech('tomorrow').slice(0, 3 * 16_000);
const one = () => 1;
const opus = (codec: 'opus' | 'opus_fs320'): Subject => ({
  sampleRate: 16_000,
  messages: messagesOf(sound, codec),
  samples: () => [40, 1920], // 2.5 to 120 ms
  packets: one,
});

const SUBJECTS: Record<Codec, Subject> = {
  pcm8: raw(8000, 1, 'pcm8'),
  pcm16: raw(16_000, 2, 'pcm16'),
  opus: opus('opus'),
  opus_fs320: opus('opus_fs320'),
  aac: {
    sampleRate: 16_000,
    messages: adtsFrames('tomorrow.aac'),
    // one frame at 96 kHz, to 64 of them at 8000 Hz
    samples: message => [150, Math.min(64, Math.ceil(message.length / 8)) * 2050],
    packets: message => Math.min(64, Math.ceil(message.length / 8)),
  },
  lc3: { sampleRate: 16_000, messages: messagesOf(sound, 'lc3'), samples: () => [160, 160], packets: one },
  lc3_fs1030: {
    sampleRate: 16_000,
    messages: messagesOf(sound, 'lc3_fs1030'),
    samples: message => {
      const samples = Math.ceil(message.length / 30) * 160;
      return [samples, samples];
    },
    packets: message => Math.ceil(message.length / 30),
  },
};

/**
 * All bytes are valid audio. Part of a sample is carried over to the next message, and a resampler may be ahead or
 * behind.
 */
function raw(sampleRate: number, sampleBytes: number, codec: 'pcm8' | 'pcm16'): Subject {
  let left = 0;
  const slack = sampleRate === 16_000 ? 0 : 2;
  return {
    sampleRate,
    messages: messagesOf(sound, codec).map(message => message.subarray(0, 320)), // as small as from a device
    samples(message) {
      const bytes = left + message.length;
      left = bytes % sampleBytes;
      const samples = (Math.floor(bytes / sampleBytes) * 16_000) / sampleRate;
      return [samples - slack, samples + slack];
    },
    packets: () => 0,
  };
}

/** Describes the fault of this answer; null: none. */
function faultOf(subject: Subject, message: Uint8Array, { pcm, bad }: Decoded): string | null {
  const [least, most] = message.length === 0 ? [0, 0] : subject.samples(message);
  if (!(pcm instanceof Int16Array) || pcm.length < least || pcm.length > most)
    return `${pcm.length} samples, not ${least} to ${most}`;
  const packets = subject.packets(message);
  if (!Number.isInteger(bad) || bad < 0 || bad > Math.max(packets, 1)) return `${bad} of ${packets} bad`;
  if (bad >= packets && bad > 0 && pcm.some(sample => sample !== 0)) return 'what is bad is not silent';
  return null;
}

/** Buffers are released some time after they were found unused. */
async function heldAfter(collect: () => void): Promise<number> {
  for (let round = 0; round < 3; round++) {
    collect();
    await turn();
  }
  return held();
}

interface Outcome {
  good: number;
  bad: number;
  /** After each quarter. */
  memory: number[];
}

/** Decodes random messages. Throws at the first wrong answer, with the seed and the message. */
async function abuse(decoder: Decoder, subject: Subject, count: number): Promise<Outcome> {
  const collect = garbageCollector();
  const { next } = mutator(subject.messages, SEED);
  const outcome: Outcome = { good: 0, bad: 0, memory: [] };
  for (let n = 1; n <= count; n++) {
    const { mutation, message } = next();
    const where = `seed ${SEED}, message ${n} (${mutation}, ${message.length} bytes)`;
    const decoded = await (async () => decoder.decode(message))().catch(cause => {
      throw new Error(`${where}: it throws ${cause}`, { cause });
    });
    const fault = faultOf(subject, message, decoded);
    if (fault !== null) throw new Error(`${where}: ${fault}`);
    outcome.bad += decoded.bad;
    if (decoded.bad === 0) outcome.good += 1;
    if (n % TURN_MESSAGES === 0) await turn();
    if (n % (count / 4) === 0) outcome.memory.push(await heldAfter(collect));
  }
  return outcome;
}

function grownBytes({ memory: [, second = 0, , last = 0] }: Outcome): number {
  return last - second;
}

for (const [codec, subject] of Object.entries(SUBJECTS))
  test.serial(`${codec}: ${MESSAGES} mutated messages neither crash nor leak`, async t => {
    const { sampleRate, messages } = subject;
    const decoder = await createDecoder(checkFormat({ codec, sampleRate, channels: 1 }));
    t.teardown(() => decoder.close());
    const startedAt = performance.now();
    const outcome = await abuse(decoder, subject, MESSAGES);
    const [grown, seconds] = [grownBytes(outcome), (performance.now() - startedAt) / 1000];
    const { good, bad } = outcome;
    t.log(
      `${seconds.toFixed(1)} s; ${good} messages whole, ${bad} packets bad; memory grew by ${grown} bytes`,
    );
    t.true(grown < MAX_GROWTH_BYTES, `seed ${SEED}: memory grew by ${grown} bytes`);
    t.true(good > MESSAGES / 20);
    t.true(bad > MESSAGES / 20 || codec.startsWith('pcm'), 'the mutations are felt');

    for (const [n, message] of messages.slice(0, 40).entries()) {
      const decoded = await decoder.decode(message);
      t.is(faultOf(subject, message, decoded), null);
      if (n >= RECOVERY_MESSAGES) t.is(decoded.bad, 0, `seed ${SEED}: it does not find back`);
    }
  });

// ── the test itself ─────────────────────────────────────────────────────────────────────────────────────────────

type Answer = (message: Uint8Array) => Decoded;
const toy = (answer: Answer): Decoder => ({
  decode: async message => answer(message),
  conceal: samples => new Int16Array(samples),
  close() {},
});
const silent = (message: Uint8Array) => ({ pcm: new Int16Array(message.length && 160), bad: 1 });

test.serial(
  'a decoder that throws, returns too much, does not count or plays invalid data is detected',
  async t => {
    const faulty: [Answer, RegExp][] = [
      [() => JSON.parse('{'), /^seed \d+, message \d+ \(.*, \d+ bytes\): it throws SyntaxError/],
      [() => ({ pcm: new Int16Array(161), bad: 1 }), /161 samples, not (160 to 160|0 to 0)/],
      [message => ({ ...silent(message), bad: 2 }), /2 of 1 bad/],
      [message => ({ pcm: silent(message).pcm.fill(1), bad: 1 }), /what is bad is not silent/],
    ];
    for (const [answer, message] of faulty)
      await t.throwsAsync(abuse(toy(answer), SUBJECTS.lc3, 1000), { message });
  },
);

test.serial('a decoder that leaks memory is detected, whatever kind of memory', async t => {
  t.true(grownBytes(await abuse(toy(silent), SUBJECTS.lc3, 4000)) < MAX_GROWTH_BYTES);
  const kept: Uint8Array[] = [];
  const keeper = toy(message => {
    kept.push(new Uint8Array(1000));
    return silent(message);
  });
  t.true(grownBytes(await abuse(keeper, SUBJECTS.lc3, 4000)) > MAX_GROWTH_BYTES);
  const memory = await moduleMemory();
  let n = 0;
  const grower = toy(message => {
    if (n++ % 100 === 0) memory.grow(1);
    return silent(message);
  });
  t.true(grownBytes(await abuse(grower, SUBJECTS.lc3, 4000)) > MAX_GROWTH_BYTES);
});
