import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onOneLine } from './terminal.ts';

interface Task {
  /** Entry file below the root of the project, without its extension: `core/cli/doctor/doctor-main`. It sends messages, at last `{ type: 'end' }`. */
  entry: string;
  /** Its one argument, as JSON. */
  request: unknown;
  /** Environment of its process. */
  environment: NodeJS.ProcessEnv;
  limitMs: number;
  /** Ends the process early. */
  signal?: AbortSignal;
  onMessage(message: unknown): void;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const MAX_LAST_WORDS = 500;

/**
 * Runs third-party code in a separate process, which may crash, hang or exit. The process is
 * ended afterwards, with everything that it started. Resolves to null, or to the reason why it did not finish.
 */
export async function runGuarded({
  entry,
  request,
  environment,
  limitMs,
  signal,
  onMessage,
}: Task): Promise<string | null> {
  const file = fileURLToPath(new URL(`../../${entry}${extname(import.meta.filename)}`, import.meta.url));
  const child = spawn(process.execPath, [file, JSON.stringify(request)], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true, // its own process group, which can be ended as a whole
  });
  const stop = () => endGroup(child);
  for (const name of SIGNALS) process.once(name, stop);
  signal?.addEventListener('abort', stop);
  try {
    return await follow(child, limitMs, onMessage);
  } finally {
    for (const name of SIGNALS) process.removeListener(name, stop);
    signal?.removeEventListener('abort', stop);
    stop();
  }
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // it has already ended
  }
}

async function follow(
  child: ChildProcess,
  limitMs: number,
  onMessage: (message: unknown) => void,
): Promise<string | null> {
  const ended = Promise.withResolvers<string | null>();
  child.on('message', message => {
    if (Object(message).type === 'end') ended.resolve(null);
    else onMessage(message);
  });
  let lastWords = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', chunk => {
      lastWords = (lastWords + chunk).slice(-MAX_LAST_WORDS);
    });
  const blame = (what: string) => {
    const said = onOneLine(lastWords.trim());
    ended.resolve(said === '' ? what : `${what}; it said: ${said}`);
  };
  once(child, 'close').then(([code, signal]) => blame(deathOf(code, signal)));
  const late = `nothing more came within ${limitMs / 1000} s: it holds the thread, or waits for ever`;
  const timer = setTimeout(blame, limitMs, late);
  return ended.promise.finally(() => clearTimeout(timer));
}

function deathOf(code: number | null, signal: string | null): string {
  if (signal)
    return `the process died of ${signal}: native code that can crash belongs into a process of its own`;
  return `the process was ended with status ${code}: a plugin throws, and never calls process.exit`;
}
