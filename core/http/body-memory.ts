import { AppError } from '../runtime/errors.ts';

/** Memory reserved for one request. */
export interface Share {
  /** Throws `rate_limited` where its owner has no room left, `unavailable` where there is none at all. */
  take(bytes: number): void;
  /** Gives everything back. */
  release(): void;
}

export type BodyMemory = ReturnType<typeof createBodyMemory>;

/** Bounds the bytes of request bodies that are held at once: of one owner (an account or an address), and in all. */
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
