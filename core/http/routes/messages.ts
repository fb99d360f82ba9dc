import { z } from 'zod';
import type { ChatSession } from '../../contract/model.ts';
import type { Chat, ShownMessage } from '../../domain/ask/chat.ts';
import { toIso } from '../../runtime/iso.ts';
import { answerStream, type Frames } from '../answer-stream.ts';
import { MAX_CODE_CHARS, optional, text } from '../fields.ts';
import { integer, word } from '../query.ts';
import { type Route, route } from '../route.ts';
import { MAX_QUESTION_CHARS, readerLanguage, SourceJson, sourceJson, timeZone } from './ask.ts';

const MESSAGES = '/v2/messages';
const SESSIONS = '/v2/chat-sessions';
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;
const DEFAULT_SESSIONS = 50;

const GREETING = 'Ask me about what was said.';

const MessageJson = z
  .object({
    id: z.string(),
    created_at: z.iso.datetime(),
    text: z.string(),
    sender: z.enum(['human', 'ai']),
    type: z.literal('text'),
    chat_session_id: z.string().nullable(),
    model: z.string().nullable().describe('Language model that wrote it; null: none'),
    sources: z
      .array(SourceJson)
      .describe(
        'Sources of an answer in their present form; [1] in the text is the first. Deleted ones are missing',
      ),
    memories_id: z.array(z.string()).describe('Ids of the conversations among the sources'),
    memories: z
      .array(
        z.object({
          id: z.string(),
          created_at: z.iso.datetime(),
          structured: z.object({ title: z.string(), emoji: z.string() }),
        }),
      )
      .describe('Those conversations'),
    app_id: z.null(),
    plugin_id: z.null(),
    from_external_integration: z.boolean(),
    files_id: z.array(z.string()),
    files: z.array(z.string()),
    reported: z.boolean(),
    ask_for_nps: z.boolean(),
  })
  .meta({ id: 'ChatMessage' });

const SessionJson = z
  .object({
    id: z.string(),
    title: z.string().describe('Beginning of its first question; "" until there is one'),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'ChatSession' });

const Send = z
  .object({
    text: text({ max: MAX_QUESTION_CHARS }),
    file_ids: optional(
      z.array(z.string().max(MAX_CODE_CHARS)).max(0, {
        message:
          'Files in chat messages are not supported: leave file_ids empty, and put the text into the question',
      }),
      [],
    ).describe('Always empty: files in chat messages are not supported'),
    time_zone: optional(timeZone, null).describe(
      'Time zone for words such as yesterday; absent: the one of your notifications',
    ),
    language: readerLanguage,
  })
  .meta({ id: 'NewChatMessage', override: { examples: [{ text: 'What did Eve say about the trip?' }] } });

const InSession = z.object({
  chat_session_id: word().describe('Absent: the session used last'),
});

export const FRAMES: Frames<ShownMessage> = {
  piece: said => `data: ${said.replaceAll('\n', '__CRLF__')}\n\n`,
  done: message => `done: ${Buffer.from(JSON.stringify(messageJson(message))).toString('base64')}\n\n`,
  failed: ({ code, retryable }, detail) =>
    `error: ${JSON.stringify({ error: code, retryable, message: typeof detail === 'string' ? detail : code })}\n\n`,
};

/**
 * Stored chats about what was said. Only an ID token gives access, because answers draw on memories and tasks as
 * well.
 */
export function messageRoutes(chat: Chat): Route[] {
  const common = { tag: 'Ask', credential: 'idToken', params: z.object({}) } as const;
  return [
    route({
      ...common,
      method: 'get',
      id: 'listMessages',
      path: MESSAGES,
      summary: 'List the messages of a chat session, newest first',
      errors: ['not_found'],
      query: InSession.extend({
        limit: integer({ from: 1, to: MAX_LIMIT, absent: DEFAULT_LIMIT }),
        offset: integer({ from: 0, absent: 0 }),
      }),
      response: z.array(MessageJson),
      async handle({ principal, query }) {
        const found = await chat.messages(principal, query.chat_session_id ?? null, query);
        return found.map(messageJson);
      },
    }),
    route({
      ...common,
      method: 'post',
      id: 'sendMessage',
      path: MESSAGES,
      summary:
        'Ask a question and stream the answer: frames `data: <text>` (line breaks as __CRLF__), then `done: <the message as JSON in base64>`, or `error: <JSON>`',
      errors: ['not_found'],
      policy: 'search',
      query: InSession,
      body: Send,
      response: z.string(),
      type: 'text/event-stream',
      handle: ({ principal, query, body }) =>
        answerStream(FRAMES, following =>
          chat.send(
            principal,
            {
              text: body.text,
              sessionId: query.chat_session_id ?? null,
              timeZone: body.time_zone,
              language: body.language,
            },
            following,
          ),
        ),
    }),
    route({
      ...common,
      method: 'delete',
      id: 'clearMessages',
      path: MESSAGES,
      summary: 'Delete a chat session with its messages; returns a greeting, which is not stored',
      errors: ['not_found'],
      query: InSession,
      response: MessageJson,
      async handle({ principal: { user }, query }) {
        await chat.remove(user.id, query.chat_session_id ?? null);
        return messageJson(chat.greeting(user.id, GREETING));
      },
    }),
    route({
      ...common,
      method: 'get',
      id: 'listChatSessions',
      path: SESSIONS,
      summary: 'List chat sessions, last used first',
      query: z.object({
        limit: integer({ from: 1, to: MAX_LIMIT, absent: DEFAULT_SESSIONS }),
        offset: integer({ from: 0, absent: 0 }),
      }),
      response: z.array(SessionJson),
      handle: async ({ principal: { user }, query }) =>
        (await chat.sessions(user.id, query)).map(sessionJson),
    }),
    route({
      ...common,
      method: 'post',
      id: 'createChatSession',
      path: SESSIONS,
      summary: 'Create a chat session',
      query: z.object({}),
      response: SessionJson,
      handle: async ({ principal: { user } }) => sessionJson(await chat.begin(user.id)),
    }),
    route({
      ...common,
      method: 'delete',
      id: 'deleteChatSession',
      path: `${SESSIONS}/{chat_session_id}`,
      summary: 'Delete a chat session with its messages',
      errors: ['not_found'],
      params: z.object({ chat_session_id: z.string() }),
      query: z.object({}),
      response: z.object({ success: z.boolean() }),
      async handle({ principal: { user }, params }) {
        await chat.remove(user.id, params.chat_session_id);
        return { success: true };
      },
    }),
  ];
}

function sessionJson({ id, title, createdAt, updatedAt }: ChatSession): z.input<typeof SessionJson> {
  return { id, title, created_at: toIso(createdAt), updated_at: toIso(updatedAt) };
}

/** Includes the fields that existing clients read, also where they are always empty here. */
function messageJson(message: ShownMessage): z.input<typeof MessageJson> {
  const { id, createdAt, text, sender, sessionId, model, sources } = message;
  const talks = new Map(sources.filter(({ type }) => type === 'conversation').map(each => [each.id, each]));
  return {
    id,
    text,
    sender,
    model,
    created_at: toIso(createdAt),
    type: 'text',
    chat_session_id: sessionId || null,
    sources: sources.map(sourceJson),
    memories_id: [...talks.keys()],
    memories: [...talks.values()].map(({ id, title, createdAt }) => ({
      id,
      created_at: toIso(createdAt),
      structured: { title, emoji: '' },
    })),
    app_id: null,
    plugin_id: null,
    from_external_integration: false,
    files_id: [],
    files: [],
    reported: false,
    ask_for_nps: false,
  };
}
