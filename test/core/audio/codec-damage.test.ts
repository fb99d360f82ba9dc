import test from 'ava';
import { type Codec, checkFormat, createDecoder } from '../../../core/audio/codecs.ts';
import { adtsFrames, messagesOf } from '../../helpers/packets.ts';
import { random, rms, speech } from '../../helpers/sound.ts';

const SHARES = [0.01, 0.1, 0.5];
const SEEDS = [1, 2, 3, 4, 5];
/** Share of the original loudness below which audio counts as lost. */
const LOST = 0.1;
const QUIET_RMS = 200;
/** Samples by which a resampler may be ahead or behind. */
const SLACK_SAMPLES = 2;

const said = speech('budget');
const atHalfRate = said.filter((_, i) => i % 2 === 0);
/** Shortens packets by samples, where messages may have any length. */
const shortened = (messages: Uint8Array[], bytes: number) =>
  messages.flatMap(message =>
    Array.from({ length: Math.floor(message.length / bytes) }, (_, i) =>
      message.subarray(i * bytes, (i + 1) * bytes),
    ),
  );

const SENT: Record<Codec, Uint8Array[]> = {
  pcm8: shortened(messagesOf(atHalfRate, 'pcm8'), 160),
  pcm16: shortened(messagesOf(said, 'pcm16'), 640),
  opus: messagesOf(said, 'opus'),
  opus_fs320: messagesOf(said, 'opus_fs320'),
  aac: adtsFrames('tomorrow.aac'),
  lc3: messagesOf(said, 'lc3'),
  lc3_fs1030: messagesOf(said, 'lc3_fs1030'),
};

type Damage = (message: Uint8Array, below: (limit: number) => number) => Uint8Array;

/** Kinds of damage. PCM is cut at whole samples only: a partial one would shift everything after it. */
const DAMAGES: Record<string, Damage> = {
  missing: () => new Uint8Array(0),
  random: (message, below) => Uint8Array.from(message, () => below(256)),
  'cut short': (message, below) => message.subarray(0, 4 + 2 * below((message.length - 4) / 2)),
};

/** Decodes each message. */
async function decode(codec: string, messages: readonly Uint8Array[]): Promise<Int16Array[]> {
  const sampleRate = codec === 'pcm8' ? 8000 : 16_000;
  const decoder = await createDecoder(checkFormat({ codec, sampleRate, channels: 1 }));
  const parts: Int16Array[] = [];
  for (const message of messages) parts.push((await decoder.decode(message)).pcm);
  decoder.close();
  return parts;
}

/** Messages lost although neither they nor a neighbour was damaged. */
function lostBeyond(isBad: readonly boolean[], clean: readonly Int16Array[], heard: readonly Int16Array[]) {
  const isLost = (i: number) => {
    const [before, after] = [clean[i] ?? new Int16Array(0), heard[i] ?? new Int16Array(0)];
    const isWhole = Math.abs(after.length - before.length) <= SLACK_SAMPLES;
    return !isWhole || (rms(before) > QUIET_RMS && rms(after) < LOST * rms(before));
  };
  return [...clean.keys()].filter(i => !isBad[i - 1] && !isBad[i] && !isBad[i + 1] && isLost(i));
}

for (const [codec, messages] of Object.entries(SENT))
  for (const [kind, damage] of Object.entries(DAMAGES))
    test(`of ${codec} with messages that are ${kind} only these and one neighbour each are lost`, async t => {
      const clean = await decode(codec, messages);
      for (const share of SHARES)
        for (const seed of SEEDS) {
          const uniform = random(seed);
          const below = (limit: number) => Math.min(limit - 1, Math.floor(((uniform() + 1) / 2) * limit));
          const isBad = messages.map(() => below(1000) < share * 1000);
          const damaged = messages.map((message, i) => (isBad[i] ? damage(message, below) : message));
          const heard = await decode(codec, damaged);
          t.deepEqual(lostBeyond(isBad, clean, heard), [], `${share * 100} %, seed ${seed}`);
        }
    });

test('loss two messages after the damage is detected', async t => {
  const clean = await decode('lc3', SENT.lc3);
  const at = clean.findIndex(pcm => rms(pcm) > QUIET_RMS);
  const isBad = clean.map((_, i) => i === at - 2);
  const silent = clean.map((pcm, i) => (i === at ? new Int16Array(pcm.length) : pcm));
  t.deepEqual(lostBeyond(isBad, clean, silent), [at]);
  const short = clean.map((pcm, i) => (i === at ? pcm.subarray(0, 80) : pcm));
  t.deepEqual(lostBeyond(isBad, clean, short), [at]);
  t.deepEqual(lostBeyond(isBad, clean, clean), []);
});
