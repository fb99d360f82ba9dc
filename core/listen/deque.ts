/** A list that grows at its end and is used up from its front, each in constant time. */
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

  /** The item at this place, counted from the front. */
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

  /** Removes so many from the front. */
  drop(count: number): void {
    const end = Math.min(this.head + count, this.items.length);
    this.items.fill(undefined, this.head, end);
    this.head = end;
    if (this.head * 2 <= this.items.length) return;
    this.items.splice(0, this.head); // as many were removed since the last time as are moved now
    this.head = 0;
  }

  /** Removes and returns those from this place on. */
  cut(from: number): T[] {
    return this.items.splice(this.head + from) as T[]; // behind the head nothing was removed
  }

  slice(from: number): T[] {
    return this.items.slice(this.head + from) as T[]; // as above
  }

  clear(): void {
    this.items = [];
    this.head = 0;
  }
}
