import { orAborted } from '../../runtime/deadline.ts';
import { createQueue } from '../../runtime/queue.ts';
import type { Pending } from './hearing.ts';

/** Task of a channel. Tasks run one after the other, so that a conversation ends exactly between two utterances. */
type Task =
  | { kind: 'utterance'; entry: Pending }
  /** The open conversation ends, or the next one opens. */
  | { kind: 'finish' | 'renew'; work(): Promise<unknown> };

export type Tasks = ReturnType<typeof createTasks>;

/** Creates the queue between hearing and transcription. */
export function createTasks() {
  const queue = createQueue<Task>();
  return {
    utterance: (entry: Pending) => queue.push({ kind: 'utterance', entry }),
    finish: (work: () => Promise<unknown>) => queue.push({ kind: 'finish', work }),
    renew: (work: () => Promise<unknown>) => queue.push({ kind: 'renew', work }),
    /** Whether the last waiting task ends the conversation. */
    get isFinishing() {
      return queue.last?.kind === 'finish';
    },
    end: queue.end,
    clear: queue.clear,
    [Symbol.asyncIterator]: () => queue[Symbol.asyncIterator](),
  };
}

/**
 * Joins `count` participants: the work runs once, as soon as all of them have called; none continues before it is done.
 */
export function meeting(count: number, signal: AbortSignal, work: () => Promise<void>): () => Promise<void> {
  const { promise: done, resolve } = Promise.withResolvers<void>();
  done.catch(() => {}); // the last participant reports the failure
  let missing = count;
  return () => {
    missing -= 1;
    if (missing > 0) return orAborted(done, signal);
    const working = work();
    resolve(working);
    return working;
  };
}
