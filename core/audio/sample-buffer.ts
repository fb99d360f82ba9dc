/** Consecutive samples of a stream, addressed by their position in it: grows at the end, is released from the start. */
export interface SampleBuffer {
  /** Position of the first sample still kept. */
  readonly start: number;
  /** Position after the last sample. */
  readonly end: number;
  /** Bytes of memory in use. */
  readonly bytes: number;
  append(samples: Int16Array): void;
  /** A copy of [from, to), which must lie within [start, end). */
  slice(from: number, to: number): Int16Array<ArrayBuffer>;
  /** The same without a copy: valid only until the next call. */
  view(from: number, to: number): Int16Array;
  /** Forgets what lies before `position`. */
  release(position: number): void;
}

const LEAST_CAPACITY = 2048;
/** Memory that is kept for the next buffers. */
const MAX_FREE_BYTES = 8 * 1024 * 1024;

/**
 * Stores that are used again, by capacity. Growing utterances would leave twice their length to the garbage collector, all
 * of it old: with 50 speaking streams a full collection each 17 s, which holds everybody up for 30 ms and more.
 */
const free = new Map<number, Int16Array<ArrayBuffer>[]>();
let freeBytes = 0;

/** Contains the samples of whoever used it before. */
function takeStore(capacity: number): Int16Array<ArrayBuffer> {
  const store = free.get(capacity)?.pop();
  if (!store) return new Int16Array(capacity);
  freeBytes -= store.byteLength;
  return store;
}

function giveBack(store: Int16Array<ArrayBuffer>): void {
  if (freeBytes + store.byteLength > MAX_FREE_BYTES) return;
  freeBytes += store.byteLength;
  const stores = free.get(store.length);
  if (stores) stores.push(store);
  else free.set(store.length, [store]);
}

/** A power of two, so that stores fit others. */
const capacityFor = (samples: number) => Math.max(LEAST_CAPACITY, 2 ** Math.ceil(Math.log2(samples)));

export function createSampleBuffer(startSample: number): SampleBuffer {
  let store = takeStore(LEAST_CAPACITY);
  let origin = startSample; // position of store[0]
  let start = startSample;
  let end = startSample;

  /** Moves the kept samples to the front of a store that has room for `extra` more. */
  function makeRoom(extra: number) {
    const needed = end - start + extra;
    const fits = needed <= store.length && needed >= store.length / 4;
    const roomy = fits ? store : takeStore(capacityFor(needed * 2));
    roomy.set(store.subarray(start - origin, end - origin));
    if (roomy !== store) giveBack(store);
    store = roomy;
    origin = start;
  }

  function view(from: number, to: number) {
    if (from < start || to > end)
      throw new RangeError(`Samples ${from} to ${to} are not in ${start} to ${end}`);
    return store.subarray(from - origin, to - origin);
  }

  return {
    get start() {
      return start;
    },
    get end() {
      return end;
    },
    get bytes() {
      return store.byteLength;
    },
    append(samples) {
      if (end - origin + samples.length > store.length) makeRoom(samples.length);
      store.set(samples, end - origin);
      end += samples.length;
    },
    view,
    slice: (from, to) => view(from, to).slice(),
    release(position) {
      start = Math.min(Math.max(start, position), end);
      const mostlyFree = end - start < store.length / 4;
      if (mostlyFree && store.length > LEAST_CAPACITY) makeRoom(0);
    },
  };
}
