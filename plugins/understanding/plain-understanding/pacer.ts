/** Yields to the event loop during long work: a day of speech takes seconds. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Maximum time without yielding. */
const SLICE_MS = 3;
/** Rest after a slice, as a multiple of it: live speech is more urgent than a summary. */
const REST = 3;
const MAX_REST_MS = 50;

export class Pacer {
  private readonly signal: AbortSignal;
  private readonly now: () => number;
  private readonly rest: (ms: number) => Promise<unknown>;
  private since: number;

  /** @param now milliseconds of a clock that never goes back */
  constructor(
    signal: AbortSignal,
    now: () => number = () => performance.now(),
    rest: (ms: number) => Promise<unknown> = sleep,
  ) {
    this.signal = signal;
    this.now = now;
    this.rest = rest;
    this.since = now();
  }

  /** Called between pieces of long work. Rejects with the signal's reason once that is aborted. */
  async pause(): Promise<void> {
    const workedMs = this.now() - this.since;
    if (workedMs < SLICE_MS) return;
    await this.rest(Math.min(REST * workedMs, MAX_REST_MS));
    this.signal.throwIfAborted();
    this.since = this.now();
  }
}
