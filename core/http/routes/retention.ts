import { z } from 'zod';
import {
  MAX_RULES,
  type Retention,
  type RetentionChoice,
  type RetentionPreview,
} from '../../domain/privacy/retention.ts';
import { MAX_DAYS } from '../../domain/privacy/retention-words.ts';
import { optional, text } from '../fields.ts';
import { type Route, route } from '../route.ts';

const PATH = '/v1/users/retention';

const Data = z.enum(['conversations', 'photos', 'audio', 'deliveries']);

const RetentionJson = z
  .object({
    keep_starred: z.boolean(),
    rules: z.array(z.object({ data: Data, folder_id: z.string().nullable(), days: z.int().nullable() })),
  })
  .meta({ id: 'Retention' });

const RetentionBody = z
  .object({
    keep_starred: optional(z.boolean(), true).describe('Whether starred conversations are never deleted'),
    rules: z
      .array(
        z.object({
          data: Data.describe('`audio`: utterances that no recogniser could transcribe'),
          folder_id: optional(text(), null).describe(
            'Folder of conversations or photos; absent or null: all that no other rule names by its folder',
          ),
          days: z.int().min(1).max(MAX_DAYS).nullable().describe('Age at which it is deleted; null: kept'),
        }),
      )
      .max(MAX_RULES),
  })
  .meta({
    id: 'RetentionEdit',
    override: {
      examples: [
        {
          rules: [
            { data: 'conversations', days: 365 },
            { data: 'photos', days: 30 },
          ],
        },
      ],
    },
  });

const PreviewJson = z
  .object({
    conversations: z.int(),
    photos: z.int(),
    audio_files: z.int(),
    deliveries: z.int(),
    oldest: z
      .array(z.object({ id: z.string(), title: z.string(), started_at: z.iso.datetime().nullable() }))
      .describe('The first conversations to go'),
  })
  .meta({ id: 'RetentionPreview' });

/** How long the data of a user is kept. */
export function retentionRoutes(retention: Retention): Route[] {
  const common = {
    ...({ tag: 'Accounts', credential: 'idToken' } as const),
    params: z.object({}),
    query: z.object({}),
  };
  return [
    route({
      ...common,
      method: 'get',
      id: 'getRetention',
      path: PATH,
      summary: 'Get the rules by which your data is deleted automatically',
      response: RetentionJson,
      handle: async ({ principal: { user } }) => toJson(await retention.get(user.id)),
    }),
    route({
      ...common,
      method: 'put',
      id: 'putRetention',
      path: PATH,
      summary: 'Replace the rules by which your data is deleted automatically, each night',
      errors: ['not_found'],
      body: RetentionBody,
      response: RetentionJson,
      handle: async ({ principal: { user }, body }) => toJson(await retention.put(user.id, toChoice(body))),
    }),
    route({
      ...common,
      method: 'post',
      id: 'previewRetention',
      path: `${PATH}/preview`,
      summary: 'Tell what such rules would delete now; nothing is deleted or stored',
      policy: 'search',
      errors: ['not_found'],
      body: RetentionBody,
      response: PreviewJson,
      handle: async ({ principal: { user }, body }) =>
        previewJson(await retention.preview(user.id, toChoice(body))),
    }),
  ];
}

function toChoice({ keep_starred: keepStarred, rules }: z.output<typeof RetentionBody>): RetentionChoice {
  return {
    keepStarred,
    rules: rules.map(({ data, folder_id: folderId, days }) => ({ data, folderId, days })),
  };
}

function toJson({ keepStarred, rules }: RetentionChoice): z.input<typeof RetentionJson> {
  return {
    keep_starred: keepStarred,
    rules: rules.map(({ data, folderId, days }) => ({ data, folder_id: folderId, days })),
  };
}

function previewJson({ audioFiles, oldest, ...counts }: RetentionPreview): z.input<typeof PreviewJson> {
  return {
    ...counts,
    audio_files: audioFiles,
    oldest: oldest.map(({ id, structured, startedAt }) => ({
      id,
      title: structured.title,
      started_at: startedAt === null ? null : new Date(startedAt).toISOString(),
    })),
  };
}
