import { SAMPLE_RATE } from '../../audio/pcm.ts';
import type { Clock } from '../../contract/model.ts';
import type { VadProvider } from '../../contract/plugin.ts';
import { languageOf, MULTI } from '../../domain/languages.ts';
import { withinLimit } from '../../runtime/deadline.ts';
import { AppError, type Outcome, outcomeOf, toAppError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import { Refusal } from '../connection/parameters.ts';
import type { NamedProvider } from '../recogniser/providers.ts';
import type { Recogniser } from '../recogniser/recogniser.ts';
import { type AudioFile, decodeFile } from './decode.ts';
import { hear } from './hear.ts';
import { createSlots } from './slots.ts';

/** Transcript of a voice message. */
export interface VoiceTranscript {
  outcome: 'success' | 'expected_silence';
  /** Empty if nobody speaks. */
  transcript: string;
  sttProvider: string | null;
  sttModel: string | null;
  /** ISO 639-1, as detected or requested; `multi`: unknown. */
  language: string;
}

/** Maximum samples of a message: an hour of audio, all files together. */
const MAX_SAMPLES = 3600 * SAMPLE_RATE;
/** Whoever sent it waits for it. */
const LIMIT_MS = 30 * 60_000;
const USUAL_LANGUAGE = 'en';
const SLOTS = { running: 2, waiting: 32, waitingPerUser: 4 };

interface VoiceDeps {
  recognisers(): NamedProvider[];
  /** Creates a recogniser that gives up soon, because the client can send the message again. */
  recogniserFor(language: string, signal: AbortSignal): Recogniser;
  vad(): VadProvider;
  metrics: { utterance(outcome: Outcome): void };
  clock: Clock;
  log: Log;
}

export type VoiceMessages = ReturnType<typeof createVoiceMessages>;

/** Transcribes recordings of clients without storing them. */
export function createVoiceMessages({ recognisers, recogniserFor, vad, metrics, clock, log }: VoiceDeps) {
  const slots = createSlots(SLOTS);

  /**
   * Transcribes all files, one after the other. Throws one of the failure outcomes of speech recognition, or `rate_limited` if
   * too many messages of the user wait already.
   * @param language as the client sent it; null: none
   */
  async function transcribe(
    userId: string,
    files: readonly AudioFile[],
    language: string | null,
    signal: AbortSignal,
  ): Promise<VoiceTranscript> {
    check(files, language);
    const spoken = spokenIn(language);
    const leave = await slots.enter(userId, signal);
    const limit = { clock, limitMs: LIMIT_MS, what: 'transcript' };
    let asked: Recogniser | null = null;
    try {
      const heard = await withinLimit(limit, signal, within => {
        asked = recogniserFor(spoken, within);
        return transcribeAll(asked, files, spoken, within);
      });
      metrics.utterance(heard.outcome);
      return heard;
    } catch (thrown) {
      signal.throwIfAborted();
      const error = outcomeError(thrown, providerOf(asked));
      metrics.utterance(outcomeOf(error));
      log.info({ code: error.code, err: error.cause }, 'a voice message could not be transcribed');
      throw error;
    } finally {
      leave();
    }
  }

  async function transcribeAll(
    recogniser: Recogniser,
    files: readonly AudioFile[],
    language: string,
    signal: AbortSignal,
  ): Promise<VoiceTranscript> {
    const texts: string[] = [];
    const said = { speech: false, language };
    try {
      const first = await recogniser.open();
      const limited = within(MAX_SAMPLES);
      for (const file of files)
        for await (const heard of hear(limited(decodeFile(file, { clock, signal })), {
          recogniser,
          vad: vad(),
          signal,
        })) {
          if (heard.kind === 'speech') said.speech = true;
          if (heard.kind !== 'text') continue;
          texts.push(heard.piece.text.trim());
          if (language === MULTI) said.language = languageOf(heard.piece.language ?? '') ?? said.language;
        }
      if (said.speech && texts.length === 0)
        throw new AppError('empty_unexpected', 'The recogniser understood nothing of the speech');
      const provider = recogniser.provider ?? first;
      return {
        outcome: said.speech ? 'success' : 'expected_silence',
        transcript: texts.join(' '),
        sttProvider: provider,
        sttModel: recognisers().find(({ name }) => name === provider)?.stt.model ?? null,
        language: said.language,
      };
    } finally {
      await recogniser.close();
    }
  }

  /** Throws `invalid_input` for faults that can be found without decoding. */
  function check(files: readonly AudioFile[], language: string | null): void {
    if (files.length === 0)
      throw new AppError(
        'invalid_input',
        'There is no recording: send it as the field files, or as the body',
      );
    spokenIn(language);
  }

  /** Default language: detected, if a recogniser can do that. */
  function spokenIn(asked: string | null): string {
    if (asked === null)
      return recognisers().some(({ stt }) => stt.languages !== 'any' && stt.languages.includes(MULTI))
        ? MULTI
        : USUAL_LANGUAGE;
    const language = languageOf(asked);
    if (language === null)
      throw new AppError('invalid_input', 'language: must be a code such as en, or multi');
    return language;
  }

  return { check, transcribe };
}

/** Throws if all files together are longer. */
function within(most: number) {
  let left = most;
  return async function* (samples: AsyncIterable<Int16Array>): AsyncGenerator<Int16Array> {
    for await (const piece of samples) {
      left -= piece.length;
      if (left < 0)
        throw new AppError(
          'invalid_input',
          `A voice message has ${most / SAMPLE_RATE / 60} minutes at most: cut it into shorter ones`,
        );
      yield piece;
    }
  };
}

function providerOf(recogniser: Recogniser | null): string | null {
  return recogniser?.provider ?? null;
}

/** Converts a thrown value into a failure outcome, with the recogniser if that failed. */
function outcomeError(thrown: unknown, provider: string | null): AppError {
  const error = thrown instanceof Refusal ? new AppError('config_error', thrown.message) : toAppError(thrown);
  if (error.code === 'unsupported_media' || error.code === 'invalid_input')
    return new AppError('invalid_input', error.message, { cause: error.cause ?? error });
  const isOutcome = error.code === outcomeOf(error);
  return new AppError(outcomeOf(error), isOutcome ? error.message : 'The message could not be transcribed', {
    cause: error.cause ?? error,
    detail: { provider },
  });
}
