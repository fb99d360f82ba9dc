/** Yields to the event loop during long work: a day of speech takes seconds. */
import { setImmediate } from 'node:timers/promises';

/** Maximum time without yielding. */
const SLICE_MS = 10;

export class Pacer {
  private readonly signal: AbortSignal;
  private readonly now: () => number;
  private since: number;

  /** @param now milliseconds of a clock that never goes back */
  constructor(signal: AbortSignal, now: () => number = () => performance.now()) {
    this.signal = signal;
    this.now = now;
    this.since = now();
  }

  /** Called between pieces of long work. Rejects with the signal's reason once that is aborted. */
  async pause(): Promise<void> {
    if (this.now() - this.since < SLICE_MS) return;
    await setImmediate();
    this.signal.throwIfAborted();
    this.since = this.now();
  }
}
