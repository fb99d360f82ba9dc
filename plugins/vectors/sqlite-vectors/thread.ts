/** Talks to the index's thread: one request at a time, searches first, each with a time limit. */
import { Worker } from 'node:worker_threads';
import type { PluginContext } from '../../../core/contract/plugin.ts';
import type { FromThread, ThreadSettings, ToThread, Verb, Verbs } from './messages.ts';

/** Waiting requests; further ones are refused. */
const MAX_WAITING = 1000;
/** Without an answer after this time the thread is considered stuck. */
const ANSWER_MS = 30_000;
/** Time to close the file before the thread is terminated. */
const CLOSE_MS = 3000;

interface Question {
  verb: Verb;
  args: unknown[];
  answer: PromiseWithResolvers<unknown>;
}

type Context = Pick<PluginContext<never>, 'clock' | 'error' | 'fail' | 'log' | 'onStop'>;

export interface Thread {
  /** Rejects with `invalid_input`, `upstream_error`, `timeout`, `unavailable`, or the signal's reason. */
  ask<V extends Verb>(
    verb: V,
    args: Parameters<Verbs[V]>,
    signal?: AbortSignal,
  ): Promise<ReturnType<Verbs[V]>>;
}

/**
 * Starts the thread, which stops with the plugin. Resolves when it accepts requests.
 * @param entry the module that the thread runs
 * @throws `config_error` when the file cannot be used
 */
export async function startThread(
  name: string,
  entry: URL,
  settings: ThreadSettings,
  context: Context,
): Promise<Thread> {
  const { clock, error, log } = context;
  const worker = new Worker(entry, { workerData: settings, execArgv: [], name });
  const exited = Promise.withResolvers<void>();
  const ready = Promise.withResolvers<void>();
  const waiting: Question[] = [];
  let current: Question | null = null;
  let answered = new AbortController();
  let ended: Error | null = null;
  let isReady = false;

  worker.on('message', (message: FromThread) => receive(message));
  worker.on('error', cause => end(error('upstream_error', `${name}: its thread failed`, { cause })));
  worker.on('exit', () => {
    end(error('upstream_error', `${name}: its thread ended`));
    exited.resolve();
  });
  context.onStop(stop);
  await ready.promise;
  return { ask };

  function receive(message: FromThread): void {
    if (message.type === 'ready') open();
    else if (message.type === 'refused') end(refused(message.message));
    else if (message.type === 'lost') tellLoss(message);
    else settle(message);
  }

  function open(): void {
    isReady = true;
    ready.resolve();
  }

  function tellLoss({ reason, movedTo }: Extract<FromThread, { type: 'lost' }>): void {
    const file = settings.file;
    log.error(
      { file, movedTo, reason },
      `${name}: its file is damaged and was renamed; it begins anew, empty`,
    );
  }

  function settle(message: Extract<FromThread, { type: 'answer' | 'failed' }>): void {
    answered.abort();
    const question = current;
    current = null;
    if (message.type === 'answer') question?.answer.resolve(message.value);
    else question?.answer.reject(error(message.code, `${name}: ${message.message}`));
    next();
  }

  async function ask<V extends Verb>(
    verb: V,
    args: Parameters<Verbs[V]>,
    signal?: AbortSignal,
  ): Promise<ReturnType<Verbs[V]>> {
    signal?.throwIfAborted();
    if (ended !== null) throw ended;
    if (waiting.length >= MAX_WAITING)
      throw error('unavailable', `${name}: ${MAX_WAITING} questions wait already; try again later`);
    const question: Question = { verb, args, answer: Promise.withResolvers() };
    const leave = () => {
      const at = waiting.indexOf(question);
      if (at !== -1) waiting.splice(at, 1);
      question.answer.reject(signal?.reason);
    };
    signal?.addEventListener('abort', leave, { once: true });
    waiting.push(question);
    next();
    try {
      return (await question.answer.promise) as ReturnType<Verbs[V]>; // the answer has the type of its verb
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  /** Sends the next request. Searches overtake writes, because a person waits for them. */
  function next(): void {
    if (current !== null || waiting.length === 0 || ended !== null) return;
    const first = Math.max(
      0,
      waiting.findIndex(({ verb }) => verb === 'search'),
    );
    [current = null] = waiting.splice(first, 1);
    if (current === null) return;
    send({ type: 'ask', verb: current.verb, args: current.args });
    answered = new AbortController();
    clock.sleep(ANSWER_MS, answered.signal).then(stuck, () => undefined);
  }

  function stuck(): void {
    end(error('timeout', `${name}: its thread did not answer for ${ANSWER_MS} ms`));
  }

  function send(message: ToThread): void {
    worker.postMessage(message);
  }

  function end(reason: Error): void {
    if (ended !== null) return;
    ended = reason;
    answered.abort();
    ready.reject(reason);
    for (const { answer } of [...(current ? [current] : []), ...waiting.splice(0)]) answer.reject(reason);
    // During the start, `setup` itself rejects.
    if (isReady) context.fail(reason);
  }

  async function stop(): Promise<void> {
    isReady = false; // an exit from here on is intended
    end(error('upstream_error', `${name} is stopped`));
    send({ type: 'close' });
    const closed = new AbortController();
    await Promise.race([exited.promise, clock.sleep(CLOSE_MS, closed.signal)]);
    closed.abort();
    await worker.terminate();
  }

  function refused(message: string): Error {
    const cure = 'let Earshot write there, and let no other one use it';
    return error('config_error', `${name}: ${settings.file} cannot be used: ${message}; ${cure}`);
  }
}
