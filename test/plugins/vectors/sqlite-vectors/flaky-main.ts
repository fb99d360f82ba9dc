/** An index's thread that is ready, and then does as it is told: answers nothing, or falls over at the first `drop`. */
import { parentPort } from 'node:worker_threads';

parentPort?.postMessage({ type: 'ready' });
parentPort?.on('message', ({ type, verb }: { type: string; verb?: string }) => {
  if (type === 'close') parentPort?.close();
  if (verb === 'drop') throw new Error('it fell over');
});
