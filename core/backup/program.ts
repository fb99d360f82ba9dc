/** Backups that programs of the operator's keep, such as rclone and restic. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../runtime/errors.ts';
import { hashFile, hashStream } from './archive.ts';
import { copiesOf } from './names.ts';
import type { Place } from './place.ts';

/** Programs and their arguments; `{name}` in one stands for the backup's name. Empty: there is none. */
export interface ProgramSettings {
  /** Stores a backup: the one at `{file}`, or, where no argument names that, the one at its standard input. */
  command: readonly string[];
  /** Prints the names of those that are kept, one a line. */
  listCommand: readonly string[];
  /** Deletes `{name}`. */
  removeCommand: readonly string[];
  /** Prints the bytes of `{name}`. */
  readCommand: readonly string[];
}

/** A program is ended after that. */
const COMMAND_MS = 6 * 3_600_000;
const MAX_LIST_BYTES = 4 * 1024 * 1024;
const MAX_SAID = 500;

/** @returns null where no program stores backups */
export function openProgram(settings: ProgramSettings): Place | null {
  const { command, listCommand, removeCommand, readCommand } = settings;
  if (command.length === 0) return null;

  async function list(signal: AbortSignal) {
    const listing = start('backup.listCommand', listCommand, {}, signal);
    const lines = (await listing.output(MAX_LIST_BYTES)).split('\n');
    // `rclone lsf` and `ls` print names, others print paths.
    return copiesOf(lines.map(line => ({ name: basename(line.trim()), bytes: null })));
  }

  async function read(name: string, signal: AbortSignal): Promise<Readable> {
    return start('backup.readCommand', readCommand, { name }, signal).stream();
  }

  async function check(file: string, signal: AbortSignal): Promise<void> {
    const name = basename(file);
    const isListed = listCommand.length === 0 || (await list(signal)).some(copy => copy.name === name);
    if (!isListed)
      throw failed('backup.listCommand', `does not list ${name}, which backup.command has taken`);
    if (readCommand.length === 0) return;
    const [stored, own] = await Promise.all([
      read(name, signal).then(stream => hashStream(stream, signal)),
      hashFile(file, Number.POSITIVE_INFINITY, signal),
    ]);
    if (stored !== own) throw failed('backup.readCommand', `printed another content for ${name}`);
  }

  return {
    name: `command:${basename(command[0] ?? '')}`,
    async store(file, signal) {
      const name = basename(file);
      const storing = start('backup.command', command, { file, name }, signal);
      await storing.input(command.some(part => part.includes('{file}')) ? null : file);
      await check(file, signal);
    },
    list: listCommand.length === 0 ? null : list,
    read: readCommand.length === 0 ? null : read,
    remove:
      removeCommand.length === 0
        ? null
        : async (name, signal) => start('backup.removeCommand', removeCommand, { name }, signal).input(null),
  };
}

/** @param option of the configuration, for errors */
function start(
  option: string,
  command: readonly string[],
  values: { file?: string; name?: string },
  signal: AbortSignal,
) {
  const [program = '', ...args] = command.map(part =>
    part.replaceAll(/\{(file|name)\}/g, (whole, what: 'file' | 'name') => values[what] ?? whole),
  );
  const child: ChildProcess = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    signal: AbortSignal.any([signal, AbortSignal.timeout(COMMAND_MS)]),
  });
  const { stdin, stdout, stderr } = child;
  if (!stdin || !stdout || !stderr) throw new Error('a child has pipes');
  let said = '';
  stderr.setEncoding('utf8').on('data', text => {
    said = (said + text).slice(-MAX_SAID);
  });
  stdin.on('error', () => {}); // it has closed it: its status tells what that means
  const ended = once(child, 'close').then(
    ([status]) => {
      if (status !== 0) throw failed(option, `${program} ended with ${status}: ${said.trim()}`);
    },
    cause => {
      signal.throwIfAborted();
      throw new AppError(
        'config_error',
        `${option}: ${program} cannot be run: ${cause.code ?? cause.message}`,
      );
    },
  );
  ended.catch(() => {}); // awaited below, once the streams have ended

  return {
    /** Hands it a file, and waits for its end. */
    async input(file: string | null): Promise<void> {
      stdout.resume();
      if (file === null) {
        stdin.end();
        return ended;
      }
      const feeding = pipeline(createReadStream(file), stdin, { signal }).then(
        () => true,
        () => false,
      );
      await ended;
      if (!(await feeding)) throw failed(option, `${program} ended before it had read the whole backup`);
    },
    /** Reads what it prints, which has to be of this size at most. */
    async output(maxBytes: number): Promise<string> {
      stdin.end();
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const chunk of stdout) {
        bytes += chunk.length;
        if (bytes <= maxBytes) chunks.push(chunk);
      }
      await ended;
      if (bytes > maxBytes) throw failed(option, `${program} printed more than ${maxBytes} bytes`);
      return Buffer.concat(chunks).toString('utf8');
    },
    /** Streams what it prints. The stream fails where the program does not end with status 0. */
    stream(): Readable {
      stdin.end();
      const through = new PassThrough();
      stdout.pipe(through, { end: false });
      through.on('close', () => child.kill()); // whoever reads it may have had enough
      ended.then(
        () => through.end(),
        error => through.destroy(error),
      );
      return through;
    },
  };
}

function failed(option: string, what: string): AppError {
  return new AppError('upstream_error', `${option}: ${what}`);
}
