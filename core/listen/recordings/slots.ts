import { AppError } from '../../runtime/errors.ts';

interface Waiting {
  userId: string;
  go(): void;
}

/**
 * Limits concurrent work: in total, and to one item per user. Further work waits in a queue, which is bounded per user.
 * @param maxWaiting in total
 */
export function createSlots({
  running: most,
  waiting: maxWaiting,
  waitingPerUser,
}: {
  running: number;
  waiting: number;
  waitingPerUser: number;
}) {
  const running = new Set<string>();
  const line: Waiting[] = [];

  function letIn(): void {
    while (running.size < most) {
      const place = line.findIndex(({ userId }) => !running.has(userId));
      const [next] = place < 0 ? [] : line.splice(place, 1);
      if (!next) return;
      running.add(next.userId);
      next.go();
    }
  }

  /**
   * Resolves when the user's work may start, to a function that ends it. Rejects with `rate_limited` if too many wait already,
   * or with the signal's reason.
   */
  async function enter(userId: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const own = line.filter(waiting => waiting.userId === userId).length;
    if (own >= waitingPerUser || line.length >= maxWaiting)
      throw new AppError('rate_limited', 'Too many recordings at once: send one after the other', {
        retryAfter: 5,
      });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { userId, go: resolve };
    const leave = () => {
      const place = line.indexOf(waiting);
      if (place < 0) return;
      line.splice(place, 1);
      reject(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    line.push(waiting);
    letIn();
    await promise.finally(() => signal.removeEventListener('abort', leave));
    return () => {
      running.delete(userId);
      letIn();
    };
  }

  return { enter };
}
