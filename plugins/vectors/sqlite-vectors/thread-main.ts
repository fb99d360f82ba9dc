/**
 * Runs the index on a thread of its own, so that comparing all vectors of a user does not block the sockets' thread.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { FromThread, ThreadSettings, ToThread } from './messages.ts';
import { isDamage, moveDamaged, openVectorsFile, type VectorsFile } from './vectors-file.ts';

/** Time until removed vectors have left the write-ahead log. */
const EMPTY_LOG_MS = 10 * 60_000;

const { file, cacheBytes }: ThreadSettings = workerData;
let vectors: VectorsFile | null = null;
let isEmptying = false;

try {
  vectors = openOrBegin();
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
  vectors?.close();
  vectors = null;
  parentPort?.close();
}

function answer(question: Extract<ToThread, { type: 'ask' }>): void {
  try {
    tell({ type: 'answer', value: ask(question) });
  } catch (error) {
    const code = error instanceof RangeError ? 'invalid_input' : 'upstream_error';
    tell({ type: 'failed', code, message: messageOf(error) });
  }
  if (question.verb === 'remove' || question.verb === 'drop') emptyLogLater();
}

/** Answers a request; repeats it once on a new file when the old one proves damaged. */
function ask({ verb, args }: Extract<ToThread, { type: 'ask' }>): unknown {
  const ask = (of: VectorsFile) => (of[verb] as (...args: unknown[]) => unknown)(...args); // typed by the sender
  try {
    vectors ??= openOrBegin();
    return ask(vectors);
  } catch (error) {
    if (!isDamage(error)) throw error;
    vectors?.close();
    vectors = null;
    vectors = begin(error);
    return ask(vectors);
  }
}

function openOrBegin(): VectorsFile {
  try {
    return openVectorsFile(file, cacheBytes);
  } catch (error) {
    if (isDamage(error)) return begin(error);
    throw error;
  }
}

function begin(damage: Error): VectorsFile {
  tell({ type: 'lost', reason: damage.message, movedTo: moveDamaged(file) });
  return openVectorsFile(file, cacheBytes);
}

/** Deferred and shared by many removals, since it waits for the disk. */
function emptyLogLater(): void {
  if (isEmptying) return;
  isEmptying = true;
  setTimeout(() => {
    isEmptying = false;
    try {
      vectors?.emptyLog();
    } catch {
      // The next removal tries again.
    }
  }, EMPTY_LOG_MS).unref();
}

function tell(message: FromThread): void {
  parentPort?.postMessage(message);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
