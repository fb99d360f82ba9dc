/** REST over many rows: compared with a bare Koa and a bare Fastify, and with a tenth of the rows. */
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { callControl, controlPath } from '../../core/control/control.ts';
import { openPostgres } from '../../plugins/storage/sql/postgres.ts';
import { openSqlite } from '../../plugins/storage/sql/sqlite.ts';
import { createStorage } from '../../plugins/storage/sql/storage.ts';
import { coreProcess } from '../helpers/core-process.ts';
import { explain } from '../helpers/explain.ts';
import { postgresOptions, startPostgres } from '../helpers/postgres.ts';
import { storageContext } from '../helpers/storage.ts';
import { type Bench, type Benchmark, type Cell, interleave, spread, type Table } from './benchmark.ts';
import type { FloorPlan } from './lists/floor-main.ts';
import type { Counted, RequestPlan } from './lists/load-main.ts';
import { addRows, idOf } from './lists/many.ts';
import { DRAFT, medianMs, PAGE, PARTED, partsOf } from './lists/parts.ts';
import { RESOURCES, type Request, requestsOf } from './lists/resources.ts';
import { cpuBetween, cpuOf, launcherOf, nextMessage, startProgram } from './processes.ts';

type Client = 'sqlite' | 'postgres';

export const LISTS: Benchmark[] = (['sqlite', 'postgres'] as const).map(client => ({
  name: `lists:${client}`,
  title: `requests for conversations, memories and action items, on ${client}, beside a bare Koa and a bare Fastify`,
  run: (bench: Bench) => run(bench, client),
}));

const OFFSET = { quick: 50, long: 1000 };
/** The highest settings: limits are counted, and never reached. */
const LIMITS = {
  read: 60_000,
  write: 60_000,
  batch: 60_000,
  transcript: 60_000,
  search: 60_000,
  failed: 60_000,
};
const SCOPES = ['conversations', 'memories', 'action_items'].flatMap(of => [`${of}:read`, `${of}:write`]);
const NEVER_EMBEDS = join(import.meta.dirname, '../fixtures/plugins/never-embeds.ts');

interface Subject {
  port: number;
  key: string;
  pid: number;
}

interface Core extends Subject {
  database: string;
  userId: string;
}

/** Result of one subject in one round. */
interface Answered extends Pick<Counted, 'perSecond' | 'p50Ms' | 'p99Ms'> {
  /** Processor time per answer in ms, which other processes affect less. */
  cpuMs: number;
}

const SUBJECTS = ['bare Koa', 'bare Fastify', 'core', 'core, a tenth of the rows'] as const;
const RATIOS = ['core to Koa', 'core to Fastify', 'time with 10 times the rows'];

async function run(bench: Bench, client: Client): Promise<Table[]> {
  const rows = bench.quick ? 1000 : 100_000;
  const address = client === 'postgres' ? await openServer(bench) : null;
  const core = await startFilled(bench, address?.('many'), rows);
  const tenth = await startFilled(bench, address?.('few'), rows / 10);
  const floors = [await startFloor(bench, 'koa', core), await startFloor(bench, 'fastify', core)];
  const offset = bench.quick ? OFFSET.quick : OFFSET.long;
  const requests = RESOURCES.flatMap(resource => requestsOf(resource, idOf(rows / 10), offset));
  const measured: [string, Answered[][]][] = [];
  for (const request of requests) {
    for (const floor of floors) await compareAnswers(request, core, floor);
    measured.push([request.name, await compare(bench, [...floors, core, tenth], request)]);
  }
  const title = `on ${client}, ${rows} rows of each kind`;
  const columns = ['request', ...SUBJECTS, ...RATIOS];
  return [
    {
      title: `Requests per second ${title}`,
      columns,
      rows: measured.map(([name, all]) => cells(name, all, ({ perSecond }) => perSecond)),
      notes: ['19 other users have a twentieth of these rows each.'],
    },
    {
      title: `Processor time of a request in ms ${title}`,
      columns,
      rows: measured.map(([name, all]) => cells(name, all, ({ cpuMs }) => cpuMs, -1)),
      notes: [
        `Of the server's process${client === 'postgres' ? '; that of Postgres comes on top' : ''}. Ratios are of what a second of it does.`,
      ],
    },
    {
      title: `Milliseconds to the answer, with 4 requests at once, ${title}`,
      columns: ['request', ...SUBJECTS.flatMap(name => [`${name}: p50`, 'p99'])],
      rows: measured.map(([name, all]) => [
        name,
        ...all.flatMap(rounds => [
          spread(rounds.map(({ p50Ms }) => p50Ms)),
          spread(rounds.map(({ p99Ms }) => p99Ms)),
        ]),
      ]),
    },
    await takeApart(bench, client, core, idOf(rows / 10)),
  ];
}

/** Part by part; the whole is a request to an otherwise idle server. */
async function takeApart(bench: Bench, client: Client, core: Core, id: string): Promise<Table> {
  const { database, userId, key, port } = core;
  const context = storageContext();
  const dialect =
    client === 'sqlite'
      ? openSqlite(database, context)
      : openPostgres(postgresOptions({ url: database }), context);
  const storage = await createStorage(dialect, context);
  const plans = await explain(dialect, async () => {
    await storage.conversations.list(userId, { statuses: ['completed'], ...PAGE });
    await storage.memories.list(userId, PAGE);
    await storage.actionItems.list(userId, { locked: false, ...PAGE });
  });
  const times = bench.quick ? 50 : 1000;
  const parts = await partsOf({ storage, userId, key, id, limits: LIMITS, times });
  await dialect.close();
  const path = '/v1/dev/user/conversations';
  const asked = [
    { path: `${path}?limit=${PAGE.limit}` },
    { path: `${path}/${id}` },
    { path: '/v1/dev/user/action-items', body: JSON.stringify(DRAFT) },
  ];
  const columns: Record<string, number>[] = [];
  for (const [at, request] of asked.entries()) {
    const whole = await medianMs(async () => (await send({ port, key }, request)).text(), times);
    const rest = whole - sum(Object.values(parts[at] ?? {}));
    columns.push({ ...parts[at], 'rest: HTTP, Koa, the client of this measurement': rest, whole });
  }
  return {
    title: `Parts of a request on ${client}`,
    columns: ['part', ...PARTED.flatMap(name => [`${name}: ms`, '%'])],
    rows: Object.keys(columns[0] ?? {}).map((part): Cell[] => [
      part,
      ...columns.flatMap(({ [part]: ms = Number.NaN, whole = Number.NaN }) => [ms, (100 * ms) / whole]),
    ]),
    notes: plans.map(({ steps, faults }) => {
      if (faults.length > 0) throw new Error(`a list does not use its index: ${faults}`);
      return `The database's plan of a list: ${steps.join('; ')}`;
    }),
  };
}

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);

function send({ port, key }: Pick<Subject, 'port' | 'key'>, { path, body }: Pick<Request, 'path' | 'body'>) {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  return fetch(`http://127.0.0.1:${port}${path}`, body ? { method: 'POST', headers, body } : { headers });
}

/** @throws if the floor's response differs from core's */
async function compareAnswers(request: Request, core: Subject, floor: Subject): Promise<void> {
  const [ours, theirs] = await Promise.all(
    [core, floor].map(async subject => {
      const answer = (await (await send(subject, request)).json()) as object;
      return request.body ? Object.keys(answer).sort() : answer; // a created row has its own id
    }),
  );
  if (isDeepStrictEqual(ours, theirs)) return;
  throw new Error(`${request.name}: ${JSON.stringify(theirs)} of the floor is not ${JSON.stringify(ours)}`);
}

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

async function compare(bench: Bench, subjects: readonly Subject[], request: Request): Promise<Answered[][]> {
  const measures = subjects.map((subject, at) => [
    SUBJECTS[at] ?? '',
    () => measure(bench, `${SUBJECTS[at]}: ${request.name}`, subject, request),
  ]);
  return Object.values(await interleave<Answered>(bench.quick ? 1 : 3, Object.fromEntries(measures)));
}

async function measure(
  bench: Bench,
  what: string,
  { port, key, pid }: Subject,
  request: Request,
): Promise<Answered> {
  bench.say(what);
  const child = startProgram(bench, 'load', new URL('./lists/load-main.ts', import.meta.url));
  const times = bench.quick ? { warmMs: 20, measureMs: 100 } : { warmMs: 300, measureMs: 1000 };
  const plan: RequestPlan = { port, request, key, ...times };
  const before = cpuOf(pid);
  child.send(plan);
  const { all, perSecond, p50Ms, p99Ms } = await nextMessage<Counted>(child, 'counted');
  return { perSecond, p50Ms, p99Ms, cpuMs: cpuBetween(before, cpuOf(pid)).total / all };
}

/** A whole server with this many rows. @param address of an empty Postgres database; absent: a SQLite file */
async function startFilled(bench: Bench, address: Promise<string> | undefined, count: number): Promise<Core> {
  const url = await address;
  const sql = url === undefined ? {} : { client: 'postgres', url };
  const config = {
    stt: [],
    embedder: 'never-embeds', // otherwise 100,000 memories would be embedded meanwhile
    rateLimits: LIMITS,
    plugins: { sql, 'never-embeds': { use: NEVER_EMBEDS } },
  };
  const core = await coreProcess(bench, config, () => launcherOf('subject'));
  const made = await callControl(controlPath(core.dataDir), 'key', { user: 'owner', scopes: SCOPES });
  if (made === 'absent') throw new Error('core does not answer on its control socket');
  const database = url ?? join(core.dataDir, 'earshot.db');
  const context = storageContext();
  const { writer, close } =
    url === undefined ? openSqlite(database, context) : openPostgres(postgresOptions({ url }), context);
  const { id: userId } = await writer('users').first('id');
  bench.say(`adding ${count} rows of each kind`);
  await addRows(writer, userId, count);
  if (url !== undefined) await writer.raw('analyze'); // Postgres does so after a while; SQLite does not
  await close();
  const pid = core.process().pid ?? 0;
  return { port: Number(new URL(core.url).port), key: made.key, pid, database, userId };
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
  const server = await startPostgres({ fsync: 'on' });
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
