import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { Bench, Benchmark, Table } from './benchmark.ts';
import { BRIDGE } from './bridge.ts';
import { LISTS } from './lists.ts';
import { machine } from './machine.ts';
import { renderTable } from './report.ts';
import { START } from './start.ts';
import { STREAMS } from './streams.ts';

const BENCHMARKS: Benchmark[] = [...STREAMS, ...START, ...BRIDGE, ...LISTS];

const HELP = `Measures Earshot beside a floor or a peer, in one run, and says on what machine.

  npm run bench                         all of it, some 20 minutes
  npm run bench -- streams:40 lists     some of it
  npm run bench -- --quick              does it still work? its figures mean little
  npm run bench -- --json FILE          the figures for programs as well

${BENCHMARKS.map(({ name, title }) => `  ${name.padEnd(18)}${title}`).join('\n')}
`;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { quick: { type: 'boolean' }, json: { type: 'string' }, help: { type: 'boolean' } },
  });
  if (values.help) return void process.stdout.write(HELP);
  const chosen = choose(positionals);
  const where = machine();
  process.stdout.write(`${JSON.stringify(where, null, 2)}\n\n`);
  const results: Record<string, Table[]> = {};
  for (const benchmark of chosen) {
    const tables = await runOne(benchmark, values.quick ?? false);
    results[benchmark.name] = tables;
    for (const table of tables) process.stdout.write(`${renderTable(table)}\n\n`);
  }
  if (values.json) await writeFile(values.json, `${JSON.stringify({ machine: where, results }, null, 2)}\n`);
}

function choose(names: readonly string[]): Benchmark[] {
  if (names.length === 0) return BENCHMARKS;
  return names.flatMap(wanted => {
    const found = BENCHMARKS.filter(({ name }) => name === wanted || name.startsWith(`${wanted}:`));
    if (found.length > 0) return found;
    throw new Error(`there is no benchmark "${wanted}"; --help lists them`);
  });
}

async function runOne({ name, run }: Benchmark, quick: boolean): Promise<Table[]> {
  const undo: (() => void | Promise<void>)[] = [];
  const bench: Bench = {
    quick,
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
  () => process.exit(0), // whatever a benchmark that failed left open
  (error: Error) => {
    process.stderr.write(`error: ${error.message}\n`);
    process.exit(1);
  },
);
