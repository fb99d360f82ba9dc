/** Pages of a long delivery log, and what the delivery job costs the code that enqueues it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DeliveryFilter, Storage } from '../../core/contract/plugin.ts';
import { DAY_JOB, FAN_OUT_JOB } from '../../core/domain/apps/deliveries.ts';
import { type Conversations, createConversations } from '../../core/domain/conversations/conversations.ts';
import { newId } from '../../core/domain/ids.ts';
import { createEvents } from '../../core/runtime/events.ts';
import { conversation, segment } from '../../plugins/kit/suites/storage/rows.ts';
import type { Dialect } from '../../plugins/storage/sql/dialect.ts';
import { openPostgres } from '../../plugins/storage/sql/postgres.ts';
import { openSqlite } from '../../plugins/storage/sql/sqlite.ts';
import { createStorage } from '../../plugins/storage/sql/storage.ts';
import { explain } from '../helpers/explain.ts';
import { postgresOptions, startPostgres } from '../helpers/postgres.ts';
import { storageContext } from '../helpers/storage.ts';
import { type Bench, type Benchmark, interleave, percentile, spread, type Table } from './benchmark.ts';
import { APPS, addDeliveries, appOf, OWNER, targetOf } from './deliveries/many.ts';
import { idOf } from './lists/many.ts';

type Client = 'sqlite' | 'postgres';

export const DELIVERY_LOG: Benchmark[] = (['sqlite', 'postgres'] as const).map(client => ({
  name: `deliveries:log:${client}`,
  title: `pages of a long log of deliveries, and what its job costs a conversation, on ${client}`,
  run: (bench: Bench) => run(bench, client),
}));

const SIZES = {
  quick: { rows: 2000, rounds: 1, pages: 10, causes: 5 },
  long: { rows: 1_000_000, rounds: 5, pages: 200, causes: 200 },
};
type Sizes = (typeof SIZES)['long'];
const LIMIT = 100;
/** Goal for a page, at p99. */
const GOAL_MS = 20;

async function run(bench: Bench, client: Client): Promise<Table[]> {
  const sizes = bench.quick ? SIZES.quick : SIZES.long;
  const dialect = client === 'sqlite' ? await openFile(bench) : await openServer(bench);
  const storage = await createStorage(dialect, storageContext());
  await storage.migrate();
  bench.say(`adding ${sizes.rows} deliveries`);
  const began = performance.now();
  await addDeliveries(storage, dialect, sizes.rows);
  if (client === 'postgres') await dialect.writer.raw('analyze'); // Postgres does so after a while; SQLite does not
  bench.say(`added in ${((performance.now() - began) / 1000).toFixed(0)} s`);
  return [await pages(bench, client, sizes, storage, dialect), await causes(client, sizes, storage)];
}

/** Builds the queries of a page by its number, so that each one differs if it can. */
function questionsOf({ deliveries }: Storage, rows: number) {
  const mine = (filter: Omit<DeliveryFilter, 'limit'>) => deliveries.list(OWNER, { ...filter, limit: LIMIT });
  const ofApp = (page: number, filter: Omit<DeliveryFilter, 'limit'> = {}) =>
    deliveries.listOfApp(appOf(page), { ...filter, limit: LIMIT });
  /** Far from both ends. */
  const deep = (page: number) => idOf(Math.round(rows * (0.25 + ((page * 0.618) % 1) / 2)));
  const state = 'failed';
  return {
    first: () => mine({}),
    'of a target': page => mine({ targetId: targetOf(page) }),
    failed: () => mine({ state }),
    'of a target, failed': page => mine({ targetId: targetOf(page), state }),
    deep: page => mine({ beforeId: deep(page) }),
    'deep, of a target, failed': page => mine({ beforeId: deep(page), targetId: targetOf(page), state }),
    'of an app': page => ofApp(page),
    'of an app, deep': page => ofApp(page, { beforeId: deep(page) }),
    'of an app, failed': page => ofApp(page, { state }),
    'of a target of an app, deep': page =>
      ofApp(page, { targetId: targetOf(page % APPS), beforeId: deep(page) }),
  } satisfies Record<string, (page: number) => ReturnType<typeof mine>>;
}

async function pages(
  bench: Bench,
  client: Client,
  { rows, rounds, pages: count }: Sizes,
  storage: Storage,
  dialect: Dialect,
): Promise<Table> {
  const questions = questionsOf(storage, rows);
  for (const [name, ask] of Object.entries(questions)) {
    const [plan] = await explain(dialect, () => ask(1));
    if (!bench.quick && plan && plan.faults.length > 0)
      throw new Error(`${name} does not use its index: ${plan.faults}`);
  }
  const measure = (ask: (page: number) => Promise<unknown[]>) => async (round: number) => {
    const took: number[] = [];
    for (let page = 0; page < count; page++) {
      const startedAt = performance.now();
      const found = await ask(round * count + page);
      took.push(performance.now() - startedAt);
      if (!bench.quick && found.length < LIMIT) throw new Error(`${found.length} rows are no whole page`);
    }
    return { p50: percentile(took, 50), p99: percentile(took, 99) };
  };
  const subjects = Object.entries(questions).map(([name, ask]) => [name, measure(ask)] as const);
  const measured = await interleave(rounds, Object.fromEntries(subjects));
  return {
    title: `Pages of ${LIMIT} from the log of ${rows} deliveries on ${client}, ms`,
    columns: ['page', 'p50', 'p99'],
    rows: Object.entries(measured).map(([name, all]) => [
      name,
      spread(all.map(({ p50 }) => p50)),
      spread(all.map(({ p99 }) => p99)),
    ]),
    notes: [
      `19 other users have a hundredth of these rows each. Of 20 webhooks half are of an app each; two rows in a hundred failed. Goal: p99 at most ${GOAL_MS} ms.`,
    ],
  };
}

/** Completes conversations one after the other, alternately with and without delivery jobs. */
async function causes(client: Client, { rounds, causes: count }: Sizes, storage: Storage): Promise<Table> {
  const measure = (conversations: Conversations) => async () => {
    const took: number[] = [];
    for (const id of await converse(storage, count)) {
      const startedAt = performance.now();
      const done = await conversations.complete(OWNER, id, STRUCTURED);
      took.push(performance.now() - startedAt);
      if (!done) throw new Error('a conversation was not completed');
    }
    return percentile(took, 50);
  };
  const subjects = {
    bare: measure(conversationsOn(untold(storage))),
    told: measure(conversationsOn(storage)),
  };
  const { bare = [], told = [] } = await interleave(rounds, subjects);
  return {
    title: `To complete a conversation on ${client}, without and with what tells of it`,
    columns: ['with', 'ms', 'to the first'],
    rows: [
      ['nothing', spread(bare), 1],
      ['its jobs', spread(told), spread(told.map((ms, round) => ms / (bare[round] ?? Number.NaN)))],
    ],
    notes: [
      'The medians of rounds. With its jobs: that it is told of once, to whom, and in the day summary.',
    ],
  };
}

function conversationsOn(storage: Storage): Conversations {
  const { clock } = storageContext();
  return createConversations({ storage, clock, events: createEvents() });
}

/** The same storage, without anything to deliver. */
function untold(storage: Storage): Storage {
  return {
    ...storage,
    transaction: (name, work) =>
      storage.transaction(name, tx =>
        work({
          ...tx,
          claims: { ...tx.claims, take: async () => false },
          jobs: {
            ...tx.jobs,
            async enqueue(job) {
              if (job.kind !== FAN_OUT_JOB && job.kind !== DAY_JOB) await tx.jobs.enqueue(job);
            },
          },
        }),
      ),
  };
}

const STRUCTURED = {
  ...{ title: 'Planning the budget', overview: 'The garden gets less.', category: 'finance', emoji: '💰' },
  ...{ actionItems: [], events: [] },
};

/** This many that have ended. */
async function converse(storage: Storage, count: number): Promise<string[]> {
  const { clock } = storageContext();
  const all = Array.from({ length: count }, () =>
    conversation(newId(clock.now()), OWNER, { status: 'processing' }),
  );
  await storage.transaction('converse', async tx => {
    for (const one of all) {
      await tx.conversations.insert(one);
      await tx.segments.upsert([segment(`${one.id}s`, one, { text: 'Then the garden gets less.' })]);
    }
  });
  return all.map(({ id }) => id);
}

async function openFile(bench: Bench): Promise<Dialect> {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-log-'));
  bench.teardown(() => rm(dir, { recursive: true }));
  const dialect = openSqlite(join(dir, 'earshot.db'), storageContext());
  bench.teardown(() => dialect.close());
  return dialect;
}

async function openServer(bench: Bench): Promise<Dialect> {
  const server = await startPostgres({ fsync: 'on' });
  bench.teardown(server.stop);
  const dialect = openPostgres(postgresOptions({ url: server.url('postgres') }), storageContext());
  bench.teardown(() => dialect.close());
  return dialect;
}
