/** Queue with `push` for producers and async iteration for one consumer. Beyond `limit` items the oldest is dropped. */
export interface Queue<T> extends AsyncIterable<T> {
  push(item: T): void;
  /** Ends the iteration once waiting items are consumed. */
  end(): void;
  /** Number of dropped items. */
  readonly dropped: number;
}

export function createQueue<T>(limit: number): Queue<T> {
  const items: T[] = [];
  let ended = false;
  let dropped = 0;
  let wake = () => {};

  return {
    push(item) {
      if (ended) return;
      items.push(item);
      if (items.length > limit) {
        items.shift();
        dropped += 1;
      }
      wake();
    },
    end() {
      ended = true;
      wake();
    },
    get dropped() {
      return dropped;
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        while (items.length > 0) yield items.shift() as T; // not empty, so there is one
        if (ended) return;
        await new Promise<void>(resolve => {
          wake = resolve;
        });
      }
    },
  };
}
