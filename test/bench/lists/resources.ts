/** Resources to list: for each kind of row the floor's statements and JSON, and the requests. */
import { randomUUIDv7 } from 'node:crypto';
import type { Conversation } from '../../../core/contract/model.ts';
import { conversationJson } from '../../../core/domain/conversations/conversation-json.ts';

export type Value = string | number | boolean | null;
/** As returned by the drivers: a flag is 0 or 1 on SQLite, and a bigint is text on Postgres. */
export type Row = Record<string, Value>;
export type Draft = Record<string, unknown>;

export interface Resource {
  path: string;
  table: string;
  /** Path of the page. */
  limit: number;
  order: string;
  /** In addition to the user's id. */
  shown: string;
  toJson(row: Row): object;
  /** Body to post, and the resulting row; absent: nothing is posted. */
  draft?: Draft;
  toRow?(draft: Draft, userId: string): Row;
}

const CONVERSATIONS: Resource = {
  path: '/v1/dev/user/conversations',
  table: 'conversations',
  limit: 25,
  order: 'created_at desc, id',
  shown: `status in ('completed') and discarded = false and locked = false`,
  toJson(row) {
    const { id, status, language, source, folder_id: folderId } = row;
    const instants = {
      createdAt: Number(row.created_at),
      startedAt: Number(row.started_at),
      finishedAt: Number(row.finished_at),
    };
    const flags = { discarded: Boolean(row.discarded), starred: Boolean(row.starred) };
    const found = { id, status, language, source, folderId, geolocation: null, ...instants, ...flags };
    return conversationJson(
      { ...found, structured: JSON.parse(String(row.structured)) } as unknown as Conversation,
      'Work',
    ); // all that it uses
  },
};

const MEMORIES: Resource = {
  path: '/v1/dev/user/memories',
  table: 'memories',
  limit: 25,
  order: 'scoring desc, id',
  shown: 'locked = false',
  toJson: row => ({
    id: row.id,
    content: row.content,
    category: row.category,
    visibility: row.visibility,
    tags: JSON.parse(String(row.tags)),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
    manually_added: Boolean(row.manually_added),
    scoring: row.scoring,
    reviewed: Boolean(row.reviewed),
    user_review: Boolean(row.user_review),
    edited: Boolean(row.edited),
    said_in: null,
  }),
  draft: { content: 'Drinks tea without milk', category: 'lifestyle', visibility: 'private', tags: ['tea'] },
  toRow: ({ content, category, visibility, tags }, userId) => ({
    ...freshRow(userId),
    ...{ content: String(content), category: String(category), visibility: String(visibility) },
    ...{ tags: JSON.stringify(tags), words: String(content).toLowerCase() },
    ...{ scoring: `01_997_${Math.floor(Date.now() / 1000)}`, manually_added: true, reviewed: true },
    ...{ user_review: true, edited: false, locked: false },
  }),
};

const ACTION_ITEMS: Resource = {
  path: '/v1/dev/user/action-items',
  table: 'action_items',
  limit: 100,
  order: 'completed, (due_at is null), due_at, created_at desc, id',
  shown: 'locked = false',
  toJson: row => ({
    id: row.id,
    description: row.description,
    completed: Boolean(row.completed),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
    due_at: row.due_at == null ? null : iso(row.due_at),
    completed_at: row.completed_at == null ? null : iso(row.completed_at),
    conversation_id: row.conversation_id,
    segment_id: null,
  }),
  draft: { description: 'Send the photos to Eve' },
  toRow: ({ description }, userId) => ({
    ...freshRow(userId),
    ...{ description: String(description), completed: false, due_at: null, completed_at: null },
    ...{ conversation_id: null, locked: false },
  }),
};

export const RESOURCES = [CONVERSATIONS, MEMORIES, ACTION_ITEMS];

export interface Request {
  name: string;
  path: string;
  /** Body of a POST; absent: a GET. */
  body?: string;
}

/** @param id of an existing row */
export function requestsOf({ path, limit, draft }: Resource, id: string, offset: number): Request[] {
  const short = path.slice(path.lastIndexOf('/'));
  const limits = path === CONVERSATIONS.path ? [limit, 100] : [limit];
  const queries = [...limits.map(each => `?limit=${each}`), `?limit=${limit}&offset=${offset}`];
  return [
    ...queries.map(query => ({ name: `GET ${short}${query}`, path: path + query })),
    { name: `GET ${short}/{id}`, path: `${path}/${id}` },
    ...(draft ? [{ name: `POST ${short}`, path, body: JSON.stringify(draft) }] : []),
  ];
}

function freshRow(userId: string): Row {
  const now = Date.now();
  return { id: randomUUIDv7(), user_id: userId, created_at: now, updated_at: now };
}

const iso = (at: Value | undefined) => new Date(Number(at)).toISOString();
