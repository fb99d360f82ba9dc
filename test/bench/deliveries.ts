/** Outgoing messages: deliveries per second of one core, compared with the same requests by a bare client. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bench, type Benchmark, type Cell, interleave, spread, type Table } from './benchmark.ts';
import type { ReceiverSaid } from './deliveries/receiver-main.ts';
import type { SubjectOrder, SubjectPlan, SubjectSaid, Way } from './deliveries/subject-main.ts';
import { nextMessage, startProgram } from './processes.ts';

/** All of them, from the most to the least work. */
const WAYS: readonly Way[] = [
  'from causes',
  'from stored deliveries',
  'guarded and signed, not stored',
  'bare undici',
];
const ROUNDS = 5;
/** Webhooks per user. */
const HOOKS = [1, 8];
/** Deliveries of one round. */
const COUNT = { quick: 64, long: 4000 };
/** Deliveries per second, relative to bare undici. */
const GOAL = 0.5;

export const DELIVERIES: Benchmark[] = [
  {
    name: 'deliveries:rate',
    title: 'deliveries per second, from what happened to delivered, beside the same requests by bare undici',
    run: async bench => {
      const tables: Table[] = [];
      for (const hooks of HOOKS) tables.push(await rate(bench, hooks));
      return tables;
    },
  },
];

async function rate(bench: Bench, hooks: number): Promise<Table> {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-deliveries-'));
  bench.teardown(() => rm(dir, { recursive: true }));
  const url = `${await startReceiver(bench)}/at-once`;
  const plan: SubjectPlan = { file: join(dir, 'earshot.db'), url, hooks };
  const child = startProgram(bench, 'subject', new URL('./deliveries/subject-main.ts', import.meta.url), [
    JSON.stringify(plan),
  ]);
  const count = bench.quick ? COUNT.quick : COUNT.long;
  const measure = (way: Way) => async (round: number) => {
    bench.say(`${hooks} hooks, round ${round}: ${way}`);
    child.send({ way, events: count / hooks } satisfies SubjectOrder);
    const { ms, cpuMs } = await nextMessage<SubjectSaid>(child, 'ran');
    return { perSecond: (count * 1000) / ms, cpuMs: cpuMs / count };
  };
  // the first round, with code that is not compiled yet, shows its speed
  const rounds = bench.quick ? 2 : ROUNDS + 1;
  const results = await interleave(rounds, Object.fromEntries(WAYS.map(way => [way, measure(way)])));
  const measured = WAYS.map(way => (results[way] ?? []).slice(1));
  const bare = measured.at(-1) ?? [];
  return {
    title: `Deliveries of ${count} memory_created, ${hooks === 1 ? 'one hook' : `${hooks} hooks`} of a user, on one core`,
    columns: ['what is done', 'a second', 'to bare undici', 'CPU ms of one', 'to bare undici'],
    rows: measured.map((all, at): Cell[] => [
      WAYS[at] ?? '',
      spread(all.map(({ perSecond }) => perSecond)),
      spread(all.map(({ perSecond }, round) => perSecond / (bare[round]?.perSecond ?? Number.NaN))),
      spread(all.map(({ cpuMs }) => cpuMs)),
      spread(all.map(({ cpuMs }, round) => cpuMs / (bare[round]?.cpuMs ?? Number.NaN))),
    ]),
    notes: [
      `To a receiver on the other core that answers at once, 8 at a time to each hook, with every outcome on the disk (SQLite, synchronous=full). From causes: conversations that were completed. Goal: ${GOAL} of what bare undici does with the same bodies, signed.`,
    ],
  };
}

/** Resolves to the receiver's URL. */
async function startReceiver(bench: Bench): Promise<string> {
  const child = startProgram(bench, 'load', new URL('./deliveries/receiver-main.ts', import.meta.url));
  const { port } = await nextMessage<ReceiverSaid>(child, 'listening');
  return `http://127.0.0.1:${port}`;
}
