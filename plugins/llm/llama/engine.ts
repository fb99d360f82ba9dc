/**
 * The model's process, from the plugin's side: started when it is asked something, ended when nobody asked for a while,
 * one question at a time. Native code can abort a process, and core must not go with it.
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
  /** An answer is complete within this. */
  timeoutMs: number;
  /** Loading the model takes no longer. */
  loadMs: number;
  /** Without a question for so long, the process ends and its memory is free. */
  idleMs: number;
  /** Added to what the process says when it refuses to load. */
  remedy: string;
}

type Context = Pick<PluginContext<never>, 'clock' | 'error' | 'log' | 'onStop'>;

export interface Engine {
  /** Loads the model, unless it is loaded. Rejects with `config_error`, `timeout` or `upstream_error`. */
  start(): Promise<void>;
  /** The answer in pieces. Throws `too_large`, and what `start` rejects with; the signal's reason. */
  ask(asked: Asked, signal: AbortSignal): AsyncGenerator<string>;
}

/** Questions that wait for their turn. */
const MAX_WAITING = 50;
/** A process that was told to stop has this long to finish its word. */
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

  /** The process that is there, or a new one, once it has loaded. */
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
      void before.then(turn.resolve); // its own turn is over, and so are those before
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
      () => {}, // asked again
    );
  }
}

interface Life {
  ready: Promise<void>;
  /** Resolves to the reason when the process is gone. */
  ended: Promise<Error>;
  /** @param late aborted when the time of the answer is over */
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
  ready.promise.catch(() => {}); // whoever waits attaches a handler
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
    if (process.connected) process.send(message, () => {}); // a process that is gone is told by `exit`
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

  /** The next question waits until this one is over. */
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
