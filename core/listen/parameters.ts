import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { type AudioFormat, checkFormat } from '../audio/codecs.ts';
import type { Stream } from '../contract/model.ts';
import { knownSource } from '../domain/conversations/sources.ts';
import { LANGUAGE_RULE, languageOf } from '../domain/languages.ts';
import { AppError, toAppError } from '../runtime/errors.ts';
import { CLOSE, ListenQuery } from './protocol.ts';

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
  /** Null: it does not say. */
  deviceId: string | null;
  timeoutMs: number;
  /** The client's own name of this recording; null: it cannot resume. */
  stream: string | null;
  from: number | null;
  /** When the first sample was recorded, where it was earlier than now. */
  recordedAt: number | null;
  ack: boolean;
  customStt: boolean;
  /** The owner's voice is looked for. */
  withProfile: boolean;
  sttService: string | null;
  /** The row of the stream, where its client is not here. */
  streamId?: string;
}

/**
 * A client that names its stream is waited for so long when it falls silent or is gone in the midst of speech: what it
 * says then goes on where it broke off. In ms.
 */
export const RETURN_MS = 5000;

const QUIET_MS = 2000;

/** How long a client may send nothing before it has paused, in ms. */
export function quietMs(stream: string | null | undefined): number {
  return stream == null ? QUIET_MS : RETURN_MS;
}

/** A connection that is refused after the upgrade: the WebSocket close code says why. */
export class Refusal extends Error {
  readonly closeCode: number;
  constructor(closeCode: number, reason: string) {
    super(reason);
    this.closeCode = closeCode;
  }
}

/**
 * The query of an upgrade request. Throws a `Refusal`: 1003 for audio that cannot be decoded, 1008 for the rest.
 * @param now epoch ms: a recording cannot begin in the future
 * @param sources those that are known
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

/** The connection of a stream whose client is not here; null where it cannot be worked through. */
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

/** Sources whose two channels are two sides of a talk; from all others they are stereo. */
const TALKS = new Set(['phone_call', 'desktop']);
/** Home servers and wearables disagree by some seconds. */
const CLOCK_SKEW_MS = 60_000;

function isTagged(channels: number, source: string): boolean {
  return channels === 2 && TALKS.has(source);
}

/** An empty parameter counts as absent. */
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

/** `1e4` is a typing error, not a rate. */
function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new AppError(
    'unsupported_media',
    `sample_rate ${JSON.stringify(text.slice(0, 30))} is no whole number`,
  );
}

/** The wearable or app: told in the query, in the headers of the field's apps, or unknown. */
function deviceOf(request: IncomingMessage, query: ListenQuery): string | null {
  if (query.client_device_id) return query.client_device_id;
  const platform = request.headers['x-app-platform'];
  const hash = request.headers['x-device-id-hash'];
  if (typeof platform !== 'string' || typeof hash !== 'string') return null;
  return `${platform}_${hash}`.slice(0, 200);
}

/** The field, and what is wrong with it. */
export function firstProblem(error: z.ZodError): string {
  const issue = error.issues[0];
  return `${issue?.path.join('.') ?? 'query'}: ${issue?.message ?? 'invalid'}`;
}
