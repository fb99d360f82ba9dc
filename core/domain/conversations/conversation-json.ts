/** Schema of a conversation on the wire, and the conversion to it. */
import { z } from 'zod';
import type {
  ActionItemDraft,
  CalendarEvent,
  Conversation,
  Geolocation,
  Segment,
} from '../../contract/model.ts';
import { toIso, toIsoOrNull } from '../../runtime/iso.ts';
import { CATEGORY_EMOJI, type Category } from './categories.ts';

const dateTime = z.iso.datetime();
const categories = Object.keys(CATEGORY_EMOJI) as [Category, ...Category[]]; // its keys are exactly these

const ActionItemJson = z
  .object({
    description: z.string(),
    completed: z.boolean(),
    completed_at: dateTime.nullable(),
    created_at: dateTime.nullable(),
    due_at: dateTime.nullable(),
    updated_at: dateTime.nullable(),
    conversation_id: z.string().nullable(),
  })
  .meta({ id: 'ConversationActionItem' });

const EventJson = z
  .object({
    title: z.string(),
    start: dateTime,
    description: z.string(),
    duration: z.int().describe('Minutes'),
    created: z.boolean(),
    segment_id: z.string().optional().describe('Segment in which it was said; absent: not known'),
  })
  .meta({ id: 'ConversationEvent' });

const GeolocationJson = z
  .object({
    latitude: z.number().min(-90).max(90),
    longitude: z.number().min(-180).max(180),
    address: z.string().nullable(),
    google_place_id: z.string().nullable(),
    location_type: z.string().nullable(),
  })
  .meta({ id: 'Geolocation' });

/** One form for responses, webhooks and live events: existing receivers reject a segment without `is_user`. */
export const SegmentJson = z
  .object({
    id: z.string(),
    text: z.string(),
    speaker: z.string().describe('`SPEAKER_00` and up'),
    speaker_id: z.int(),
    speaker_name: z.string().describe('The owner, a known person, or `Speaker 1`'),
    is_user: z.boolean().describe('Whether the owner said it'),
    person_id: z.string().nullable().describe('The known person who said it'),
    start: z.number().describe('Seconds since started_at'),
    end: z.number().describe('Seconds since started_at'),
    translations: z
      .array(z.object({ lang: z.string(), text: z.string() }))
      .optional()
      .describe('There where it was translated'),
  })
  .meta({ id: 'TranscriptSegment' });

export const ConversationJson = z
  .object({
    id: z.string(),
    created_at: dateTime,
    started_at: dateTime.nullable(),
    finished_at: dateTime.nullable(),
    structured: z.object({
      title: z.string(),
      overview: z.string(),
      category: z.enum(categories),
      emoji: z.string(),
      action_items: z.array(ActionItemJson),
      events: z.array(EventJson),
    }),
    folder_id: z.string().nullable(),
    folder_name: z.string().nullable(),
    geolocation: GeolocationJson.nullable(),
    language: z.string().nullable(),
    source: z.string().nullable(),
    structure_by: z
      .object({
        plugin: z.string().describe('Name of the plugin that made `structured`'),
        provisional: z
          .boolean()
          .describe('It will be made again: a better plugin failed, or what was said has changed'),
      })
      .nullable()
      .describe('Null until there is a structure'),
    status: z.enum(['in_progress', 'processing', 'completed', 'failed']),
    discarded: z.boolean(),
    starred: z.boolean(),
    transcript_segments: z.array(SegmentJson).optional().describe('There when they were asked for'),
  })
  .meta({ id: 'Conversation' });
type ConversationJson = z.input<typeof ConversationJson>;

/**
 * Leaves out the key `transcript_segments`.
 * @param folderName name of its folder
 */
export function conversationJson(
  conversation: Conversation,
  folderName: string | null,
): Omit<ConversationJson, 'transcript_segments'> {
  const { id, structured, geolocation } = conversation;
  return {
    id,
    created_at: toIso(conversation.createdAt),
    started_at: toIsoOrNull(conversation.startedAt),
    finished_at: toIsoOrNull(conversation.finishedAt),
    structured: {
      title: structured.title,
      overview: structured.overview,
      category: structured.category as Category, // checked when it is written
      emoji: structured.emoji,
      action_items: structured.actionItems.map(item => actionItemJson(item, id)),
      events: structured.events.map(eventJson),
    },
    folder_id: conversation.folderId,
    folder_name: folderName,
    geolocation: geolocation && geolocationJson(geolocation),
    language: conversation.language,
    source: conversation.source,
    structure_by: structured.by ?? null,
    status: conversation.status,
    discarded: conversation.discarded,
    starred: conversation.starred,
  };
}

function actionItemJson(item: ActionItemDraft, conversationId: string): z.input<typeof ActionItemJson> {
  return {
    description: item.description,
    completed: item.completed,
    completed_at: null,
    created_at: null,
    due_at: toIsoOrNull(item.dueAt),
    updated_at: null,
    conversation_id: conversationId,
  };
}

function eventJson(event: CalendarEvent): z.input<typeof EventJson> {
  const { title, description, duration, created, segmentId } = event;
  return {
    title,
    start: toIso(event.startAt),
    description,
    duration,
    created,
    ...(segmentId === undefined ? {} : { segment_id: segmentId }),
  };
}

function geolocationJson(place: Geolocation): z.input<typeof GeolocationJson> {
  return {
    latitude: place.latitude,
    longitude: place.longitude,
    address: place.address,
    google_place_id: place.googlePlaceId,
    location_type: place.locationType,
  };
}

export function segmentJson(segment: Segment, speakerName: string): z.input<typeof SegmentJson> {
  return {
    id: segment.id,
    text: segment.text,
    speaker: segment.speaker,
    speaker_id: segment.speakerId,
    speaker_name: speakerName,
    is_user: segment.isUser,
    person_id: segment.personId,
    start: segment.start,
    end: segment.end,
    ...(segment.translations ? { translations: [...segment.translations] } : {}),
  };
}
