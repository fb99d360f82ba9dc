/**
 * The tools that MCP clients are offered. Each calls one operation of the interface, with its scope and its limits.
 */
import { z } from 'zod';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 50;
/** Maximum number of transcript segments in an answer. */
const PAGE_SEGMENTS = 200;
/** Maximum characters of JSON in one answer: as much as a model reads at once. */
const MAX_ANSWER_CHARS = 100_000;

/** Request that a tool makes to an operation of the REST interface. */
interface OperationRequest {
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
}

export interface Tool {
  name: string;
  title: string;
  /** Description for the model: what it returns, and when to use it. */
  description: string;
  /** Id of its operation. */
  operation: string;
  input: z.ZodObject;
  /** Whether it changes something. */
  writes: boolean;
  /** @param given arguments that match the input schema */
  request(given: Record<string, unknown>): OperationRequest;
  /** Shapes the operation's response for a model, within the size that one can read. */
  answer(answered: unknown, given: Record<string, unknown>): Promise<object>;
}

const limit = z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT).describe('Maximum number of results');
const cursor = z
  .string()
  .regex(/^\d{1,9}$/)
  .optional()
  .describe('next_cursor of the previous page; absent: the first page');
const words = z.string().min(1).max(1000);
const topic = words.describe('What the fact is about, in words or as a question');
const id = z.string().min(1).max(100);
const moment = z.string().max(40);

/** A list that is read in pages. */
const listTool = (tool: Omit<Tool, 'writes' | 'request' | 'answer'>): Tool => ({
  ...tool,
  input: tool.input.extend({ limit, cursor }),
  writes: false,
  request({ limit, cursor, ...query }) {
    return { query: { ...query, limit: Number(limit) + 1, offset: Number(cursor ?? 0) } }; // one more than shown, to know whether there is another page
  },
  async answer(answered, given) {
    const from = Number(given.cursor ?? 0);
    return page('items', answered, { from, most: Number(given.limit) });
  },
});

const writeTool = (tool: Omit<Tool, 'writes' | 'request' | 'answer'>, of?: string): Tool => ({
  ...tool,
  writes: true,
  request(given) {
    if (of === undefined) return { body: given };
    const { [of]: named, ...body } = given;
    return { params: { [of]: String(named) }, body };
  },
  answer: async answered => answered as object, // an operation that changes something returns an object
});

export const TOOLS: readonly Tool[] = [
  listTool({
    name: 'search_conversations',
    title: 'Search conversations',
    operation: 'searchConversations',
    description:
      'Search recorded conversations by words of their title, overview or transcript, best match first. Each result has the best passage. Use get_conversation to read a whole one.',
    input: z.object({ query: words.describe('Words to search for; one match is enough') }),
  }),
  listTool({
    name: 'list_conversations',
    title: 'List conversations',
    operation: 'listConversations',
    description:
      'List recorded conversations, newest first, with title, overview and tasks, without transcripts.',
    input: z.object({
      start_date: moment
        .optional()
        .describe('From this instant or UTC day on: 2026-05-04 or 2026-05-04T09:00:00Z'),
      end_date: moment.optional().describe('Until this instant or UTC day, inclusive'),
      starred: z.boolean().optional().describe('True: starred ones only'),
    }),
  }),
  {
    name: 'get_conversation',
    title: 'Read a conversation',
    operation: 'getConversation',
    description: `Read one conversation: title, overview, tasks, and its transcript with speakers, up to ${PAGE_SEGMENTS} segments at a time.`,
    input: z.object({ conversation_id: id, cursor }),
    writes: false,
    request: ({ conversation_id }) => ({
      params: { conversation_id: String(conversation_id) },
      query: { include_transcript: true },
    }),
    async answer(answered, given) {
      const { transcript_segments: transcript = [], ...about } = answered as {
        transcript_segments?: unknown;
      };
      const from = Number(given.cursor ?? 0);
      const read = await page('transcript_segments', skipped(transcript, from), {
        from,
        most: PAGE_SEGMENTS,
      });
      return from === 0 ? { ...about, ...read } : { id: given.conversation_id, ...read };
    },
  },
  {
    ...listTool({
      name: 'search_memories',
      title: 'Search memories',
      operation: 'searchMemories',
      description: 'Search facts about the user by meaning and by words, best match first.',
      input: z.object({ query: topic }),
    }),
    input: z.object({ query: topic, limit }),
    request: ({ query, limit }) => ({ query: { query, limit } }),
    answer: async (answered, given) =>
      page('items', (answered as { items: unknown }).items, { from: 0, most: Number(given.limit) }),
  },
  listTool({
    name: 'list_memories',
    title: 'List memories',
    operation: 'listMemories',
    description: 'List stored facts about the user.',
    input: z.object({}),
  }),
  listTool({
    name: 'list_tasks',
    title: 'List tasks',
    operation: 'listActionItems',
    description: 'List tasks, open ones before completed ones, those with a due date first.',
    input: z.object({
      completed: z.boolean().optional().describe('False: open ones only'),
      conversation_id: id.optional().describe('Only those from this conversation'),
    }),
  }),
  {
    ...listTool({
      name: 'list_people',
      title: 'List people',
      operation: 'listPeople',
      description: 'List the people whom the user knows by name.',
      input: z.object({}),
    }),
    request: () => ({}),
    async answer(answered, given) {
      const from = Number(given.cursor ?? 0);
      return page('items', skipped(answered, from), { from, most: Number(given.limit) });
    },
  },
  writeTool({
    name: 'create_conversation',
    title: 'Create a conversation',
    operation: 'createConversation',
    description:
      'Store a text, such as notes of a meeting, as a conversation. Its title, overview and tasks are made afterwards.',
    input: z.object({
      text: z.string().min(1).max(100_000),
      started_at: moment
        .optional()
        .describe('Time of the conversation, ISO 8601 with a time zone; absent: now'),
      language: z.string().max(20).optional().describe('ISO 639-1'),
    }),
  }),
  writeTool({
    name: 'create_memory',
    title: 'Remember a fact',
    operation: 'createMemory',
    description: 'Remember one lasting fact about the user, as one sentence.',
    input: z.object({ content: z.string().min(1).max(500) }),
  }),
  writeTool({
    name: 'create_task',
    title: 'Create a task',
    operation: 'createActionItem',
    description: 'Create a task.',
    input: z.object({
      description: z.string().min(1).max(500),
      due_at: moment.optional().describe('ISO 8601 with a time zone; the user gets a reminder at this time'),
    }),
  }),
  writeTool(
    {
      name: 'update_task',
      title: 'Change a task',
      operation: 'updateActionItem',
      description: 'Complete or reopen a task, or change its description or due date.',
      input: z.object({
        action_item_id: id.describe('Id of the task'),
        completed: z.boolean().optional(),
        description: z.string().min(1).max(500).optional(),
        due_at: moment.nullable().optional().describe('ISO 8601 with a time zone; null: none'),
      }),
    },
    'action_item_id',
  ),
  writeTool({
    name: 'create_person',
    title: 'Create a person',
    operation: 'createPerson',
    description: 'Add a person whom the user knows by name.',
    input: z.object({ name: z.string().min(1).max(100) }),
  }),
];

type List = Iterable<unknown> | AsyncIterable<unknown>;

async function* skipped(list: unknown, count: number): AsyncGenerator<unknown> {
  let left = count;
  for await (const item of list as List) {
    if (left === 0) yield item;
    else left -= 1;
  }
}

/** Returns the first items of a list, and where the next page begins; null: there is none. */
async function page(name: string, list: unknown, { from, most }: { from: number; most: number }) {
  const items: unknown[] = [];
  let chars = 0;
  let more = false;
  for await (const item of list as List) {
    const length = JSON.stringify(item).length;
    more = items.length === most || (items.length > 0 && chars + length > MAX_ANSWER_CHARS);
    if (more) break;
    items.push(item);
    chars += length;
  }
  return { [name]: items, next_cursor: more ? String(from + items.length) : null };
}
