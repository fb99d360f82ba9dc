import { z } from 'zod';
import type { VoiceAssignment } from '../../contract/model.ts';
import { OWNER } from '../../domain/conversations/corrections.ts';
import type { VoiceAssignments } from '../../domain/conversations/voice-assignments.ts';
import { text } from '../fields.ts';
import { type Route, route } from '../route.ts';

const LIST = '/v1/voice-assignments';
const MAX_SPEAKER = 999_999_999;
const MAX_DAYS = 366;

const AssignmentJson = z
  .object({
    id: z.string(),
    conversation_id: z.string().describe('Of the conversation and the speaker that it was said of'),
    speaker_id: z.int(),
    person_id: z.string().nullable().describe(`\`${OWNER}\`: the owner; null: nobody that is known`),
    state: z.enum(['running', 'done', 'undone']),
    conversations: z.int().describe('In which something has changed'),
    segments: z.int().describe('That have changed'),
    created_at: z.iso.datetime(),
    undo_until: z.iso.datetime(),
  })
  .meta({ id: 'VoiceAssignment' });

const Body = z
  .object({
    person_id: text()
      .nullable()
      .describe(`Of a person, \`${OWNER}\` for yourself, null for nobody that is known`),
    days: z
      .int()
      .min(1)
      .max(MAX_DAYS)
      .exactOptional()
      .describe('Also wherever this voice is heard in conversations of the last so many days'),
  })
  .meta({ id: 'SpeakerAssignment', override: { examples: [{ person_id: OWNER }] } });

/** Assignments of voices to people: create, look up, and undo. */
export function voiceAssignmentRoutes(assignments: VoiceAssignments): Route[] {
  const common = { tag: 'People', credential: 'idToken', query: z.object({}) } as const;
  const one = z.object({ assignment_id: z.string() });

  function toJson(assignment: VoiceAssignment): z.input<typeof AssignmentJson> {
    const { id, conversationId, speakerId, isUser, personId, state, conversations, segments } = assignment;
    return {
      id,
      conversation_id: conversationId,
      speaker_id: speakerId,
      state,
      conversations,
      segments,
      person_id: isUser ? OWNER : personId,
      created_at: new Date(assignment.createdAt).toISOString(),
      undo_until: new Date(assignments.undoableUntil(assignment)).toISOString(),
    };
  }

  return [
    route({
      ...common,
      method: 'post',
      id: 'assignSpeaker',
      path: '/v1/conversations/{conversation_id}/speakers/{speaker_id}',
      summary:
        'Say who a speaker of a conversation is, and, with `days`, whose this voice is wherever it is heard',
      errors: ['not_found', 'conflict', 'locked'],
      params: z.object({
        conversation_id: z.string(),
        speaker_id: z.coerce
          .number()
          .int()
          .min(0)
          .max(MAX_SPEAKER)
          .meta({ examples: [0] }),
      }),
      body: Body,
      response: AssignmentJson,
      async handle({ principal: { user }, params, body: { person_id: personId, days } }) {
        const { conversation_id: id, speaker_id: speakerId } = params;
        return toJson(await assignments.assign(user.id, id, { speakerId, personId }, days ?? null));
      },
    }),
    route({
      ...common,
      method: 'get',
      id: 'listVoiceAssignments',
      path: LIST,
      summary: 'List assignments of voices, newest first, as long as they can be undone',
      params: z.object({}),
      response: z.array(AssignmentJson),
      handle: async ({ principal: { user } }) => (await assignments.list(user.id)).map(toJson),
    }),
    route({
      ...common,
      method: 'get',
      id: 'getVoiceAssignment',
      path: `${LIST}/{assignment_id}`,
      summary: 'Get an assignment, with how far it has come',
      errors: ['not_found'],
      params: one,
      response: AssignmentJson,
      handle: async ({ principal: { user }, params }) =>
        toJson(await assignments.get(user.id, params.assignment_id)),
    }),
    route({
      ...common,
      method: 'post',
      id: 'undoVoiceAssignment',
      path: `${LIST}/{assignment_id}/undo`,
      summary: 'Take an assignment back, for 7 days: what was said has the names that it had',
      errors: ['not_found', 'conflict'],
      params: one,
      response: AssignmentJson,
      handle: async ({ principal: { user }, params }) =>
        toJson(await assignments.undo(user.id, params.assignment_id)),
    }),
  ];
}
