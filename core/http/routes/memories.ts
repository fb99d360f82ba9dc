import { z } from 'zod';
import type { Memory, MemorySource } from '../../contract/model.ts';
import {
  isMemoryCategory,
  MEMORY_CATEGORIES,
  type Memories,
  requireMemoryAccess,
} from '../../domain/memories/memories.ts';
import { inPages } from '../../domain/pages.ts';
import type { Hit, Search } from '../../domain/search/search.ts';
import { toIso, toIsoOrNull } from '../../runtime/iso.ts';
import { MAX_QUERY_CHARS, optional, someOf, text } from '../fields.ts';
import { boolean, integer, integerWithin, listOf } from '../query.ts';
import { type Route, route } from '../route.ts';

const LIST = '/v1/dev/user/memories';
const ONE = '/v1/dev/user/memories/{memory_id}';
const OWN = '/v1/memories/{memory_id}';
export const MAX_CONTENT_CHARS = 500;
const MAX_TAGS = 50;
const MAX_TAG_CHARS = 100;
export const MAX_BATCH = 25;
const DEFAULT_LIMIT = 25;
const MAX_LIMIT = 1000;
const DEFAULT_HITS = 10;
const MAX_HITS = 100;

export const MemoryJson = z
  .object({
    id: z.string(),
    content: z.string(),
    category: z.enum(MEMORY_CATEGORIES),
    visibility: z.enum(['public', 'private']),
    tags: z.array(z.string()),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    manually_added: z.boolean().describe('Whether somebody wrote it; otherwise it comes from a conversation'),
    scoring: z.string().describe('Sort key of lists'),
    reviewed: z.boolean().describe('Whether its owner wrote or accepted it; otherwise it awaits review'),
    user_review: z.boolean().nullable().describe('Verdict of its owner; null: none yet'),
    edited: z.boolean(),
    said_in: z
      .object({ conversation_id: z.string(), segment_id: z.string().nullable() })
      .nullable()
      .describe('Where it was said last; null: it was written'),
  })
  .meta({ id: 'Memory' });

const HitJson = z.object({
  id: z.string(),
  category: z.enum(MEMORY_CATEGORIES),
  content: z.string(),
  relevance_score: z
    .number()
    .min(0)
    .max(1)
    .describe('1: best match by words and by meaning; 0.5: best match by one of them'),
});

const FoundJson = z
  .object({
    items: z.array(HitJson).describe('Most relevant first'),
    returned_count: z.int(),
    archive_default_visible: z.literal(false),
    policy: z.object({
      consumer: z.literal('developer_api'),
      app_has_default_memory_grant: z.literal(true),
      archive_capability: z.literal(false),
      raw_provenance_capability: z.literal(false),
    }),
  })
  .meta({ id: 'FoundMemories' });

const VersionJson = z
  .object({
    id: z.string().nullable().describe('Null: the present version'),
    content: z.string(),
    as_of: z.iso.datetime().describe('Time at which it was last said, written or confirmed'),
    superseded_at: z.iso.datetime().nullable().describe('Time at which it was replaced; null: it is current'),
    sources: z
      .array(
        z.object({
          conversation_id: z.string(),
          segment_ids: z.array(z.string()),
          said_at: z.iso.datetime(),
        }),
      )
      .describe('Sources; none: somebody wrote it, or its conversations are deleted'),
  })
  .meta({ id: 'MemoryVersion' });

const Review = z
  .object({ accept: z.boolean().describe('False deletes it, and it is not stored again when it is heard') })
  .meta({ id: 'MemoryReview', override: { examples: [{ accept: true }] } });

const Undo = z
  .object({
    version: optional(text(), null).describe('Id of a version in its history; absent: the latest one'),
  })
  .meta({ id: 'MemoryUndo', override: { examples: [{}] } });

const ListQuery = z.object({
  limit: integer({ from: 1, to: MAX_LIMIT, absent: DEFAULT_LIMIT }),
  offset: integer({ from: 0, absent: 0 }),
  categories: listOf(isMemoryCategory, MEMORY_CATEGORIES),
  reviewed: boolean(),
});

const SearchQuery = z.object({
  query: text({ max: MAX_QUERY_CHARS }).describe('Subject to search for, in any words'),
  limit: integerWithin({ from: 1, to: MAX_HITS, absent: DEFAULT_HITS }),
});

export const content = text({ max: MAX_CONTENT_CHARS });
const category = z.enum([...MEMORY_CATEGORIES, 'auto']).describe('auto: the service decides');
const visibility = z.enum(['public', 'private']);
export const tags = z.array(text({ max: MAX_TAG_CHARS })).max(MAX_TAGS);

const DRAFT_EXAMPLE = { content: 'Drinks tea without milk', category: 'lifestyle', tags: ['tea'] };

const Draft = z
  .object({
    content,
    category: optional(category, 'auto' as const),
    visibility: optional(visibility, 'private' as const),
    tags: optional(tags, [] as string[]),
  })
  .meta({ id: 'MemoryDraft', override: { examples: [DRAFT_EXAMPLE] } });

const Batch = z
  .object({ memories: z.array(Draft).max(MAX_BATCH) })
  .meta({ id: 'MemoryBatch', override: { examples: [{ memories: [DRAFT_EXAMPLE] }] } });

const Edit = someOf({
  content: content.exactOptional(),
  category: category.exactOptional(),
  visibility: visibility.exactOptional(),
  tags: tags.exactOptional(),
  expected: z
    .object({ content: content.exactOptional() })
    .exactOptional()
    .describe('Text that the edit is based on: if it has changed, the response is a 409 with both versions'),
}).meta({ id: 'MemoryEdit', override: { examples: [{ content: 'Drinks tea with milk' }] } });

/** Memories: lasting facts about the user. */
export function memoryRoutes(memories: Memories, search: Search): Route[] {
  const common = { tag: 'Memories', query: z.object({}), params: z.object({}) };
  const one = z.object({ memory_id: z.string() });
  return [
    route({
      ...common,
      method: 'get',
      id: 'listMemories',
      path: LIST,
      summary: 'List memories: written ones first, then the newest',
      scope: 'memories:read',
      query: ListQuery,
      response: z.array(MemoryJson),
      async handle({ principal: { user }, query: { categories, reviewed, ...page } }) {
        requireMemoryAccess(user);
        const filter = {
          ...(categories ? { categories } : {}),
          ...(reviewed === undefined ? {} : { reviewed }),
        };
        const found = await inPages(part => memories.list(user.id, { ...filter, ...part }), page);
        return found.map(memoryJson);
      },
    }),
    route({
      ...common,
      method: 'get',
      id: 'searchMemories',
      path: `${LIST}/vector/search`,
      summary: 'Search memories by meaning and by words; a key also needs the grant memories:read',
      scope: 'memories:read',
      policy: 'search',
      query: SearchQuery,
      response: FoundJson,
      async handle({ principal, query: { query, limit } }) {
        await search.permit(principal);
        return foundJson(await search.search(principal.user.id, query, limit));
      },
    }),
    route({
      ...common,
      method: 'get',
      id: 'getMemory',
      path: ONE,
      summary: 'Get one memory',
      scope: 'memories:read',
      errors: ['not_found'],
      params: one,
      response: MemoryJson,
      async handle({ principal: { user }, params }) {
        requireMemoryAccess(user);
        return memoryJson(await memories.get(user.id, params.memory_id));
      },
    }),
    route({
      ...common,
      method: 'post',
      id: 'createMemory',
      repeatable: true,
      path: LIST,
      summary: 'Create a memory',
      scope: 'memories:write',
      body: Draft,
      response: MemoryJson,
      async handle({ principal: { user }, body }) {
        const [created] = await memories.create(user.id, [body]);
        return memoryJson(created as Memory); // one for each draft
      },
    }),
    route({
      ...common,
      method: 'post',
      id: 'createMemories',
      path: `${LIST}/batch`,
      summary: `Create up to ${MAX_BATCH} memories, all or none`,
      scope: 'memories:write',
      policy: 'batch',
      body: Batch,
      response: z.object({ memories: z.array(MemoryJson), created_count: z.int() }),
      async handle({ principal: { user }, body }) {
        const created = await memories.create(user.id, body.memories);
        return { memories: created.map(memoryJson), created_count: created.length };
      },
    }),
    route({
      ...common,
      method: 'patch',
      id: 'updateMemory',
      path: ONE,
      summary: 'Change a memory',
      scope: 'memories:write',
      errors: ['not_found', 'conflict', 'locked'],
      params: one,
      body: Edit,
      response: MemoryJson,
      async handle({ principal: { user }, params, body }) {
        requireMemoryAccess(user); // the response shows the previous value
        return memoryJson(await memories.edit(user.id, params.memory_id, body));
      },
    }),
    route({
      ...common,
      method: 'delete',
      id: 'deleteMemory',
      path: ONE,
      summary: 'Delete a memory for good: it is not stored again when it is heard',
      scope: 'memories:write',
      errors: ['not_found', 'locked'],
      params: one,
      response: z.object({ success: z.literal(true) }),
      async handle({ principal: { user }, params }) {
        await memories.remove(user.id, params.memory_id);
        return { success: true as const };
      },
    }),
    route({
      ...common,
      method: 'get',
      id: 'getMemoryHistory',
      path: `${OWN}/history`,
      summary: 'Get the versions of a memory, newest first, with their sources',
      credential: 'idToken',
      errors: ['not_found'],
      params: one,
      response: z.array(VersionJson),
      async handle({ principal: { user }, params }) {
        requireMemoryAccess(user);
        return historyJson(await memories.get(user.id, params.memory_id));
      },
    }),
    route({
      ...common,
      method: 'post',
      id: 'restoreMemory',
      path: `${OWN}/undo`,
      summary: 'Restore an earlier version of a memory',
      credential: 'idToken',
      errors: ['not_found', 'locked'],
      params: one,
      body: Undo,
      response: MemoryJson,
      async handle({ principal: { user }, params, body }) {
        requireMemoryAccess(user);
        return memoryJson(await memories.restore(user.id, params.memory_id, body.version));
      },
    }),
    route({
      ...common,
      method: 'post',
      id: 'reviewMemory',
      path: `${OWN}/review`,
      summary: 'Accept a memory, or reject and delete it',
      credential: 'idToken',
      errors: ['not_found', 'locked'],
      params: one,
      body: Review,
      response: z.object({ success: z.literal(true) }),
      async handle({ principal: { user }, params: { memory_id: id }, body: { accept } }) {
        if (accept) await memories.accept(user.id, id);
        else await memories.remove(user.id, id);
        return { success: true as const };
      },
    }),
  ];
}

export function memoryJson(memory: Memory): z.input<typeof MemoryJson> {
  return {
    id: memory.id,
    content: memory.content,
    category: memory.category,
    visibility: memory.visibility,
    tags: memory.tags,
    created_at: toIso(memory.createdAt),
    updated_at: toIso(memory.updatedAt),
    manually_added: memory.manuallyAdded,
    scoring: memory.scoring,
    reviewed: memory.reviewed,
    user_review: memory.userReview,
    edited: memory.edited,
    said_in: placeOf(memory.sources.at(-1)),
  };
}

function placeOf(source: MemorySource | undefined) {
  if (!source) return null;
  return { conversation_id: source.conversationId, segment_id: source.segmentIds[0] ?? null };
}

function historyJson({ content, asOf, sources, history }: Memory): z.input<typeof VersionJson>[] {
  const now = { id: null, content, asOf, sources, supersededAt: null };
  return [now, ...history.toReversed()].map(version => ({
    id: version.id,
    content: version.content,
    as_of: toIso(version.asOf),
    superseded_at: toIsoOrNull(version.supersededAt),
    sources: version.sources.map(sourceJson),
  }));
}

function sourceJson({ conversationId, segmentIds, saidAt }: MemorySource) {
  return {
    conversation_id: conversationId,
    segment_ids: segmentIds,
    said_at: toIso(saidAt),
  };
}

function foundJson(hits: readonly Hit[]): z.input<typeof FoundJson> {
  return {
    items: hits.map(({ memory: { id, category, content }, relevance }) => ({
      id,
      category,
      content,
      relevance_score: Number(relevance.toFixed(4)),
    })),
    returned_count: hits.length,
    archive_default_visible: false,
    policy: {
      consumer: 'developer_api',
      app_has_default_memory_grant: true,
      archive_capability: false,
      raw_provenance_capability: false,
    },
  };
}
