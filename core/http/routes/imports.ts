import { z } from 'zod';
import type { Conversations } from '../../domain/conversations.ts';
import type { TextRequest } from '../../domain/imports.ts';
import { SPEAKER } from '../../domain/segments.ts';
import { isSource, SOURCES } from '../../domain/sources.ts';
import { LANGUAGE_CODE } from '../../listen/protocol.ts';
import { instant, optional, text } from '../fields.ts';
import { type Route, route } from '../route.ts';

const MAX_SEGMENTS = 500;
const MAX_TEXT_CHARS = 100_000;
const MAX_SESSION_ID_CHARS = 200;
const MAX_NAME_CHARS = 200;
const MAX_PLACE_CHARS = 500;
/** About 30 years. */
const MAX_SECONDS = 1e9;
const MAX_SPEAKER_ID = 999_999_999;

const SegmentBody = z
  .object({
    text: text(),
    start: z.number().min(0).max(MAX_SECONDS).describe('Seconds since started_at'),
    end: z.number().max(MAX_SECONDS).describe('Seconds since started_at'),
    speaker: optional(
      z.string().trim().regex(SPEAKER, 'String should be of the form SPEAKER_00'),
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

const placeText = optional(text({ max: MAX_PLACE_CHARS }), null);

const GeolocationBody = z
  .object({
    latitude: z.number().min(-90).max(90),
    longitude: z.number().min(-180).max(180),
    address: placeText,
    google_place_id: placeText,
    location_type: placeText,
  })
  .transform(({ google_place_id: googlePlaceId, location_type: locationType, ...place }) => ({
    ...place,
    googlePlaceId,
    locationType,
  }));

const sessionId = optional(text({ max: MAX_SESSION_ID_CHARS }), null);

/** What every way to bring a conversation in says of it. */
const ABOUT = {
  started_at: optional(instant(), null),
  finished_at: optional(instant(), null),
  language: optional(z.string().trim().regex(LANGUAGE_CODE, 'String should be a language code'), 'en'),
  source: optional(
    z
      .string()
      .trim()
      .refine(isSource, {
        message: `Input should be one of: ${[...SOURCES].join(', ')}`,
        params: { type: 'enum' },
      })
      .meta({ override: { enum: [...SOURCES] } }),
    'external_integration',
  ),
  geolocation: optional(GeolocationBody, null),
};

const SEGMENTS_EXAMPLE = {
  transcript_segments: [
    { text: 'The train leaves at seven tomorrow.', start: 0, end: 2.5, is_user: true },
    { text: 'Then I will book the hotel.', start: 3, end: 5, speaker: 'SPEAKER_01' },
  ],
  client_session_id: 'recording-17',
};

const FromSegments = z
  .object({
    ...ABOUT,
    transcript_segments: z.array(SegmentBody).min(1).max(MAX_SEGMENTS),
    client_device_id: optional(text({ max: MAX_NAME_CHARS }), null),
    client_platform: optional(z.enum(['ios', 'android', 'macos']), null),
    client_session_id: sessionId.describe(
      'The same again is the same conversation, stored and processed once',
    ),
    client_conversation_id: sessionId.describe('As client_session_id'),
    session_id: sessionId.describe('As client_session_id'),
    client_id: sessionId.describe('As client_session_id'),
  })
  .meta({ id: 'ConversationFromSegments', override: { examples: [SEGMENTS_EXAMPLE] } });

const TEXT_EXAMPLE = { text: 'The train leaves at seven tomorrow.', text_source: 'message' };

export const FromText = z
  .object({
    ...ABOUT,
    text: text({ max: MAX_TEXT_CHARS }),
    text_source: optional(z.enum(['audio_transcript', 'message', 'other_text']), 'audio_transcript').describe(
      'What kind of text it is; all kinds are treated alike',
    ),
    text_source_spec: optional(text({ max: MAX_NAME_CHARS }), null).describe('More about that; not kept'),
  })
  .meta({ id: 'ConversationFromText', override: { examples: [TEXT_EXAMPLE] } });

const Imported = z
  .object({
    id: z.string(),
    status: z.enum(['in_progress', 'processing', 'completed', 'failed', 'deleted']),
    discarded: z.boolean(),
  })
  .meta({ id: 'ImportedConversation' });

/** Conversations that were recorded elsewhere. */
export function importRoutes(conversations: Conversations): Route[] {
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
      body: FromSegments,
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
      body: FromText,
      response: Imported,
      handle: ({ principal: { user }, body }) => conversations.importText(textRequest(user.id, body)),
    }),
  ];
}

export function textRequest(userId: string, body: z.output<typeof FromText>): TextRequest {
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
