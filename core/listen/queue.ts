import { Deque } from './deque.ts';

/** Push becomes pull: items in order, to one consumer. Whoever pushes keeps it bounded. */
export interface Queue<T> extends AsyncIterable<T> {
  push(item: T): void;
  /** No more will come; what waits is still given. */
  end(): void;
  /** Ends at once and forgets what waits. */
  clear(): void;
  /** The newest item that waits. */
  readonly last: T | undefined;
}

/** @param onTaken is told of each item that is given */
export function createQueue<T>(onTaken: (item: T) => void = () => {}): Queue<T> {
  const items = new Deque<T>();
  let ended = false;
  let wake = () => {};
  const end = () => {
    ended = true;
    wake();
  };
  return {
    push(item) {
      if (ended) return;
      items.push(item);
      wake();
    },
    end,
    clear() {
      items.clear();
      end();
    },
    get last() {
      return items.last;
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        const item = items.shift();
        if (item !== undefined) {
          onTaken(item);
          yield item;
        } else if (ended) return;
        else await new Promise<void>(resolve => (wake = resolve));
      }
    },
  };
}
