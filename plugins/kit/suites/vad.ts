/** Requirements for every speech detector, as plain checks that throw. */
import assert from 'node:assert/strict';
import { concatSamples } from '../../../core/audio/pcm.ts';
import type { VadProvider } from '../../../core/contract/plugin.ts';
import type { SuiteCheck } from './report.ts';

export interface VadSubject {
  provider: VadProvider;
  /** Speech at 16 kHz. */
  speech: Int16Array;
}

export type VadCheck = SuiteCheck<VadSubject>;

export const vadChecks: readonly VadCheck[] = [
  { title: 'answers a probability from 0 to 1 for each window', isBasis: true, run: answers },
  { title: 'rates speech higher than silence', run: tellsApart },
  { title: 'rates a stream in pieces as it does in one', run: goesOn },
  { title: 'answers concurrent calls in the order of the stream', run: keepsOrder },
  { title: 'has no memory after a reset', run: forgets },
  { title: 'separates streams', run: keepsApart },
];

/** Accepted difference between two answers for the same samples, since engines round. */
const TOLERANCE = 0.001;
/** Probability from which core treats a window as speech. */
const SPEECH = 0.5;

async function answers({ provider, speech }: VadSubject): Promise<void> {
  const session = provider.open();
  const samples = windowsOf(speech, provider);
  const before = samples.slice();
  const probabilities = await session.probabilities(samples);
  assert.equal(probabilities.length, samples.length / provider.windowSize);
  for (const each of probabilities) assert.ok(each >= 0 && each <= 1, `${each} is not a probability`);
  const isSame = samples.every((sample, index) => sample === before[index]);
  assert.ok(isSame, 'it changed the samples');
  assert.equal((await session.probabilities(new Int16Array(0))).length, 0);
  session.close();
}

async function tellsApart({ provider, speech }: VadSubject): Promise<void> {
  const spoken = await judge(provider, windowsOf(speech, provider));
  const silent = await judge(provider, windowsOf(new Int16Array(speech.length), provider));
  assert.ok(Math.max(...spoken) >= SPEECH, `speech gets ${Math.max(...spoken)} at most`);
  assert.ok(mean(silent) < SPEECH, `silence gets ${mean(silent)}`);
  assert.ok(mean(spoken) > mean(silent), `speech gets ${mean(spoken)}, silence ${mean(silent)}`);
}

async function goesOn({ provider, speech }: VadSubject): Promise<void> {
  const samples = windowsOf(speech, provider);
  const session = provider.open();
  const pieces: number[] = [];
  for (const piece of piecesOf(samples, provider)) pieces.push(...(await session.probabilities(piece)));
  session.close();
  assertSame(pieces, await judge(provider, samples));
}

async function keepsOrder({ provider, speech }: VadSubject): Promise<void> {
  const samples = windowsOf(speech, provider);
  const session = provider.open();
  const asked = piecesOf(samples, provider).map(piece => session.probabilities(piece));
  const pieces = (await Promise.all(asked)).flatMap(piece => [...piece]);
  session.close();
  assertSame(pieces, await judge(provider, samples));
}

async function forgets({ provider, speech }: VadSubject): Promise<void> {
  const samples = windowsOf(speech, provider);
  const session = provider.open();
  const first = await session.probabilities(samples.slice());
  session.reset();
  assertSame([...(await session.probabilities(samples.slice()))], [...first]);
  session.close();
}

async function keepsApart({ provider, speech }: VadSubject): Promise<void> {
  const samples = windowsOf(speech, provider);
  const alone = await judge(provider, samples);
  const [session, other] = [provider.open(), provider.open()];
  const together: number[] = [];
  for (const piece of piecesOf(samples, provider)) {
    const [mine] = await Promise.all([
      session.probabilities(piece),
      other.probabilities(new Int16Array(piece.length)),
    ]);
    together.push(...mine);
  }
  other.close();
  session.close();
  assertSame(together, alone);
}

async function judge(provider: VadProvider, samples: Int16Array): Promise<number[]> {
  const session = provider.open();
  const probabilities = await session.probabilities(samples.slice());
  session.close();
  return [...probabilities];
}

/** Cuts samples into whole windows. */
function windowsOf(samples: Int16Array, { windowSize }: VadProvider): Int16Array {
  return concatSamples([samples.subarray(0, samples.length - (samples.length % windowSize))]);
}

/** Splits samples into pieces of three windows; the last one may be shorter. */
function piecesOf(samples: Int16Array, { windowSize }: VadProvider): Int16Array[] {
  const size = 3 * windowSize;
  const pieces = Array.from({ length: Math.ceil(samples.length / size) }, (_, index) => index * size);
  return pieces.map(at => samples.slice(at, at + size));
}

function assertSame(got: readonly number[], want: readonly number[]): void {
  assert.equal(got.length, want.length);
  const at = got.findIndex((each, index) => Math.abs(each - (want[index] ?? 0)) > TOLERANCE);
  assert.equal(at, -1, `window ${at} gets ${got[at]} instead of ${want[at]}`);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
