import type { Clock } from '../contract/model.ts';
import type { Capabilities } from '../contract/plugin.ts';
import { orAborted } from '../runtime/deadline.ts';
import { type AppError, toAppError } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';
import type { PluginLife } from './life.ts';

/** Keeps one plugin running: it is started again, after growing pauses, each time that it fails. */
export interface PluginKeeper {
  /**
   * Starts it for the first time.
   * @throws {AppError | ConfigError} the reason for a failure; the plugin is then degraded and not tried again
   */
  start(): Promise<void>;
  /** After a failed `start`: keeps trying, where another attempt can help. */
  persist(): void;
  /** Its present capabilities; null while it does not run. */
  capabilities(): Capabilities | null;
  state(): KeptState;
  /** Stops it for good. Never rejects. */
  stop(): Promise<void>;
}

export type KeptState =
  | { state: 'off' | 'starting' | 'ready'; error: null }
  | { state: 'degraded'; error: AppError };

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 5 * 60_000;
/** A plugin that ran for this long before it failed restarts after the first, shortest pause. */
const PROVEN_MS = 5 * 60_000;

/** @param begin starts one run of the plugin, which must end and clean up when the signal is aborted */
export function createPluginKeeper(options: {
  begin: (signal: AbortSignal) => Promise<PluginLife>;
  clock: Clock;
  log: Log;
}): PluginKeeper {
  const { begin, clock, log } = options;
  const stopper = new AbortController();
  const { signal } = stopper;
  let life: PluginLife | null = null;
  let kept: KeptState = { state: 'off', error: null };
  /** The work in progress, so that `stop` can wait for it. */
  let work: Promise<unknown> = Promise.resolve();

  async function run(): Promise<void> {
    // The reason for its degradation stays visible until it runs again.
    if (kept.state !== 'degraded') kept = { state: 'starting', error: null };
    try {
      life = await begin(signal);
    } catch (thrown) {
      kept = { state: 'degraded', error: toAppError(thrown) };
      throw thrown;
    }
    kept = { state: 'ready', error: null };
    log.debug('plugin is ready');
  }

  /** Resolves when a running plugin has failed and is cleaned up. */
  async function death(of: PluginLife): Promise<void> {
    const error = await orAborted(of.failed, signal);
    life = null;
    kept = { state: 'degraded', error };
    log.warn({ err: error }, 'plugin failed');
    await of.stop();
  }

  async function supervise(): Promise<void> {
    let failures = life ? 0 : 1;
    for (;;) {
      if (life) {
        const startedAt = clock.now();
        await death(life);
        failures = clock.now() - startedAt < PROVEN_MS ? failures + 1 : 1;
      }
      if (!kept.error?.retryable) return;
      await clock.sleep(pauseMs(failures, kept.error), signal);
      await run().catch(error => {
        failures += 1;
        log.warn({ err: error, failures }, 'plugin did not start again');
      });
    }
  }

  function watch(): void {
    work = supervise().catch(error => {
      if (!signal.aborted) log.error({ err: error }, 'plugin is no longer watched');
    });
  }

  return {
    async start() {
      const first = run();
      work = first.catch(() => {});
      await first;
      watch();
    },
    persist: watch,
    capabilities: () => life?.capabilities ?? null,
    state: () => kept,
    async stop() {
      stopper.abort(new Error('Earshot is stopping'));
      await work;
      const last = life;
      life = null;
      kept = { state: 'off', error: null };
      await last?.stop();
    },
  };
}

function pauseMs(failures: number, error: AppError): number {
  const growingMs = FIRST_PAUSE_MS * 2 ** (failures - 1);
  return Math.min(Math.max(growingMs, (error.retryAfter ?? 0) * 1000), LONGEST_PAUSE_MS);
}
