import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { LoadedConfig } from '../../config/load.ts';
import type { Args, CommandName, Result } from '../control/commands.ts';
import { callControl, controlPath } from '../control/control.ts';
import { AppError } from '../runtime/errors.ts';
import { onOneLine } from '../runtime/terminal.ts';
import { print, settingsOf, withCommands } from './in-process.ts';
import { table } from './table.ts';

interface Output {
  json?: boolean;
}

const POLL_MS = 250;
const MB = 1_000_000;

/** `export` and `import`: everything of one account, as a file. */
export function addTransfer(program: Command): void {
  addExport(program);
  addImport(program);
}

function addExport(program: Command): void {
  program
    .command('export <user>')
    .description('write everything that an account owns to a ZIP file, also while the server runs')
    .option('--to <file>', 'the file (default: earshot-USER.zip here)')
    .option('--json', 'answer as one JSON object')
    .addHelpText('after', '\nExample: earshot export ada --to ada.zip')
    .action(async (user: string, { to, json }: Output & { to?: string }, command: Command) => {
      const file = resolve(to ?? `earshot-${user.replace(/[^\p{L}\p{N}-]/gu, '_')}.zip`);
      const { done } = await transfer(
        await settingsOf(command),
        'transfer.export',
        { user, file },
        json ? () => {} : bytes => showProgress(`${(bytes / MB).toFixed(1)} MB`),
      );
      print(
        json,
        { file, bytes: done },
        `Everything of ${user} is in ${file} (${(done / MB).toFixed(1)} MB).`,
      );
    });
}

function addImport(program: Command): void {
  program
    .command('import <file>')
    .description('take what "export" wrote into an account that is empty: all of it or nothing')
    .requiredOption('--user <name>', 'the account; add a new one with: earshot user add <name>')
    .option('--dry-run', 'check the whole file, and change nothing')
    .option('--json', 'answer as one JSON object')
    .addHelpText(
      'after',
      `
Others cannot store anything while it runs; audio that comes meanwhile waits on disk.

Example: earshot import ada.zip --user ada`,
    )
    .action(async (file: string, options: Output & { user: string; dryRun?: boolean }, command: Command) => {
      const { user, json, dryRun = false } = options;
      const { rows } = await transfer(
        await settingsOf(command),
        'transfer.import',
        { user, file: resolve(file), dryRun },
        json ? () => {} : count => showProgress(`${count} rows`),
      );
      const counted = Object.entries(rows ?? {}).map(([name, count]) => [String(count), name]);
      const verdict = dryRun
        ? `The file can be taken in by ${user}. Nothing was changed.`
        : `The account ${user} has it all now.`;
      print(json, { user, dryRun, rows }, `${table(['rows', 'of'], counted)}\n${verdict}`);
    });
}

type Call = <C extends CommandName>(command: C, args: Args<C>) => Promise<Result<C>>;

/** Begins it, in the running server or here, and waits for its end. */
async function transfer<C extends 'transfer.export' | 'transfer.import'>(
  loaded: LoadedConfig,
  command: C,
  args: Args<C>,
  onProgress: (done: number) => void,
): Promise<Result<'transfer.progress'>> {
  const control = controlPath(loaded.config.dataDir);
  const begun = await callControl(control, command, args);
  if (begun === 'absent')
    return withCommands(loaded, async commands => {
      await commands[command](args as never); // which are this command's own
      return ended((name, given) => commands[name](given), onProgress);
    });
  return ended(async (name, given) => {
    const answer = await callControl(control, name, given);
    if (answer === 'absent') throw new AppError('unavailable', 'The server ended before it was done');
    return answer;
  }, onProgress);
}

async function ended(call: Call, onProgress: (done: number) => void): Promise<Result<'transfer.progress'>> {
  for (;;) {
    const progress = await call('transfer.progress', {});
    if (progress.error !== null) throw new AppError('unavailable', onOneLine(progress.error));
    if (!progress.running) return progress;
    onProgress(progress.done);
    await sleep(POLL_MS);
  }
}

/** On one line of a terminal, which the next one replaces. */
function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${text} `);
}
