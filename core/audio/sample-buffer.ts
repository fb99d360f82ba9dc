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

export function createSampleBuffer(startSample: number): SampleBuffer {
  let store = new Int16Array(LEAST_CAPACITY);
  let origin = startSample; // position of store[0]
  let start = startSample;
  let end = startSample;

  /** Moves the kept samples to the front of a store that has room for `extra` more. */
  function makeRoom(extra: number) {
    const needed = end - start + extra;
    const fits = needed <= store.length && needed >= store.length / 4;
    const roomy = fits ? store : new Int16Array(Math.max(LEAST_CAPACITY, needed * 2));
    roomy.set(store.subarray(start - origin, end - origin));
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
