import type { Pending } from './hearing.ts';
import { createQueue } from './queue.ts';

/** What is to be done for a connection, one after the other, so that a conversation ends exactly between two utterances. */
type Task =
  | { kind: 'utterance'; entry: Pending }
  /** The open conversation ends; its client asked for it, or there was silence. */
  | { kind: 'finish'; asked: boolean }
  /** One ended with something in it: the next one opens. */
  | { kind: 'renew' };

export type Tasks = ReturnType<typeof createTasks>;

/** Joins what is heard with what is made of it. */
export function createTasks() {
  const queue = createQueue<Task>();
  return {
    utterance: (entry: Pending) => queue.push({ kind: 'utterance', entry }),
    finish: () => queue.push({ kind: 'finish', asked: true }),
    /** Ending twice in a row is ending once. */
    silence() {
      if (queue.last?.kind !== 'finish') queue.push({ kind: 'finish', asked: false });
    },
    renew: () => queue.push({ kind: 'renew' }),
    end: queue.end,
    clear: queue.clear,
    [Symbol.asyncIterator]: () => queue[Symbol.asyncIterator](),
  };
}
