/**
 * The floor of a list: a bare Koa, or a bare Fastify, with the one prepared statement that the list is, and the same
 * JSON. No credential is asked for, no parameter checked.
 */
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { fastify } from 'fastify';
import Koa from 'koa';
import { conversationJson } from '../../../core/http/conversation-json.ts';
import type { Conversation } from '../../../core/model.ts';

export interface FloorPlan {
  framework: 'koa' | 'fastify';
  /** A SQLite file, or the address of a Postgres database. */
  database: string;
  userId: string;
}

interface Row {
  id: string;
  status: Conversation['status'];
  created_at: number | string;
  started_at: number | string;
  finished_at: number | string;
  structured: string;
  language: string;
  source: string;
  folder_id: string;
  discarded: boolean | number;
  starred: boolean | number;
}

/** The parts that are used here: neither package brings types. */
interface Sqlite {
  prepare(sql: string): { all(...values: unknown[]): Row[] };
}
interface Pg {
  Pool: new (options: object) => { query(statement: object): Promise<{ rows: Row[] }> };
}
const require = createRequire(import.meta.url);
const BetterSqlite: new (file: string, options: object) => Sqlite = require('better-sqlite3');
const pg: Pg = require('pg');

const LIST = `select * from conversations where user_id = $1 and status in ('completed') and discarded = $2 and locked = $3
  order by created_at desc, id limit $4 offset 0`;
const ONE = 'select * from conversations where user_id = $1 and id = $2';

type Query = (sql: string, values: (string | number | boolean)[]) => Promise<Row[]>;

process.once('message', async ({ framework, database, userId }: FloorPlan) => {
  const isPostgres = database.startsWith('postgres:');
  const query = isPostgres ? openPostgres(database) : openSqlite(database);
  const no = isPostgres ? false : 0;
  const answer = async (url: string) => {
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    const id = /^\/v1\/dev\/user\/conversations\/(.+)$/.exec(pathname)?.[1];
    if (id) return toJson((await query(ONE, [userId, id]))[0]);
    return (await query(LIST, [userId, no, no, Number(searchParams.get('limit'))])).map(toJson);
  };
  const port = framework === 'koa' ? await serveKoa(answer) : await serveFastify(answer);
  process.send?.({ event: 'listening', port });
});

function openSqlite(file: string): Query {
  const database = new BetterSqlite(file, { readonly: true });
  const statements = new Map([LIST, ONE].map(sql => [sql, database.prepare(sql.replace(/\$\d/g, '?'))]));
  return async (sql, values) => statements.get(sql)?.all(...values) ?? [];
}

function openPostgres(connectionString: string): Query {
  const pool = new pg.Pool({ connectionString, max: 8 });
  const names = new Map([LIST, ONE].map((sql, at) => [sql, `statement_${at}`]));
  return async (text, values) => (await pool.query({ name: names.get(text), text, values })).rows;
}

function toJson(row: Row | undefined) {
  if (!row) throw new Error('the conversation is not there');
  const instants = {
    createdAt: Number(row.created_at),
    startedAt: Number(row.started_at),
    finishedAt: Number(row.finished_at),
  };
  const flags = { discarded: Boolean(row.discarded), starred: Boolean(row.starred) };
  const { id, status, language, source, folder_id: folderId } = row;
  const found = { id, status, language, source, folderId, geolocation: null, ...instants, ...flags };
  return conversationJson({ ...found, structured: JSON.parse(row.structured) } as Conversation, 'Work'); // all that it uses
}

type Answer = (url: string) => Promise<unknown>;

async function serveKoa(answer: Answer): Promise<number> {
  const app = new Koa();
  app.use(async context => {
    context.body = await answer(context.url);
  });
  return new Promise(resolve => {
    const server = app.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

async function serveFastify(answer: Answer): Promise<number> {
  const app = fastify();
  app.get('/v1/dev/user/conversations', request => answer(request.url));
  app.get('/v1/dev/user/conversations/:id', request => answer(request.url));
  await app.listen({ port: 0, host: '127.0.0.1' });
  return (app.server.address() as AddressInfo).port;
}
