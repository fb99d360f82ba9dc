import { SAMPLE_RATE } from '../../audio/pcm.ts';
import type { Clock, Conversation, Recording } from '../../contract/model.ts';
import type { Transcript, VadProvider } from '../../contract/plugin.ts';
import type { Vocabularies } from '../../domain/accounts/vocabulary.ts';
import type { Connected, Conversations } from '../../domain/conversations/conversations.ts';
import { numberOf, speakerOf } from '../../domain/conversations/segments.ts';
import { languageOf, MULTI } from '../../domain/languages.ts';
import type { Recordings } from '../../domain/recordings/recordings.ts';
import type { Clips } from '../../domain/speech/clips.ts';
import type { Voices } from '../../domain/speech/voices.ts';
import { AppError, toAppError } from '../../runtime/errors.ts';
import type { JobHandler } from '../../runtime/jobs.ts';
import type { Log } from '../../runtime/log.ts';
import { Refusal } from '../connection/parameters.ts';
import { samplesOf, voiceSpan } from '../recogniser/pieces.ts';
import { type NamedProvider, serves } from '../recogniser/providers.ts';
import type { Recogniser } from '../recogniser/recogniser.ts';
import { decodeFile } from './decode.ts';
import { type Heard, hear } from './hear.ts';

/** Timeout of conversations: so long that only pauses of the recording end them, however long the work takes. */
const OPEN_MS = 7 * 24 * 3_600_000;
/** Minimum interval for storing the progress during silence. */
const PROGRESS_MS = 5000;
const SAMPLES_PER_MS = SAMPLE_RATE / 1000;
const USUAL_LANGUAGE = 'en';
/** Codes of errors that a retry cannot fix. */
const FINAL = new Set(['invalid_input', 'unsupported_media']);

interface Deps {
  recordings: Recordings;
  conversations: Conversations;
  voices: Voices;
  clips: Pick<Clips, 'areKept' | 'keep'>;
  vocabularies: Pick<Vocabularies, 'expected'>;
  /** In the order in which they are asked. */
  recognisers(): NamedProvider[];
  recogniserFor(
    language: string,
    signal: AbortSignal,
    vocabulary: () => Promise<readonly string[]>,
  ): Recogniser;
  vad(): VadProvider;
  clock: Clock;
  log: Log;
}

/** A recording whose length and beginning are known. */
type Measured = Recording & { startedAt: number; durationMs: number };

/**
 * Turns a recording into conversations. Text and progress are stored in one transaction: after a crash the work continues
 * there, and nothing is stored twice.
 */
export function createTranscribeRecording(deps: Deps) {
  const { recordings, conversations, voices, clips, vocabularies, vad, clock, log } = deps;

  const run: JobHandler = async ({ payload }, signal) => {
    const recording = await recordings.find(String(payload.userId), String(payload.recordingId));
    if (recording?.state !== 'waiting' && recording?.state !== 'running') return;
    try {
      const measured = await measure(recording, signal);
      if (measured) await transcribe(measured, signal);
    } catch (thrown) {
      signal.throwIfAborted();
      const error =
        thrown instanceof Refusal ? new AppError('config_error', thrown.message) : toAppError(thrown);
      if (!FINAL.has(error.code)) throw error;
      log.info({ err: error, recording: recording.id }, 'a recording cannot be decoded');
      await fail(recording, error.message);
    }
  };

  /** Marks a recording as failed; its transcript so far stays. */
  async function fail({ userId, id }: Recording, error: string): Promise<void> {
    const recording = await recordings.find(userId, id);
    if (!recording) return;
    const last = recording.conversationIds.at(-1);
    if (last !== undefined) await conversations.finish(userId, last);
    await recordings.update(recording, { state: 'failed', error });
  }

  /** Decodes the whole file once to measure its length, from which start and remaining work follow. Null: it was deleted. */
  async function measure(recording: Recording, signal: AbortSignal): Promise<Measured | null> {
    const { startedAt, durationMs, endedAt, createdAt } = recording;
    if (startedAt !== null && durationMs !== null) return { ...recording, startedAt, durationMs };
    let samples = 0;
    let error: string | null = null;
    try {
      for await (const piece of decodeFile(fileOf(recording), { clock, signal })) samples += piece.length;
    } catch (thrown) {
      const { code, message } = toAppError(thrown);
      if (!FINAL.has(code) || samples === 0) throw thrown;
      error = `It is damaged after ${Math.round(samples / SAMPLE_RATE)} s: what comes before was taken. ${message}`;
    }
    const lengthMs = Math.round(samples / SAMPLES_PER_MS);
    const known = { durationMs: lengthMs, startedAt: startedAt ?? (endedAt ?? createdAt) - lengthMs };
    const isThere = await recordings.update(recording, { ...known, error, state: 'running' });
    return isThere ? { ...recording, ...known, error, state: 'running' } : null;
  }

  async function transcribe(recording: Measured, signal: AbortSignal): Promise<void> {
    const language = spokenIn(recording);
    const thread = await openThread({ ...recording, language });
    const recogniser = deps.recogniserFor(language, signal, () => vocabularies.expected(recording.userId));
    try {
      const from = thread.through;
      const heard = hear(samplesFrom(recording, from, signal), {
        recogniser,
        vad: vad(),
        startSample: from,
        signal,
      });
      for await (const each of heard) if (!(await thread.take(each, signal))) return await thread.end();
      await thread.end();
      await recordings.update(recording, { state: 'done', heardMs: recording.durationMs });
    } finally {
      await recogniser.close();
    }
  }

  /** Yields samples from a position on, up to the first damage. */
  async function* samplesFrom(recording: Measured, from: number, signal: AbortSignal) {
    let at = 0;
    const end = Math.floor(recording.durationMs * SAMPLES_PER_MS);
    for await (const piece of decodeFile(fileOf(recording), { clock, signal })) {
      const part = piece.subarray(Math.max(0, from - at), Math.max(0, end - at));
      at += piece.length;
      if (part.length > 0) yield part;
      if (at >= end) return;
    }
  }

  function fileOf({ userId, id, name }: Recording) {
    return { path: recordings.pathOf(userId, id), name };
  }

  /** Default language: detected, if a recogniser can do that. */
  function spokenIn({ language }: Recording): string {
    if (language !== MULTI) return language;
    return deps.recognisers().some(({ stt }) => serves(stt, MULTI)) ? MULTI : USUAL_LANGUAGE;
  }

  /** Creates the conversations of a recording, one after the other. */
  async function openThread(recording: Measured) {
    const { userId, id, source, language, startedAt, silenceMs } = recording;
    const labeller = voices.open(userId, { withProfile: true });
    const atMs = (sample: number) => startedAt + sample / SAMPLES_PER_MS;

    /** Returns the open conversation, or opens the next one. */
    const connect = (): Promise<Connected> =>
      conversations.connect({
        userId,
        source,
        language,
        deviceId: id,
        timeoutMs: OPEN_MS,
        recordedAt: startedAt,
        stream: `recording ${id}`,
        tagged: false,
        sttService: null,
        customStt: false,
        format: { codec: 'pcm16', sampleRate: SAMPLE_RATE, channels: 1 },
      });

    const first = await connect();
    const [stream] = first.streams;
    let conversation: Conversation = first.conversation;
    let spokenUntil = await conversations.spokenUntil(conversation);
    let storedAt = clock.now();
    const ids = new Set(recording.conversationIds);

    const progressAt = (sample: number) => ({ through: sample, received: 0, receivedSample: sample });

    async function next(): Promise<void> {
      await conversations.finish(userId, conversation.id);
      conversation = (await connect()).conversation;
    }

    /** Resolves to false where the recording is gone. */
    async function tell(sample: number): Promise<boolean> {
      storedAt = clock.now();
      const heardMs = Math.round(sample / SAMPLES_PER_MS);
      return recordings.update(recording, { heardMs, conversationIds: [...ids] });
    }

    async function write(
      { piece, provider, utterance }: Extract<Heard, { kind: 'text' }>,
      signal: AbortSignal,
      mayRetry = true,
    ): Promise<void> {
      const startAt = atMs(piece.startSample);
      if (spokenUntil !== null && startAt - spokenUntil >= silenceMs) await next();
      if (!ids.has(conversation.id)) {
        ids.add(conversation.id);
        await tell(piece.startSample);
      }
      const own = piece.speaker === undefined ? null : numberOf(piece.speaker);
      const voice = labeller.analyse(() => samplesOf(utterance, voiceSpan(piece)), signal);
      const labelled = await labeller.label(conversation.id, own, voice, signal);
      const speaker = labelled ? speakerOf(labelled.speakerId) : (piece.speaker ?? speakerOf(0));
      try {
        await conversations.append({
          userId,
          conversationId: conversation.id,
          startedAt: startAt,
          stream: { id: stream.id, progress: progressAt(piece.endSample) },
          pieces: [
            {
              text: piece.text,
              startAt,
              endAt: atMs(piece.endSample),
              speaker,
              sttProvider: provider,
              ...spokenAs(piece),
              ...(labelled?.voice ? { voice: labelled.voice } : {}),
            },
          ],
        });
      } catch (error) {
        if (!mayRetry || !(error instanceof AppError && error.code === 'conflict')) throw error;
        await next(); // it was deleted, or is full
        return write({ kind: 'text', piece, provider, utterance }, signal, false);
      }
      spokenUntil = atMs(piece.endSample);
      if (await clips.areKept(userId)) {
        const pcm = await samplesOf(utterance, piece);
        await clips.keep({
          userId,
          pcm,
          conversationId: conversation.id,
          startedAt: Math.round(startAt),
        });
      }
    }

    return {
      /** Sample up to which everything is stored. */
      through: stream.through,
      /** Resolves to false where the recording is gone. */
      async take(heard: Heard, signal: AbortSignal): Promise<boolean> {
        if (heard.kind === 'text') await write(heard, signal);
        if (heard.kind !== 'through' || clock.now() - storedAt < PROGRESS_MS) return true;
        await conversations.advance(userId, stream.id, progressAt(heard.sample));
        return tell(heard.sample);
      },
      async end(): Promise<void> {
        await conversations.finish(userId, conversation.id);
        await recordings.update(recording, { conversationIds: [...ids] });
      },
    };
  }

  return {
    run,
    /** Gives the recording up. */
    async givenUp({ payload }: Parameters<JobHandler>[0]): Promise<void> {
      const recording = await recordings.find(String(payload.userId), String(payload.recordingId));
      if (recording)
        await fail(recording, 'No recogniser could turn it into text; see the log of the server');
    },
  };
}

function spokenAs({ language }: Transcript) {
  const heard = languageOf(language ?? '');
  return heard === null || heard === MULTI ? {} : { language: heard };
}
