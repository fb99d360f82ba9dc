/** A first-in, first-out list whose operations take constant time. */
export class Deque<T> {
  private items: (T | undefined)[] = [];
  private head = 0;

  get length(): number {
    return this.items.length - this.head;
  }

  push(item: T): void {
    this.items.push(item);
  }

  /** The newest item. */
  get last(): T | undefined {
    return this.at(this.length - 1);
  }

  /** The item at this index, counted from the front. */
  at(index: number): T | undefined {
    return index < 0 ? undefined : this.items[this.head + index];
  }

  find(fits: (item: T) => boolean): T | undefined {
    for (let index = 0; index < this.length; index++) {
      const item = this.at(index);
      if (item !== undefined && fits(item)) return item;
    }
    return undefined;
  }

  shift(): T | undefined {
    const item = this.at(0);
    this.drop(1);
    return item;
  }

  /** Removes this many items from the front. */
  drop(count: number): void {
    const end = Math.min(this.head + count, this.items.length);
    this.items.fill(undefined, this.head, end);
    this.head = end;
    if (this.head * 2 <= this.items.length) return;
    this.items.splice(0, this.head); // moves no more items than were removed since the last move: constant time on average
    this.head = 0;
  }

  /** Removes and returns the items from this index to the end. */
  cut(from: number): T[] {
    return this.items.splice(this.head + from) as T[]; // everything behind the head is still there
  }

  slice(from: number): T[] {
    return this.items.slice(this.head + from) as T[]; // as above
  }

  clear(): void {
    this.items = [];
    this.head = 0;
  }
}

/**
 * A queue with `push` for producers and async iteration for one consumer, in order. Producers keep it
 * bounded.
 */
export interface Queue<T> extends AsyncIterable<T> {
  push(item: T): void;
  /** Ends the iteration once the waiting items are consumed. */
  end(): void;
  /** Ends the iteration now, and drops the waiting items. */
  clear(): void;
  /** The newest waiting item. */
  readonly last: T | undefined;
}

/** @param onTaken called with each item that is consumed */
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
