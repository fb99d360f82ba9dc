/** The side of the thread beside that carries sockets. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { PluginContext } from '../../../core/contract/plugin.ts';
import type { Question } from './word-index.ts';

const ENTRY = new URL(`./sqlite-thread-main${extname(import.meta.filename)}`, import.meta.url);
interface Limits {
  /** Questions that wait; past it they are refused. */
  maxWaiting: number;
  /** A thread that has not answered by then is stuck. */
  answerMs: number;
  /** The same where it waits for the disk. */
  copyMs: number;
  /** After the loss of a thread, until another one is begun. */
  pauseMs: number;
  /** To close the file in; then it is ended as it is. */
  closeMs: number;
}

const LIMITS: Limits = { maxWaiting: 200, answerMs: 10_000, copyMs: 60_000, pauseMs: 10_000, closeMs: 3000 };

/** To search by words; or to copy the write-ahead log into the database; or to empty its file as well. */
export type Task = { table: string; question: Question } | 'copy' | 'empty';

/** To the thread. */
export interface Asked {
  number: number;
  task: Task;
}

/** From it. */
export interface Answer {
  number: number;
  /** Ids; null: it failed there. */
  found: string[] | null;
}

interface Thread {
  worker: Worker;
  waiting: Map<number, (found: string[] | null) => void>;
}

type Context = Pick<PluginContext<never>, 'log' | 'error'>;

/**
 * A thread of its own, begun with the first task. What it cannot search for is searched for `here`, which tells what is
 * wrong, if anything is: it takes longer for everybody else, and is as good.
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

  /** Whoever waits for it goes on without. The next thread is not begun at once: it may end as this one did. */
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
     * Copies what others have committed by then, and read no older version of. The log begins anew where that is all.
     * Resolves to whether it was possible.
     */
    async copyLog(): Promise<boolean> {
      return (await aside('copy', copyMs)) !== null;
    },
    /** The same, and the file of the log is empty. Nobody may write meanwhile. */
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
