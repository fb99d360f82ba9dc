import test from 'ava';
import type { SpeakerModel } from '../../../../core/contract/plugin.ts';
import { speakersChecks } from '../../../../plugins/kit/suites/speakers.ts';

type Fault =
  | 'says likenesses without sense'
  | 'says other dimensions'
  | 'gives vectors that are too long'
  | 'changes what it gave away'
  | 'finds all voices alike'
  | 'chokes on silence'
  | 'mixes speech up'
  | 'goes on though aborted';

/** Which check has to catch which fault. */
const CAUGHT: Record<Fault, string> = {
  'says likenesses without sense': 'names its model, and plausible similarity thresholds',
  'says other dimensions': 'returns vectors of its dimensions and of length 1',
  'gives vectors that are too long': 'returns vectors of its dimensions and of length 1',
  'changes what it gave away': 'returns the same vector for the same speech, and never changes one later',
  'finds all voices alike': 'finds pieces of one voice more similar than those of two',
  'chokes on silence': 'accepts a quarter of a second, 30 s, and silence',
  'mixes speech up': 'serves several calls at once',
  'goes on though aborted': 'rejects with the reason when it is aborted',
};

const loud = (level: number) => new Int16Array(3 * 16_000).fill(level);
const SPEECH = { one: loud(1000), again: loud(1100), other: loud(9000) };

/** Knows voices by how loud they are; with `fault`, wrong in one way. */
function meter(fault?: Fault): SpeakerModel {
  const kept = new Float32Array(2);
  let last = 0;
  return {
    id: 'meter',
    dimensions: fault === 'says other dimensions' ? 3 : 2,
    sameVoice: fault === 'says likenesses without sense' ? 0.9 : 0.5,
    namedVoice: 0.6,
    async embed(samples, signal) {
      last = (samples[0] ?? 0) / 10_000;
      const own = last;
      await new Promise(resolve => setImmediate(resolve));
      if (fault !== 'goes on though aborted') signal.throwIfAborted();
      const angle = fault === 'mixes speech up' ? last : fault === 'finds all voices alike' ? 0 : own;
      if (fault === 'chokes on silence' && own === 0) return Float32Array.of(Number.NaN, 0);
      const size = fault === 'gives vectors that are too long' ? 2 : 1;
      const vector = fault === 'changes what it gave away' ? kept : new Float32Array(2);
      vector.set([size * Math.cos(angle), size * Math.sin(angle)]);
      return vector;
    },
  };
}

test('a good speaker model passes every check', async t => {
  for (const check of speakersChecks)
    await t.notThrowsAsync(check.run({ speakers: meter(), speech: SPEECH }), check.title);
});

for (const [fault, title] of Object.entries(CAUGHT)) {
  test(`a speaker model that ${fault} is caught`, async t => {
    const check = speakersChecks.find(each => each.title === title);
    await t.throwsAsync(async () => check?.run({ speakers: meter(fault as Fault), speech: SPEECH }));
  });
}
