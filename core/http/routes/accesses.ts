import { z } from 'zod';
import type { Accesses, NamedAccess } from '../../domain/privacy/accesses.ts';
import { integer, word } from '../query.ts';
import { type Route, route } from '../route.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 500;

const AccessJson = z
  .object({
    id: z.string(),
    first_at: z.iso.datetime(),
    last_at: z.iso.datetime(),
    count: z.int().describe('Number of reads in that time, or of things that the server deleted'),
    reader: z
      .enum(['key', 'session', 'app', 'link', 'server'])
      .describe('`session`: an ID token; `link`: a calendar link; `server`: a command, or a rule of yours'),
    reader_id: z.string().nullable().describe('Id of the key or app'),
    reader_name: z.string().nullable().describe('Its present name; null: it has none, or is gone'),
    via: z.enum(['rest', 'mcp', 'server']),
    operation: z.string().describe('Id of the operation in this document'),
    data: z.string().describe('Kind of data'),
    subject_id: z.string().nullable().describe('Id of a single thing; null: several'),
  })
  .meta({ id: 'Access' });

/** Log of who read data of an account. */
export function accessRoutes(accesses: Pick<Accesses, 'list'>): Route[] {
  return [
    route({
      method: 'get',
      id: 'listAccesses',
      path: '/v1/users/accesses',
      tag: 'Accounts',
      summary: 'List who read your data, by which key, newest first; for 90 days',
      credential: 'idToken',
      params: z.object({}),
      query: z.object({
        before: word().meta({ description: 'Id of an entry: only earlier ones' }),
        limit: integer({ from: 1, to: MAX_LIMIT, absent: DEFAULT_LIMIT }),
      }),
      response: z.array(AccessJson),
      handle: async ({ principal: { user }, query: { before: beforeId, limit } }) =>
        (await accesses.list(user.id, { beforeId, limit })).map(toJson),
    }),
  ];
}

function toJson(entry: NamedAccess): z.input<typeof AccessJson> {
  const { id, firstAt, lastAt, count, reader, readerId, readerName, via, operation, data, subject } = entry;
  return {
    id,
    first_at: new Date(firstAt).toISOString(),
    last_at: new Date(lastAt).toISOString(),
    count,
    reader,
    reader_id: readerId,
    reader_name: readerName,
    via,
    operation,
    data,
    subject_id: subject,
  };
}
