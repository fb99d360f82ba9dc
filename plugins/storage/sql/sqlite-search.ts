/** The side of the search thread that carries sockets. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { PluginContext } from '../../../core/plugin.ts';
import type { Question } from './word-index.ts';

const ENTRY = new URL(`./sqlite-search-main${extname(import.meta.filename)}`, import.meta.url);
interface Limits {
  /** Questions that wait; past it they are refused. */
  maxWaiting: number;
  /** A thread that has not answered by then is stuck. */
  answerMs: number;
  /** After the loss of a thread, until another one is begun. */
  pauseMs: number;
  /** To close the file in; then it is ended as it is. */
  closeMs: number;
}

const LIMITS: Limits = { maxWaiting: 200, answerMs: 10_000, pauseMs: 10_000, closeMs: 3000 };

/** To the thread. */
export interface Asked {
  number: number;
  table: string;
  question: Question;
}

/** From it. */
export interface Answer {
  number: number;
  /** Null: it failed there. */
  ids: string[] | null;
}

interface Thread {
  worker: Worker;
  waiting: Map<number, (ids: string[] | null) => void>;
}

type Context = Pick<PluginContext<never>, 'log' | 'error'>;

/**
 * Searches in a thread of its own, begun with the first search. What that cannot answer is searched for `here`, which
 * tells what is wrong, if anything is: it takes longer for everybody else, and is as good.
 */
export function createSearch(
  file: string,
  { log, error }: Context,
  here: (table: string, question: Question) => Promise<string[]>,
  entry = ENTRY,
  limits: Partial<Limits> = {},
) {
  const { maxWaiting, answerMs, pauseMs, closeMs } = { ...LIMITS, ...limits };
  let thread: Thread | null = null;
  let pausedUntil = 0;
  let number = 0;
  let isClosed = false;

  function start(): Thread {
    const worker = new Worker(entry, { workerData: { file }, execArgv: [], name: 'search' });
    worker.unref();
    const started: Thread = { worker, waiting: new Map() };
    worker.on('message', ({ number, ids }: Answer) => started.waiting.get(number)?.(ids));
    worker.on('error', cause => lose(started, cause));
    worker.on('exit', () => lose(started, null));
    return started;
  }

  /** Whoever waits for it searches here. The next thread is not begun at once: it may end as this one did. */
  function lose(lost: Thread, cause: unknown): void {
    if (thread !== lost) return;
    thread = null;
    pausedUntil = performance.now() + pauseMs;
    if (!isClosed)
      log.error(
        { err: cause, pauseMs },
        'the thread that searches by words has ended; it is begun again later',
      );
    void lost.worker.terminate();
    settle(lost);
  }

  function settle({ waiting }: Thread): void {
    for (const answer of [...waiting.values()]) answer(null);
  }

  async function aside(table: string, question: Question): Promise<string[] | null> {
    if (isClosed || performance.now() < pausedUntil) return null;
    thread ??= start();
    const { worker, waiting } = thread;
    const asked: Asked = { number: ++number, table, question };
    if (waiting.size >= maxWaiting)
      throw error('unavailable', `${maxWaiting} searches wait already`, { retryAfter: 1 });
    worker.ref();
    const own = thread;
    const stuck = setTimeout(() => lose(own, error('timeout', `no answer for ${answerMs} ms`)), answerMs);
    const ids = await new Promise<string[] | null>(resolve => {
      waiting.set(asked.number, resolve);
      worker.postMessage(asked);
    });
    clearTimeout(stuck);
    waiting.delete(asked.number);
    if (waiting.size === 0) worker.unref();
    return ids;
  }

  return {
    search: async (table: string, question: Question): Promise<string[]> =>
      (await aside(table, question)) ?? here(table, question),
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
