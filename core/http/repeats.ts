import { hash } from 'node:crypto';
import type { Clock } from '../contract/model.ts';
import { AppError } from '../runtime/errors.ts';

export const REPEAT_HEADER = 'Idempotency-Key';
export const MAX_REPEAT_KEY_CHARS = 200;
const KEPT_MS = 10 * 60_000;
const MAX_KEPT = 1000;
const MAX_OF_USER = 100;

interface Kept {
  userId: string;
  at: number;
  /** Hash of what was asked. */
  request: string;
  answer: Promise<unknown>;
}

export type Repeats = ReturnType<typeof createRepeats>;

/**
 * Remembers for a while what requests with an Idempotency-Key have created. One that is sent again, because its answer
 * was lost, gets the same answer and creates nothing. A failure is not remembered.
 */
export function createRepeats({ clock }: { clock: Clock }) {
  /** Oldest first. */
  const kept = new Map<string, Kept>();

  /** Makes room for another one of this user. */
  function trim(userId: string): void {
    const old = clock.now() - KEPT_MS;
    for (const [id, { at }] of kept) if (at <= old) kept.delete(id);
    const own = [...kept].filter(([, each]) => each.userId === userId);
    const [first] = own.length >= MAX_OF_USER ? own : kept.size >= MAX_KEPT ? [...kept] : [];
    if (first) kept.delete(first[0]);
  }

  return {
    /** `invalid_request` where the key is too long, or came with another request. */
    once(
      { userId, operation, key }: { userId: string; operation: string; key: string },
      request: unknown,
      run: () => Promise<unknown>,
    ): Promise<unknown> {
      if (key.length > MAX_REPEAT_KEY_CHARS)
        throw new AppError(
          'invalid_request',
          `An ${REPEAT_HEADER} has ${MAX_REPEAT_KEY_CHARS} characters at most`,
        );
      trim(userId);
      const id = JSON.stringify([userId, operation, key]);
      const asked = hash('sha256', JSON.stringify(request) ?? '');
      const before = kept.get(id);
      if (before && before.request !== asked)
        throw new AppError(
          'invalid_request',
          `This ${REPEAT_HEADER} came with another request: use a new one`,
        );
      if (before) return before.answer;
      const answer = run();
      kept.set(id, { userId, at: clock.now(), request: asked, answer });
      answer.catch(() => kept.delete(id));
      return answer;
    },
  };
}
