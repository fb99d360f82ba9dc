/** The index's thread: what SQLite and the search take of time, the thread that carries sockets does not notice. */
import { parentPort, workerData } from 'node:worker_threads';
import { createCodeMemory } from './codes.ts';
import type { FromThread, ThreadSettings, ToThread } from './messages.ts';
import { openSearch, type Search } from './search.ts';
import { isDamage, setAside } from './vectors-file.ts';

/** After which removed vectors are gone from the log. */
const EMPTY_LOG_MS = 10 * 60_000;

const { file, maxBytes }: ThreadSettings = workerData;
const memory = await createCodeMemory(maxBytes);
let search: Search | null = null;
let isEmptying = false;

try {
  search = openOrBegin();
  tidy();
  parentPort?.on('message', receive);
  tell({ type: 'ready' });
} catch (error) {
  tell({ type: 'refused', message: messageOf(error) });
}

function receive(message: ToThread): void {
  if (message.type === 'ask') answer(message);
  else close();
}

function close(): void {
  search?.close();
  search = null;
  parentPort?.close();
}

function answer(question: Extract<ToThread, { type: 'ask' }>): void {
  try {
    tell({ type: 'answer', value: ask(question) });
  } catch (error) {
    const code = error instanceof RangeError ? 'invalid_input' : 'upstream_error';
    tell({ type: 'failed', code, message: messageOf(error) });
  }
  if (question.verb === 'drop') tidy();
  if (question.verb === 'remove' || question.verb === 'drop') emptyLogLater();
}

/** A file that turns out to be damaged is begun anew, and asked once more. */
function ask({ verb, args }: Extract<ToThread, { type: 'ask' }>): unknown {
  const ask = (of: Search) => (of[verb] as (...args: unknown[]) => unknown)(...args); // as the other side typed them
  try {
    search ??= openOrBegin();
    return ask(search);
  } catch (error) {
    if (!isDamage(error)) throw error;
    search?.close();
    search = null;
    search = begin(error);
    return ask(search);
  }
}

function openOrBegin(): Search {
  try {
    return openSearch(file, memory);
  } catch (error) {
    if (isDamage(error)) return begin(error);
    throw error;
  }
}

function begin(damage: Error): Search {
  const aside = setAside(file);
  tell({ type: 'lost', reason: damage.message, aside });
  return openSearch(file, memory);
}

/** Not at each removal: it waits for the disk. */
function emptyLogLater(): void {
  if (isEmptying) return;
  isEmptying = true;
  setTimeout(() => {
    isEmptying = false;
    try {
      search?.emptyLog();
    } catch {
      // The next removal tries again.
    }
  }, EMPTY_LOG_MS).unref();
}

/** Step by step: searches come in between. */
function tidy(): void {
  setImmediate(() => {
    try {
      if (search?.tidy()) tidy();
    } catch {
      // Whoever asks next meets it too, and is told.
    }
  });
}

function tell(message: FromThread): void {
  parentPort?.postMessage(message);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
