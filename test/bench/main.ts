import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { BACKUP } from './backup.ts';
import type { Bench, Benchmark, Table } from './benchmark.ts';
import { BRIDGE } from './bridge.ts';
import { DELIVERIES } from './deliveries.ts';
import { DELIVERY_LOG } from './delivery-log.ts';
import { HEAD_OF_LINE } from './head-of-line.ts';
import { HOSTILE } from './hostile.ts';
import { LATENCY } from './latency.ts';
import { LISTS } from './lists.ts';
import { machine } from './machine.ts';
import { NEIGHBOURS } from './neighbours.ts';
import { renderTable } from './report.ts';
import { SEARCH } from './search.ts';
import { SOAK } from './soak.ts';
import { SPEAKERS } from './speakers.ts';
import { START } from './start.ts';
import { STREAMS } from './streams.ts';
import { UNDERSTANDING } from './understanding.ts';
import { WEB } from './web.ts';

const BENCHMARKS: Benchmark[] = [
  ...STREAMS,
  ...LATENCY,
  ...SPEAKERS,
  ...START,
  ...BRIDGE,
  ...LISTS,
  ...SEARCH,
  ...UNDERSTANDING,
  ...BACKUP,
  ...NEIGHBOURS,
  ...HOSTILE,
  ...DELIVERIES,
  ...HEAD_OF_LINE,
  ...DELIVERY_LOG,
  ...WEB,
  ...SOAK,
];

const NAME_CHARS = Math.max(...BENCHMARKS.map(({ name }) => name.length));

const HELP = `Measures Earshot beside a floor or a peer, in one run, and says on what machine.

  npm run bench                         all of it, on a machine that does nothing else meanwhile
  npm run bench -- streams:40 lists     some of it
  npm run bench -- soak --minutes 30    what takes long, and is not part of all
  npm run bench -- --quick              does it still work? its figures mean little
  npm run bench -- --json FILE          the figures for programs as well

${BENCHMARKS.map(({ name, title }) => `  ${name.padEnd(NAME_CHARS)}  ${title}`).join('\n')}
`;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: 'boolean' },
      minutes: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return void process.stdout.write(HELP);
  const chosen = choose(positionals);
  const minutes = values.minutes === undefined ? undefined : minutesOf(values.minutes);
  const where = machine();
  process.stdout.write(`${JSON.stringify(where, null, 2)}\n\n`);
  const results: Record<string, Table[]> = {};
  for (const benchmark of chosen) {
    const tables = await runOne(benchmark, { quick: values.quick ?? false, minutes });
    results[benchmark.name] = tables;
    for (const table of tables) process.stdout.write(`${renderTable(table)}\n\n`);
  }
  if (values.json) await writeFile(values.json, `${JSON.stringify({ machine: where, results }, null, 2)}\n`);
}

function choose(names: readonly string[]): Benchmark[] {
  if (names.length === 0) return BENCHMARKS.filter(({ long }) => !long);
  return names.flatMap(wanted => {
    const found = BENCHMARKS.filter(({ name }) => name === wanted);
    if (found.length === 0) found.push(...BENCHMARKS.filter(({ name }) => name.startsWith(`${wanted}:`)));
    if (found.length > 0) return found;
    throw new Error(`there is no benchmark "${wanted}"; --help lists them`);
  });
}

function minutesOf(text: string): number {
  const minutes = Number(text);
  if (minutes > 0) return minutes;
  throw new Error(`--minutes must be a number above 0, not "${text}"`);
}

async function runOne({ name, run }: Benchmark, options: Pick<Bench, 'quick' | 'minutes'>): Promise<Table[]> {
  const undo: (() => void | Promise<void>)[] = [];
  const bench: Bench = {
    ...options,
    teardown: step => void undo.push(step),
    say: line => void process.stderr.write(`${name}: ${line}\n`),
  };
  try {
    return await run(bench);
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

main().then(
  () => process.exit(0), // resources that a failed benchmark left open
  (error: Error) => {
    process.stderr.write(`error: ${error.message}\n`);
    process.exit(1);
  },
);
