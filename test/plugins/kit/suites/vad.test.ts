import { readFile } from 'node:fs/promises';
import test from 'ava';
import type { VadProvider } from '../../../../core/contract/plugin.ts';
import { type VadSubject, vadChecks } from '../../../../plugins/kit/suites/vad.ts';

const wav = await readFile(new URL('../../../fixtures/garden.wav', import.meta.url));
const speech = new Int16Array(wav.buffer.slice(wav.byteOffset + 44, wav.byteOffset + wav.byteLength));

type Fault =
  | 'misses a window'
  | 'is sure beyond measure'
  | 'takes silence for speech'
  | 'hears nothing'
  | 'answers out of order'
  | 'remembers what came before a reset'
  | 'begins anew with each question'
  | 'mixes streams up'
  | 'writes into the samples';

const WINDOW = 512;

/** Takes what is loud for speech, and goes on believing it for a while; with `fault`, wrong in one way. */
function loudness(fault?: Fault): VadSubject {
  const shared = { level: 0 };
  const open: VadProvider['open'] = () => {
    let state = fault === 'mixes streams up' ? shared : { level: 0 };
    return {
      async probabilities(samples) {
        if (fault === 'begins anew with each question') state = { level: 0 };
        const windows = Array.from({ length: samples.length / WINDOW }, (_, index) =>
          samples.subarray(index * WINDOW, (index + 1) * WINDOW),
        );
        const answer = Float32Array.from(windows, window => {
          const sum = window.reduce((total, sample) => total + Math.abs(sample), 0);
          state.level = state.level * 0.9 + Math.min(1, sum / WINDOW / 2000) * 0.1;
          if (fault === 'takes silence for speech') return 0.9;
          if (fault === 'hears nothing') return 0;
          return fault === 'is sure beyond measure' ? state.level * 3 : state.level;
        });
        if (fault === 'writes into the samples') samples.fill(0);
        if (fault === 'answers out of order') state.level = -state.level;
        return fault === 'misses a window' ? answer.subarray(1) : answer;
      },
      reset() {
        if (fault !== 'remembers what came before a reset') state.level = 0;
      },
      close() {},
    };
  };
  return { provider: { windowSize: WINDOW, open }, speech };
}

/** Which check has to catch which fault. */
const CAUGHT: Record<Fault, string> = {
  'misses a window': 'answers a probability from 0 to 1 for each window',
  'is sure beyond measure': 'answers a probability from 0 to 1 for each window',
  'writes into the samples': 'answers a probability from 0 to 1 for each window',
  'takes silence for speech': 'rates speech higher than silence',
  'hears nothing': 'rates speech higher than silence',
  'begins anew with each question': 'rates a stream in pieces as it does in one',
  'answers out of order': 'answers concurrent calls in the order of the stream',
  'remembers what came before a reset': 'has no memory after a reset',
  'mixes streams up': 'separates streams',
};

test('a detector without fault passes every check', async t => {
  for (const check of vadChecks) await t.notThrowsAsync(check.run(loudness()), check.title);
});

for (const [fault, title] of Object.entries(CAUGHT)) {
  test(`a detector that ${fault} is caught`, async t => {
    const check = vadChecks.find(each => each.title === title);
    await t.throwsAsync(async () => check?.run(loudness(fault as Fault)));
  });
}
