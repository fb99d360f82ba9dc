/**
 * Requirements for every speech recogniser, as plain checks that throw. Run each against a provider:
 * for (const check of sttChecks) test(check.title, () => check.run(subject));
 */
import assert from 'node:assert/strict';
import { concatSamples, encodeWav, SAMPLE_RATE } from '../../../core/audio/pcm.ts';
import type { SttProvider, SttSession, Transcript, Utterance } from '../../../core/contract/plugin.ts';
import { deadline, orAborted } from '../../../core/runtime/deadline.ts';
import type { SuiteCheck } from './report.ts';

export interface SttSubject {
  provider: SttProvider;
  /** A language that the recogniser supports. */
  language: string;
  /** At least two recordings, each with its text; `wordErrors` is the highest accepted share of wrong words. */
  speech: { samples: Int16Array; text: string; wordErrors: number }[];
  /** Ends the engine as a crash would; absent for a provider without one of its own. */
  crash?: () => void;
  /** Time after which a reader that was aborted and has not returned counts as stuck; 10 s when absent. */
  patienceMs?: number;
}

export interface SttCheck extends SuiteCheck<SttSubject> {
  /** True: the check is skipped for a subject without `crash`. */
  needsCrash?: true;
}

const ASIDE_SAMPLES = 480_000;

export const sttChecks: SttCheck[] = [
  { title: 'opens once the engine has answered, and closes', isBasis: true, run: opens },
  { title: 'does not open when it is aborted', run: doesNotOpen },
  {
    title: 'recognises what was said, in ordered final pieces inside the utterance',
    isBasis: true,
    run: recognises,
  },
  { title: 'transcribes an utterance that is still growing', run: grows },
  { title: 'starts at a sample inside an utterance', run: startsLater },
  { title: 'recognises one utterance after the other', run: goesOn },
  { title: 'yields nothing for silence', run: staysSilent },
  { title: 'ends at once when aborted, before the audio has ended', run: aborts },
  { title: 'serves two sessions concurrently', run: servesTwo },
  { title: 'is available again when the reader stops early', run: isLeft },
  { title: 'throws when the engine dies, and works again afterwards', run: survives, needsCrash: true },
];

async function opens(subject: SttSubject): Promise<void> {
  const session: unknown = await open(subject);
  for (const name of ['transcribe', 'close'])
    assert.ok(
      typeof Object(session)[name] === 'function',
      `open() resolved to ${shortly(session)}, which has no ${name}()`,
    );
  assert.ok(
    Object(session).failed instanceof Promise,
    `the session that open() resolved to has no promise \`failed\`; without a lasting connection it is new Promise(() => {})`,
  );
  await (session as SttSession).close(); // checked above
}

function shortly(value: unknown): string {
  return typeof value === 'object' && value !== null ? `{ ${Object.keys(value).join(', ')} }` : String(value);
}

async function doesNotOpen({ provider, language }: SttSubject): Promise<void> {
  const reason = new Error('left');
  const opening = provider.open({ language, signal: AbortSignal.abort(reason) });
  await rejectsWith(reason, opening, 'open() was given an aborted signal');
}

async function recognises(subject: SttSubject): Promise<void> {
  const session = await open(subject);
  for (const speech of subject.speech) {
    const pieces = await collect(session, utteranceOf(speech.samples, ASIDE_SAMPLES));
    checkPieces(pieces, ASIDE_SAMPLES, ASIDE_SAMPLES + speech.samples.length);
    checkText(pieces, speech);
  }
  await session.close();
}

async function grows(subject: SttSubject): Promise<void> {
  const speech = first(subject);
  const session = await open(subject);
  const half = Math.floor(speech.samples.length / 2);
  const growing = growingUtterance(ASIDE_SAMPLES);
  growing.push(speech.samples.subarray(0, half));
  const answer = collect(session, growing.utterance);
  // The second half follows once the first was read, or never will be.
  await Promise.race([growing.read, answer]);
  growing.push(speech.samples.subarray(half));
  growing.end();
  checkText(await answer, speech);
  await session.close();
}

async function startsLater(subject: SttSubject): Promise<void> {
  const speech = first(subject);
  const session = await open(subject);
  const silence = new Int16Array(SAMPLE_RATE);
  const whole = utteranceOf(concatSamples([speech.samples, silence, speech.samples]), 0);
  const from = speech.samples.length + SAMPLE_RATE / 2;
  const pieces = await collect(session, tailOf(whole, from));
  checkPieces(pieces, from, from + SAMPLE_RATE / 2 + speech.samples.length);
  checkText(pieces, speech);
  await session.close();
}

async function goesOn(subject: SttSubject): Promise<void> {
  const session = await open(subject);
  for (const round of [1, 2]) {
    const speech = first(subject);
    checkText(await collect(session, utteranceOf(speech.samples, round * ASIDE_SAMPLES)), speech);
  }
  await session.close();
}

async function staysSilent(subject: SttSubject): Promise<void> {
  const session = await open(subject);
  for (const seconds of [2, 0]) {
    const pieces = await collect(session, utteranceOf(new Int16Array(seconds * SAMPLE_RATE), 0));
    const what = seconds === 0 ? 'an utterance without a sample' : `${seconds} s of silence`;
    const texts = pieces.map(({ text }) => JSON.stringify(text)).join(', ');
    assert.ok(pieces.length === 0, `it answered ${what} with ${texts}; yield nothing if nothing was said`);
  }
  await session.close();
}

async function aborts(subject: SttSubject): Promise<void> {
  const session = await open(subject);
  const growing = growingUtterance(0);
  growing.push(first(subject).samples.subarray(0, SAMPLE_RATE));
  const leaving = new AbortController();
  const answer = collect(session, growing.utterance, leaving.signal);
  await Promise.race([growing.read, answer]);
  const reason = new Error('left');
  leaving.abort(reason);
  const limitMs = subject.patienceMs ?? 10_000;
  const late = () => new Error(`it was still running ${limitMs} ms later`);
  const ended = deadline({ limitMs, late }, () => answer);
  await rejectsWith(reason, ended, 'the signal of transcribe() was aborted');
  checkText(await collect(session, utteranceOf(first(subject).samples, 0)), first(subject));
  await session.close();
}

async function rejectsWith(reason: Error, answer: Promise<unknown>, when: string): Promise<void> {
  const thrown = await answer.then(
    () => null,
    (error: unknown) => error,
  );
  if (thrown === reason) return;
  const did = thrown === null ? 'it continued' : `it threw ${String(thrown)}`;
  assert.fail(`${when}, and ${did}; reject with signal.reason`);
}

async function servesTwo(subject: SttSubject): Promise<void> {
  const sessions = await Promise.all([open(subject), open(subject)]);
  const answers = sessions.map(async (session, index) => {
    const speech = subject.speech[index];
    assert.ok(speech, 'the subject needs two recordings');
    checkText(await collect(session, utteranceOf(speech.samples, 0)), speech);
    await session.close();
  });
  await Promise.all(answers);
}

async function isLeft(subject: SttSubject): Promise<void> {
  const speech = first(subject);
  const session = await open(subject);
  for (let round = 0; round < 2; round++) {
    for await (const piece of session.transcribe(utteranceOf(speech.samples, 0), never())) {
      assert.ok(piece.text, 'it yielded a piece without text');
      break;
    }
  }
  checkText(await collect(session, utteranceOf(speech.samples, 0)), speech);
  await session.close();
}

async function survives(subject: SttSubject): Promise<void> {
  if (subject.crash === undefined) return;
  const speech = first(subject);
  const [session, other] = await Promise.all([open(subject), open(subject)]);
  const growing = growingUtterance(0);
  growing.push(speech.samples.subarray(0, SAMPLE_RATE));
  const answer = collect(session, growing.utterance);
  await Promise.race([growing.read, answer]);
  subject.crash();
  const thrown: unknown = await answer.catch((error: unknown) => error);
  const { code } = Object(thrown);
  assert.ok(
    code === 'upstream_error',
    `when the engine died, it did not throw error('upstream_error', …) but continued with ${String(thrown)}`,
  );
  checkText(await collect(session, utteranceOf(speech.samples, 0)), speech);
  checkText(await collect(other, utteranceOf(speech.samples, 0)), speech);
  await Promise.all([session.close(), other.close()]);
}

function open({ provider, language }: SttSubject): Promise<SttSession> {
  return provider.open({ language, signal: never() });
}

async function collect(session: SttSession, utterance: Utterance, signal = never()): Promise<Transcript[]> {
  const pieces: Transcript[] = [];
  for await (const piece of session.transcribe(utterance, signal)) if (piece.final) pieces.push(piece);
  return pieces;
}

function checkPieces(pieces: Transcript[], from: number, to: number): void {
  assert.ok(pieces.length > 0, 'it recognised nothing: it yielded no piece with final: true');
  let end = from;
  for (const piece of pieces) {
    const where = `piece ${piece.startSample}-${piece.endSample} of ${from}-${to}`;
    assert.ok(
      Number.isInteger(piece.startSample) && Number.isInteger(piece.endSample),
      `${where} does not begin and end at whole samples`,
    );
    assert.ok(piece.startSample >= end, `${where} begins before the end of the previous one`);
    assert.ok(piece.endSample > piece.startSample, `${where} is empty`);
    assert.ok(piece.endSample <= to, `${where} ends after the utterance`);
    assert.ok(typeof piece.text === 'string', `its text is ${String(piece.text)}, which is not a string`);
    assert.ok(
      piece.text === piece.text.trim(),
      `its text has spaces around it: ${JSON.stringify(piece.text)}`,
    );
    assert.ok(piece.text !== '', 'it yielded a piece without text');
    end = piece.endSample;
  }
}

function checkText(pieces: Transcript[], speech: SttSubject['speech'][number]): void {
  const heard = pieces.map(piece => piece.text).join(' ');
  const rate = wordErrorRate(speech.text, heard);
  assert.ok(rate <= speech.wordErrors, `${Math.round(rate * 100)} % of words wrong: "${heard}"`);
}

function first({ speech }: SttSubject): SttSubject['speech'][number] {
  const [one] = speech;
  assert.ok(one, 'the subject needs recordings');
  return one;
}

/** Returns substituted, inserted and missing words divided by the number of words spoken. */
export function wordErrorRate(said: string, heard: string): number {
  const want = wordsOf(said);
  const got = wordsOf(heard);
  let row = Array.from({ length: got.length + 1 }, (_, index) => index);
  want.forEach((word, index) => {
    const next = [index + 1];
    got.forEach((other, at) => {
      const replaced = (row[at] ?? 0) + (word === other ? 0 : 1);
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    });
    row = next;
  });
  return (row.at(-1) ?? 0) / want.length;
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [];
}

/** An utterance that has ended. */
export function utteranceOf(samples: Int16Array, startSample: number): Utterance {
  const growing = growingUtterance(startSample);
  growing.push(samples);
  growing.end();
  return growing.utterance;
}

/** Returns the rest of an utterance, as core passes it to start again at `from`. */
function tailOf(utterance: Utterance, from: number): Utterance {
  return {
    startSample: from,
    channel: utterance.channel,
    get endSample() {
      return utterance.endSample;
    },
    pcm: (later = from) => utterance.pcm(later),
    wav: (later = from, signal) => utterance.wav(later, signal),
  };
}

/** Creates an utterance whose rest is still to be spoken. `read` resolves once the existing part was read. */
export function growingUtterance(startSample: number) {
  const chunks: Int16Array[] = [];
  const read = Promise.withResolvers<void>();
  let ended = false;
  let changed = Promise.withResolvers<void>();
  const change = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };

  async function* pcm(from = startSample): AsyncGenerator<Int16Array> {
    let at = startSample;
    for (let index = 0; ; index++) {
      while (index >= chunks.length && !ended) {
        read.resolve();
        await changed.promise;
      }
      const chunk = chunks[index];
      if (chunk === undefined) return;
      const part = chunk.subarray(Math.max(0, from - at));
      at += chunk.length;
      // In packets as small as a wearable's.
      for (let start = 0; start < part.length; start += 320) yield part.subarray(start, start + 320);
    }
  }

  return {
    utterance: {
      startSample,
      channel: 0,
      pcm,
      wav,
      get endSample() {
        return ended ? startSample + chunks.reduce((sum, { length }) => sum + length, 0) : undefined;
      },
    } satisfies Utterance,
    read: read.promise,
    push(samples: Int16Array) {
      chunks.push(samples);
      change();
    },
    end() {
      ended = true;
      change();
    },
  };

  async function wav(from = startSample, signal = never()): Promise<Uint8Array<ArrayBuffer>> {
    return orAborted(whole(from), signal);
  }

  async function whole(from: number): Promise<Uint8Array<ArrayBuffer>> {
    const parts: Int16Array[] = [];
    for await (const part of pcm(from)) parts.push(part);
    return encodeWav(concatSamples(parts));
  }
}

function never(): AbortSignal {
  return new AbortController().signal;
}
