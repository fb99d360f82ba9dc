import { orAborted } from '../runtime/deadline.ts';
import type { Pending } from './hearing.ts';
import { createQueue } from './queue.ts';

/** Tasks of a channel, done one after the other, so that a conversation ends exactly between two utterances. */
type Task =
  | { kind: 'utterance'; entry: Pending }
  /** The open conversation ends, or the next one opens. */
  | { kind: 'finish' | 'renew'; work(): Promise<unknown> };

export type Tasks = ReturnType<typeof createTasks>;

/** Joins what is heard with what is made of it. */
export function createTasks() {
  const queue = createQueue<Task>();
  return {
    utterance: (entry: Pending) => queue.push({ kind: 'utterance', entry }),
    finish: (work: () => Promise<unknown>) => queue.push({ kind: 'finish', work }),
    renew: (work: () => Promise<unknown>) => queue.push({ kind: 'renew', work }),
    /** The end of the conversation is the last that is to be done. */
    get isFinishing() {
      return queue.last?.kind === 'finish';
    },
    end: queue.end,
    clear: queue.clear,
    [Symbol.asyncIterator]: () => queue[Symbol.asyncIterator](),
  };
}

/** Work that is done once, as soon as all `count` who take part have come to it; nobody goes on before. */
export function meeting(count: number, signal: AbortSignal, work: () => Promise<void>): () => Promise<void> {
  const { promise: done, resolve } = Promise.withResolvers<void>();
  done.catch(() => {}); // the last one who came tells
  let missing = count;
  return () => {
    missing -= 1;
    if (missing > 0) return orAborted(done, signal);
    const working = work();
    resolve(working);
    return working;
  };
}
