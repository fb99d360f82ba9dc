/**
 * Requirements for every speaker model, as plain checks that throw. They do not measure how well it distinguishes
 * voices.
 */
import assert from 'node:assert/strict';
import type { SpeakerModel } from '../../../core/contract/plugin.ts';
import type { SuiteCheck } from './report.ts';

export interface SpeakersSubject {
  speakers: SpeakerModel;
  /** Speech at 16 kHz, 3 s or more: two pieces of one voice, and one of another. */
  speech: { one: Int16Array; again: Int16Array; other: Int16Array };
}

type SpeakersCheck = SuiteCheck<SpeakersSubject>;

export const speakersChecks: readonly SpeakersCheck[] = [
  { title: 'names its model, and plausible similarity thresholds', run: isDescribed },
  { title: 'returns vectors of its dimensions and of length 1', isBasis: true, run: measures },
  { title: 'returns the same vector for the same speech, and never changes one later', run: repeats },
  { title: 'finds pieces of one voice more similar than those of two', run: tellsApart },
  { title: 'accepts a quarter of a second, 30 s, and silence', run: takesAnyLength },
  { title: 'serves several calls at once', run: servesSideBySide },
  { title: 'rejects with the reason when it is aborted', run: stops },
];

const never = new AbortController().signal;
const SAMPLE_RATE = 16_000;

async function isDescribed({
  speakers: { id, dimensions, sameVoice, namedVoice },
}: SpeakersSubject): Promise<void> {
  assert.match(id, /^[a-z0-9._-]{1,100}$/, 'its id does not consist of 1 to 100 of a-z, 0-9, . _ -');
  assert.ok(Number.isInteger(dimensions) && dimensions > 0, 'its dimensions are not a positive integer');
  assert.ok(
    sameVoice > 0 && sameVoice <= namedVoice && namedVoice < 1,
    'its similarities are not 0 < sameVoice <= namedVoice < 1',
  );
}

async function measures(subject: SpeakersSubject): Promise<void> {
  check(subject, await subject.speakers.embed(subject.speech.one, never));
}

async function repeats({ speakers, speech }: SpeakersSubject): Promise<void> {
  const first = await speakers.embed(speech.one, never);
  const kept = first.slice();
  await speakers.embed(speech.other, never);
  assert.deepEqual(first, kept, 'it changes a vector that it has returned');
  assert.ok(
    cosine(await speakers.embed(speech.one, never), kept) > 0.999,
    'the same speech gets another vector',
  );
}

async function tellsApart({ speakers, speech }: SpeakersSubject): Promise<void> {
  const [one, again, other] = await Promise.all([
    speakers.embed(speech.one, never),
    speakers.embed(speech.again, never),
    speakers.embed(speech.other, never),
  ]);
  assert.ok(cosine(one, again) > cosine(one, other), 'another voice is more similar than the same voice');
}

async function takesAnyLength(subject: SpeakersSubject): Promise<void> {
  const { speakers, speech } = subject;
  check(subject, await speakers.embed(speech.one.slice(SAMPLE_RATE, SAMPLE_RATE * 1.25), never));
  const long = Int16Array.from(
    { length: 30 * SAMPLE_RATE },
    (_, at) => speech.one[at % speech.one.length] ?? 0,
  );
  check(subject, await speakers.embed(long, never));
  const nothing = await speakers.embed(new Int16Array(SAMPLE_RATE), never);
  assert.ok(nothing.every(Number.isFinite), 'the vector of silence contains values that are not numbers');
}

async function servesSideBySide({ speakers, speech }: SpeakersSubject): Promise<void> {
  const alone = await speakers.embed(speech.one, never);
  const [one] = await Promise.all([speakers.embed(speech.one, never), speakers.embed(speech.other, never)]);
  assert.ok(cosine(alone, one) > 0.999, 'it mixes up concurrent calls');
}

async function stops({ speakers, speech }: SpeakersSubject): Promise<void> {
  const reason = new Error('nobody waits any more');
  const stopper = new AbortController();
  const asking = speakers.embed(speech.one, stopper.signal);
  stopper.abort(reason);
  await assert.rejects(asking, (thrown: unknown) => {
    assert.equal(thrown, reason, 'it does not reject with the reason of the signal');
    return true;
  });
}

function check({ speakers }: SpeakersSubject, vector: Float32Array): void {
  assert.equal(
    vector.length,
    speakers.dimensions,
    'a vector does not have the number of dimensions that the model states',
  );
  assert.ok(Math.abs(cosine(vector, vector) - 1) < 0.001, 'a vector does not have the length 1');
}

function cosine(one: Float32Array, other: Float32Array): number {
  return one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
}
