import { z } from 'zod';
import type { AppAction, ConversationStatus } from '../../contract/model.ts';
import type { Principal } from '../../domain/accounts/credentials.ts';
import { ConversationJson } from '../../domain/conversations/conversation-json.ts';
import type { Conversations } from '../../domain/conversations/conversations.ts';
import { createPresenter } from '../../domain/conversations/present.ts';
import { type Memories, requireMemoryAccess } from '../../domain/memories/memories.ts';
import type { Notifications } from '../../domain/notifications/notifications.ts';
import { inPages } from '../../domain/pages.ts';
import type { ActionItems } from '../../domain/tasks/action-items.ts';
import { piecesOf } from '../../domain/text-pieces.ts';
import { MAX_QUERY_CHARS, optional, text } from '../fields.ts';
import { boolean, instant, integer, listOf, word } from '../query.ts';
import { type Route, route } from '../route.ts';
import { ActionItemJson, actionItemJson } from './action-items.ts';
import { type TextBody, textRequest } from './imports.ts';
import { content, MAX_BATCH, MAX_CONTENT_CHARS, MemoryJson, memoryJson, tags } from './memories.ts';

const APP = '/v2/integrations/{app_id}';
const MAX_MESSAGE_CHARS = 4000;
/** Maximum bytes of a body with one message, including JSON escapes. */
const MAX_MESSAGE_BYTES = 64 * 1024;
/** Longer text becomes several memories, each of at most the maximum length. */
const MAX_TEXT_CHARS = 5000;
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;
const DEFAULT_SEGMENTS = 100;
const DEFAULT_PAGE = 10;
const MAX_PAGE = 100;

const STATUSES = ['in_progress', 'processing', 'completed', 'failed'] as const satisfies ConversationStatus[];

function isStatus(name: string): name is ConversationStatus {
  return (STATUSES as readonly string[]).includes(name);
}

const uid = text().describe('Id of a user who installed the app');
const message = text({ max: MAX_MESSAGE_CHARS }).describe('Text of the notification');
const PAGE = {
  uid,
  limit: integer({ from: 1, to: MAX_LIMIT, absent: DEFAULT_LIMIT }),
  offset: integer({ from: 0, absent: 0 }),
};
const SPAN = { start_date: instant('start'), end_date: instant('end') };

const ConversationQuery = z.object({
  ...PAGE,
  ...SPAN,
  statuses: listOf(isStatus, STATUSES, true).describe('Absent: completed'),
  include_discarded: boolean(),
  max_transcript_segments: integer({ from: -1, absent: DEFAULT_SEGMENTS }).describe(
    'Transcript segments per conversation; -1: all',
  ),
});

const TaskQuery = z.object({
  ...PAGE,
  ...SPAN,
  completed: boolean(),
  conversation_id: word(),
  due_start_date: instant('start'),
  due_end_date: instant('end'),
});

const MemoriesBody = z
  .object({
    text: optional(text({ max: MAX_TEXT_CHARS }), null).describe(
      `Becomes one memory, or several if it is longer than ${MAX_CONTENT_CHARS} characters`,
    ),
    memories: optional(z.array(z.object({ content, tags: optional(tags, []) })).max(MAX_BATCH), []),
  })
  .refine(body => body.text !== null || body.memories.length > 0, {
    message: 'Either text or memories should be given',
    params: { type: 'missing' },
  })
  .meta({
    id: 'IntegrationMemories',
    override: { examples: [{ memories: [{ content: 'Drinks tea without milk', tags: ['tea'] }] }] },
  });

const SearchBody = z
  .object({
    query: text({ max: MAX_QUERY_CHARS }).describe(
      'Words, ignoring case and accents; one match is enough, and the first 32 count',
    ),
    page: optional(z.int().min(1).max(MAX_LIMIT), 1),
    per_page: optional(z.int().min(1).max(MAX_PAGE), DEFAULT_PAGE),
    include_discarded: optional(z.boolean(), false),
    start_date: optional(instant('start'), undefined),
    end_date: optional(instant('end'), undefined),
  })
  .meta({ id: 'ConversationSearch', override: { examples: [{ query: 'tea' }] } });

const MessageBody = z.object({ uid, aid: text().describe('Id of the app'), message }).meta({
  id: 'AppMessage',
  override: {
    examples: [
      {
        uid: '0199c0de-0000-7000-8000-000000000001',
        aid: '0199c0de-0000-7000-8000-000000000002',
        message: 'Tea is ready',
      },
    ],
  },
});

const AppMemoryJson = MemoryJson.extend({
  uid: z.string(),
  layer: z.null().describe('Always null: memories have no layers'),
}).meta({ id: 'AppMemory' });

const Ok = z.object({ status: z.literal('Ok') });
const Empty = z.object({});

/** Operations for apps on behalf of the users who installed them. */
export function integrationRoutes(
  {
    conversations,
    memories,
    actionItems,
    notifications,
  }: {
    conversations: Conversations;
    memories: Memories;
    actionItems: ActionItems;
    notifications: Pick<Notifications, 'tell'>;
  },
  textBody: TextBody,
): Route[] {
  const { present, stream } = createPresenter(conversations);
  const by = <A extends AppAction | null>(action: A) =>
    ({
      tag: 'Integrations',
      credential: 'appSecret',
      action,
      params: z.object({ app_id: z.string() }),
    }) as const;
  const query = z.object({ uid });

  async function notify({ user, app }: Principal, text: string) {
    const { id: appId, name } = app ?? { id: '', name: '' }; // an app's secret is of an app
    const rule = `The app ${name}, which you installed, sent it`;
    await notifications.tell(user.id, { appId, event: 'app_message', rule, title: name, text, data: {} });
    return { status: 'Ok' as const };
  }

  return [
    route({
      ...by(null),
      method: 'post',
      id: 'notifyUser',
      path: `${APP}/notification`,
      summary: 'Send a notification to a user, as exact text',
      policy: 'notification',
      query: z.object({ uid, message }),
      response: Ok,
      handle: ({ principal, query }) => notify(principal, query.message),
    }),
    route({
      ...by(null),
      named: 'body',
      method: 'post',
      id: 'notifyUserByBody',
      path: '/v1/integrations/notification',
      summary: 'Send a notification to a user, as exact text, with all parameters in the body',
      policy: 'notification',
      params: z.object({}),
      query: z.object({}),
      body: MessageBody,
      maxBodyBytes: MAX_MESSAGE_BYTES,
      response: Ok,
      handle: ({ principal, body }) => notify(principal, body.message),
    }),
    route({
      ...by('read_conversations'),
      method: 'get',
      id: 'listUserConversations',
      path: `${APP}/conversations`,
      summary: 'List conversations of a user with their transcripts, newest first',
      policy: 'transcript',
      query: ConversationQuery,
      response: z.object({ conversations: z.array(ConversationJson) }),
      async handle({ principal: { user }, query }) {
        const { start_date: createdFrom, end_date: createdTo, max_transcript_segments: most } = query;
        const filter = {
          statuses: query.statuses ?? ['completed' as const],
          locked: false,
          ...(query.include_discarded ? {} : { discarded: false }),
          ...(createdFrom === undefined ? {} : { createdFrom }),
          ...(createdTo === undefined ? {} : { createdTo }),
        };
        const found = await inPages(page => conversations.list(user.id, { ...filter, ...page }), query);
        return { conversations: await stream(user, found, most === -1 ? Number.POSITIVE_INFINITY : most) };
      },
    }),
    route({
      ...by('read_conversations'),
      method: 'post',
      id: 'searchUserConversations',
      path: `${APP}/search/conversations`,
      summary:
        'Search conversations of a user by words of their title, overview or transcript, best match first',
      policy: 'search',
      query,
      body: SearchBody,
      response: z.object({
        conversations: z.array(ConversationJson),
        total_pages: z.int(),
        current_page: z.int(),
        per_page: z.int(),
      }),
      async handle({ principal: { user }, body }) {
        const { page, per_page: perPage, start_date: createdFrom, end_date: createdTo } = body;
        const { total, found } = await conversations.searchWithin(user.id, body.query, {
          limit: perPage,
          offset: (page - 1) * perPage,
          withDiscarded: body.include_discarded,
          ...(createdFrom === undefined ? {} : { createdFrom }),
          ...(createdTo === undefined ? {} : { createdTo }),
        });
        const rows = found.map(({ conversation }) => conversation);
        return {
          conversations: await present(user, rows),
          total_pages: Math.ceil(total / perPage),
          current_page: page,
          per_page: perPage,
        };
      },
    }),
    route({
      ...by('create_conversation'),
      method: 'post',
      id: 'createUserConversation',
      path: `${APP}/user/conversations`,
      summary: 'Create a conversation of a user from text; its title and overview follow later',
      query,
      body: textBody,
      response: Empty,
      async handle({ principal: { user }, body }) {
        await conversations.storeText(textRequest(user.id, body));
        return {};
      },
    }),
    route({
      ...by('read_memories'),
      method: 'get',
      id: 'listUserMemories',
      path: `${APP}/memories`,
      summary: 'List memories of a user',
      query: z.object(PAGE),
      response: z.object({ memories: z.array(AppMemoryJson) }),
      async handle({ principal: { user }, query: { limit, offset } }) {
        requireMemoryAccess(user);
        const found = await inPages(page => memories.list(user.id, page), { limit, offset });
        return { memories: found.map(each => ({ ...memoryJson(each), uid: user.id, layer: null })) };
      },
    }),
    route({
      ...by('create_facts'),
      method: 'post',
      id: 'createUserMemories',
      path: `${APP}/user/memories`,
      summary: `Create memories of a user from a text, or up to ${MAX_BATCH} given ones, all or none`,
      policy: 'batch',
      query,
      body: MemoriesBody,
      response: Empty,
      async handle({ principal: { user }, body }) {
        const told = body.text === null ? [] : piecesOf(body.text, MAX_CONTENT_CHARS);
        const drafts = [...told.map(content => ({ content, tags: [] })), ...body.memories];
        const rest = { category: 'auto', visibility: 'private' } as const;
        await memories.note(
          user.id,
          drafts.map(draft => ({ ...draft, ...rest })),
        );
        return {};
      },
    }),
    route({
      ...by('read_tasks'),
      method: 'get',
      id: 'listUserTasks',
      path: `${APP}/tasks`,
      summary: 'List action items of a user: open before done, those with a due date first',
      query: TaskQuery,
      response: z.object({ tasks: z.array(ActionItemJson) }),
      async handle({ principal: { user }, query }) {
        const filter = {
          completed: query.completed,
          conversationId: query.conversation_id,
          createdFrom: query.start_date,
          createdTo: query.end_date,
          dueFrom: query.due_start_date,
          dueTo: query.due_end_date,
        };
        const found = await inPages(page => actionItems.list(user.id, { ...filter, ...page }), query);
        return { tasks: found.map(actionItemJson) };
      },
    }),
  ];
}
