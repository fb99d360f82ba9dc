import { z } from 'zod';
import { MAX_SEGMENT_CHARS } from '../../domain/conversations/conversation-size.ts';
import type { Conversations } from '../../domain/conversations/conversations.ts';
import type { TextRequest } from '../../domain/conversations/imports.ts';
import { SPEAKER } from '../../domain/conversations/segments.ts';
import { LANGUAGE_RULE, languageOf } from '../../domain/languages.ts';
import { geolocation, instant, MAX_CODE_CHARS, optional, text } from '../fields.ts';
import { type Route, route } from '../route.ts';

const MAX_SEGMENTS = 500;
const MAX_SEGMENTS_BYTES = 8 * 1024 * 1024;
const MAX_TEXT_CHARS = 100_000;
const MAX_SESSION_ID_CHARS = 200;
const MAX_NAME_CHARS = 200;
/** About 30 years. */
const MAX_SECONDS = 1e9;
const MAX_SPEAKER_ID = 999_999_999;

const SegmentBody = z
  .object({
    text: text({ max: MAX_SEGMENT_CHARS }),
    start: z.number().min(0).max(MAX_SECONDS).describe('Seconds since started_at'),
    end: z.number().max(MAX_SECONDS).describe('Seconds since started_at'),
    speaker: optional(
      z.string().max(MAX_CODE_CHARS).trim().regex(SPEAKER, 'String should be of the form SPEAKER_00'),
      'SPEAKER_00',
    ),
    speaker_id: optional(z.int().min(0).max(MAX_SPEAKER_ID), null),
    is_user: optional(z.boolean(), false),
    person_id: optional(text({ max: MAX_NAME_CHARS }), null),
  })
  .superRefine(({ start, end }, context) => {
    if (end > start) return;
    const message = 'Input should be greater than start';
    context.addIssue({ code: 'custom', path: ['end'], message, params: { type: 'greater_than' } });
  });

const sessionId = optional(text({ max: MAX_SESSION_ID_CHARS }), null);

const language = z
  .string()
  .max(MAX_CODE_CHARS)
  .trim()
  .transform((code, context) => {
    const known = languageOf(code);
    if (known !== null) return known;
    const message = `Input should be ${LANGUAGE_RULE}`;
    context.addIssue({ code: 'custom', message, params: { type: 'string_pattern_mismatch' } });
    return z.NEVER;
  })
  .meta({ description: LANGUAGE_RULE, examples: ['en'] });

/** `{platform}_{hash}`; a hash may hold `_`. */
const DEVICE_ID = /^[A-Za-z][A-Za-z0-9-]*_[A-Za-z0-9_-]+$/;
const deviceId = z
  .string()
  .trim()
  .max(MAX_NAME_CHARS)
  .regex(DEVICE_ID, 'String should be of the form {platform}_{hash}, such as ios_3f2a')
  .describe('`{platform}_{hash}`');

/** Fields that every kind of import shares. */
function aboutOf(sources: ReadonlySet<string>) {
  return {
    started_at: optional(instant(), null),
    finished_at: optional(instant(), null),
    language: optional(language, 'en'),
    source: optional(
      z
        .string()
        .max(MAX_CODE_CHARS)
        .trim()
        .refine(source => sources.has(source), {
          message: `Input should be one of: ${[...sources].join(', ')}`,
          params: { type: 'enum' },
        })
        .meta({ override: { enum: [...sources] } }),
      'external_integration',
    ),
    geolocation: optional(geolocation, null),
  };
}

const SEGMENTS_EXAMPLE = {
  transcript_segments: [
    { text: 'The train leaves at seven tomorrow.', start: 0, end: 2.5, is_user: true },
    { text: 'Then I will book the hotel.', start: 3, end: 5, speaker: 'SPEAKER_01' },
  ],
  client_session_id: 'recording-17',
};

function fromSegments(sources: ReadonlySet<string>) {
  return z
    .object({
      ...aboutOf(sources),
      transcript_segments: z.array(SegmentBody).min(1).max(MAX_SEGMENTS),
      client_device_id: optional(deviceId, null),
      client_platform: optional(z.enum(['ios', 'android', 'macos']), null),
      client_session_id: sessionId.describe(
        'Idempotency key: repeated requests with it create one conversation',
      ),
      client_conversation_id: sessionId.describe('Alias of client_session_id'),
      session_id: sessionId.describe('Alias of client_session_id'),
      client_id: sessionId.describe('Alias of client_session_id'),
    })
    .meta({ id: 'ConversationFromSegments', override: { examples: [SEGMENTS_EXAMPLE] } });
}

const TEXT_EXAMPLE = { text: 'The train leaves at seven tomorrow.', text_source: 'message' };

export type TextBody = ReturnType<typeof fromText>;

/**
 * Body of a conversation from text. All operations that accept one share this schema, because the OpenAPI document
 * has a single one of its name.
 */
export function fromText(sources: ReadonlySet<string>) {
  return z
    .object({
      ...aboutOf(sources),
      text: text({ max: MAX_TEXT_CHARS }).describe(
        `Text; more than ${MAX_SEGMENT_CHARS} characters are split into several segments at sentences`,
      ),
      text_source: optional(
        z.enum(['audio_transcript', 'message', 'other_text']),
        'audio_transcript',
      ).describe('Kind of text; all kinds are treated alike'),
      text_source_spec: optional(text({ max: MAX_NAME_CHARS }), null).describe(
        'Details of the kind; not stored',
      ),
    })
    .meta({ id: 'ConversationFromText', override: { examples: [TEXT_EXAMPLE] } });
}

const Imported = z
  .object({
    id: z.string(),
    status: z.enum(['in_progress', 'processing', 'completed', 'failed', 'deleted']),
    discarded: z.boolean(),
  })
  .meta({ id: 'ImportedConversation' });

/** Import of conversations that were recorded elsewhere. */
export function importRoutes(conversations: Conversations, textBody: TextBody): Route[] {
  return [
    route({
      method: 'post',
      id: 'createConversationFromSegments',
      path: '/v1/dev/user/conversations/from-segments',
      tag: 'Conversations',
      summary: 'Create a conversation from the segments of a transcript',
      scope: 'conversations:write',
      params: z.object({}),
      query: z.object({}),
      body: fromSegments(conversations.sources),
      maxBodyBytes: MAX_SEGMENTS_BYTES,
      response: Imported,
      handle: ({ principal: { user }, body }) =>
        conversations.importSegments({
          userId: user.id,
          clientSessionId:
            body.client_session_id ?? body.client_conversation_id ?? body.session_id ?? body.client_id,
          source: body.source,
          deviceId: body.client_device_id,
          language: body.language,
          geolocation: body.geolocation,
          startedAt: body.started_at,
          finishedAt: body.finished_at,
          segments: body.transcript_segments.map(segment => ({
            text: segment.text,
            start: segment.start,
            end: segment.end,
            speaker: segment.speaker,
            speakerId: segment.speaker_id,
            isUser: segment.is_user,
            personId: segment.person_id,
          })),
        }),
    }),
    route({
      method: 'post',
      id: 'createConversation',
      path: '/v1/dev/user/conversations',
      tag: 'Conversations',
      summary: 'Create a conversation from text',
      scope: 'conversations:write',
      params: z.object({}),
      query: z.object({}),
      body: textBody,
      response: Imported,
      handle: ({ principal: { user }, body }) => conversations.importText(textRequest(user.id, body)),
    }),
  ];
}

export function textRequest(userId: string, body: z.output<TextBody>): TextRequest {
  return {
    userId,
    text: body.text,
    source: body.source,
    deviceId: null,
    language: body.language,
    geolocation: body.geolocation,
    startedAt: body.started_at,
    finishedAt: body.finished_at,
  };
}
