/** Serves the recognisers of this machine to other programs. */
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
  /** Lists the available recognisers, the preferred one first. */
  recognisers(): NamedProvider[];
  /**
   * Transcribes speech while it arrives, in final pieces; positions are samples from its beginning. Speech is read only as fast
   * as it is recognised. Throws `invalid_request` for a language that no recogniser has, and the errors of the recognisers.
   * Aborting the signal ends it early.
   */
  recognise(speech: AsyncIterable<Int16Array>, request: Request): AsyncGenerator<Transcript>;
}

interface Request {
  /** Language as the client sent it; null: none. */
  language: string | null;
  /** Name of the recogniser that the client prefers. */
  wish: string | null;
  signal: AbortSignal;
}

interface Options {
  recognisers(): NamedProvider[];
  vad(): VadProvider;
  clock: Clock;
  log: Log;
}

/** Samples that are analysed without yielding: half a second. */
const STRETCH = SAMPLE_RATE / 2;
/** Short pauses between retries, because the client waits, and has other recognisers. */
const RETRY_PAUSES_MS = [100, 500];
const SILENT = { onLost() {}, onBack() {}, onGone() {} };

export function createRecognition({ recognisers, vad, clock, log }: Options): Recognition {
  async function* recognise(speech: AsyncIterable<Int16Array>, { language, wish, signal }: Request) {
    const spoken = spokenIn(language, wish);
    const utterances = utterancesIn(speech, vad(), signal);
    const recogniser = createRecogniser({
      ...SILENT,
      providers: recognisers,
      language: spoken,
      wish,
      signal,
      clock,
      log,
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

/** Default language: detected, if a recogniser can do that; otherwise the first language of the first one. */
function usualLanguage(recognisers: NamedProvider[], wish: string | null): string {
  const known = recognisers
    .toSorted((a, b) => Number(b.name === wish) - Number(a.name === wish))
    .map(({ stt }) => stt.languages);
  const detects = known.some(languages => languages === 'any' || languages.includes(MULTI));
  return detects ? MULTI : (known[0]?.[0] ?? MULTI);
}

/** Yields utterances from their first words on; they grow while they are read. At most one waits. */
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
        await nextInLine(); // an hour of audio must not delay others
      }
    await gate.flush();
    found.end();
  }

  /** Resolves when there is room for another utterance, or the consumer has stopped. */
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
