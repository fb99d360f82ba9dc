import { createQueue, type Queue } from './queue.ts';

/** Observable value. */
export interface Watched<T> {
  readonly now: T;
  become(next: T): void;
  /** Yields the current value, then every change, until `end`. */
  changes(): AsyncIterable<T>;
  /** Ends all iterations after the changes so far. */
  end(): void;
}

const MAX_WAITING = 16;

export function createWatched<T>(first: T): Watched<T> {
  const watchers = new Set<Queue<T>>();
  let now = first;
  let ended = false;

  return {
    get now() {
      return now;
    },
    become(next) {
      now = next;
      for (const watcher of watchers) watcher.push(next);
    },
    async *changes() {
      const queue = createQueue<T>(MAX_WAITING);
      queue.push(now);
      watchers.add(queue);
      if (ended) queue.end();
      try {
        yield* queue;
      } finally {
        watchers.delete(queue);
      }
    },
    end() {
      ended = true;
      for (const watcher of watchers) watcher.end();
    },
  };
}
