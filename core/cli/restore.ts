import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Manifest } from '../backup/archive.ts';
import { backupSettings } from '../backup/backups.ts';
import { fetchBackup } from '../backup/fetch.ts';
import { isPlace } from '../backup/places.ts';
import { finishRestore, inspectBackup, type Restored, restoreBackup } from '../backup/restore.ts';
import { controlPath, isServed } from '../control/control.ts';
import { AppError } from '../runtime/errors.ts';
import { JSON_OPTION, print, settingsOf } from './in-process.ts';

interface Options {
  dryRun?: boolean;
  replace?: boolean;
  identity?: string;
  json?: boolean;
}

/** Beginning of the names of folders into which backups are fetched. */
const FETCHED = '.earshot-fetched-';
const MAX_KEY_BYTES = 64 * 1024;

/** `restore`: creates a data directory from a backup. */
export function addRestore(program: Command): void {
  program
    .command('restore <backup>')
    .description('restore a backup, into an empty data directory or in place of existing data')
    .option('--dry-run', 'check the whole backup, show its contents, and change nothing')
    .option('--replace', 'move existing data to a directory beside it first')
    .option('--identity <file>', 'the file with the private key of an encrypted backup')
    .addOption(JSON_OPTION)
    .addHelpText(
      'after',
      `
The server must be stopped. The backup is unpacked and checked beside the data directory, which is then
replaced in one step; if anything fails, it stays as it is. The database is restored as SQLite, even if it was
on Postgres: earshot move copies it into an empty Postgres.

s3://bucket/prefix/NAME and command:NAME are downloaded first; without NAME, the newest one. The endpoint and
key, or the program, are those of backup in the configuration or the environment.

Example: earshot restore earshot-2026-11-22T033000Z.tar.zst --data-dir /var/lib/earshot`,
    )
    .action((file: string, options: Options, command: Command) =>
      interruptible(signal =>
        isPlace(file)
          ? restoreFetched(file, options, command, signal)
          : restore(resolve(file), options, command, signal),
      ),
    );
}

/** Ctrl-C ends the work, which then removes its drafts. */
async function interruptible(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort(new AppError('unavailable', 'Interrupted; nothing was changed'));
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of signals) process.on(name, interrupt);
  try {
    await work(interrupted.signal);
  } finally {
    for (const name of signals) process.removeListener(name, interrupt);
  }
}

/** Downloads a backup next to the data directory, where there is the room that a restore needs anyway. */
async function restoreFetched(
  from: string,
  options: Options,
  command: Command,
  signal: AbortSignal,
): Promise<void> {
  const { config } = await settingsOf(command, { orHere: true });
  const parent = dirname(resolve(config.dataDir));
  const folder = await mkdtemp(join(parent, FETCHED)).catch(cause => {
    throw new AppError('config_error', `${parent} must exist and be writable (${cause.code})`, { cause });
  });
  try {
    if (!options.json) process.stderr.write(`Fetching from ${from} ...\n`);
    const file = join(folder, 'backup');
    const name = await fetchBackup(from, file, backupSettings(config), signal);
    if (!options.json) process.stderr.write(`It is ${name}.\n`);
    await restore(file, options, command, signal);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function restore(
  backup: string,
  options: Options,
  command: Command,
  signal: AbortSignal,
): Promise<void> {
  const identity = options.identity === undefined ? null : await readKey(options.identity);
  if (options.dryRun) {
    const manifest = await inspectBackup(backup, identity, signal);
    return print(options.json, { ...summary(manifest), dryRun: true }, tellContents(manifest));
  }
  const { dataDir } = (await settingsOf(command, { orHere: true })).config;
  if (await isServed(controlPath(dataDir)))
    throw new AppError('conflict', `A server runs on ${dataDir}; stop it first`);
  const target = resolve(dataDir);
  if ((await finishRestore(target)) !== undefined)
    process.stderr.write('An interrupted restore was completed first: its backup is in place now.\n');
  if (!options.json) process.stderr.write('Unpacking and checking ...\n');
  const restored = await restoreBackup({
    file: backup,
    identity,
    dataDir: target,
    replace: options.replace === true,
    signal,
  });
  const { manifest, replaced } = restored;
  const parent = dirname(target);
  const beside = await readdir(parent).catch(() => []);
  const fetched = beside.filter(name => name.startsWith(FETCHED)).map(name => join(parent, name));
  const abandoned = [...restored.abandoned, ...fetched.filter(path => path !== dirname(backup))];
  print(
    options.json,
    { ...summary(manifest), dataDir: target, replaced },
    tell({ ...restored, abandoned }, target),
  );
}

/** Returns the key's line of an age key file; the other lines are comments. */
async function readKey(file: string): Promise<string> {
  const content = await readFile(file).catch(cause => {
    throw new AppError('not_found', `${file} cannot be read: ${cause.code}`, { cause });
  });
  const lines = content.length > MAX_KEY_BYTES ? [] : content.toString('utf8').split('\n');
  const key = lines.map(line => line.trim()).find(line => line.startsWith('AGE-SECRET-KEY-'));
  if (key) return key;
  throw new AppError(
    'invalid_input',
    `${file} contains no private key: a line that begins with AGE-SECRET-KEY-`,
  );
}

function summary({ createdAt, version, files, rows }: Manifest) {
  return { createdAt, version, files: files.length, bytes: bytesOf(files), rows };
}

function bytesOf(files: Manifest['files']): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

function tellContents(manifest: Manifest): string {
  const { createdAt, version, files, rows } = manifest;
  const counts = Object.entries(rows).filter(([, count]) => count > 0);
  const width = Math.max(...counts.map(([table]) => table.length), 0);
  return [
    `A backup of ${createdAt} by Earshot ${version}, complete and undamaged:`,
    `${files.length} files, ${(bytesOf(files) / 1e6).toFixed(1)} MB unpacked. Rows of the database:`,
    ...counts.map(([table, count]) => `  ${table.padEnd(width)}  ${count}`),
  ].join('\n');
}

function tell({ manifest, replaced, abandoned }: Restored, dataDir: string): string {
  const { createdAt, version, files } = manifest;
  const configuration = files.find(({ path }) => path.startsWith('configuration/'));
  const path = /^[\w./@+-]+$/.test(dataDir) ? dataDir : `'${dataDir.replaceAll("'", "'\\''")}'`;
  return [
    `The backup of ${createdAt} (Earshot ${version}) is restored in ${dataDir}.`,
    replaced === null ? '' : `The previous data is in ${replaced}: delete it when you no longer need it.`,
    ...abandoned.map(left => `Left over from an interrupted restore: ${left}. Delete it.`),
    configuration
      ? `The configuration at that time is in ${join(dataDir, 'configuration', basename(configuration.path))}.`
      : '',
    replaced === null
      ? 'Speech models are not part of a backup: earshot setup downloads one again.'
      : 'Speech models are not part of a backup: those that were here are kept.',
    `Start the server:  earshot serve --data-dir ${path}`,
  ]
    .filter(line => line !== '')
    .join('\n');
}
