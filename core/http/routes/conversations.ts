import { z } from 'zod';
import { CATEGORY_EMOJI, isCategory } from '../../domain/conversations/categories.ts';
import { ConversationJson } from '../../domain/conversations/conversation-json.ts';
import type { Conversations } from '../../domain/conversations/conversations.ts';
import { PLACE_RADIUS_M } from '../../domain/conversations/places.ts';
import { createPresenter } from '../../domain/conversations/present.ts';
import { inPages } from '../../domain/pages.ts';
import { geolocation, MAX_QUERY_CHARS, someOf, text } from '../fields.ts';
import { boolean, instant, integer, listOf, near, word } from '../query.ts';
import { type Route, route } from '../route.ts';

const MAX_TITLE_CHARS = 500;
const DEFAULT_LIMIT = 25;
const MAX_LIMIT = 1000;
const MAX_RADIUS_M = 50_000;

const includeTranscript = boolean()
  .transform(given => given ?? false)
  .meta({ override: { default: false } });

const ListQuery = z.object({
  start_date: instant('start'),
  end_date: instant('end'),
  categories: listOf(isCategory, Object.keys(CATEGORY_EMOJI)),
  limit: integer({ from: 1, to: MAX_LIMIT, absent: DEFAULT_LIMIT }),
  offset: integer({ from: 0, absent: 0 }),
  include_transcript: includeTranscript,
  folder_id: z.string().trim().min(1, 'String should have at least 1 character').optional(),
  starred: boolean(),
  source: word().describe('Where the conversation comes from'),
  person_id: word().describe('Of a person who says something in it'),
  near: near({ usualM: PLACE_RADIUS_M, maxM: MAX_RADIUS_M }),
});

const SearchQuery = z.object({
  query: z
    .string()
    .max(4 * MAX_QUERY_CHARS) // before it is trimmed
    .transform(given => (given.trim() === '' ? undefined : given))
    .pipe(text({ max: MAX_QUERY_CHARS }).optional())
    .optional()
    .describe(
      'Words, ignoring case and accents; one match is enough, and the first 32 count. Absent: all conversations, newest first',
    ),
  limit: integer({ from: 1, to: MAX_LIMIT, absent: DEFAULT_LIMIT }),
  offset: integer({ from: 0, absent: 0 }),
});

const FoundJson = ConversationJson.extend({
  snippet: z.string().describe('Best passage, at most 500 characters; empty without a query'),
}).meta({ id: 'FoundConversation' });

const policyOf = (query: { include_transcript: boolean }) =>
  query.include_transcript ? 'transcript' : 'read';

const EDIT_EXAMPLE = { title: 'Tea with Eve', starred: true };

const EditBody = someOf({
  title: text({ max: MAX_TITLE_CHARS }).exactOptional(),
  discarded: z.boolean().exactOptional(),
  starred: z.boolean().exactOptional(),
  folder_id: text().nullable().exactOptional(),
  geolocation: geolocation.nullable().exactOptional(),
  expected: z
    .object({ title: text({ max: MAX_TITLE_CHARS, mayBeEmpty: true }).exactOptional() })
    .exactOptional()
    .describe('Title that the edit is based on: if it has changed, the response is a 409 with both versions'),
}).meta({ id: 'ConversationEdit', override: { examples: [EDIT_EXAMPLE] } });

/** Reading, changing and deleting conversations. */
export function conversationRoutes(conversations: Conversations): Route[] {
  const { present, stream, streamOne } = createPresenter(conversations);
  return [
    route({
      method: 'get',
      id: 'listConversations',
      path: '/v1/dev/user/conversations',
      tag: 'Conversations',
      summary: 'List completed conversations, newest first',
      scope: 'conversations:read',
      params: z.object({}),
      query: ListQuery,
      policy: policyOf,
      response: z.array(ConversationJson),
      async handle({ principal: { user }, query }) {
        const filter = {
          statuses: ['completed' as const],
          discarded: false,
          locked: false,
          ...(query.starred === undefined ? {} : { starred: query.starred }),
          ...(query.categories === undefined ? {} : { categories: query.categories }),
          ...(query.folder_id === undefined ? {} : { folderId: query.folder_id }),
          ...(query.source === undefined ? {} : { source: query.source }),
          ...(query.person_id === undefined ? {} : { personId: query.person_id }),
          ...(query.near === undefined ? {} : { near: query.near }),
          ...(query.start_date === undefined ? {} : { createdFrom: query.start_date }),
          ...(query.end_date === undefined ? {} : { createdTo: query.end_date }),
        };
        const found = await inPages(page => conversations.list(user.id, { ...filter, ...page }), query);
        return stream(user, found, query.include_transcript ? Number.POSITIVE_INFINITY : null);
      },
    }),
    route({
      method: 'get',
      id: 'searchConversations',
      path: '/v1/dev/user/conversations/search',
      tag: 'Conversations',
      summary:
        'Search completed conversations by words of their title, overview or transcript, best match first; without a query list all',
      scope: 'conversations:read',
      policy: 'search',
      params: z.object({}),
      query: SearchQuery,
      response: z.array(FoundJson),
      async handle({ principal: { user }, query: { query, limit, offset } }) {
        const found =
          query === undefined
            ? await conversations.newest(user.id, { limit, offset })
            : await conversations.search(user.id, query, { limit, offset });
        const shown = await present(
          user,
          found.map(({ conversation }) => conversation),
        );
        return shown.map((json, place) => ({ ...json, snippet: found[place]?.passage ?? '' }));
      },
    }),
    route({
      method: 'get',
      id: 'getConversation',
      path: '/v1/dev/user/conversations/{conversation_id}',
      tag: 'Conversations',
      summary: 'Get one conversation, whatever its status',
      scope: 'conversations:read',
      errors: ['not_found'],
      params: z.object({ conversation_id: z.string() }),
      query: z.object({ include_transcript: includeTranscript }),
      policy: policyOf,
      response: ConversationJson,
      async handle({ principal: { user }, params, query }) {
        const found = await conversations.get(user.id, params.conversation_id);
        return streamOne(user, found?.locked ? null : found, query.include_transcript);
      },
    }),
    route({
      method: 'patch',
      id: 'updateConversation',
      path: '/v1/dev/user/conversations/{conversation_id}',
      tag: 'Conversations',
      summary: 'Change the title, folder, place or flags of a conversation',
      scope: 'conversations:write',
      errors: ['not_found', 'conflict', 'locked'],
      params: z.object({ conversation_id: z.string() }),
      query: z.object({}),
      body: EditBody,
      response: ConversationJson,
      async handle({ principal: { user }, params, body: { folder_id: folderId, ...body } }) {
        const changes = folderId === undefined ? body : { ...body, folderId };
        const edited = await conversations.edit(user.id, params.conversation_id, changes);
        return streamOne(user, edited, false);
      },
    }),
    route({
      method: 'delete',
      id: 'deleteConversation',
      path: '/v1/dev/user/conversations/{conversation_id}',
      tag: 'Conversations',
      summary: 'Delete a conversation with its transcript; its action items stay',
      scope: 'conversations:write',
      errors: ['not_found', 'locked'],
      params: z.object({ conversation_id: z.string() }),
      query: z.object({}),
      response: z.object({ success: z.literal(true) }),
      async handle({ principal: { user }, params }) {
        await conversations.remove(user.id, params.conversation_id);
        return { success: true as const };
      },
    }),
  ];
}
