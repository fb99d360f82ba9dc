import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { LoadedConfig } from '../../config/load.ts';
import type { Args, Result } from '../control/commands.ts';
import { callControl, controlPath } from '../control/control.ts';
import { AppError } from '../runtime/errors.ts';
import { onOneLine } from '../runtime/terminal.ts';
import { JSON_OPTION, print, settingsOf, withCommands } from './in-process.ts';
import { table } from './table.ts';

interface Options {
  user: string;
  startedAt?: string;
  language?: string;
  source?: string;
  silence?: string;
  detach?: boolean;
  json?: boolean;
}
type Shown = Result<'recording.show'>;

const POLL_MS = 500;
const MINUTE_MS = 60_000;

/** `import-audio`: turns recordings of hours into conversations. */
export function addImportAudio(program: Command): void {
  program
    .command('import-audio <files...>')
    .description('transcribe recordings of any length and audio format into conversations')
    .requiredOption('--user <name>', 'the account')
    .option('--started-at <time>', 'when the recording began, such as 2026-11-02T09:30; for a single file')
    .option('--language <code>', 'such as en (default: detected, if the recogniser can)')
    .option('--source <source>', 'where the conversations come from, such as phone')
    .option('--silence <seconds>', 'length of a pause that begins another conversation (default: 120)')
    .option('--detach', 'do not wait for the transcription')
    .addOption(JSON_OPTION)
    .addHelpText(
      'after',
      `
Without --started-at, the name of the file gives the time at which a recording began, such as
2026-11-02_09-30-00.m4a; else it ended when the file was last changed. The files are copied to the server first:
you may delete them when the transcription has begun.

Example: earshot import-audio meeting.m4a --user ada --started-at 2026-11-02T09:30`,
    )
    .action(async (files: string[], options: Options, command: Command) => {
      const { user, detach, json } = options;
      if (files.length > 1 && options.startedAt !== undefined)
        throw new AppError(
          'invalid_request',
          '--started-at applies to one file: import the others separately',
        );
      const loaded = await settingsOf(command);
      const wanted: Args<'recording.add'>[] = [];
      for (const file of files) wanted.push(await request(file, options));
      const { added, isServed } = await addAll(loaded, wanted);
      const results = isServed && !detach ? await ended(loaded, user, added, !json) : added;
      print(json, { recordings: results }, told(results, isServed));
      if (results.some(({ state }) => state === 'failed'))
        throw new AppError('invalid_input', 'Some files could not be transcribed: see above');
    });
}

async function request(file: string, options: Options): Promise<Args<'recording.add'>> {
  const path = resolve(file);
  const { mtimeMs } = await stat(path).catch(cause => {
    throw new AppError('not_found', `${file} cannot be read`, { cause });
  });
  const { user, language, source } = options;
  const silence = Number(options.silence ?? 120);
  if (!Number.isFinite(silence))
    throw new AppError('invalid_request', `--silence ${options.silence} is not a number of seconds`);
  return {
    user,
    path,
    name: basename(path),
    endedAt: Math.round(mtimeMs),
    silenceMs: silence * 1000,
    startedAt: options.startedAt === undefined ? null : instantOf(options.startedAt),
    ...(language === undefined ? {} : { language }),
    ...(source === undefined ? {} : { source }),
  };
}

/** Uses this machine's time zone where the time names none. */
function instantOf(text: string): number {
  const at = Date.parse(text);
  if (Number.isNaN(at))
    throw new AppError('invalid_request', `--started-at ${text} is not a time such as 2026-11-02T09:30`);
  return at;
}

/** Runs in the server, or, where none runs, here on its data. */
async function addAll(loaded: LoadedConfig, wanted: Args<'recording.add'>[]) {
  const control = controlPath(loaded.config.dataDir);
  const added: Shown[] = [];
  for (const each of wanted) {
    const answer = await callControl(control, 'recording.add', each);
    if (answer !== 'absent') added.push(onOneLine(answer));
    else if (added.length > 0)
      throw new AppError('unavailable', 'The server stopped; import the remaining files again');
    else return { added: await addHere(loaded, wanted), isServed: false };
  }
  return { added, isServed: true };
}

function addHere(loaded: LoadedConfig, wanted: Args<'recording.add'>[]): Promise<Shown[]> {
  return withCommands(loaded, async commands => {
    const added: Shown[] = [];
    for (const each of wanted) added.push(onOneLine(await commands['recording.add'](each)));
    return added;
  });
}

/** Waits for all of them. */
async function ended(
  { config }: LoadedConfig,
  user: string,
  recordings: readonly Shown[],
  isShown: boolean,
): Promise<Shown[]> {
  const results: Shown[] = [];
  for (const { id } of recordings)
    for (;;) {
      const now = await callControl(controlPath(config.dataDir), 'recording.show', { user, id });
      if (now === 'absent')
        throw new AppError(
          'unavailable',
          'The server stopped; it continues with the recordings at its next start',
        );
      if (now.state === 'done' || now.state === 'failed') {
        results.push(onOneLine(now));
        break;
      }
      if (isShown) showProgress(now);
      await sleep(POLL_MS);
    }
  return results;
}

/** Shows progress on one line of the terminal, which is overwritten. */
function showProgress({ name, heardMs, durationMs }: Shown): void {
  if (!process.stderr.isTTY) return;
  const done =
    durationMs === null ? 'is being read' : `${minutes(heardMs)} of ${minutes(durationMs)} minutes`;
  process.stderr.write(`\r${onOneLine(name)}: ${done} `);
}

function minutes(ms: number): string {
  return (ms / MINUTE_MS).toFixed(1);
}

function told(recordings: readonly Shown[], isServed: boolean): string {
  const rows = recordings.map(({ name, state, durationMs, conversations, error }) => [
    ...[name, state, durationMs === null ? '' : minutes(durationMs), String(conversations), error ?? ''],
  ]);
  const shown = table(['file', 'state', 'minutes', 'conversations', ''], rows);
  return isServed
    ? shown
    : `${shown}\nNo server is running: they are transcribed when it runs (earshot serve).`;
}
