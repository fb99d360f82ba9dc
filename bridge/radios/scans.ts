import { createQueue, type Queue } from '../queue.ts';
import type { Advertisement } from '../radio.ts';

/** Running scans of a radio. Each receives every sighting. */
export interface Scans {
  readonly size: number;
  push(sighting: Advertisement): void;
  /**
   * Starts a scan, which ends when aborted.
   * @param onChange called when it has started, and when it has ended
   */
  open(signal: AbortSignal, onChange?: () => void): AsyncIterable<Advertisement>;
  /** Ends all scans; later ones end at once. */
  end(): void;
}

const MAX_WAITING_SIGHTINGS = 256;

export function createScans(): Scans {
  const queues = new Set<Queue<Advertisement>>();
  let ended = false;

  return {
    get size() {
      return queues.size;
    },
    push(sighting) {
      for (const queue of queues) queue.push(sighting);
    },
    async *open(signal, onChange = () => {}) {
      const queue = createQueue<Advertisement>(MAX_WAITING_SIGHTINGS);
      signal.addEventListener('abort', queue.end);
      if (signal.aborted || ended) queue.end();
      queues.add(queue);
      onChange();
      try {
        yield* queue;
      } finally {
        signal.removeEventListener('abort', queue.end);
        queues.delete(queue);
        onChange();
      }
    },
    end() {
      ended = true;
      for (const queue of queues) queue.end();
      queues.clear();
    },
  };
}
