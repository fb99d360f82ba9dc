import type { AppError } from '../../runtime/errors.ts';
import { Deque } from '../../runtime/queue.ts';
import type { Place } from './append-log.ts';
import { bytesIn, type Entry, type Extent, type Found, isAudio, sizeOf } from './chunk.ts';

/** Written bytes that a stream keeps in memory for a reader close behind. */
const TAIL_BYTES = 64 * 1024;
/** Settled messages kept to settle a decoder: 200 ms in the shortest frames. */
export const LEAD_IN_MESSAGES = 20;

/** Stretch of entries on disk. Entries are counted by `seq`, messages have numbers. */
interface Written {
  place: Place;
  bytes: number;
  firstSeq: number;
  endSeq: number;
  /** Number of the message behind it. */
  endNumber: number;
}

interface HeldOptions {
  id: string;
  userId: string;
  load(place: Place): Promise<Found | null>;
  /** Called when these bytes are no longer needed. */
  release(written: { place: Place; bytes: number }): void;
}

/** Entries of one stream: all of them on disk, the last ones in memory as well. */
export class Held {
  readonly id: string;
  readonly userId: string;
  isOpen = false;
  /** Number of the next message. */
  next = 0;
  /** Messages below this are on the disk. */
  durable = 0;
  /** Why the disk accepts no more of this stream. */
  broken: AppError | null = null;
  onSynced = () => {};

  private readonly options: HeldOptions;
  private readonly written = new Deque<Written>();
  /** Entries from `tailSeq` on; those below `writtenSeq` are on the disk too. */
  private readonly tail = new Deque<Entry>();
  private tailSeq = 0;
  private tailBytes = 0;
  private writtenSeq = 0;
  private readSeq = 0;
  private settled = 0;
  private paused = false;
  private ended = false;
  private wake = () => {};

  constructor(options: HeldOptions) {
    this.options = options;
    this.id = options.id;
    this.userId = options.userId;
  }

  get isSettled(): boolean {
    return this.written.length === 0 && this.tail.length === 0;
  }

  /** Registers a chunk of an earlier process. */
  recall(place: Place, extent: Extent): void {
    this.tailSeq += extent.count;
    this.wrote(place, extent);
    this.next = this.durable;
  }

  /** @param settled messages whose text is stored; those that are not held here came before */
  open(settled: number): void {
    this.isOpen = true;
    this.ended = false;
    this.broken = null;
    this.next = Math.max(this.next, settled);
    this.durable = Math.max(this.durable, settled);
    this.settle(settled);
  }

  /** Closes the reader; bytes on their way to the disk still get there. */
  close(): void {
    this.isOpen = false;
    this.onSynced = () => {};
    this.end();
    this.trim();
  }

  /** Drops entries that are not on the disk, because the disk has failed. Returns their number of bytes. */
  break(error: AppError): number {
    const lost = this.tail.cut(this.writtenSeq - this.tailSeq);
    const bytes = bytesIn(lost);
    this.tailBytes -= bytes;
    this.next = this.durable;
    this.broken = error;
    this.onSynced();
    return bytes;
  }

  /** Where its entries are on the disk, in their order. */
  places(): Place[] {
    return this.written.slice(0).map(({ place }) => place);
  }

  push(entry: Entry): void {
    this.tail.push(entry);
    this.tailBytes += sizeOf(entry);
    if (isAudio(entry)) this.next = entry.number + 1;
    this.paused = false;
    this.wake();
  }

  pause(): void {
    this.paused = true;
    this.wake();
  }

  end(): void {
    this.ended = true;
    this.wake();
  }

  unwritten(): Entry[] {
    return this.tail.slice(this.writtenSeq - this.tailSeq);
  }

  wrote(place: Place, { count, bytes, endNumber }: Extent): void {
    const firstSeq = this.writtenSeq;
    this.writtenSeq += count;
    this.durable = Math.max(this.durable, endNumber);
    this.written.push({ place, bytes, firstSeq, endSeq: this.writtenSeq, endNumber: this.durable });
    this.trim();
    this.forget();
    this.onSynced();
  }

  settle(number: number): void {
    this.settled = Math.max(this.settled, number);
    this.forget();
  }

  /** Releases settled entries on disk; a settled end needs no lead-in. */
  private forget(): void {
    const all = this.settled >= this.next;
    const below = all ? this.settled : this.settled - LEAD_IN_MESSAGES;
    for (let oldest = this.written.at(0); oldest && oldest.endNumber <= below; oldest = this.written.at(0)) {
      this.written.drop(1);
      this.options.release(oldest);
    }
  }

  /** Drops entries from memory that are written and read, and written ones beyond the limit. */
  private trim(): void {
    for (let entry = this.tail.at(0); entry && this.tailSeq < this.writtenSeq; entry = this.tail.at(0)) {
      if (this.isOpen && this.tailSeq >= this.readSeq && this.tailBytes <= TAIL_BYTES) return;
      this.tailBytes -= sizeOf(entry);
      this.tail.drop(1);
      this.tailSeq += 1;
    }
  }

  /**
   * Yields entries from message `from`, or somewhat before it, to the end, as they arrive; each message once, in order.
   */
  async *read(from: number): AsyncGenerator<Entry | 'pause'> {
    this.readSeq = this.written.find(({ endNumber }) => endNumber >= from)?.firstSeq ?? this.tailSeq;
    let next = 0;
    const isNew = (entry: Entry) => {
      if (!isAudio(entry)) return true;
      if (entry.number < next) return false; // sent again after a failed write that had reached the disk
      next = entry.number + 1;
      return true;
    };
    for (;;) {
      if (this.readSeq < this.tailSeq) yield* this.fromDisk(isNew);
      const entry = this.tail.at(this.readSeq - this.tailSeq);
      if (entry) {
        this.readSeq += 1;
        this.trim();
        if (isNew(entry)) yield entry;
      } else if (this.readSeq >= this.tailSeq) {
        if (this.paused) {
          this.paused = false;
          yield 'pause';
        } else if (this.ended) return;
        else await new Promise<void>(resolve => (this.wake = resolve));
      }
    }
  }

  async *current(): AsyncGenerator<Entry> {
    const { tailSeq } = this;
    const tail = this.tail.slice(0);
    for (const { place, firstSeq } of this.written.slice(0)) {
      const chunk = firstSeq < tailSeq ? await this.options.load(place) : null;
      yield* chunk?.entries.slice(0, tailSeq - firstSeq) ?? [];
    }
    yield* tail;
  }

  private async *fromDisk(isNew: (entry: Entry) => boolean): AsyncGenerator<Entry> {
    const written = this.written.find(({ endSeq }) => endSeq > this.readSeq);
    if (!written || written.firstSeq >= this.tailSeq) {
      this.readSeq = this.tailSeq;
      return;
    }
    const chunk = await this.options.load(written.place);
    const skip = Math.max(0, this.readSeq - written.firstSeq);
    for (const entry of chunk?.entries.slice(skip) ?? []) {
      this.readSeq += 1;
      if (isNew(entry)) yield entry;
    }
    this.readSeq = Math.max(this.readSeq, written.endSeq);
  }
}
