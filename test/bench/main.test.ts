import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { findChromium } from '../helpers/browser.ts';
import { temporaryDirectory } from '../helpers/domain.ts';
import { isThorough } from '../helpers/thorough.ts';
import { type Cell, interleave, percentile, spread, type Table } from './benchmark.ts';
import { renderTable } from './report.ts';
import { trendOf } from './trend.ts';

const MAIN = join(import.meta.dirname, 'main.ts');

async function bench(...args: string[]) {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, error, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  return { out, error, status };
}

/** Lists the figures of all cells. */
function figures(cells: Cell[]): number[] {
  return cells.flatMap(cell =>
    typeof cell === 'number' ? cell : typeof cell === 'object' && cell ? cell.median : [],
  );
}

/** Needs Chromium, whose presence is tested with the dashboard. */
const WEB = findChromium() === null ? {} : { web: [] };
/** Starts no server. */
const USUAL = { understanding: [] };
const THOROUGH = {
  ...WEB,
  start: [],
  bridge: [],
  'bridge:latency': [],
  search: [],
  'deliveries:line': [],
  'lists:sqlite': [],
  backup: [],
  export: [],
  neighbours: [],
  'hostile:same-stream': [],
  'hostile:merges': [],
  'deliveries:rate': [],
  'deliveries:log:sqlite': [],
  latency: [],
  speakers: [],
  'soak:streams': ['--minutes', '0.2'],
  'soak:session': [],
};
for (const [name, more] of Object.entries({ ...USUAL, ...(isThorough ? THOROUGH : {}) })) {
  // Serial, as each runs several processes.
  test.serial(`the quick form of ${name} measures every row, for people and for programs`, async t => {
    const file = join(await temporaryDirectory(t), 'figures.json');
    const { out, error, status } = await bench(name, '--quick', ...more, '--json', file);
    t.is(status, 0, error);
    const { machine, results } = JSON.parse(await readFile(file, 'utf8'));
    t.is(machine.node, process.version);
    const tables: Table[] = results[name];
    for (const { title, columns, rows } of tables) {
      t.true(out.includes(title));
      t.true(rows.length > 0);
      for (const row of rows) {
        t.is(row.length, columns.length);
        t.true(
          figures(row).length > 0 && figures(row).every(Number.isFinite),
          `${title}: ${JSON.stringify(row)}`,
        );
      }
    }
  });
}

test('an unknown benchmark is named, with the known ones', async t => {
  const { error, status } = await bench('nonsense');
  t.is(status, 1);
  t.is(error, 'error: there is no benchmark "nonsense"; --help lists them\n');
});

test('help lists every benchmark, with its title in a column of its own', async t => {
  const { out, status } = await bench('--help');
  t.is(status, 0);
  for (const name of ['streams:40', 'start', 'bridge', 'lists:postgres', 'soak']) t.true(out.includes(name));
  const [, , list = ''] = out.split('\n\n');
  const starts = list
    .trimEnd()
    .split('\n')
    .map(line => /^ {2}\S+ {2,}/.exec(line)?.[0].length);
  t.true(starts.length > 10);
  t.is(new Set(starts).size, 1, list);
});

test('invalid minutes are rejected', async t => {
  const { error, status } = await bench('soak', '--minutes', 'some');
  t.is(status, 1);
  t.is(error, 'error: --minutes must be a number above 0, not "some"\n');
});

test('a trend is the slope, with a wider interval if successive samples are correlated', t => {
  const line = (noise: (x: number) => number) =>
    Array.from({ length: 100 }, (_, x) => ({ x, y: 3 * x + noise(x) }));
  t.deepEqual(trendOf(line(() => 0)), { slope: 3, plusMinus: 0 });
  const [quick, slow] = [trendOf(line(x => (-1) ** x)), trendOf(line(x => Math.sin(x / 10)))];
  t.true(Math.abs(quick.slope - 3) < quick.plusMinus);
  t.true(quick.plusMinus < 0.01 && slow.plusMinus > 2 * quick.plusMinus, JSON.stringify({ quick, slow }));
});

test('repetitions take turns, and each round begins with another subject', async t => {
  const order: string[] = [];
  const measure = (name: string) => async (round: number) => order.push(`${name}${round}`);
  await interleave(2, { a: measure('a'), b: measure('b') });
  t.deepEqual(order, ['a0', 'b0', 'b1', 'a1']);
});

test('a figure is the median, with the spread of its repetitions', t => {
  t.deepEqual(spread([3, 1, 2]), { median: 2, low: 1, high: 3 });
  t.is(percentile([4, 1, 3, 2], 50), 2);
  t.is(percentile([...Array(100).keys()], 99), 98);
  const table = {
    title: 'T',
    columns: ['of', 'ms'],
    rows: [
      ['a', spread([3, 1, 2])],
      ['b', Number.POSITIVE_INFINITY],
    ],
  };
  t.is(
    renderTable(table),
    ['### T', '', '| of |      ms |', '|----|--------:|', '| a  | 2 (1-3) |', '| b  |   never |'].join('\n'),
  );
});
