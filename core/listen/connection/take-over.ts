import { CLOSE } from '../protocol.ts';
import { Refusal } from './parameters.ts';

/** Connection that is being served. */
export interface Served {
  halt: AbortController;
  /** Closes its socket, accepts no more messages and stores what arrived. */
  letGo(code: number, reason: string): void;
  done: Promise<void>;
}

/** Time for an older connection of a stream to store its text; after it the client sends the rest again. */
const TAKE_OVER_MS = 5000;
const NEWER = 'this stream goes on in a newer connection';

interface Line {
  running: Served | null;
  /** The running connection's end, once it was asked to. */
  ending: Promise<void> | null;
  /** The connection that follows; a newer one replaces it. */
  waiting: { replace(): void } | null;
}

/**
 * Gives each stream to its newest connection. The older one, often dead without knowing it, first stores what it has
 * transcribed, so that this need not be sent again. At any time at most one runs and one waits.
 */
export function createTakeOver() {
  const lines = new Map<string, Line>();

  /**
   * Does the work once no other connection of the stream is served.
   * @throws a `Refusal` where a newer one came meanwhile
   */
  return async function alone(stream: string, self: Served, work: () => Promise<void>): Promise<void> {
    const line = lines.get(stream) ?? { running: null, ending: null, waiting: null };
    lines.set(stream, line);
    await follow(line, self);
    try {
      await work();
    } finally {
      line.running = null;
      if (!line.waiting) lines.delete(stream);
    }
  };
}

async function follow(line: Line, self: Served): Promise<void> {
  const replaced = Promise.withResolvers<void>();
  const place = {
    replace() {
      self.letGo(CLOSE.goingAway, NEWER);
      replaced.resolve();
    },
  };
  line.waiting?.replace();
  line.waiting = place;
  if (line.running) {
    line.ending ??= endOf(line.running);
    await Promise.race([line.ending, replaced.promise]);
  }
  if (line.waiting !== place) throw new Refusal(CLOSE.goingAway, NEWER);
  Object.assign(line, { running: self, ending: null, waiting: null });
}

async function endOf(older: Served): Promise<void> {
  older.letGo(CLOSE.goingAway, NEWER);
  await endWithin(older, TAKE_OVER_MS);
}

export async function endWithin({ halt, done }: Pick<Served, 'halt' | 'done'>, deadlineMs: number) {
  const timer = setTimeout(() => halt.abort(), deadlineMs);
  await done;
  clearTimeout(timer);
}
