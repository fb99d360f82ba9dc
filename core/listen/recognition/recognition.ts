/** The recognisers of this machine, for speech that comes from others. */
import { PassThrough } from 'node:stream';
import { createGate } from '../../audio/gate.ts';
import { SAMPLE_RATE } from '../../audio/pcm.ts';
import type { GrowingUtterance } from '../../audio/utterance.ts';
import type { Clock } from '../../contract/model.ts';
import type { Transcript, VadProvider } from '../../contract/plugin.ts';
import { languageOf, MULTI } from '../../domain/languages.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import { Refusal } from '../connection/parameters.ts';
import { chooseProviders, type NamedProvider } from '../recogniser/providers.ts';
import { createRecogniser } from '../recogniser/recogniser.ts';
import { nextInLine } from '../scheduler.ts';

export interface Recognition {
  /** Recognisers that work now, the preferred one first. */
  recognisers(): NamedProvider[];
  /**
   * The text of speech as it is said, in final pieces; positions are in samples from its beginning. The speech is
   * read no faster than it is recognised. Whoever leaves early aborts the signal. Throws `invalid_request` for a
   * language that none has, or what the recognisers do.
   */
  recognise(speech: AsyncIterable<Int16Array>, request: Request): AsyncGenerator<Transcript>;
}

interface Request {
  /** As the client wrote it; null: it does not say. */
  language: string | null;
  /** Name of the recogniser that the client would like. */
  wish: string | null;
  signal: AbortSignal;
}

interface Options {
  recognisers(): NamedProvider[];
  vad(): VadProvider;
  clock: Clock;
  log: Log;
}

/** Judged at a stretch: half a second. */
const STRETCH = SAMPLE_RATE / 2;
/** Whoever sent the speech waits for its text, and has other recognisers. */
const RETRY_PAUSES_MS = [100, 500];
const SILENT = { onLost() {}, onBack() {}, onGone() {} };

export function createRecognition({ recognisers, vad, clock, log }: Options): Recognition {
  async function* recognise(speech: AsyncIterable<Int16Array>, { language, wish, signal }: Request) {
    const spoken = spokenIn(language, wish);
    const utterances = utterancesIn(speech, vad(), signal);
    const recogniser = createRecogniser({
      ...SILENT,
      ...{ providers: recognisers, language: spoken, wish, signal, clock, log },
      retryPausesMs: RETRY_PAUSES_MS,
    });
    try {
      for await (const utterance of utterances)
        for await (const { piece } of recogniser.transcribe(utterance)) {
          yield piece;
          utterance.release(piece.endSample);
        }
    } finally {
      await recogniser.close();
    }
  }

  function spokenIn(asked: string | null, wish: string | null): string {
    const language = asked === null ? usualLanguage(recognisers(), wish) : languageOf(asked);
    if (language === null)
      throw new AppError('invalid_request', 'language: must be a code such as en, or multi');
    try {
      chooseProviders(recognisers(), { language, wish });
      return language;
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      const known = new Set(recognisers().flatMap(({ stt }) => stt.languages));
      throw new AppError('invalid_request', `${thrown.message}; ask for one of: ${[...known].join(', ')}`);
    }
  }

  return { recognisers, recognise };
}

/** Whatever is spoken, if a recogniser can tell; else the first language of the first one. */
function usualLanguage(recognisers: NamedProvider[], wish: string | null): string {
  const known = recognisers
    .toSorted((a, b) => Number(b.name === wish) - Number(a.name === wish))
    .map(({ stt }) => stt.languages);
  const detects = known.some(languages => languages === 'any' || languages.includes(MULTI));
  return detects ? MULTI : (known[0]?.[0] ?? MULTI);
}

/** The utterances in speech, each from its first words on: it grows while it is read. One at most waits. */
function utterancesIn(
  speech: AsyncIterable<Int16Array>,
  vad: VadProvider,
  signal: AbortSignal,
): AsyncIterable<GrowingUtterance> {
  const found = new PassThrough({ objectMode: true, highWaterMark: 1, signal });
  found.on('error', () => undefined); // it is thrown to the reader
  const gate = createGate({
    detector: vad.open(),
    windowSize: vad.windowSize,
    channel: 0,
    startSample: 0,
    onUtterance: utterance => found.write(utterance),
  });

  async function listen() {
    for await (const samples of speech)
      for (let at = 0; at < samples.length; at += STRETCH) {
        signal.throwIfAborted();
        await gate.push(samples.subarray(at, at + STRETCH));
        if (found.writableNeedDrain) await room();
        await nextInLine(); // an hour at once must not keep anybody waiting
      }
    await gate.flush();
    found.end();
  }

  /** Resolves when there is room for another utterance, or nobody takes any more. */
  function room() {
    return new Promise<void>(resolve => {
      found.once('drain', resolve);
      found.once('close', resolve);
    });
  }

  listen()
    .catch(error => found.destroy(error))
    .finally(gate.close);
  return found;
}
