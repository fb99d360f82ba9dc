/** Talks to that thread from the one that serves sockets. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { PluginContext } from '../../../core/contract/plugin.ts';
import type { Question } from './word-index.ts';

const ENTRY = new URL(`./sqlite-thread-main${extname(import.meta.filename)}`, import.meta.url);
interface Limits {
  /** Waiting requests; further ones are refused. */
  maxWaiting: number;
  /** Without an answer after this time the thread is considered stuck. */
  answerMs: number;
  /** The same for requests that wait for the disk. */
  copyMs: number;
  /** Pause between the loss of a thread and the start of another. */
  pauseMs: number;
  /** Time to close the file before the thread is terminated. */
  closeMs: number;
}

const LIMITS: Limits = { maxWaiting: 200, answerMs: 10_000, copyMs: 60_000, pauseMs: 10_000, closeMs: 3000 };

/** A search by words, a checkpoint, or a checkpoint that also truncates the log. */
export type Task = { table: string; question: Question } | 'copy' | 'empty';

/** Message to the thread. */
export interface Asked {
  number: number;
  task: Task;
}

/** Message from the thread. */
export interface Answer {
  number: number;
  /** Ids; null when the search failed there. */
  found: string[] | null;
}

interface Thread {
  worker: Worker;
  waiting: Map<number, (found: string[] | null) => void>;
}

type Context = Pick<PluginContext<never>, 'log' | 'error'>;

/**
 * Creates the thread with its first task. Searches that it cannot do are done `here`, which reports any error of the
 * database: the result is the same, but other requests wait meanwhile.
 */
export function createThread(
  file: string,
  { log, error }: Context,
  here: (table: string, question: Question) => Promise<string[]>,
  entry = ENTRY,
  limits: Partial<Limits> = {},
) {
  const { maxWaiting, answerMs, copyMs, pauseMs, closeMs } = { ...LIMITS, ...limits };
  let thread: Thread | null = null;
  let pausedUntil = 0;
  let number = 0;
  let isClosed = false;

  function start(): Thread {
    const worker = new Worker(entry, { workerData: { file }, execArgv: [], name: 'database' });
    worker.unref();
    const started: Thread = { worker, waiting: new Map() };
    worker.on('message', ({ number, found }: Answer) => started.waiting.get(number)?.(found));
    worker.on('error', cause => lose(started, cause));
    worker.on('exit', () => lose(started, null));
    return started;
  }

  /** Fails the requests that wait. The next thread starts after a pause, because it may end the same way. */
  function lose(lost: Thread, cause: unknown): void {
    if (thread !== lost) return;
    thread = null;
    pausedUntil = performance.now() + pauseMs;
    if (!isClosed)
      log.error(
        { err: cause, pauseMs },
        'the thread that searches by words and copies the log has ended; it is begun again later',
      );
    void lost.worker.terminate();
    settle(lost);
  }

  function settle({ waiting }: Thread): void {
    for (const answer of [...waiting.values()]) answer(null);
  }

  async function aside(task: Task, limitMs: number): Promise<string[] | null> {
    if (isClosed || performance.now() < pausedUntil) return null;
    thread ??= start();
    const { worker, waiting } = thread;
    const asked: Asked = { number: ++number, task };
    worker.ref();
    const own = thread;
    const stuck = setTimeout(() => lose(own, error('timeout', `no answer for ${limitMs} ms`)), limitMs);
    const found = await new Promise<string[] | null>(resolve => {
      waiting.set(asked.number, resolve);
      worker.postMessage(asked);
    });
    clearTimeout(stuck);
    waiting.delete(asked.number);
    if (waiting.size === 0) worker.unref();
    return found;
  }

  return {
    async search(table: string, question: Question): Promise<string[]> {
      if (thread && thread.waiting.size >= maxWaiting)
        throw error('unavailable', `${maxWaiting} searches wait already`, { retryAfter: 1 });
      return (await aside({ table, question }, answerMs)) ?? here(table, question);
    },
    /**
     * Checkpoints what is committed and no longer read in an older version. The log restarts if that is all of it.
     * Resolves to whether it was possible.
     */
    async copyLog(): Promise<boolean> {
      return (await aside('copy', copyMs)) !== null;
    },
    /** Checkpoints and truncates the log. Nobody may write meanwhile. */
    async emptyLog(): Promise<boolean> {
      return (await aside('empty', copyMs)) !== null;
    },
    async close(): Promise<void> {
      isClosed = true;
      const { worker } = thread ?? {};
      if (!worker) return;
      const ended = new Promise(resolve => worker.once('exit', resolve));
      worker.ref();
      worker.postMessage('close');
      const late = setTimeout(() => void worker.terminate(), closeMs);
      await ended;
      clearTimeout(late);
    },
  };
}
