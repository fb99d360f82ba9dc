/** Wire format of `/v4/listen`: query parameters, messages and close codes. Shared with the bridge; schemas only. */
import { z } from 'zod';

/** WebSocket close codes used by this interface. */
export const CLOSE = {
  normal: 1000,
  goingAway: 1001,
  unsupportedAudio: 1003,
  policy: 1008,
  tooBig: 1009,
  failed: 1011,
  restarting: 1012,
  tryLater: 1013,
} as const;

/** Status for a request to `/v4/listen` without `Upgrade: websocket`. */
export const UPGRADE_REQUIRED = 426;
/** nginx settings that let WebSockets through; Caddy and Traefik need none. */
export const PROXY_SETTINGS =
  'proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";';

/** A binary message of this many bytes or fewer is a keep-alive. */
export const KEEP_ALIVE_BYTES = 2;
export const MAX_MESSAGE_BYTES = 1024 * 1024;

/** Names that clients in the field use for a codec. */
const CODEC_ALIASES: Readonly<Record<string, string>> = { linear16: 'pcm16', pcm: 'pcm16' };

const flag = z
  .string()
  .toLowerCase()
  .pipe(z.enum(['true', 'false', '1', '0']))
  .transform(value => value === 'true' || value === '1');
const integer = z
  .string()
  .regex(/^-?\d+$/, 'must be a whole number')
  .transform(Number);

/** Query parameters, as strings. `language`, `codec` and `sample_rate` are checked by the server. */
export const ListenQuery = z.object({
  uid: z.string().optional(),
  language: z.string().default('en'),
  codec: z
    .string()
    .default('pcm8')
    .transform(codec => CODEC_ALIASES[codec] ?? codec),
  sample_rate: z.string().optional(),
  channels: integer.pipe(z.number().min(1).max(2)).default(1),
  include_speech_profile: flag.default(true),
  conversation_timeout: integer
    .transform(seconds => (seconds === -1 ? 14400 : seconds))
    .pipe(z.number().min(2, 'must be 2 to 14400').max(14400, 'must be 2 to 14400'))
    .default(120),
  stt_service: z.string().optional(),
  custom_stt: z.enum(['enabled', 'disabled']).default('disabled'),
  source: z.string().optional(),
  client_device_id: z
    .string()
    .max(200)
    .regex(/^\P{Cc}*$/u, 'has control characters')
    .optional(),
  started_at: z.iso.datetime({ offset: true }).transform(Date.parse).optional(),
  stream: z.string().min(1).max(100).optional(),
  from: integer.pipe(z.number().min(0).max(Number.MAX_SAFE_INTEGER)).optional(),
  ack: z.enum(['enabled', 'disabled']).default('disabled'),
});
export type ListenQuery = z.infer<typeof ListenQuery>;

/** Seconds since the beginning of a connection. The bound of a year keeps dates within the range of `Date`. */
const seconds = z
  .number()
  .min(0)
  .max(366 * 24 * 3600);

/** Segments in one message. */
export const MAX_SUGGESTED = 500;
/** Segments that one `speaker_assigned` may name. */
const MAX_ASSIGNED = 1000;
const MAX_SPEAKER_ID = 999_999_999;

/** Pieces per image: 10 MiB in pieces of 1.25 KiB. */
const MAX_IMAGE_PIECES = 8192;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

const SuggestedSegment = z.object({
  text: z.string().trim().min(1).max(10_000),
  speaker: z
    .string()
    .regex(/^SPEAKER_\d{1,4}$/)
    .nullish(),
  speaker_id: z.number().int().min(0).max(MAX_SPEAKER_ID).nullish(),
  start: seconds,
  end: seconds,
  is_user: z.boolean().default(false),
  person_id: z.string().max(200).nullish(),
});
export type SuggestedSegment = z.infer<typeof SuggestedSegment>;

/** Text messages from the client. An unknown `type` is ignored and counted. */
export const ClientMessage = z.discriminatedUnion('type', [
  z.object({ type: z.literal('finish_conversation') }),
  z.object({
    type: z.literal('suggested_transcript'),
    stt_provider: z.string().max(100),
    segments: z.array(SuggestedSegment).max(MAX_SUGGESTED),
  }),
  z.object({
    type: z.literal('image_chunk'),
    id: z.string().min(1).max(200),
    index: z.number().int().min(0),
    total: z.number().int().min(1).max(MAX_IMAGE_PIECES),
    data: z.string().regex(BASE64, 'must be Base64'),
    /** When the image was taken; absent: now, or where its recording is. */
    taken_at: z.iso.datetime({ offset: true }).transform(Date.parse).optional(),
  }),
  z.object({
    type: z.literal('speaker_assigned'),
    speaker_id: z.number().int().min(0).max(MAX_SPEAKER_ID),
    person_id: z.string().min(1).max(200),
    person_name: z.string().max(1000).nullish(),
    segment_ids: z.array(z.string().max(200)).max(MAX_ASSIGNED).default([]),
  }),
  z.object({ type: z.literal('gap'), ms: z.number().int().min(0).max(86_400_000) }),
]);
export type ClientMessage = z.infer<typeof ClientMessage>;

const WireTranslation = z.object({ lang: z.string(), text: z.string() });

/** A transcript segment on the wire; segments are sent as a bare array of these. */
export const WireSegment = z.object({
  id: z.string(),
  text: z.string(),
  speaker: z.string(),
  speaker_id: z.number().int(),
  /** Absent from older servers. */
  speaker_name: z.string().optional(),
  is_user: z.boolean(),
  person_id: z.string().nullable(),
  start: z.number(),
  end: z.number(),
  speech_profile_processed: z.boolean(),
  stt_provider: z.string().nullable(),
  translations: z.array(WireTranslation).optional(),
});
export type WireSegment = z.infer<typeof WireSegment>;

/** Messages from the server that are objects. Clients ignore the types they do not know. */
export const ServerEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('service_status'),
    status: z.string(),
    status_text: z.string().optional(),
    /** Null: no provider could be asked. */
    provider: z.string().nullish(),
    outcome: z.string().optional(),
    retryable: z.boolean().optional(),
    reason: z.string().optional(),
  }),
  z.object({
    type: z.literal('conversation_session'),
    conversation_id: z.string(),
    status: z.string(),
    received: z.number().int().optional(),
  }),
  z.object({
    type: z.enum(['memory_processing_started', 'memory_created']),
    /** The conversation in the form of REST and the webhook; with `memory_created`, including its transcript. */
    memory: z.looseObject({
      id: z.string(),
      structured: z.looseObject({ title: z.string(), overview: z.string() }),
    }),
    messages: z.array(z.unknown()),
  }),
  /** A voice resembles this person's. The client may ask its user, and answers with `speaker_assigned`. */
  z.object({
    type: z.literal('speaker_label_suggestion'),
    speaker_id: z.number().int(),
    person_id: z.string(),
    person_name: z.string(),
    segment_id: z.string(),
  }),
  /** Translation of one segment; sent again when the segment's text has grown. */
  z.object({
    type: z.literal('translation'),
    segments: z.array(z.object({ id: z.string(), translations: z.array(WireTranslation) })),
  }),
  /** Answer to `finish_conversation`, sent once everything before it is transcribed. Null: no word was said. */
  z.object({ type: z.literal('conversation_finished'), conversation_id: z.string().nullable() }),
  /** Messages that are on the server's disk, and their number of samples at the stream's own rate, gaps included. */
  z.object({ type: z.literal('ack'), messages: z.number().int(), samples: z.number().int() }),
  /** The image is complete and stored. */
  z.object({ type: z.literal('photo_processing'), temp_id: z.string(), photo_id: z.string() }),
  z.object({
    type: z.literal('photo_described'),
    photo_id: z.string(),
    description: z.string(),
    /** Whether the image shows nothing: too dark, too blurred, or empty. */
    discarded: z.boolean(),
  }),
  /** Its user has paused listening, until `until` as far as known, or resumed it. Meanwhile what comes is dropped. */
  z.object({ type: z.literal('listening'), paused: z.boolean(), until: z.string().nullable() }),
  /** Sent when nothing else was for a while. */
  z.object({ type: z.literal('ping') }),
  z.object({ type: z.literal('auth_response'), success: z.boolean() }),
  z.object({ type: z.literal('error'), code: z.string(), message: z.string().optional() }),
]);
export type ServerEvent = z.infer<typeof ServerEvent>;
