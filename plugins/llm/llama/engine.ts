/**
 * Runs the model in its own process, because native code can abort a process. The process starts with the first
 * question, answers one at a time, and ends when it was idle for a while.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { PluginContext } from '../../../core/contract/plugin.ts';
import { orAborted } from '../../kit/kit.ts';
import type { Asked, FromChild, LoadOptions, ToChild } from './messages.ts';

export interface EngineSettings {
  /** The module that the process runs. */
  entry: URL;
  load: LoadOptions;
  /** Time limit of an answer. */
  timeoutMs: number;
  /** Time limit for loading the model. */
  loadMs: number;
  /** Idle time after which the process ends, to free its memory. */
  idleMs: number;
  /** Appended to the process's refusal to load: how to prepare the model. */
  remedy: string;
}

type Context = Pick<PluginContext<never>, 'clock' | 'error' | 'log' | 'onStop'>;

export interface Engine {
  /** Loads the model, unless it is loaded. Rejects with `config_error`, `timeout` or `upstream_error`. */
  start(): Promise<void>;
  /** Yields the answer in pieces. Throws `too_large`, the errors of `start`, or the signal's reason. */
  ask(asked: Asked, signal: AbortSignal): AsyncGenerator<string>;
}

/** Maximum number of questions that wait. */
const MAX_WAITING = 50;
/** Time that a process has to stop in the middle of an answer before it is killed. */
const CANCEL_MS = 10_000;

export function createEngine(settings: EngineSettings, context: Context): Engine {
  const { clock, error, log } = context;
  let life: Life | null = null;
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;
  let idle = new AbortController();
  let isStopped = false;
  context.onStop(() => {
    isStopped = true;
    idle.abort();
    life?.end(error('upstream_error', 'llama is stopped'));
  });
  return { start: async () => void (await current()), ask };

  /** Returns the running process, or starts one; resolves once the model has loaded. */
  async function current(): Promise<Life> {
    if (isStopped) throw error('upstream_error', 'llama is stopped');
    if (!life) {
      const started = startLife(settings, context);
      life = started;
      void started.ended.then(why => {
        log.info({ reason: why.message }, 'llama: the process of the model has ended');
        if (life === started) life = null;
      });
    }
    const there = life;
    await there.ready;
    return there;
  }

  async function* ask(asked: Asked, signal: AbortSignal): AsyncGenerator<string> {
    signal.throwIfAborted();
    if (waiting >= MAX_WAITING) throw error('upstream_error', `llama: ${MAX_WAITING} questions wait already`);
    waiting += 1;
    const before = last;
    const turn = Promise.withResolvers<void>();
    last = turn.promise;
    try {
      await orAborted(before, signal);
      idle.abort();
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), settings.timeoutMs);
      try {
        yield* (await orAborted(current(), signal)).ask(asked, signal, late.signal);
      } finally {
        clearTimeout(timer);
      }
    } finally {
      waiting -= 1;
      void before.then(turn.resolve); // this question is done, and so are those before it
      void before.then(endWhenIdle);
    }
  }

  function endWhenIdle(): void {
    idle.abort();
    idle = new AbortController();
    const { signal } = idle;
    clock.sleep(settings.idleMs, signal).then(
      () => {
        if (waiting === 0) life?.end(error('upstream_error', 'llama: nobody asked'));
      },
      () => {}, // another question came
    );
  }
}

interface Life {
  ready: Promise<void>;
  /** Resolves to the reason when the process is gone. */
  ended: Promise<Error>;
  /** @param late aborted when the time limit of the answer is reached */
  ask(asked: Asked, signal: AbortSignal, late: AbortSignal): AsyncGenerator<string>;
  end(why: Error): void;
}

/** One process, from its start to its end. */
function startLife(
  { entry, load, loadMs, remedy, timeoutMs }: EngineSettings,
  { clock, error, log }: Context,
): Life {
  const process = fork(fileURLToPath(entry), [], { execArgv: [], stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Error>();
  const loading = new AbortController();
  let reason: Error | null = null;
  let hear: (message: FromChild) => void = () => {};
  let fail: (why: Error) => void = () => {};
  ready.promise.catch(() => {}); // handled where it is awaited
  quieten(process, line => log.debug({ line }, 'llama: output'));
  process.on('message', (message: FromChild) => {
    if (message.type === 'ready') open();
    else if (message.type === 'refused') end(error('config_error', `llama: ${message.message}; ${remedy}`));
    else hear(message);
  });
  process.on('error', cause =>
    end(error('upstream_error', 'llama: its process could not be started', { cause })),
  );
  process.on('exit', (code, signal) =>
    end(error('upstream_error', `llama: its process ended with ${signal ?? `code ${code}`}`)),
  );
  send({ type: 'load', options: load });
  clock.sleep(loadMs, loading.signal).then(
    () => end(error('timeout', `llama: the model was not loaded within ${loadMs} ms`)),
    () => {},
  );
  return { ready: ready.promise, ended: ended.promise, ask, end };

  function open(): void {
    log.info({ pid: process.pid }, 'llama: the model is loaded');
    loading.abort();
    ready.resolve();
  }

  function send(message: ToChild): void {
    if (process.connected) process.send(message, () => {}); // the end of the process is noticed by `exit`
  }

  function end(why: Error): void {
    if (reason) return;
    reason = why;
    process.kill('SIGKILL');
    loading.abort();
    ready.reject(why);
    fail(why);
    ended.resolve(why);
  }

  async function* ask(asked: Asked, signal: AbortSignal, late: AbortSignal): AsyncGenerator<string> {
    const inbox: string[] = [];
    let isDone = false;
    let failure: unknown = reason;
    let changed = Promise.withResolvers<void>();
    const finished = Promise.withResolvers<void>();
    const change = (how: () => void) => {
      how();
      changed.resolve();
      changed = Promise.withResolvers();
    };
    const finish = (why: unknown) =>
      change(() => {
        isDone = true;
        failure ??= why;
        finished.resolve();
      });
    const abort = () => change(() => (failure ??= signal.reason));
    const tooLate = () => end(error('timeout', `llama: no whole answer within ${timeoutMs} ms`));
    hear = message => {
      if (message.type === 'piece') change(() => inbox.push(message.text));
      else if (message.type === 'done') finish(null);
      else if (message.type === 'failed') finish(error(message.code, `llama: ${message.message}`));
    };
    fail = finish;
    signal.addEventListener('abort', abort, { once: true });
    late.addEventListener('abort', tooLate, { once: true });
    if (signal.aborted) abort();
    if (late.aborted) tooLate();
    if (!reason) send({ type: 'ask', asked });
    try {
      for (;;) {
        if (signal.aborted) throw signal.reason;
        const next = inbox.shift();
        if (next !== undefined) yield next;
        else if (failure) throw failure;
        else if (isDone) return;
        else await changed.promise;
      }
    } finally {
      signal.removeEventListener('abort', abort);
      late.removeEventListener('abort', tooLate);
      if (!isDone && !reason) await cancel(finished.promise);
      hear = () => {};
      fail = () => {};
    }
  }

  async function cancel(finished: Promise<void>): Promise<void> {
    send({ type: 'cancel' });
    const done = new AbortController();
    const patience = clock.sleep(CANCEL_MS, done.signal).then(
      () => end(error('timeout', 'llama: its process did not stop when it was told')),
      () => {},
    );
    await Promise.race([finished, patience]);
    done.abort();
  }
}

function quieten(process: ChildProcess, log: (line: string) => void): void {
  for (const stream of [process.stdout, process.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => log(text.trimEnd()));
}
