import type { PluginContext } from '../../../core/contract/plugin.ts';

/** Creates a signal that is aborted when the plugin stops, and a promise that rejects then. */
export function untilStopped(
  { error, onStop }: Pick<PluginContext<never>, 'error' | 'onStop'>,
  plugin: string,
) {
  const stopper = new AbortController();
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined); // a session may be open or not
  onStop(() => {
    const reason = error('upstream_error', `${plugin} is stopped`);
    stopper.abort(reason);
    failed.reject(reason);
  });
  return { failed: failed.promise, with: (signal: AbortSignal) => AbortSignal.any([signal, stopper.signal]) };
}
