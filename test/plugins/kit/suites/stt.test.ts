import assert from 'node:assert/strict';
import test from 'ava';
import type { SttProvider, SttSession, Transcript } from '../../../../core/contract/plugin.ts';
import { reasonOf } from '../../../../plugins/kit/suites/reporter.ts';
import { type SttSubject, sttChecks } from '../../../../plugins/kit/suites/stt.ts';

const SPEECH = ['good morning', 'see you later'].map((text, index) => ({
  text,
  samples: Int16Array.from({ length: 24_000 + 8000 * index }, (_, at) => (at % 97) + 1 + index),
  wordErrors: 0,
}));

type Fault =
  | 'opens though aborted'
  | 'answers to silence'
  | 'answers outside of the utterance'
  | 'answers with pieces that overlap'
  | 'hears only what was there at first'
  | 'begins at the first sample of all'
  | 'hangs when aborted'
  | 'hears wrong words'
  | 'serves one at a time'
  | 'is lost when left early'
  | 'stays dead after a crash';

/** Knows the recordings by heart; with `fault`, wrong in one way. */
function memoriser(fault?: Fault): SttSubject {
  let crashed = Promise.withResolvers<never>();
  let dead = false;
  let serving = 0;
  let left = false;
  crashed.promise.catch(() => undefined);

  const provider: SttProvider = {
    sampleRate: 16000,
    languages: ['en'],
    model: null,
    async open({ signal }) {
      if (fault !== 'opens though aborted') signal.throwIfAborted();
      return { transcribe, failed: new Promise<never>(() => undefined), close: async () => undefined };
    },
  };

  const transcribe: SttSession['transcribe'] = async function* (utterance, signal) {
    if (dead || left || (serving > 0 && fault === 'serves one at a time')) throw new Error('not now');
    serving += 1;
    let finished = false;
    try {
      const aborted = Promise.withResolvers<never>();
      aborted.promise.catch(() => undefined);
      signal.addEventListener('abort', () => aborted.reject(signal.reason), { once: true });
      const end = fault === 'hangs when aborted' ? [crashed.promise] : [crashed.promise, aborted.promise];
      const samples = await Promise.race([read(utterance.pcm(from(utterance.startSample))), ...end]);
      yield* answer(samples, utterance.startSample);
      finished = true;
    } finally {
      serving -= 1;
      if (!finished && fault === 'is lost when left early') left = true;
    }
  };

  function from(startSample: number): number {
    return fault === 'begins at the first sample of all' ? 0 : startSample;
  }

  async function read(chunks: AsyncIterable<Int16Array>): Promise<number[]> {
    const samples: number[] = [];
    for await (const chunk of chunks) {
      samples.push(...chunk);
      if (fault === 'hears only what was there at first' && samples.length >= 12_000) break;
    }
    return samples;
  }

  function* answer(samples: number[], startSample: number): Generator<Transcript> {
    const spoken = samples.filter(sample => sample !== 0);
    const known = SPEECH.find(each => each.samples.length === spoken.length && each.samples[0] === spoken[0]);
    const text = known?.text ?? (fault === 'answers to silence' || spoken.length > 0 ? 'noise' : '');
    const endSample = startSample + samples.length + (fault === 'answers outside of the utterance' ? 1 : 0);
    const piece = { startSample, endSample, final: true };
    if (text === '') return;
    if (fault === 'hears wrong words') yield { ...piece, text: 'something else' };
    else if (fault === 'answers with pieces that overlap') {
      const [word = '', ...rest] = text.split(' ');
      yield { ...piece, text: word };
      yield { ...piece, text: rest.join(' ') };
    } else yield { ...piece, text };
  }

  function crash(): void {
    dead = fault === 'stays dead after a crash';
    crashed.reject(Object.assign(new Error('crashed'), { code: 'upstream_error' }));
    crashed = Promise.withResolvers();
    crashed.promise.catch(() => undefined);
  }

  return { provider, language: 'en', speech: SPEECH, crash, patienceMs: 50 };
}

/** Which check has to catch which fault. */
const CAUGHT: Record<Fault, string> = {
  'opens though aborted': 'does not open when it is aborted',
  'answers to silence': 'yields nothing for silence',
  'answers outside of the utterance':
    'recognises what was said, in ordered final pieces inside the utterance',
  'answers with pieces that overlap':
    'recognises what was said, in ordered final pieces inside the utterance',
  'hears only what was there at first': 'transcribes an utterance that is still growing',
  'begins at the first sample of all': 'starts at a sample inside an utterance',
  'hangs when aborted': 'ends at once when aborted, before the audio has ended',
  'hears wrong words': 'recognises one utterance after the other',
  'serves one at a time': 'serves two sessions concurrently',
  'is lost when left early': 'is available again when the reader stops early',
  'stays dead after a crash': 'throws when the engine dies, and works again afterwards',
};

test('a recogniser without fault passes every check', async t => {
  for (const check of sttChecks) await t.notThrowsAsync(check.run(memoriser()), check.title);
});

for (const [fault, title] of Object.entries(CAUGHT)) {
  test(`a recogniser that ${fault} is caught`, async t => {
    const check = sttChecks.find(each => each.title === title);
    await t.throwsAsync(async () => check?.run(memoriser(fault as Fault)));
  });
}

test('a failure says what the recogniser did', async t => {
  const silence = sttChecks.find(({ title }) => title === 'yields nothing for silence');
  const chatty = {
    async *transcribe() {
      yield { text: 'Thank you for watching', startSample: 0, endSample: 1, final: true };
    },
    failed: new Promise<never>(() => {}),
    close: async () => {},
  };
  const provider = { sampleRate: 16000, languages: 'any', model: null, open: async () => chatty } as const;
  const error = await t.throwsAsync(async () => silence?.run({ provider, language: 'en', speech: [] }));
  t.is(
    reasonOf(error),
    'it answered 2 s of silence with "Thank you for watching"; yield nothing if nothing was said',
  );
  const wrong = t.throws(() => assert.deepEqual({ a: [1] }, { a: [2] }));
  t.is(reasonOf(wrong), 'it answered { a: [ 1 ] } instead of { a: [ 2 ] }');
  t.is(
    reasonOf(new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })),
    'fetch failed (connect ECONNREFUSED)',
  );
});
