import { z } from 'zod';
import type { Mark } from '../../contract/model.ts';
import { MAX_MARKS, type Marks } from '../../domain/conversations/marks.ts';
import { instant, text } from '../fields.ts';
import { type Route, route } from '../route.ts';

const MarkJson = z
  .object({
    id: z.string(),
    conversation_id: z.string(),
    at: z.iso.datetime().describe('Moment that is marked'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Mark' });

const Draft = z
  .object({
    conversation_id: text()
      .exactOptional()
      .describe('Absent: the running conversation that was heard last; 404 where none is running'),
    at: instant()
      .exactOptional()
      .describe('Absent: now. A moment outside of the conversation is moved to its beginning or end'),
  })
  .meta({ id: 'MarkDraft', override: { examples: [{}] } });

/** Marks: moments of conversations that their owners want to remember. */
export function markRoutes(marks: Marks): Route[] {
  return [
    route({
      method: 'get',
      id: 'listMarks',
      path: '/v1/conversations/{conversation_id}/marks',
      tag: 'Marks',
      summary: 'List the marks of a conversation, in the order of their moments',
      scope: 'conversations:read',
      errors: ['not_found'],
      params: z.object({ conversation_id: z.string() }),
      query: z.object({}),
      response: z.array(MarkJson),
      handle: async ({ principal: { user }, params }) =>
        (await marks.list(user.id, params.conversation_id)).map(toJson),
    }),
    route({
      method: 'post',
      id: 'createMark',
      repeatable: true,
      path: '/v1/marks',
      tag: 'Marks',
      summary: `Mark a moment of a conversation to remember, at most ${MAX_MARKS} in each; a summary gives what was said there a place`,
      scope: 'conversations:write',
      errors: ['not_found', 'conflict', 'locked'],
      params: z.object({}),
      query: z.object({}),
      body: Draft,
      response: MarkJson,
      handle: async ({ principal: { user }, body }) =>
        toJson(await marks.add(user.id, { conversationId: body.conversation_id, at: body.at })),
    }),
    route({
      method: 'delete',
      id: 'deleteMark',
      path: '/v1/marks/{mark_id}',
      tag: 'Marks',
      summary: 'Remove a mark',
      scope: 'conversations:write',
      errors: ['not_found', 'locked'],
      params: z.object({ mark_id: z.string() }),
      query: z.object({}),
      response: z.object({ success: z.literal(true) }),
      async handle({ principal: { user }, params }) {
        await marks.remove(user.id, params.mark_id);
        return { success: true as const };
      },
    }),
  ];
}

function toJson({ id, conversationId, at, createdAt }: Mark): z.input<typeof MarkJson> {
  return {
    id,
    conversation_id: conversationId,
    at: new Date(at).toISOString(),
    created_at: new Date(createdAt).toISOString(),
  };
}
