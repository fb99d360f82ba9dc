import type { Capabilities, FetchUser, PluginContext } from '../contract/plugin.ts';
import { deadline } from '../runtime/deadline.ts';
import { AppError, toAppError } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';
import { inScope, type PluginScope } from './faults.ts';
import type { LoadedPlugin } from './loader.ts';
import { checkCapabilities } from './shapes.ts';

/** One run of a plugin, from its `setup` to its last `onStop` handler. */
export interface PluginLife {
  capabilities: Capabilities;
  /** Resolves with what the plugin reported through `fail`; stays pending if it never does. */
  failed: Promise<AppError>;
  /**
   * Aborts the plugin's signal, then runs its `onStop` handlers. Never rejects; a second call waits for the first.
   */
  stop(): Promise<void>;
}

export interface LifeLimits {
  setupMs: number;
  undoMs: number;
}

/** Parts of a plugin's context that are new for each run. */
export type LastingContext = Omit<
  PluginContext<unknown>,
  'signal' | 'fetch' | 'fetchUser' | 'onStop' | 'error' | 'fail'
>;

/**
 * Runs a plugin's `setup`. When it throws, takes too long, reports a failure, returns something invalid or `signal`
 * is aborted, everything that it opened is closed before this rejects.
 */
export async function startPlugin(
  plugin: LoadedPlugin,
  lasting: LastingContext,
  options: {
    fetch: typeof fetch;
    fetchUser: FetchUser;
    signal: AbortSignal;
    limits: LifeLimits;
    scope: PluginScope;
  },
): Promise<PluginLife> {
  const { limits, signal, scope } = options;
  const stopper = new AbortController();
  const failure = Promise.withResolvers<AppError>();
  const undo = createUndoStack(lasting.log, limits.undoMs, scope);
  let stopping: Promise<void> | null = null;

  const stop = () => {
    if (!stopping) {
      stopper.abort(new AppError('unavailable', `Plugin ${plugin.name} is being stopped`));
      stopping = undo.unwind();
    }
    return stopping;
  };
  const context: PluginContext<unknown> = {
    ...lasting,
    signal: stopper.signal,
    fetch: (input, init) => {
      const own = init?.signal ?? (input instanceof Request ? input.signal : stopper.signal);
      return options.fetch(input, { ...init, signal: AbortSignal.any([stopper.signal, own]) });
    },
    fetchUser: async (url, request) =>
      options.fetchUser(url, { ...request, signal: AbortSignal.any([stopper.signal, request.signal]) }),
    onStop: undo.push,
    error: makeError,
    fail: error => failure.resolve(toAppError(error)),
  };

  scope.onFault = failure.resolve;
  try {
    signal.throwIfAborted();
    const setup = Promise.resolve(context).then(ready => scope.run(() => plugin.setup(ready)));
    const died = failure.promise.then(error => Promise.reject(error));
    const answer = await within(limits.setupMs, `setup did not finish`, Promise.race([setup, died]), signal);
    return { capabilities: scoped(checkCapabilities(answer), scope), failed: failure.promise, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Creates the error here, so that its stack begins in the plugin. */
const makeError: PluginContext<unknown>['error'] = (code, message, details) => {
  const error = new AppError(code, message, details);
  Error.captureStackTrace(error, makeError);
  return error;
};

/** Not for storage, on which everything depends: its uncaught errors end the server. */
function scoped(capabilities: Capabilities, scope: PluginScope): Capabilities {
  const entries = Object.entries(capabilities).map(([name, value]) => [
    name,
    name === 'storage' || value === undefined ? value : inScope(scope, value),
  ]);
  return Object.fromEntries(entries);
}

/** Logged with the reason, because no caller is left to receive it. */
export const UNDO_FAILED = 'plugin could not undo all that it did';

type Undo = () => void | Promise<void>;

/** Runs the handlers, newest first. One that is added later, by a setup that ended too late, runs at once. */
function createUndoStack(log: Log, undoMs: number, scope: PluginScope) {
  const stack: Undo[] = [];
  let unwinding = false;

  async function run(undo: Undo): Promise<void> {
    try {
      await within(
        undoMs,
        'an undo of onStop did not finish',
        Promise.resolve().then(() => scope.run(undo)),
      );
    } catch (error) {
      log.warn({ err: error }, UNDO_FAILED);
    }
  }
  async function unwind(): Promise<void> {
    unwinding = true;
    for (let undo = stack.pop(); undo; undo = stack.pop()) await run(undo);
  }
  function push(undo: Undo): void {
    if (typeof undo !== 'function') throw new TypeError('onStop takes a function');
    if (unwinding) void run(undo);
    else stack.push(undo);
  }
  return { push, unwind };
}

/** Rejects with `timeout`, or with the signal's reason, when `work` does not settle first. */
export async function within<T>(
  ms: number,
  complaint: string,
  work: Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const late = () => new AppError('timeout', `${complaint} within ${ms} ms`);
  return deadline({ limitMs: ms, late }, () => work, signal);
}
