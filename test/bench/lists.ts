/** REST over many conversations: beside a bare Koa and a bare Fastify, and with a tenth of the rows. */
import { join } from 'node:path';
import type { Knex } from 'knex';
import { openPostgres } from '../../plugins/storage/sql/postgres.ts';
import { openSqlite } from '../../plugins/storage/sql/sqlite.ts';
import { createStorage } from '../../plugins/storage/sql/storage.ts';
import { coreProcess } from '../helpers/core-process.ts';
import { postgresOptions, startPostgres } from '../helpers/postgres.ts';
import { storageContext } from '../helpers/storage.ts';
import { type Bench, type Benchmark, type Cell, interleave, spread, type Table } from './benchmark.ts';
import type { FloorPlan } from './lists/floor-main.ts';
import type { Counted, RequestPlan } from './lists/load-main.ts';
import { addConversations, idOf } from './lists/many.ts';
import { medianMs, partsOf } from './lists/parts.ts';
import { cpuBetween, cpuOf, launcherOf, nextMessage, startProgram } from './processes.ts';

/** Of the list that is taken apart. */
const LIMIT = 25;

type Client = 'sqlite' | 'postgres';

export const LISTS: Benchmark[] = (['sqlite', 'postgres'] as const).map(client => ({
  name: `lists:${client}`,
  title: `requests for conversations, on ${client}, beside a bare Koa and a bare Fastify`,
  run: (bench: Bench) => run(bench, client),
}));

interface Subject {
  port: number;
  key: string;
  pid: number;
}

interface Core extends Subject {
  database: string;
  userId: string;
}

/** What one subject did in one round. */
interface Answered {
  perSecond: number;
  /** Processor time of one answer, in ms: what else runs on the machine disturbs it less. */
  cpuMs: number;
}

const SUBJECTS = ['bare Koa', 'bare Fastify', 'core', 'core, a tenth of the rows'] as const;
const RATIOS = ['core to Koa', 'core to Fastify', 'time with 10 times the rows'];

async function run(bench: Bench, client: Client): Promise<Table[]> {
  const rows = bench.quick ? 1000 : 100_000;
  const address = client === 'postgres' ? await openServer(bench) : null;
  const core = await startFilled(bench, address?.('many'), rows);
  const tenth = await startFilled(bench, address?.('few'), rows / 10);
  const subjects = [
    await startFloor(bench, 'koa', core),
    await startFloor(bench, 'fastify', core),
    core,
    tenth,
  ];
  const measured: [string, Answered[][]][] = [];
  for (const path of paths(rows / 10)) measured.push([path, await compare(bench, subjects, path)]);
  const title = `on ${client}, ${rows} conversations`;
  const columns = ['GET …/conversations', ...SUBJECTS, ...RATIOS];
  return [
    {
      title: `Requests per second ${title}`,
      columns,
      rows: measured.map(([path, all]) => cells(path, all, ({ perSecond }) => perSecond)),
    },
    {
      title: `Processor time of a request in ms ${title}`,
      columns,
      rows: measured.map(([path, all]) => cells(path, all, ({ cpuMs }) => cpuMs, -1)),
      notes: [
        `Of the server's process${client === 'postgres' ? '; that of Postgres comes on top' : ''}. Ratios are of what a second of it does.`,
      ],
    },
    await takeApart(bench, client, core),
  ];
}

/** A list of 25, part by part; the whole is a request to the server with nothing else to do. */
async function takeApart(
  bench: Bench,
  client: Client,
  { database, userId, key, port }: Core,
): Promise<Table> {
  const context = storageContext();
  const dialect =
    client === 'sqlite'
      ? openSqlite(database, context)
      : openPostgres(postgresOptions({ url: database }), context);
  const storage = await createStorage(dialect, context);
  const filter = {
    statuses: ['completed' as const],
    discarded: false,
    locked: false,
    limit: LIMIT,
    offset: 0,
  };
  const plan = await planOf(dialect.reader, client, () => storage.conversations.list(userId, filter));
  const times = bench.quick ? 50 : 2000;
  const parts = await partsOf({ storage, userId, key, limit: LIMIT, times });
  await dialect.close();
  const url = `http://127.0.0.1:${port}/v1/dev/user/conversations?limit=${LIMIT}`;
  const whole = await medianMs(
    async () => (await fetch(url, { headers: { Authorization: `Bearer ${key}` } })).text(),
    times,
  );
  const all = {
    ...parts,
    'rest: HTTP, Koa, the client of this measurement': whole - sum(Object.values(parts)),
  };
  return {
    title: `Parts of a list of ${LIMIT} on ${client}`,
    columns: ['part', 'ms', '% of the request'],
    rows: Object.entries(all).map(([name, ms]): Cell[] => [name, ms, (100 * ms) / whole]),
    notes: [`The database's plan for the rows: ${plan}`],
  };
}

/** How the database goes about the query that this makes. Throws where it does not use the index that is made for it. */
async function planOf(db: Knex, client: Client, list: () => Promise<unknown>): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<{ sql: string; bindings: string[] }>();
  db.once('query', resolve);
  await list();
  const { sql, bindings } = await promise;
  const question = client === 'sqlite' ? 'explain query plan' : 'explain';
  const answer = await db.raw(`${question} ${sql.replace(/\$\d+/g, '?')}`, bindings);
  const lines: object[] = client === 'sqlite' ? answer : answer.rows;
  const plan = lines.map(line => String(Object.values(line).at(-1)).trim()).join('; ');
  if (plan.includes('conversations_newest')) return plan;
  throw new Error(`the list does not use its index: ${plan}`);
}

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);

/** @param sign -1: less is better */
function cells(path: string, all: Answered[][], value: (answered: Answered) => number, sign = 1): Cell[] {
  const [koa = [], fastify = [], core = [], tenth = []] = all.map(rounds => rounds.map(value));
  const ratio = (over: number[], under: number[]) =>
    spread(over.map((one, at) => (one / (under[at] ?? Number.NaN)) ** sign));
  return [
    path,
    ...[koa, fastify, core, tenth].map(spread),
    ratio(core, koa),
    ratio(core, fastify),
    ratio(tenth, core),
  ];
}

function paths(some: number): string[] {
  return ['?limit=25', '?limit=100', `/${idOf(some)}`];
}

async function compare(bench: Bench, subjects: readonly Subject[], path: string): Promise<Answered[][]> {
  const measures = subjects.map((subject, at) => [
    SUBJECTS[at] ?? '',
    () => measure(bench, `${SUBJECTS[at]}: ${path}`, subject, path),
  ]);
  return Object.values(await interleave<Answered>(bench.quick ? 1 : 3, Object.fromEntries(measures)));
}

async function measure(
  bench: Bench,
  what: string,
  { port, key, pid }: Subject,
  path: string,
): Promise<Answered> {
  bench.say(what);
  const child = startProgram(bench, 'load', new URL('./lists/load-main.ts', import.meta.url));
  const times = bench.quick ? { warmMs: 50, measureMs: 200 } : { warmMs: 1000, measureMs: 2000 };
  const plan: RequestPlan = { port, path: `/v1/dev/user/conversations${path}`, key, ...times };
  const before = cpuOf(pid);
  child.send(plan);
  const { perSecond, all } = await nextMessage<Counted>(child, 'counted');
  return { perSecond, cpuMs: cpuBetween(before, cpuOf(pid)).total / all };
}

/** A whole server with so many conversations. @param address of an empty Postgres database; absent: a SQLite file */
async function startFilled(bench: Bench, address: Promise<string> | undefined, count: number): Promise<Core> {
  const url = await address;
  const sql = url === undefined ? {} : { client: 'postgres', url };
  const core = await coreProcess(bench, { stt: [], plugins: { sql } }, () => launcherOf('subject'));
  const database = url ?? join(core.dataDir, 'earshot.db');
  const context = storageContext();
  const { writer, close } =
    url === undefined ? openSqlite(database, context) : openPostgres(postgresOptions({ url }), context);
  const { id: userId } = await writer('users').first('id');
  bench.say(`adding ${count} conversations`);
  await addConversations(writer, userId, count);
  if (url !== undefined) await writer.raw('analyze'); // as Postgres does by itself after a while; SQLite does not
  await close();
  const pid = core.process().pid ?? 0;
  return { port: Number(new URL(core.url).port), key: core.key, pid, database, userId };
}

async function startFloor(
  bench: Bench,
  framework: FloorPlan['framework'],
  { database, userId }: Core,
): Promise<Subject> {
  const child = startProgram(bench, 'subject', new URL('./lists/floor-main.ts', import.meta.url));
  const plan: FloorPlan = { framework, database, userId };
  child.send(plan);
  const { port } = await nextMessage<{ event: 'listening'; port: number }>(child, 'listening');
  return { port, key: 'none', pid: child.pid ?? 0 };
}

async function openServer(bench: Bench): Promise<(name: string) => Promise<string>> {
  const server = await startPostgres();
  bench.teardown(server.stop);
  return async name => {
    const { writer, close } = openPostgres(
      postgresOptions({ url: server.url('postgres') }),
      storageContext(),
    );
    await writer.raw('create database ??', [name]);
    await close();
    return server.url(name);
  };
}
