import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { AppError } from './errors.ts';

/** A child process of Earshot. It stops with its parent, however that ends, because its channel closes. */
export interface Child {
  /** Rejects when it ends unasked; the message is the last output of the process. */
  died: Promise<never>;
  /** Asks it to stop, and kills it if it does not. */
  stop(): Promise<void>;
}

interface Options {
  /** Name in messages: `the bridge`. */
  title: string;
  /** Entry file below the root of the project; `core/main` with the extension of this file. */
  entry: string;
  args?: string[];
  env: NodeJS.ProcessEnv;
  /** Called for each message on the channel. */
  onMessage?(message: unknown): void;
  /** Called for each line of its standard output. */
  onLine?(line: string): void;
}

/** The server allows 10 s for its own stop. */
const STOP_MS = 12_000;
const MAX_LAST_WORDS = 20;

export function startChild({ title, entry, args = [], env, onMessage, onLine }: Options): Child {
  const extension = extname(entry) ? '' : extname(import.meta.filename);
  const file = fileURLToPath(new URL(`../../${entry}${extension}`, import.meta.url));
  const child = spawn(process.execPath, [file, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true, // the parent handles Ctrl-C, and stops its children in order
  });
  const lastWords: string[] = [];
  createInterface({ input: child.stdout ?? failPiping() }).on('line', line => onLine?.(line));
  createInterface({ input: child.stderr ?? failPiping() }).on('line', line => {
    lastWords.push(line);
    if (lastWords.length > MAX_LAST_WORDS) lastWords.shift();
  });
  if (onMessage) child.on('message', onMessage);
  let isStopping = false;
  const died = new Promise<never>((_resolve, reject) => {
    child.once('error', error => reject(new AppError('unavailable', `${title}: ${error.message}`)));
    child.once('close', () => {
      if (!isStopping) reject(new AppError('unavailable', `${title} ended: ${reasonOf(lastWords)}`));
    });
  });
  died.catch(() => {}); // callers that wait for it still get the rejection
  return {
    died,
    async stop() {
      isStopping = true;
      await stopProcess(child);
    },
  };
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const isOver = new AbortController();
  const kill = sleep(STOP_MS, undefined, { signal: isOver.signal }).then(
    () => child.kill('SIGKILL'),
    () => {},
  );
  await ended;
  isOver.abort();
  await kill;
}

/** Returns the child's error message to its end, or its last output. */
function reasonOf(lines: readonly string[]): string {
  const at = lines.findLastIndex(line => line.startsWith('error: '));
  const words = at < 0 ? lines.slice(-1) : lines.slice(at).map(line => line.replace(/^error: /, '').trim());
  return words.join(' ') || 'it said nothing';
}

function failPiping(): never {
  throw new Error('a child process without pipes');
}
