/** Measures the speed of a backup and an export, and the latency of live words meanwhile. */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { callControl, controlPath } from '../../core/control/control.ts';
import { openSqlite } from '../../plugins/storage/sql/sqlite.ts';
import { type CoreProcess, coreProcess } from '../helpers/core-process.ts';
import { storageContext } from '../helpers/storage.ts';
import {
  type Bench,
  type Benchmark,
  type Cell,
  interleave,
  percentile,
  spread,
  type Table,
} from './benchmark.ts';
import { addRows } from './lists/many.ts';
import { launcherOf } from './processes.ts';
import { type Heard, sendStreams } from './streams/load.ts';
import { waitsOf } from './streams/measure.ts';
import { PROMPT } from './streams/subjects.ts';

const STREAMS = { quick: 5, long: 40 };
/** Conversations, memories and action items of one user; each of 19 others has a twentieth. */
const ROWS = { quick: 500, long: 100_000 };
const ROUNDS = 5;
/** Goal at p99, relative to the same streams alone. */
const GOAL = 1.5;
const POLL_MS = 50;

export const BACKUP: Benchmark[] = [
  {
    name: 'backup',
    title: 'MB per second of a backup, and how late words of live streams come beside it',
    run: async bench => [await run(bench, 'one backup', await backupsOf(bench))],
  },
  {
    name: 'export',
    title: 'MB per second of an export, and how late words of live streams come beside it',
    run: async bench => [await run(bench, 'one export', exportOf)],
  },
];

/** One task on a server; resolves to the bytes that it processed. */
type Work = (core: CoreProcess) => Promise<number>;

interface Round {
  heard: Heard;
  /** Rate of each task that ended while the streams were measured. */
  mbPerSecond: number[];
}

async function run(bench: Bench, what: string, work: Work): Promise<Table> {
  const core = await coreProcess(
    bench,
    {
      ...{ stt: ['prompt'], plugins: { prompt: { use: PROMPT } } },
      ...{ rateLimits: { enabled: false }, listen: { maxConnectionsPerUser: 1000 } },
    },
    () => launcherOf('subject'),
  );
  const rows = bench.quick ? ROWS.quick : ROWS.long;
  bench.say(`adding ${rows} rows of each kind`);
  const { writer, close } = openSqlite(join(core.dataDir, 'earshot.db'), storageContext());
  const { id } = await writer('users').first('id');
  await addRows(writer, id, rows);
  await close();
  const streams = streamsOf(bench);
  const beside = `beside ${what}`;
  const results = await interleave(bench.quick ? 1 : ROUNDS, {
    alone: round => measure(bench, core, round, null),
    [beside]: round => measure(bench, core, round, work),
  });
  const alone = results.alone ?? [];
  return {
    title: `${streams} sessions that speak all the time, beside ${what} after the other, on one core`,
    columns: ['sessions', 'p50 ms', 'p99 ms', 'p99 to alone', 'MB/s', 'utterances', 'no text'],
    rows: Object.entries(results).map(([name, rounds]): Cell[] => [
      name,
      spread(rounds.map(({ heard }) => percentile(waitsOf(heard), 50))),
      spread(rounds.map(({ heard }) => percentile(waitsOf(heard), 99))),
      spread(rounds.map(({ heard }, at) => percentile(waitsOf(heard), 99) / p99Of(alone[at]))),
      name === beside ? spread(rounds.flatMap(({ mbPerSecond }) => mbPerSecond)) : null,
      rounds.reduce((sum, { heard }) => sum + heard.latencies.length, 0),
      rounds.reduce((sum, { heard }) => sum + heard.missing, 0),
    ]),
    notes: [
      `${rows} conversations, memories and action items of one user. MB per second: of a backup by the size of the database, of an export by that of the archive, while the streams speak. Goal: p99 at most ${GOAL} times that of the same sessions alone.`,
    ],
  };
}

function streamsOf({ quick }: Bench): number {
  return quick ? STREAMS.quick : STREAMS.long;
}

function p99Of(round: Round | undefined): number {
  return round ? percentile(waitsOf(round.heard), 99) : Number.NaN;
}

async function measure(bench: Bench, core: CoreProcess, round: number, work: Work | null): Promise<Round> {
  bench.say(`round ${round + 1}: ${work ? 'with work beside' : 'alone'}`);
  const times = bench.quick ? { warmMs: 500, measureMs: 8000 } : { warmMs: 3000, measureMs: 60_000 };
  const { url, key } = core;
  const plan = { url, key, streams: streamsOf(bench), share: 1, seed: round + 1, ...times };
  const mbPerSecond: number[] = [];
  const over = new AbortController();
  const repeat = async () => {
    while (work && !over.signal.aborted) {
      const began = performance.now();
      const bytes = await work(core);
      mbPerSecond.push(bytes / 1000 / (performance.now() - began));
    }
  };
  let working = Promise.resolve();
  const heard = await sendStreams(bench, plan, {
    begin() {
      working = repeat();
    },
    end: () => over.abort(),
  });
  await working;
  return { heard, mbPerSecond };
}

async function backupsOf(bench: Bench): Promise<Work> {
  const to = await mkdtemp(join(tmpdir(), 'earshot-bench-backup-'));
  bench.teardown(() => rm(to, { recursive: true, force: true }));
  return async ({ dataDir }) => {
    const control = controlPath(dataDir);
    await callControl(control, 'backup.begin', { to });
    for (;;) {
      const progress = await callControl(control, 'backup.progress', {});
      if (progress === 'absent') throw new Error('core does not answer on its control socket');
      if (progress.error !== null) throw new Error(progress.error);
      if (progress.backup) {
        await rm(progress.backup.file);
        return (await stat(join(dataDir, 'earshot.db'))).size;
      }
      await sleep(POLL_MS);
    }
  };
}

async function exportOf({ url, dataDir }: CoreProcess): Promise<number> {
  const made = await callControl(controlPath(dataDir), 'token', { user: 'owner' });
  if (made === 'absent') throw new Error('core does not answer on its control socket');
  const answer = await fetch(new URL('/v1/users/export', url), {
    headers: { authorization: `Bearer ${made.token}` },
  });
  if (!answer.ok || !answer.body) throw new Error(`the export was refused: ${answer.status}`);
  let bytes = 0;
  for await (const chunk of answer.body) bytes += chunk.length;
  return bytes;
}
