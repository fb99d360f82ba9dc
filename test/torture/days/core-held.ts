/** Loaded into core before itself: tells the process that started it, when asked, what it holds after a collection. */
import { isMainThread } from 'node:worker_threads';
import { garbageCollector, held } from '../../helpers/memory.ts';

export const HELD = 'held';

// Its threads and children inherit what loads this.
if (isMainThread && process.argv[1]?.endsWith('core/cli/main.mjs') && process.send) {
  const collect = garbageCollector();
  process.on('message', message => {
    if (message !== HELD) return;
    collect();
    process.send?.({ heldMb: held() / 1e6 });
  });
}
