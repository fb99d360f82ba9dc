/**
 * Runs a recogniser in a separate process, because native code can abort its process. One process serves all sessions
 * of a plugin and is restarted when it dies.
 */
import type {
  PluginContext,
  SttHints,
  SttProvider,
  SttSession,
  Transcript,
  Utterance,
} from '../../../core/contract/plugin.ts';
import { orAborted } from '../../../core/runtime/deadline.ts';
import { type Child, type ChildSettings, startChild } from './child.ts';
import type { Hints, Piece } from './messages.ts';

const CRASH_WINDOW_MS = 60_000;
const FIRST_PAUSE_MS = 100;
const DEFAULT_MAX_CRASHES = 5;
/** Part of the 30 seconds that a plugin's setup may take. */
const SETUP_MS = 8000;

export interface EngineSettings extends ChildSettings {
  /** Number of crashes within a minute after which it is not restarted. */
  maxCrashes?: number;
}

type Context = Pick<PluginContext<never>, 'clock' | 'error' | 'fail' | 'log' | 'onStop'>;

export interface Engine {
  /**
   * Resolves when the engine has loaded, or after 8 s: a large model continues loading, and sessions wait for it.
   * Rejects with `config_error`, `timeout` or `upstream_error`.
   */
  started(): Promise<void>;
  /** A session keeps no state between utterances, so it survives a restart of the process. */
  open: SttProvider['open'];
  /** Computes the voice vector of these samples, where the engine supports it. */
  embed(samples: Int16Array, signal: AbortSignal): Promise<Float32Array>;
}

/** Starts the process; it is stopped with the plugin. */
export function startEngine(settings: EngineSettings, context: Context): Engine {
  const { clock, log } = context;
  const stopping = new AbortController();
  const dead = quiet(Promise.withResolvers<never>());
  let current = quiet(Promise.withResolvers<Child>());
  let child = startChild(settings, context);
  let settingUp = true;
  const supervising = supervise();
  context.onStop(stop);
  return { open, started, embed };

  async function started(): Promise<void> {
    await Promise.race([current.promise, clock.sleep(SETUP_MS, stopping.signal)]);
    settingUp = false;
  }

  async function supervise(): Promise<void> {
    let crashes: number[] = [];
    for (;;) {
      const reason = await live();
      if (stopping.signal.aborted) return;
      const now = clock.now();
      crashes = [...crashes.filter(at => now - at < CRASH_WINDOW_MS), now];
      const last = hopeless(reason) || crashes.length >= (settings.maxCrashes ?? DEFAULT_MAX_CRASHES);
      if (last) return giveUp(reason);
      const pauseMs = FIRST_PAUSE_MS * 2 ** (crashes.length - 1);
      log.warn({ err: reason, pauseMs }, `${settings.name}: lost its process, starting it again`);
      await clock.sleep(pauseMs, stopping.signal).catch(() => undefined);
      if (stopping.signal.aborted) return;
      child = startChild(settings, context);
    }
  }

  /** Runs one process; resolves to the reason for its end. */
  async function live(): Promise<Error> {
    const life = child;
    life.ready.then(
      () => {
        log.info({ pid: life.pid }, `${settings.name}: its process is ready`);
        current.resolve(life);
      },
      error => current.reject(error),
    );
    const reason = await life.ended;
    current = quiet(Promise.withResolvers<Child>());
    return reason;
  }

  function giveUp(reason: Error): void {
    current.reject(reason);
    dead.reject(reason);
    // During set-up, the setup itself rejects.
    if (!settingUp) context.fail(reason);
  }

  async function stop(): Promise<void> {
    stopping.abort();
    child.kill();
    await supervising;
    current.reject(context.error('upstream_error', `${settings.name} is stopped`));
  }

  async function open({ language, vocabulary = [], signal: opening }: SttHints): Promise<SttSession> {
    await orAborted(current.promise, opening);
    return {
      transcribe: (utterance, signal) => transcribe(utterance, { language, vocabulary }, signal),
      failed: dead.promise,
      close: async () => undefined,
    };
  }

  async function* transcribe(
    utterance: Utterance,
    hints: Hints,
    signal: AbortSignal,
  ): AsyncGenerator<Transcript> {
    for await (const { vector, ...piece } of run(utterance, hints, signal)) yield { ...piece, final: true };
  }

  async function embed(samples: Int16Array, signal: AbortSignal): Promise<Float32Array> {
    signal.throwIfAborted();
    for await (const { vector } of run(whole(samples), NO_HINTS, signal)) if (vector) return vector;
    throw context.error('upstream_error', `${settings.name}: its process answered without a vector`);
  }

  async function* run(utterance: Utterance, hints: Hints, signal: AbortSignal): AsyncGenerator<Piece> {
    const { begin } = await orAborted(current.promise, signal);
    signal.throwIfAborted(); // the process was ready before
    const call = begin(utterance, hints);
    const abort = () => call.fail(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      yield* call.pieces;
    } finally {
      signal.removeEventListener('abort', abort);
      call.close();
    }
  }
}

const NO_HINTS: Hints = { language: '', vocabulary: [] };

/** Wraps samples as an utterance that has ended. */
function whole(samples: Int16Array): Utterance {
  return {
    startSample: 0,
    endSample: samples.length,
    channel: 0,
    async *pcm() {
      yield samples;
    },
    wav: () => Promise.reject(new Error('an engine reads samples')),
  };
}

/** A restart would end in the same way. */
function hopeless(reason: Error): boolean {
  return 'code' in reason && reason.code === 'config_error';
}

/** Only waiters handle the rejection; none at all is fine. */
function quiet<T>(deferred: PromiseWithResolvers<T>): PromiseWithResolvers<T> {
  deferred.promise.catch(() => undefined);
  return deferred;
}
