/**
 * An index thread that starts, and then behaves as told: it never answers, or crashes at the first `drop`.
 */
import { parentPort } from 'node:worker_threads';

parentPort?.postMessage({ type: 'ready' });
parentPort?.on('message', ({ type, verb }: { type: string; verb?: string }) => {
  if (type === 'close') parentPort?.close();
  if (verb === 'drop') throw new Error('it fell over');
});
