import { z } from 'zod';
import { ConversationJson } from '../../domain/conversations/conversation-json.ts';
import { MAX_SEGMENT_CHARS } from '../../domain/conversations/conversation-size.ts';
import type { Conversations } from '../../domain/conversations/conversations.ts';
import { OWNER } from '../../domain/conversations/corrections.ts';
import { createPresenter } from '../../domain/conversations/present.ts';
import { someOf, text } from '../fields.ts';
import { type Route, route } from '../route.ts';

const ONE = '/v1/conversations/{conversation_id}';
const EXAMPLE_ID = '01a19c21-7200-7649-808b-0dbd5a9abf06';

const SegmentEdit = someOf({
  text: text({ max: MAX_SEGMENT_CHARS }).exactOptional(),
  person_id: text()
    .nullable()
    .exactOptional()
    .describe(`Speaker: the id of a person, \`${OWNER}\` for the owner, null for nobody known`),
  expected: z
    .object({
      text: text({ max: MAX_SEGMENT_CHARS, mayBeEmpty: true }).exactOptional(),
      person_id: text().nullable().exactOptional(),
    })
    .exactOptional()
    .describe(
      'Values that the correction is based on: if they have changed, the response is a 409 with both versions',
    ),
}).meta({ id: 'SegmentEdit', override: { examples: [{ person_id: OWNER }] } });

const Merge = z
  .object({ with: text().describe('Id of the other conversation') })
  .meta({ id: 'Merge', override: { examples: [{ with: EXAMPLE_ID }] } });

const Split = z
  .object({ segment_id: text().describe('Id of the first segment of the new conversation') })
  .meta({ id: 'Split', override: { examples: [{ segment_id: EXAMPLE_ID }] } });

/** Corrections that owners make to their conversations. Responses include the transcript. */
export function correctionRoutes(conversations: Conversations): Route[] {
  const { streamOne } = createPresenter(conversations);
  const common = {
    tag: 'Corrections',
    credential: 'idToken',
    query: z.object({}),
    response: ConversationJson,
  } as const;
  const one = z.object({ conversation_id: z.string() });
  return [
    route({
      ...common,
      method: 'patch',
      id: 'correctSegment',
      path: `${ONE}/segments/{segment_id}`,
      summary: 'Correct the text or the speaker of a segment; a changed text is summarised again',
      errors: ['not_found', 'conflict', 'locked'],
      params: z.object({ conversation_id: z.string(), segment_id: z.string() }),
      body: SegmentEdit,
      async handle({ principal: { user }, params, body: { person_id: personId, ...body } }) {
        const { conversation_id: id, segment_id: segmentId } = params;
        const correction = personId === undefined ? body : { ...body, personId };
        await conversations.correct(user.id, id, segmentId, correction);
        return streamOne(user, await conversations.get(user.id, id), true);
      },
    }),
    route({
      ...common,
      method: 'post',
      id: 'finishConversation',
      path: `${ONE}/finish`,
      summary: 'End a conversation now, as its silence would; what is said next begins another',
      errors: ['not_found', 'conflict', 'locked'],
      params: one,
      async handle({ principal: { user }, params: { conversation_id: id } }) {
        await conversations.end(user.id, id);
        return streamOne(user, await conversations.get(user.id, id), true);
      },
    }),
    route({
      ...common,
      method: 'post',
      id: 'mergeConversations',
      path: `${ONE}/merge`,
      summary:
        'Merge another ended conversation into this ended one, and delete the other; the result is summarised again',
      errors: ['not_found', 'conflict', 'locked'],
      params: one,
      body: Merge,
      async handle({ principal: { user }, params: { conversation_id: id }, body }) {
        await conversations.merge(user.id, id, body.with);
        return streamOne(user, await conversations.get(user.id, id), true);
      },
    }),
    route({
      ...common,
      method: 'post',
      id: 'splitConversation',
      path: `${ONE}/split`,
      summary:
        'Split an ended conversation at a segment, and return the new conversation; both are summarised again',
      errors: ['not_found', 'conflict', 'locked'],
      params: one,
      body: Split,
      handle: async ({ principal: { user }, params, body }) =>
        streamOne(user, await conversations.split(user.id, params.conversation_id, body.segment_id), true),
    }),
  ];
}
