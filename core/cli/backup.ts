import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { LoadedConfig } from '../../config/load.ts';
import { createKey } from '../backup/archive.ts';
import { backUpTo, backupSettings } from '../backup/backups.ts';
import type { Backup } from '../backup/create.ts';
import { listBackups } from '../backup/names.ts';
import { addressOf, isPlace, listPlace, placeAt } from '../backup/places.ts';
import { callControl, controlPath } from '../control/control.ts';
import { AppError } from '../runtime/errors.ts';
import { JSON_OPTION, type Output, print, settingsOf } from './in-process.ts';
import { table } from './table.ts';

const POLL_MS = 250;

/** `backup`, `backup list` and `backup key`. */
export function addBackup(program: Command): void {
  const backup = program
    .command('backup')
    .description('back up everything, also while the server runs; list backups; make a key for encryption')
    .option(
      '--to <place>',
      'target: a directory (default: the one in the configuration), s3://bucket/prefix, or command:',
    )
    .addOption(JSON_OPTION)
    .addHelpText(
      'after',
      `
A backup is one file. It contains the database, audio that waits for transcription, keys, data of plugins, and
the configuration; not the speech models, which can be downloaded again. The server makes a backup every day.
Keep some on another disk or machine: see backup in the configuration. s3://… uses the endpoint and the key
of backup.s3 there, command: the programs of backup.command.

Example: earshot backup --to /mnt/usb
Example: earshot backup --to s3://my-backups/earshot`,
    )
    .action(async ({ to, json }: Output & { to?: string }, command: Command) => {
      const loaded = await settingsOf(command);
      if (!json) process.stderr.write('Making a backup ...\n');
      const made = await make(loaded, to === undefined || isPlace(to) ? (to ?? null) : resolve(to));
      print(json, { ...made, createdAt: new Date(made.createdAt).toISOString() }, tell(made));
    });
  addList(backup);
  addKey(backup);
}

function addList(backup: Command): void {
  backup
    .command('list')
    .description('list the backups, newest first')
    .option('--from <place>', 'where to look: s3://bucket/prefix, or command: (default: the directory)')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot backup list')
    .action(async ({ from }: { from?: string }, command: Command) => {
      const { json } = command.optsWithGlobals<Output>(); // the parent command `backup` has the same option, and receives it
      if (from !== undefined) return listElsewhere(from, json, command);
      const { directory, enabled } = backupSettings((await settingsOf(command)).config);
      const found = await listBackups(directory);
      const rows = found.map(({ file, createdAt, bytes, encrypted }) => [
        ...[instant(createdAt), size(bytes), encrypted ? 'encrypted' : '', file],
      ]);
      const none = enabled
        ? `There is no backup in ${directory} yet. The server makes the first one within a day. To make one now: earshot backup`
        : `There is no backup in ${directory}, and backup.enabled is false. To make one: earshot backup`;
      const backups = found.map(each => ({ ...each, createdAt: instant(each.createdAt) }));
      print(
        json,
        { directory, backups },
        rows.length === 0 ? none : table(['made', 'size', '', 'file'], rows),
      );
    });
}

async function listElsewhere(from: string, json: boolean | undefined, command: Command): Promise<void> {
  const { config } = await settingsOf(command, { orHere: true });
  const { place } = placeAt(from, backupSettings(config));
  const copies = await listPlace(place, new AbortController().signal);
  const rows = copies.map(({ name, createdAt, bytes }) => [
    ...[instant(createdAt), bytes === null ? '' : size(bytes)],
    ...[name.endsWith('.age') ? 'encrypted' : '', addressOf(place, name)],
  ]);
  const backups = copies.map(each => ({ ...each, createdAt: instant(each.createdAt) }));
  const text =
    rows.length === 0 ? `There is no backup in ${place.name}.` : table(['made', 'size', '', 'file'], rows);
  print(json, { place: place.name, backups }, text);
}

function addKey(backup: Command): void {
  backup
    .command('key')
    .description('generate a key pair for encrypted backups and print it; nothing is stored')
    .addOption(JSON_OPTION)
    .addHelpText('after', '\nExample: earshot backup key')
    .action(async (_options: Output, command: Command) => {
      const { json } = command.optsWithGlobals<Output>();
      const { recipient, identity } = await createKey();
      print(json, { recipient, identity }, keySheet(recipient, identity));
    });
}

function keySheet(recipient: string, identity: string): string {
  return `Emergency sheet for encrypted backups of Earshot

1. Write this line into a file such as earshot-key.txt, and keep it away from the server: on paper, or in
   a password manager. Nobody can open an encrypted backup without it.

   ${identity}

2. Put the public key into the configuration. It only encrypts.

   backup:
     recipients: [${recipient}]

3. After a disaster:  earshot restore BACKUP --identity earshot-key.txt`;
}

/** Runs in the server, or here where no server runs. */
async function make(loaded: LoadedConfig, to: string | null): Promise<Backup> {
  const control = controlPath(loaded.config.dataDir);
  if ((await callControl(control, 'backup.begin', { to })) === 'absent') return makeHere(loaded, to);
  for (;;) {
    const progress = await callControl(control, 'backup.progress', {});
    if (progress === 'absent')
      throw new AppError('unavailable', 'The server stopped before the backup was made');
    if (progress.error !== null) throw new AppError('unavailable', progress.error);
    if (progress.backup) return progress.backup;
    await sleep(POLL_MS);
  }
}

/** Opens the database without migrating it: a backup made before an update keeps the old version. */
async function makeHere(loaded: LoadedConfig, to: string | null): Promise<Backup> {
  const [{ openStorage }, { createLog }] = await Promise.all([
    import('../app.ts'),
    import('../runtime/log.ts'),
  ]);
  const settings = backupSettings(loaded.config);
  const { storage, close } = await openStorage({
    loaded,
    log: createLog({ level: 'silent', format: 'json' }),
  });
  try {
    return await backUpTo(to ?? settings.directory, settings, {
      dataDir: loaded.config.dataDir,
      configFile: loaded.file,
      storage,
      clock: Date,
      signal: new AbortController().signal,
    });
  } finally {
    await close();
  }
}

function tell({ file, bytes, rows, files, encrypted, leftOut }: Backup): string {
  const how = encrypted ? 'encrypted, and read back' : 'read back and checked';
  return `${file}: ${size(bytes)}, ${rows} rows and ${files} files, ${how}.
${leftOut.map(path => `Not included: ${path}, which its plugin keeps locked. Earshot's own plugins rebuild such files.\n`).join('')}To restore it:  earshot restore ${file}`;
}

/** Formats a size for people. */
export function size(bytes: number): string {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function instant(at: number): string {
  return new Date(at).toISOString();
}
