/**
 * The minimum for a request: a bare Koa, or a bare Fastify, with one prepared statement and the same JSON. No
 * credential is required, no parameter checked. A posted row is inserted in a transaction, as durable as
 * core's.
 */
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { fastify } from 'fastify';
import Koa from 'koa';
import { type Draft, RESOURCES, type Resource, type Row, type Value } from './resources.ts';

export interface FloorPlan {
  framework: 'koa' | 'fastify';
  /** A SQLite file, or the address of a Postgres database. */
  database: string;
  userId: string;
}

/** Types of the parts used here, as neither package has any. */
interface Sqlite {
  pragma(source: string): unknown;
  prepare(sql: string): { reader: boolean; all(...values: Value[]): Row[]; run(...values: Value[]): unknown };
}
interface PgClient {
  query(statement: string | { name: string; text: string; values: Value[] }): Promise<{ rows: Row[] }>;
}
interface Pg {
  Pool: new (options: object) => PgClient & { connect(): Promise<PgClient & { release(): void }> };
}
const require = createRequire(import.meta.url);
const BetterSqlite: new (file: string) => Sqlite = require('better-sqlite3');
const pg: Pg = require('pg');

interface Database {
  read(sql: string, values: Value[]): Promise<Row[]>;
  /** In its own transaction, on disk when it resolves. */
  write(sql: string, values: Value[]): Promise<void>;
}

process.once('message', async ({ framework, database: address, userId }: FloorPlan) => {
  const database = address.startsWith('postgres:') ? openPostgres(address) : openSqlite(address);
  const serve = framework === 'koa' ? serveKoa : serveFastify;
  const port = await serve(new Map(RESOURCES.map(each => [each.path, answersOf(each, database, userId)])));
  process.send?.({ event: 'listening', port });
});

interface Answers {
  list(limit: number, offset: number): Promise<object[]>;
  one(id: string): Promise<object>;
  create(draft: Draft): Promise<object>;
}

function answersOf(resource: Resource, { read, write }: Database, userId: string): Answers {
  const { table, shown, order, toJson, toRow = () => ({}) } = resource;
  const list = `select * from ${table} where user_id = $1 and ${shown} order by ${order} limit $2 offset $3`;
  const one = `select * from ${table} where user_id = $1 and id = $2`;
  return {
    list: async (limit, offset) => (await read(list, [userId, limit, offset])).map(toJson),
    async one(id) {
      const [row] = await read(one, [userId, id]);
      if (!row) throw new Error(`${id} is not there`);
      return toJson(row);
    },
    async create(draft) {
      const row = toRow(draft, userId);
      const columns = Object.keys(row);
      const places = columns.map((_, at) => `$${at + 1}`);
      await write(`insert into ${table} (${columns}) values (${places})`, Object.values(row));
      return toJson(row);
    },
  };
}

function openSqlite(file: string): Database {
  const database = new BetterSqlite(file);
  for (const pragma of ['synchronous = full', 'foreign_keys = on']) database.pragma(pragma);
  const prepare = kept((sql: string) => database.prepare(sql.replace(/\$\d+/g, '?')));
  return {
    read: async (sql, values) => prepare(sql).all(...values),
    async write(sql, values) {
      prepare('begin immediate').run();
      prepare(sql).run(...values.map(value => (typeof value === 'boolean' ? Number(value) : value)));
      prepare('commit').run();
    },
  };
}

function openPostgres(connectionString: string): Database {
  const pool = new pg.Pool({ connectionString, max: 8 });
  let names = 0;
  const nameOf = kept((_sql: string) => `statement_${names++}`);
  return {
    read: async (text, values) => (await pool.query({ name: nameOf(text), text, values })).rows,
    async write(text, values) {
      const client = await pool.connect();
      await client.query('begin');
      await client.query({ name: nameOf(text), text, values });
      await client.query('commit');
      client.release();
    },
  };
}

function kept<T>(make: (key: string) => T): (key: string) => T {
  const made = new Map<string, T>();
  return key => {
    const value = made.get(key) ?? make(key);
    made.set(key, value);
    return value;
  };
}

function serveKoa(resources: Map<string, Answers>): Promise<number> {
  const app = new Koa();
  app.use(async context => {
    const { pathname, searchParams } = new URL(context.url, 'http://localhost');
    const whole = resources.get(pathname);
    const slash = pathname.lastIndexOf('/');
    if (!whole) context.body = await resources.get(pathname.slice(0, slash))?.one(pathname.slice(slash + 1));
    else if (context.method === 'POST') context.body = await whole.create((await json(context.req)) as Draft);
    else context.body = await whole.list(...pageOf(Object.fromEntries(searchParams)));
  });
  return new Promise(resolve => {
    const server = app.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

async function serveFastify(resources: Map<string, Answers>): Promise<number> {
  const app = fastify();
  for (const [path, { list, one, create }] of resources) {
    app.get(path, request => list(...pageOf(request.query as Page)));
    app.get(`${path}/:id`, request => one((request.params as { id: string }).id));
    app.post(path, request => create(request.body as Draft));
  }
  await app.listen({ port: 0, host: '127.0.0.1' });
  return (app.server.address() as AddressInfo).port;
}

interface Page {
  limit?: string;
  offset?: string;
}

function pageOf({ limit, offset = '0' }: Page): [limit: number, offset: number] {
  return [Number(limit), Number(offset)];
}
