import { SAMPLE_RATE } from '../../audio/pcm.ts';
import type { GrowingUtterance } from '../../audio/utterance.ts';
import type { Clock } from '../../contract/model.ts';
import type { SpeakerModel, VadProvider } from '../../contract/plugin.ts';
import { OWNER } from '../../domain/conversations/corrections.ts';
import type { SpeechChoices } from '../../domain/speech/speech-settings.ts';
import { type HeardVoice, meanOf } from '../../domain/speech/voice-clusters.ts';
import type { SpeechProfile, VoiceSamples } from '../../domain/speech/voice-samples.ts';
import { withinLimit } from '../../runtime/deadline.ts';
import { AppError, toAppError } from '../../runtime/errors.ts';
import { type AudioFile, decodeFile } from './decode.ts';
import { createSlots } from './slots.ts';
import { utterancesOf } from './utterances.ts';
import { areSeveral, createLoudnessMeter, type Flaw, LEAST_SPEECH_SECONDS } from './voice-quality.ts';

/** Maximum seconds of all files together. */
const MAX_SECONDS = 300;
/** Maximum speech that is analysed; more does not improve the result. */
const MAX_SPEECH_SECONDS = 120;
/** Samples of speech for one vector. */
const PIECE = 3 * SAMPLE_RATE;
/** Minimum samples of the last vector. */
const LEAST_PIECE = SAMPLE_RATE;
const EMBED_MS = 10_000;
const LIMIT_MS = 5 * 60_000;
const SLOTS = { running: 1, waiting: 16, waitingPerUser: 2 };

const FLAWS: Readonly<Record<Flaw, string>> = {
  too_short: `Too little speech: a recording needs at least ${LEAST_SPEECH_SECONDS} s of it`,
  too_quiet: 'Too quiet: come closer to the microphone',
  too_loud: 'Too loud: it is distorted; go away from the microphone',
  too_noisy: 'Too much noise: record where it is quiet',
  several_voices: 'More than one voice: record one person alone',
};

export type SpeechProfiles = ReturnType<typeof createSpeechProfiles>;

/** Voices of the owner and of people: recorded for this, checked, and kept as a vector; of the recording nothing is kept. */
export function createSpeechProfiles({
  voiceSamples,
  speechSettings,
  speakers,
  vad,
  clock,
}: {
  voiceSamples: VoiceSamples;
  speechSettings: Pick<SpeechChoices, 'get'>;
  /** Null: none works now. */
  speakers(): SpeakerModel | null;
  vad(): VadProvider;
  clock: Clock;
}) {
  const slots = createSlots(SLOTS);

  async function get(userId: string): Promise<SpeechProfile> {
    const samples = await voiceSamples.list(userId, OWNER);
    const usable = samples.filter(({ isUsable }) => isUsable);
    const seconds = usable.reduce((sum, sample) => sum + sample.seconds, 0);
    return { hasProfile: usable.length > 0, seconds, samples };
  }

  /**
   * Takes recordings of a voice: the owner's in place of what was recorded before, a person's beside it.
   * `invalid_request` with its issue where they are not good enough, `unavailable` where voices are not told apart
   * here, `conflict` where the user has switched that off or there are too many, `not_found`, `rate_limited`.
   */
  async function recordPerson(
    userId: string,
    personId: string,
    files: readonly AudioFile[],
    signal: AbortSignal,
  ): Promise<void> {
    const model = speakers();
    if (!model)
      throw new AppError(
        'unavailable',
        'Voices are not distinguished on this server: its operator has to name a model in the setting speakers',
      );
    if (!(await speechSettings.get(userId)).labelVoices)
      throw new AppError('conflict', 'You have switched voices off: set label_voices to true first');
    if (files.length === 0)
      throw invalid('There is no recording: send it as the field files, or as the body');
    await voiceSamples.checkRoom(userId, personId);
    const leave = await slots.enter(userId, signal);
    try {
      const limit = { clock, limitMs: LIMIT_MS, what: 'speech profile' };
      const heard = await withinLimit(limit, signal, within => listen(model, files, within));
      await voiceSamples.putRecorded(userId, personId, model.id, heard);
    } finally {
      leave();
    }
  }

  async function listen(
    model: SpeakerModel,
    files: readonly AudioFile[],
    signal: AbortSignal,
  ): Promise<HeardVoice> {
    const meter = createLoudnessMeter();
    const recording = metered(files, meter, signal);
    const pieces: HeardVoice[] = [];
    let seconds = 0;
    for await (const { utterance } of utterancesOf(recording, { vad: vad(), signal })) {
      if (!utterance || seconds >= MAX_SPEECH_SECONDS) continue;
      seconds += (utterance.endSample - utterance.startSample) / SAMPLE_RATE;
      for await (const samples of piecesOf(utterance)) pieces.push(await heardIn(model, samples, signal));
    }
    const isShort = seconds < LEAST_SPEECH_SECONDS;
    const flaw = meter.flaw() ?? (isShort ? 'too_short' : null);
    if (flaw) throw invalid(FLAWS[flaw], flaw);
    if (areSeveral(pieces, model.sameVoice)) throw invalid(FLAWS.several_voices, 'several_voices');
    const vector = meanOf(pieces);
    if (!vector) throw invalid(FLAWS.too_short, 'too_short');
    return { vector, seconds };
  }

  /** Decodes and measures all files. Throws if they are too long. */
  async function* metered(
    files: readonly AudioFile[],
    meter: ReturnType<typeof createLoudnessMeter>,
    signal: AbortSignal,
  ): AsyncGenerator<Int16Array> {
    let left = MAX_SECONDS * SAMPLE_RATE;
    for (const file of files)
      for await (const samples of decoded(file, signal)) {
        left -= samples.length;
        if (left < 0) throw invalid(`A recording of a voice has ${MAX_SECONDS} s at most`, 'too_long');
        meter.push(samples);
        yield samples;
      }
  }

  async function* decoded(file: AudioFile, signal: AbortSignal): AsyncGenerator<Int16Array> {
    try {
      yield* decodeFile(file, { clock, signal });
    } catch (thrown) {
      const { code, message } = toAppError(thrown);
      if (code !== 'invalid_input' && code !== 'unsupported_media') throw thrown;
      throw invalid(message, code, thrown);
    }
  }

  async function heardIn(model: SpeakerModel, samples: Int16Array, signal: AbortSignal): Promise<HeardVoice> {
    const limit = { clock, limitMs: EMBED_MS, what: 'speaker model' };
    const vector = await withinLimit(limit, signal, within => model.embed(samples, within));
    return { vector, seconds: samples.length / SAMPLE_RATE };
  }

  return {
    get,
    /** Takes recordings of the owner's voice, as `recordPerson` does. */
    async record(userId: string, files: readonly AudioFile[], signal: AbortSignal): Promise<SpeechProfile> {
      await recordPerson(userId, OWNER, files, signal);
      return get(userId);
    },
    recordPerson,
    /** Forgets how the owner sounds, recorded or learnt. */
    remove: (userId: string): Promise<boolean> => voiceSamples.forgetOwner(userId),
  };
}

async function* piecesOf(utterance: GrowingUtterance): AsyncGenerator<Int16Array> {
  for await (const samples of utterance.pcm())
    for (let at = 0; at < samples.length; at += PIECE) {
      const piece = samples.subarray(at, at + PIECE);
      if (piece.length >= LEAST_PIECE) yield piece;
    }
}

function invalid(msg: string, type = 'value_error', cause?: unknown): AppError {
  return new AppError('invalid_request', msg, { cause, issues: [{ loc: ['body', 'files'], msg, type }] });
}
