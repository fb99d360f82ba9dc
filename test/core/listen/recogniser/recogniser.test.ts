import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import { pino } from 'pino';
import { createUtterance } from '../../../../core/audio/utterance.ts';
import type {
  SttHints,
  SttProvider,
  SttSession,
  Transcript,
  Utterance,
} from '../../../../core/contract/plugin.ts';
import { createRecogniser } from '../../../../core/listen/recogniser/recogniser.ts';
import { manualClock } from '../../../helpers/manual-clock.ts';

/** A recogniser with one engine that behaves as the test sets it. */
function recogniserOf(engine: Partial<SttProvider> & Partial<SttSession>) {
  const session: SttSession = {
    transcribe: async function* () {},
    failed: new Promise<never>(() => {}),
    close: async () => {},
    ...engine,
  };
  const stt: SttProvider = {
    sampleRate: 16000,
    languages: 'any',
    model: null,
    open: async () => session,
    ...engine,
  };
  const halt = new AbortController();
  const clock = manualClock();
  const recogniser = createRecogniser({
    providers: () => [{ name: 'engine', stt }],
    language: 'en',
    wish: null,
    signal: halt.signal,
    clock,
    log: pino({ level: 'silent' }),
    onLost: () => {},
    onBack: () => {},
    onGone: () => {},
  });
  return { recogniser, halt, clock };
}

function spoken(startSample: number) {
  const utterance = createUtterance({ startSample, channel: 0 });
  utterance.append(new Int16Array(1600));
  utterance.end();
  return utterance;
}

async function* heard({ startSample }: Utterance): AsyncGenerator<Transcript> {
  yield { text: 'words', startSample, endSample: startSample + 1600, final: true };
}

test('an engine receives the vocabulary each time it opens; text without capitals gets them', async t => {
  const told: SttHints[] = [];
  const stt: SttProvider = {
    sampleRate: 16000,
    languages: 'any',
    model: null,
    plain: true,
    async open(hints) {
      told.push(hints);
      const transcribe = async function* ({ startSample }: Utterance): AsyncGenerator<Transcript> {
        yield { text: 'i told anna', startSample, endSample: startSample + 1600, final: true };
      };
      return { transcribe, failed: new Promise<never>(() => {}), close: async () => {} };
    },
  };
  let isReadable = true;
  const recogniser = createRecogniser({
    providers: () => [{ name: 'engine', stt }],
    language: 'en',
    async vocabulary() {
      if (!isReadable) throw new Error('the database is away');
      return ['Anna'];
    },
    wish: null,
    signal: new AbortController().signal,
    clock: manualClock(),
    log: pino({ level: 'silent' }),
    onLost: () => {},
    onBack: () => {},
    onGone: () => {},
  });
  await recogniser.open();
  t.like(told[0], { language: 'en', vocabulary: ['Anna'] });
  for await (const { piece } of recogniser.transcribe(spoken(0))) t.is(piece.text, 'I told Anna.');
  isReadable = false;
  await recogniser.open();
  t.deepEqual(told[1]?.vocabulary, [], 'recognition goes on without it');
});

test('no connection waits at its end for an engine that is still opening', async t => {
  const { recogniser, halt } = recogniserOf({ open: () => new Promise(() => {}) });
  const opening = recogniser.open();
  halt.abort(new Error('the connection ended'));
  await t.throwsAsync(opening, { message: 'the connection ended' });
});

test('an engine that opens too late is closed', async t => {
  const engine = Promise.withResolvers<SttSession>();
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const { recogniser, halt } = recogniserOf({ open: () => engine.promise });
  const opening = recogniser.open();
  halt.abort(new Error('the connection ended'));
  await t.throwsAsync(opening);
  engine.resolve({ transcribe: heard, failed: new Promise(() => {}), close: async () => close() });
  await t.notThrowsAsync(closed);
});

test('an engine that fails right after opening is reopened at growing intervals', async t => {
  const dying = () => Promise.reject(new Error('it fell over')) as Promise<never>;
  let opened = 0;
  const { recogniser, clock, halt } = recogniserOf({
    async open() {
      opened += 1;
      return { transcribe: heard, failed: dying(), close: async () => {} };
    },
  });
  await recogniser.open();
  let times = 1;
  for (const pause of [100, 500, 2000, 5000, 10_000, 10_000, 10_000]) {
    await clock.asleep(pause);
    t.is(opened, times++);
    clock.advance(pause);
  }
  halt.abort(new Error('the connection ended'));
});

test('an utterance after the end is not started', async t => {
  const { recogniser, halt } = recogniserOf({ transcribe: () => t.fail() as never });
  await recogniser.open();
  halt.abort(new Error('the connection ended'));
  await t.throwsAsync(recogniser.transcribe(spoken(0)).next(), { message: 'the connection ended' });
});

test('an engine that does not close is abandoned', async t => {
  const { recogniser, clock } = recogniserOf({ close: () => new Promise(() => {}) });
  await recogniser.open();
  const closing = recogniser.close();
  clock.advance(2000);
  await t.notThrowsAsync(closing);
});

test('an utterance is released from memory before its connection ends', async t => {
  const signals: WeakRef<AbortSignal>[] = [];
  const { recogniser } = recogniserOf({
    async *transcribe(utterance, signal) {
      signals.push(new WeakRef(signal));
      signal.addEventListener('abort', () => {});
      yield* heard(utterance);
    },
  });
  for (let at = 0; at < 16_000; at += 1600)
    for await (const { piece } of recogniser.transcribe(spoken(at))) t.is(piece.startSample, at);
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  await turn();
  collect();
  await turn();
  const kept = signals.filter(signal => signal.deref() !== undefined).length;
  t.true(kept <= 1, `${kept} of ${signals.length} are kept`);
});

test('a finished connection is not kept in memory by an engine that keeps running', async t => {
  const failed = new Promise<never>(() => {}); // one for all its sessions
  const connection = async () => {
    const { recogniser, halt } = recogniserOf({ failed });
    await recogniser.open();
    await recogniser.close();
    return new WeakRef(halt.signal);
  };
  const over = [await connection(), await connection(), await connection()];
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  await turn();
  collect();
  await turn();
  const kept = over.filter(signal => signal.deref() !== undefined).length;
  t.true(kept <= 1, `${kept} of ${over.length} are kept`);
  t.truthy(failed);
});

test('a plugin learns the end of an utterance once it has ended, and not before', async t => {
  const seen: (number | undefined)[] = [];
  const { recogniser } = recogniserOf({
    async *transcribe(utterance, signal) {
      seen.push(utterance.endSample);
      await utterance.wav(utterance.startSample, signal);
      seen.push(utterance.endSample);
      yield* heard(utterance);
    },
  });
  await recogniser.open();
  const utterance = createUtterance({ startSample: 100, channel: 0 });
  utterance.append(new Int16Array(1600));
  const pieces = recogniser.transcribe(utterance).next();
  while (seen.length === 0) await turn();
  utterance.end();
  await pieces;
  t.deepEqual(seen, [undefined, 1700]);
});
