import { AppError } from '../runtime/errors.ts';

/** Memory reserved for one request. */
export interface Share {
  /** Throws `rate_limited` where its owner's share is used up, `unavailable` where all memory is. */
  take(bytes: number): void;
  /** Releases the reservation. */
  release(): void;
}

export type BodyMemory = ReturnType<typeof createBodyMemory>;

/** Bounds the bytes of request bodies in memory: per owner (an account or an address), and in total. */
export function createBodyMemory({ maxBytes, maxBytesEach }: { maxBytes: number; maxBytesEach: number }) {
  const held = new Map<string, number>();
  let total = 0;

  function change(owner: string, bytes: number): void {
    const left = (held.get(owner) ?? 0) + bytes;
    total += bytes;
    if (left === 0) held.delete(owner);
    else held.set(owner, left);
  }

  return {
    shareOf(owner: string): Share {
      let own = 0;
      return {
        take(bytes) {
          if ((held.get(owner) ?? 0) + bytes > maxBytesEach)
            throw new AppError('rate_limited', 'Too many request bodies at once: send one after the other', {
              retryAfter: 1,
            });
          if (total + bytes > maxBytes)
            throw new AppError('unavailable', 'The server reads too many request bodies; try again', {
              retryAfter: 1,
            });
          own += bytes;
          change(owner, bytes);
        },
        release() {
          change(owner, -own);
          own = 0;
        },
      };
    },
  };
}
