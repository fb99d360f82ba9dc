import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { LoadedConfig } from '../../config/load.ts';
import type { Args, CommandName, Result } from '../control/commands.ts';
import { callControl, controlPath } from '../control/control.ts';
import { AppError } from '../runtime/errors.ts';
import { onOneLine } from '../runtime/terminal.ts';
import { size } from './backup.ts';
import { downloadExport } from './export-download.ts';
import { JSON_OPTION, type Output, perform, print, settingsOf, withCommands } from './in-process.ts';
import { table } from './table.ts';

const POLL_MS = 250;

/** `export` and `import`: all data of one account as a file. */
export function addTransfer(program: Command): void {
  addExport(program);
  addImport(program);
}

interface ExportOptions extends Output {
  to?: string;
  url?: string;
  tokenFile?: string;
}

function addExport(program: Command): void {
  program
    .command('export <user>')
    .description('write everything that an account owns to a ZIP file, also while the server runs')
    .option('--to <file>', 'the file (default: earshot-USER.zip here)')
    .option('--url <address>', 'a server elsewhere; run it again to resume a download that was interrupted')
    .option('--token-file <file>', 'with --url: file with an ID token of the account')
    .addOption(JSON_OPTION)
    .addHelpText(
      'after',
      `
Examples:
  earshot export ada --to ada.zip
  earshot export ada --url https://earshot.example --token-file token.txt`,
    )
    .action(async (user: string, { to, json, url, tokenFile }: ExportOptions, command: Command) => {
      const file = resolve(to ?? `earshot-${user.replace(/[^\p{L}\p{N}-]/gu, '_')}.zip`);
      const onProgress = json ? () => {} : (bytes: number) => showProgress(size(bytes));
      const done =
        url === undefined
          ? (await transfer(await settingsOf(command), 'transfer.export', { user, file }, onProgress)).done
          : await downloadExport({ url, token: await tokenIn(tokenFile), file, onProgress });
      print(json, { file, bytes: done }, `Everything of ${user} is in ${file} (${size(done)}).`);
    });
}

interface ImportOptions extends Output {
  user: string;
  dryRun?: boolean;
  keyFile?: string;
  undo?: string;
  list?: boolean;
}

function addImport(program: Command): void {
  program
    .command('import [from]')
    .description(
      'import an archive of "export", or data of another product, from a file, a folder or an address',
    )
    .requiredOption('--user <name>', 'the account; add a new one with: earshot user add <name>')
    .option('--dry-run', 'read everything, show what would be imported, and change nothing')
    .option('--key-file <file>', 'file with the API key of the address')
    .option('--undo <id>', 'undo an import from another product')
    .option('--list', 'list the imports from other products')
    .addOption(JSON_OPTION)
    .addHelpText(
      'after',
      `
The format is detected: an archive of Earshot, which needs an empty account; exports of Omi, Limitless and
Granola; Bee's folder; transcripts of PLAUD, Otter and Fireflies; WhatsApp chats; SRT, VTT, Markdown and ICS;
audio files; folders and ZIP archives with any of them; the APIs of Omi and Limitless, with a key.
Nothing is imported twice.

Examples:
  earshot import ada.zip --user ada
  earshot import lifelogs.zip --user ada --dry-run
  earshot import https://api.omi.me --key-file omi-key.txt --user ada
  earshot import --user ada --undo 5f0c21aa`,
    )
    .action(async (from: string | undefined, options: ImportOptions, command: Command) => {
      const loaded = await settingsOf(command);
      if (options.list) return listImports(loaded, options);
      if (options.undo !== undefined) return undo(loaded, options.undo, options);
      if (from === undefined)
        throw new AppError('invalid_request', 'Name the file, folder or address to import');
      return takeIn(loaded, from, options);
    });
}

async function takeIn(loaded: LoadedConfig, from: string, options: ImportOptions): Promise<void> {
  const { user, json, dryRun = false, keyFile } = options;
  const key = keyFile === undefined ? null : (await readKey(keyFile)).trim();
  const file = /^https?:\/\//i.test(from) ? from : resolve(from);
  const { rows, foreign } = await transfer(
    loaded,
    'transfer.import',
    { user, file, dryRun, key },
    json ? () => {} : count => showProgress(`${count} ${count === 1 ? 'item' : 'items'}`),
  );
  const words = foreign ? tellForeign(user, dryRun, rows, foreign) : tellOwn(user, dryRun, rows);
  print(json, { user, dryRun, rows, foreign }, words);
}

async function readKey(file: string, option = '--key-file'): Promise<string> {
  return readFile(file, 'utf8').catch(cause => {
    throw new AppError('invalid_request', `${option}: ${file} cannot be read`, { cause });
  });
}

async function tokenIn(file: string | undefined): Promise<string> {
  if (file === undefined)
    throw new AppError('invalid_request', '--url needs --token-file, a file with an ID token of the account');
  return (await readKey(file, '--token-file')).trim();
}

type Came = Result<'transfer.progress'>;
type Foreign = NonNullable<Came['foreign']>;

/** Kinds of things from other products: singular and plural. An archive of Earshot has names of tables, in the plural. */
const KINDS: Readonly<Record<string, string>> = {
  conversation: 'conversations',
  memory: 'memories',
  task: 'tasks',
  person: 'people',
  recording: 'recordings',
};

function counted(count: number, kind: string): string {
  return `${count} ${count === 1 ? kind : (KINDS[kind] ?? kind)}`;
}

/** Rows of an archive of Earshot, by table; empty tables are omitted. */
function tellRows(rows: Came['rows']): string {
  const filled = Object.entries(rows ?? {}).filter(([, count]) => count > 0);
  return filled.length === 0
    ? 'It has no data.\n'
    : `${table(
        ['rows', 'table'],
        filled.map(([name, count]) => [String(count), name]),
      )}\n`;
}

function tellOwn(user: string, dryRun: boolean, rows: Came['rows']): string {
  return `${tellRows(rows)}${
    dryRun
      ? `The archive is valid and can be imported into the account ${user}. Nothing was changed.`
      : `Everything was imported into the account ${user}.`
  }`;
}

function tellForeign(user: string, dryRun: boolean, rows: Came['rows'], foreign: Foreign): string {
  const { id, format, known, leftOut } = foreign;
  const isNew = Object.keys(rows ?? {}).length > 0;
  const ending = dryRun
    ? `Nothing was changed. Import it into the account ${user} with the same command without --dry-run.`
    : `To undo this import: earshot import --user ${user} --undo ${id}`;
  return [
    dryRun ? `Format: ${format}. New items in it:` : `Imported into the account ${user}, from ${format}:`,
    ...Object.entries(rows ?? {}).map(([kind, count]) => `  ${counted(count, kind)}`),
    ...(isNew ? [] : ['  nothing']),
    ...(known > 0 ? [`Imported before: ${known}.`] : []),
    ...leftOut.map(({ what, why, count }) => `Left out: ${count} × ${what}, as ${why}.`),
    ...(isNew ? [ending] : []),
  ].join('\n');
}

async function undo(loaded: LoadedConfig, id: string, { user, json }: ImportOptions): Promise<void> {
  const { rows } = await transfer(loaded, 'transfer.undo', { user, id }, () => {});
  const deleted = Object.entries(rows ?? {}).map(([kind, count]) => counted(count, kind));
  print(
    json,
    { user, id, rows },
    `The import was undone. Deleted from the account ${user}: ${deleted.join(', ') || 'nothing'}.`,
  );
}

async function listImports(loaded: LoadedConfig, { user, json }: ImportOptions): Promise<void> {
  const imports = await perform(loaded, 'transfer.imports', { user });
  const rows = imports.map(({ id, startedAt, state, format, name, counts }) => [
    ...[id, startedAt, state, format, name],
    Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([kind, count]) => `${KINDS[kind] ?? kind.replaceAll('_', ' ')}: ${count}`)
      .join(', '),
  ]);
  const none = `Nothing has been imported from other products into the account ${user}.`;
  const headings = ['id', 'when', 'state', 'format', 'from', 'imported'];
  print(json, imports, rows.length === 0 ? none : table(headings, rows));
}

type Call = <C extends CommandName>(command: C, args: Args<C>) => Promise<Result<C>>;

/** Starts it, in the server or here, and waits for its end. */
async function transfer<C extends 'transfer.export' | 'transfer.import' | 'transfer.undo'>(
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
    if (answer === 'absent') throw new AppError('unavailable', 'The server stopped before it was done');
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

/** Shows progress on one line of the terminal, which is overwritten. */
function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${text} `);
}
