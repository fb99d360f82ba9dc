/** Search by meaning: the embedded index compared with an exhaustive search. */
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Bench,
  type Benchmark,
  type Cell,
  interleave,
  percentile,
  spread,
  type Table,
} from './benchmark.ts';
import { endProcess, memoryOf, nextMessage, startProgram } from './processes.ts';
import type { Filled, Searched, SearchPlan } from './search/subject-main.ts';
import type { WholeFilled, WholePlan, WholeSearched } from './search/whole-main.ts';

const USERS = 20;
const LIMIT = 10;
const ROUNDS = 3;

export const SEARCH: Benchmark[] = [
  {
    name: 'search',
    title: 'search among 100,000 vectors of one user, compared with an exhaustive one',
    run: async bench => [
      await run(bench, 'words', 'sentences of 12 words, 100 dimensions by the embedder `words`'),
      await run(bench, 'clusters', '2000 topics with noise, 384 dimensions'),
      await runWhole(bench),
    ],
  },
];

const NAMES = { exact: 'every vector', index: 'sqlite-vectors' } as const;
type Kind = keyof typeof NAMES;

interface Subject extends Filled {
  child: ChildProcess;
  /** Before the first search. */
  idleRss: number;
  firstMs: number;
}

async function run(bench: Bench, corpus: SearchPlan['corpus'], what: string): Promise<Table> {
  const many = countsOf(bench);
  const plan = { ...many, corpus, users: USERS, limit: LIMIT };
  const subjects = { exact: await start(bench, 'exact', plan), index: await start(bench, 'index', plan) };
  const results = await interleave<Searched>(bench.quick ? 1 : ROUNDS, {
    exact: round => search(bench, subjects.exact, `${NAMES.exact}, round ${round + 1}`),
    index: round => search(bench, subjects.index, `${NAMES.index}, round ${round + 1}`),
  });
  const floor = results.exact ?? [];
  const row = (kind: Kind): Cell[] => {
    const all = results[kind] ?? [];
    const { child, firstMs, idleRss, perSecond, fileMb } = subjects[kind];
    return [
      NAMES[kind],
      spread(all.map(({ ms }) => percentile(ms, 50))),
      spread(all.map(({ ms }) => percentile(ms, 99))),
      spread(all.map(({ cpuMs }) => cpuMs)),
      spread(all.map(({ cpuMs }, at) => cpuMs / (floor[at]?.cpuMs ?? Number.NaN))),
      spread(all.map(({ found }) => recall(found, floor[0]?.found ?? []))),
      firstMs,
      kind === 'index' ? memoryOf(child.pid ?? 0).rss - idleRss : null,
      kind === 'index' ? fileMb : null,
      kind === 'index' ? perSecond : null,
    ];
  };
  return {
    title: `Search of ${LIMIT} among ${many.memories} vectors of one user: ${what}`,
    columns: [
      'way',
      'p50 ms',
      'p99 ms',
      'CPU ms',
      'CPU to the floor',
      `recall@${LIMIT}`,
      'first search ms',
      'RSS MB of searching',
      'file MB',
      'vectors put a second',
    ],
    rows: [row('exact'), row('index')],
    notes: [
      `${USERS - 1} other users have ${many.others} vectors each in the same file. Without words: what the text of a question costs to embed, and to look up by its words, comes on top.`,
    ],
  };
}

/** By words and by meaning, as in the API. */
async function runWhole(bench: Bench): Promise<Table> {
  const many = countsOf(bench);
  const dataDir = await mkdtemp(join(tmpdir(), 'earshot-bench-'));
  bench.teardown(() => rm(dataDir, { recursive: true, force: true }));
  bench.say(`words and meaning: ${many.memories} memories`);
  const child = startProgram(bench, 'subject', new URL('./search/whole-main.ts', import.meta.url));
  const plan: WholePlan = { ...many, users: USERS, limit: LIMIT, dataDir };
  child.send(plan);
  const { count } = await nextMessage<WholeFilled>(child, 'filled');
  if (count !== many.memories + (USERS - 1) * many.others) throw new Error(`${count} memories are there`);
  const measure = (kind: Kind) => async (round: number) => {
    bench.say(`words and meaning: ${NAMES[kind]}, round ${round + 1}`);
    const answer = nextMessage<WholeSearched>(child, 'searched');
    child.send(kind);
    return answer;
  };
  await measure('index')(-1); // compiled code, and data read for the first time
  const results = await interleave<WholeSearched>(bench.quick ? 1 : ROUNDS, {
    exact: measure('exact'),
    index: measure('index'),
  });
  const nearest = results.exact?.[0]?.found ?? [];
  return {
    title: `Search of ${LIMIT} among ${many.memories} memories of one user, by words and by meaning at once`,
    columns: [
      'way',
      'p50 ms',
      'p99 ms',
      'CPU ms',
      'of the thread of sockets ms',
      'held it at most ms',
      `recall@${LIMIT}`,
    ],
    rows: (['exact', 'index'] as const).map(kind => {
      const all = results[kind] ?? [];
      return [
        NAMES[kind],
        spread(all.map(({ ms }) => percentile(ms, 50))),
        spread(all.map(({ ms }) => percentile(ms, 99))),
        spread(all.map(({ cpuMs }) => cpuMs)),
        spread(all.map(({ mainMs }) => mainMs)),
        spread(all.map(({ heldMs }) => heldMs)),
        spread(all.map(({ found }) => recall(found, nearest))),
      ];
    }),
    notes: [
      `${USERS - 1} other users have ${many.others} memories each in the same files. A question has 4 to 8 words that thousands of the memories have. Goal: p99 at most 40 ms, recall at least 0.98.`,
    ],
  };
}

function countsOf({ quick }: Bench) {
  return quick
    ? { memories: 2000, others: 100, queries: 20 }
    : { memories: 100_000, others: 5000, queries: 300 };
}

async function start(
  bench: Bench,
  kind: Kind,
  plan: Omit<SearchPlan, 'kind' | 'dataDir' | 'fills'>,
): Promise<Subject> {
  const dataDir = await mkdtemp(join(tmpdir(), 'earshot-bench-'));
  bench.teardown(() => rm(dataDir, { recursive: true, force: true }));
  bench.say(`${NAMES[kind]}: ${plan.memories} vectors, ${plan.corpus}`);
  const filler = await startSubject(bench, { ...plan, kind, dataDir, fills: true });
  if (kind === 'index') await endProcess(filler.child, 'SIGTERM');
  // Searches in the file do not fill its cache: the memory is that of the search alone.
  const { child } =
    kind === 'index' ? await startSubject(bench, { ...plan, kind, dataDir, fills: false }) : filler;
  const { rss: idleRss } = memoryOf(child.pid ?? 0);
  const { ms } = await ask(child);
  return { ...filler.filled, child, idleRss, firstMs: ms[0] ?? Number.NaN };
}

async function startSubject(bench: Bench, plan: SearchPlan) {
  const child = startProgram(bench, 'subject', new URL('./search/subject-main.ts', import.meta.url));
  child.send(plan);
  return { child, filled: await nextMessage<Filled>(child, 'filled') };
}

function search(bench: Bench, { child }: Subject, what: string): Promise<Searched> {
  bench.say(what);
  return ask(child);
}

function ask(child: ChildProcess): Promise<Searched> {
  const answer = nextMessage<Searched>(child, 'searched');
  child.send('search');
  return answer;
}

/** Share of the nearest vectors that was found. */
function recall(found: readonly string[][], nearest: readonly string[][]): number {
  const wanted = nearest.flat().length;
  const hits = nearest.map((ids, at) => ids.filter(id => found[at]?.includes(id)).length);
  return hits.reduce((sum, each) => sum + each, 0) / wanted;
}
