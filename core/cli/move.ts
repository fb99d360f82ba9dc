import type { Command } from 'commander';
import { environment, type LoadedConfig, loadConfig } from '../../config/load.ts';
import { controlPath, isServed } from '../control/control.ts';
import type { Moved, MoveProgress } from '../control/move.ts';
import { AppError } from '../runtime/errors.ts';
import { carryOver, type DataFiles, planFiles } from './data-files.ts';
import { JSON_OPTION, print, settingsOf } from './in-process.ts';

interface Options {
  to: string;
  json?: boolean;
}

/** `move`: copies everything from the configured database into another one. */
export function addMove(program: Command): void {
  program
    .command('move')
    .description('copy all data to the empty database of another configuration, and verify every row')
    .requiredOption('--to <file>', 'the other configuration')
    .addOption(JSON_OPTION)
    .addHelpText(
      'after',
      `
The servers of both must be stopped. The present database is only read; if anything fails, the other
one stays empty. --config and --data-dir name the present configuration.

Example: earshot move --to postgres.yaml`,
    )
    .action(async ({ to, json }: Options, command: Command) => {
      const source = await settingsOf(command);
      const target = loadConfig({ env: environment, file: to });
      const answer = await moveData(source, target);
      print(json, { ...answer, config: to }, tell(answer, to));
    });
}

interface Answer extends Moved {
  files: DataFiles;
}

async function refuseServed(dataDir: string): Promise<void> {
  if (await isServed(controlPath(dataDir)))
    throw new AppError('conflict', `A server runs on ${dataDir}; stop it first`);
}

async function moveData(source: LoadedConfig, target: LoadedConfig): Promise<Answer> {
  const [{ openStorage }, { createLog }, { move }] = await Promise.all([
    import('../app.ts'), // imported late: it loads much
    import('../runtime/log.ts'),
    import('../control/move.ts'),
  ]);
  const log = createLog({ level: 'silent', format: 'json' });
  const [oldDir, newDir] = [source.config.dataDir, target.config.dataDir];
  const refuseServers = async () => {
    for (const dir of [oldDir, newDir]) await refuseServed(dir);
  };
  await refuseServers();
  const files = await planFiles(oldDir, newDir);
  const closers: (() => Promise<void>)[] = [];
  const open = async (loaded: LoadedConfig) => {
    const { storage, close } = await openStorage({ loaded, log });
    closers.push(close);
    return storage;
  };
  try {
    const moved = await move({
      source: await open(source),
      target: await open(target),
      onProgress: createReporter(),
      async finish() {
        await refuseServers(); // a server may have been started meanwhile
        await carryOver(files, oldDir, newDir);
      },
    });
    return { ...moved, files };
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

/** Prints a line every few seconds, where a move takes that long. */
function createReporter(): (progress: MoveProgress) => void {
  let toldAt = performance.now();
  return ({ table, step, done, total }) => {
    if (performance.now() - toldAt < REPORT_MS) return;
    toldAt = performance.now();
    process.stderr.write(`${table}: ${count(done)} of ${count(total)} rows ${step}\n`);
  };
}
const REPORT_MS = 3000;

function tell(answer: Answer, config: string): string {
  const { from, to, tables, replaced } = answer;
  const rows = tables.reduce((sum, { copied }) => sum + copied, 0);
  const blocks = [
    [`Copied the ${from} to the ${to}: ${count(rows)} rows, read back and compared.`],
    table(tables),
    replaced.map(
      each =>
        `${each.table}.${each.column}: a character that the new database cannot hold (U+0000) was replaced in ` +
        `${count(each.rows)} rows, first in ${each.first}`,
    ),
    tellFiles(answer.files),
    [
      `Start with it:  earshot serve --config ${config}`,
      `Nothing has changed in the ${from}: keep it until you are satisfied.`,
    ],
  ];
  return blocks
    .filter(block => block.length > 0)
    .map(block => block.join('\n'))
    .join('\n\n');
}

function table(tables: Moved['tables']): string[] {
  const rows = tables.map(each => [each.table, count(each.copied), count(each.compared)]);
  const width = Math.max(...tables.map(each => each.table.length));
  return [['table', 'copied', 'compared'], ...rows].map(([name = '', ...numbers]) =>
    [name.padEnd(width), ...numbers.map(number => number.padStart(12))].join(''),
  );
}

function tellFiles({ stays, carried, left }: DataFiles): string[] {
  if (stays)
    return [
      'The data directory stays the same, with its signing key, speech models and audio of the bridge.',
    ];
  return [
    ...carried.map(path => `also copied  ${path}`),
    ...left.map(({ path, why }) => `not copied   ${path}: ${why}`),
  ];
}

function count(number: number): string {
  return number.toLocaleString('en');
}
