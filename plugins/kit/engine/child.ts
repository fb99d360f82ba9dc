/** One recogniser process, from its start to its end. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { PluginContext, Utterance } from '../../../core/contract/plugin.ts';
import { type Call, openCall } from './call.ts';
import type { FromChild, Hints, ToChild } from './messages.ts';

export interface ChildSettings {
  /** The plugin's name, for messages. */
  name: string;
  /** The module that the process runs. */
  entry: URL;
  /** Passed to the engine unchanged. */
  options: unknown;
  /** Time limit for loading the model. */
  loadMs: number;
  /** A process that sends nothing for this long counts as stuck. */
  silentMs: number;
  /** Appended to the engine's refusal to load: how to prepare it. */
  remedy: string;
}

type Context = Pick<PluginContext<never>, 'clock' | 'error' | 'log'>;

export interface Child {
  pid: number | undefined;
  /** Resolves when the engine has loaded; rejects with `config_error`, `timeout` or `upstream_error`. */
  ready: Promise<void>;
  /** Resolves to the reason when the process is gone. */
  ended: Promise<Error>;
  /** Begins an utterance. The caller closes the call. */
  begin(utterance: Utterance, hints: Hints): Call;
  kill(): void;
}

/** Starts the process and has it load the engine. */
export function startChild(settings: ChildSettings, context: Context): Child {
  const { clock, error, log } = context;
  const process = fork(fileURLToPath(settings.entry), [], {
    serialization: 'advanced',
    execArgv: [],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Error>();
  const gone = new AbortController();
  const calls = new Map<number, Call>();
  let reason: Error | null = null;
  const output = keepTail(process, line => log.debug({ line }, `${settings.name}: output`));
  let nextCall = 0;
  let heard = true;
  let loaded = false;
  // Consumers attach their own handlers; a rejection without one must not end core.
  ready.promise.catch(() => undefined);

  process.on('message', (message: FromChild) => receive(message));
  process.on('error', cause => end(lost('could not be started', cause)));
  process.on('exit', (code, signal) => {
    const when = loaded ? '' : ' while it loaded the model';
    end(lost(`ended with ${signal ?? `code ${code}`}${when}`));
  });
  send({ type: 'load', options: settings.options });
  watch().catch(() => undefined);

  return { pid: process.pid, ready: ready.promise, ended: ended.promise, begin, kill };

  function receive(message: FromChild): void {
    heard = true;
    if (message.type === 'ready') open();
    else if (message.type === 'refused') end(refused(message.message));
    else if (message.type !== 'pong') calls.get(message.call)?.receive(message);
  }

  function open(): void {
    loaded = true;
    ready.resolve();
  }

  function begin(utterance: Utterance, hints: Hints): Call {
    const id = nextCall++;
    const call = openCall({ id, utterance, hints }, send, message => lost(`could not decode: ${message}`));
    calls.set(id, call);
    if (reason !== null) call.fail(reason);
    const close = () => {
      calls.delete(id);
      call.close();
    };
    return { ...call, close };
  }

  function send(message: ToChild): void {
    if (process.connected) process.send(message, sendError => sendError && end(lost('hung up', sendError)));
  }

  /** Enforces the time limit of loading, then pings the process whenever it is silent. */
  async function watch(): Promise<void> {
    await Promise.race([ready.promise, clock.sleep(settings.loadMs, gone.signal)]);
    if (!loaded) return stuck(`did not load its model within ${settings.loadMs} ms`);
    while (heard) {
      heard = false;
      send({ type: 'ping' });
      await clock.sleep(settings.silentMs, gone.signal);
    }
    stuck(`did not answer for ${settings.silentMs} ms`);
  }

  function stuck(how: string): void {
    end(error('timeout', `${settings.name}: its process ${how}`));
  }

  function end(why: Error): void {
    if (reason !== null) return;
    reason = why;
    gone.abort();
    kill();
    ready.reject(why);
    for (const call of calls.values()) call.fail(why);
    ended.resolve(why);
  }

  function kill(): void {
    process.kill('SIGKILL');
  }

  function refused(message: string): Error {
    return error('config_error', `${settings.name}: ${message}; ${settings.remedy}`);
  }

  function lost(how: string, cause?: unknown): Error {
    return error('upstream_error', `${settings.name}: its process ${how}`, { cause: cause ?? output() });
  }
}

/** Logs what the process prints, and keeps the end of it: native code prints its reason there. */
function keepTail(process: ChildProcess, log: (line: string) => void): () => string {
  let tail = '';
  for (const stream of [process.stdout, process.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      tail = (tail + text).slice(-2000);
      log(text.trimEnd());
    });
  }
  return () => tail;
}
