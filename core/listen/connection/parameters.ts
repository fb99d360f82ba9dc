import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { type AudioFormat, checkFormat } from '../../audio/codecs.ts';
import type { Stream } from '../../contract/model.ts';
import { knownSource } from '../../domain/conversations/sources.ts';
import { LANGUAGE_RULE, languageOf } from '../../domain/languages.ts';
import { AppError, toAppError } from '../../runtime/errors.ts';
import { CLOSE, ListenQuery } from '../protocol.ts';

/** Validated parameters of a connection. */
export interface Connection {
  userId: string;
  /** Audio format of one channel. */
  format: AudioFormat;
  /** Two channels, told apart by the first byte of each message: 1 is the owner, 2 the other side. */
  tagged: boolean;
  /** ISO 639-1, or `multi`. */
  language: string;
  source: string;
  /** Null: not named. */
  deviceId: string | null;
  timeoutMs: number;
  /** Name of this recording, chosen by the client; null: it cannot be resumed. */
  stream: string | null;
  from: number | null;
  /** When the first sample was recorded, where that was before the connection. */
  recordedAt: number | null;
  ack: boolean;
  customStt: boolean;
  /** Whether to look for the owner's voice. */
  withProfile: boolean;
  sttService: string | null;
  /** Id of the stream, where its client is not connected. */
  streamId?: string;
}

/**
 * Time for which a client that names its stream is waited for when it falls silent or disconnects in the middle of
 * speech, so that its next words continue the utterance. In ms.
 */
export const RETURN_MS = 5000;

const QUIET_MS = 2000;

/** Silence in ms after which a client counts as paused. */
export function quietMs(stream: string | null | undefined): number {
  return stream == null ? QUIET_MS : RETURN_MS;
}

/** Refusal after the upgrade: the WebSocket close code says why. */
export class Refusal extends Error {
  readonly closeCode: number;
  constructor(closeCode: number, reason: string) {
    super(reason);
    this.closeCode = closeCode;
  }
}

/**
 * Parses the query of an upgrade request. Throws a `Refusal`: 1003 for audio that cannot be decoded, else 1008.
 * @param now epoch ms: a recording cannot begin in the future
 * @param sources the known sources
 */
export function parseConnection(
  request: IncomingMessage,
  userId: string,
  now: number,
  sources: ReadonlySet<string>,
): Connection {
  const parsed = ListenQuery.safeParse(queryOf(request));
  if (!parsed.success) throw new Refusal(CLOSE.policy, firstProblem(parsed.error));
  const query = parsed.data;
  const source = knownSource(query.source, sources);
  const tagged = isTagged(query.channels, source);
  const format = audioFormat(query, tagged);
  if (query.started_at !== undefined && query.started_at > now + CLOCK_SKEW_MS)
    throw new Refusal(CLOSE.policy, 'started_at lies in the future');
  return {
    userId,
    format,
    tagged,
    language: spokenLanguage(query.language),
    source,
    deviceId: deviceOf(request, query),
    timeoutMs: query.conversation_timeout * 1000,
    stream: query.stream ?? null,
    from: query.from ?? null,
    recordedAt: query.started_at ?? null,
    ack: query.ack === 'enabled',
    customStt: query.custom_stt === 'enabled',
    withProfile: query.include_speech_profile,
    sttService: query.stt_service ?? null,
  };
}

/** Connection parameters of a stream whose client is not connected; null where it cannot be transcribed. */
export function connectionOf(stream: Stream): Connection | null {
  const { id, userId, setup, codec, source, deviceId, clientStream } = stream;
  if (!setup || setup.customStt) return null;
  const { sampleRate, channels, language, timeoutMs, sttService, recordedAt } = setup;
  const tagged = isTagged(channels, source);
  return {
    userId,
    format: checkFormat({ codec, sampleRate, channels: tagged ? 1 : channels }),
    tagged,
    language,
    source,
    deviceId,
    timeoutMs,
    stream: clientStream,
    streamId: id,
    from: null,
    recordedAt,
    ack: false,
    customStt: false,
    withProfile: setup.withProfile ?? true,
    sttService,
  };
}

/** Sources whose two channels are the two sides of a talk; from all others they are stereo. */
const TALKS = new Set(['phone_call', 'desktop']);
/** Tolerated difference between the clocks of home servers and wearables. */
const CLOCK_SKEW_MS = 60_000;

function isTagged(channels: number, source: string): boolean {
  return channels === 2 && TALKS.has(source);
}

/** Query parameters; an empty one counts as absent. */
export function queryOf(request: IncomingMessage): Record<string, string> {
  const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
  return Object.fromEntries([...searchParams].filter(([, value]) => value !== ''));
}

function audioFormat(query: ListenQuery, tagged: boolean): AudioFormat {
  try {
    const sampleRate = query.sample_rate === undefined ? undefined : wholeNumber(query.sample_rate);
    return checkFormat({ codec: query.codec, sampleRate, channels: tagged ? 1 : query.channels });
  } catch (error) {
    throw new Refusal(CLOSE.unsupportedAudio, toAppError(error).message);
  }
}

function spokenLanguage(code: string): string {
  const language = languageOf(code);
  if (language === null)
    throw new Refusal(
      CLOSE.policy,
      `language ${JSON.stringify(code.slice(0, 30))}: must be ${LANGUAGE_RULE}`,
    );
  return language;
}

/** Refuses `1e4` and the like: a typing error rather than a rate. */
function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new AppError(
    'unsupported_media',
    `sample_rate ${JSON.stringify(text.slice(0, 30))} is no whole number`,
  );
}

/** Wearable or app: from the query, from the headers that apps in the field send, or null. */
function deviceOf(request: IncomingMessage, query: ListenQuery): string | null {
  if (query.client_device_id) return query.client_device_id;
  const platform = request.headers['x-app-platform'];
  const hash = request.headers['x-device-id-hash'];
  if (typeof platform !== 'string' || typeof hash !== 'string') return null;
  return `${platform}_${hash}`.slice(0, 200);
}

/** Names the field and its problem. */
export function firstProblem(error: z.ZodError): string {
  const issue = error.issues[0];
  return `${issue?.path.join('.') ?? 'query'}: ${issue?.message ?? 'invalid'}`;
}
