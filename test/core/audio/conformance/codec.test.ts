import test from 'ava';
import type { Decoder } from '../../../../core/audio/codecs.ts';
import { type CodecSubject, codecChecks } from './codec.ts';

type Fault =
  | 'plays backwards'
  | 'swallows what is broken'
  | 'does not count'
  | 'plays what is broken'
  | 'stays broken'
  | 'plays an empty message'
  | 'plays whatever its length'
  | 'throws at what is broken'
  | 'conceals too little'
  | 'conceals with silence'
  | 'shares its memory'
  | 'keeps its memory';

const MARK = 0xaa;
const SAMPLES = 160;
const sound = Int16Array.from({ length: 16_000 }, (_, i) => 256 * Math.round(100 * Math.sin(i * i * 0.0001)));

const messages = Array.from({ length: sound.length / SAMPLES }, (_, i) =>
  Uint8Array.of(MARK, ...sound.subarray(i * SAMPLES, (i + 1) * SAMPLES).map(sample => (sample >> 8) + 128)),
);
const kept: Uint8Array[] = [];
let shared = 0;

/** A toy codec: a marker and 8-bit samples; with `fault`, wrong in one way. */
async function openToy(fault?: Fault): Promise<Decoder> {
  let hurt = false;
  let last: Int16Array | null = null;
  if (fault === 'keeps its memory') kept.push(new Uint8Array(40_000).fill(1));
  if (fault === 'shares its memory') shared = 0;

  const play = (message: Uint8Array) => {
    const pcm = Int16Array.from(message.subarray(1), value => (value - 128) << 8);
    if (fault !== 'shares its memory') return fault === 'plays backwards' ? pcm.reverse() : pcm;
    shared += 1;
    return pcm.map(sample => sample + shared);
  };

  return {
    async decode(message) {
      if (message.length === 0) {
        return { pcm: new Int16Array(fault === 'plays an empty message' ? SAMPLES : 0), bad: 1 };
      }
      const isWhole = message.length === SAMPLES + 1 && message[0] === MARK;
      if (isWhole && !hurt) {
        last = play(message);
        return { pcm: last, bad: 0 };
      }
      if (fault === 'throws at what is broken') throw new Error('broken');
      if (fault === 'plays whatever its length' && message[0] !== MARK) return { pcm: play(message), bad: 1 };
      hurt = fault === 'stays broken';
      const pcm = new Int16Array(fault === 'swallows what is broken' ? 0 : SAMPLES);
      if (fault === 'plays what is broken') pcm.fill(1000);
      return { pcm, bad: fault === 'does not count' ? 0 : 1 };
    },
    conceal(samples) {
      const length = fault === 'conceals too little' ? Math.min(samples, SAMPLES) : samples;
      const isSilent = !last || fault === 'conceals with silence';
      return Int16Array.from({ length }, (_, i) => (isSilent ? 0 : (last?.[i % SAMPLES] ?? 0)));
    },
    close() {},
  };
}

function toy(fault?: Fault): CodecSubject {
  return {
    open: () => openToy(fault),
    sound,
    messages,
    messageSamples: SAMPLES,
    likeness: 0.999,
    lagSamples: 0,
    broken: [new Uint8Array(SAMPLES + 1)],
    maxSamples: () => SAMPLES,
  };
}

/** The check that must catch each fault. */
const CAUGHT: Record<Fault, string> = {
  'plays backwards': 'gives the sound back that was encoded, in its whole length',
  'swallows what is broken': 'makes silence of the same length of what is broken, counts it and goes on',
  'does not count': 'makes silence of the same length of what is broken, counts it and goes on',
  'plays what is broken': 'makes silence of the same length of what is broken, counts it and goes on',
  'stays broken': 'makes silence of the same length of what is broken, counts it and goes on',
  'plays an empty message': 'makes nothing of an empty message',
  'plays whatever its length': 'bears a message that is far too long',
  'throws at what is broken': 'never throws, whatever bytes come, and decodes well afterwards',
  'conceals too little': 'makes up the sound of a short loss, and goes on',
  'conceals with silence': 'makes up the sound of a short loss, and goes on',
  'shares its memory': 'serves 1,000 streams at once, each by itself',
  'keeps its memory': 'gives all of its memory back',
};

test.serial('a correct decoder passes every check', async t => {
  for (const check of codecChecks) await t.notThrowsAsync(check.run(toy()), check.title);
});

for (const [fault, title] of Object.entries(CAUGHT)) {
  test.serial(`a decoder that ${fault} is detected`, async t => {
    const check = codecChecks.find(each => each.title === title);
    await t.throwsAsync(async () => check?.run(toy(fault as Fault)));
  });
}
