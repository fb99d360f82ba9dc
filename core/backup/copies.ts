/** Copies of the newest backup in places elsewhere, and which of them stay. */
import { basename } from 'node:path';
import { z } from 'zod';
import { AppError, toAppError } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';
import { hashFile, hashStream } from './archive.ts';
import { type Found, type Keep, superfluous } from './names.ts';
import type { Place } from './place.ts';

/** State of the copies in one place. Instants are epoch ms. */
export const CopyState = z.object({
  /** Name of the newest that it has; null: none yet. */
  name: z.string().nullable(),
  at: z.number().nullable(),
  /** Why the last attempt failed; null: it did not. */
  error: z.string().nullable(),
  /** When one was last read back whole; null: never. */
  readAt: z.number().nullable(),
});
export type CopyState = z.infer<typeof CopyState>;

export const NO_COPY: CopyState = { name: null, at: null, error: null, readAt: null };
const READ_BACK_MS = 30 * 24 * 3_600_000;

interface Request {
  place: Place;
  /** On this machine. */
  newest: Found;
  /** State from before; undefined: there was none. */
  state: CopyState | undefined;
  keep: Keep;
  clock: { now(): number };
  log: Log;
  signal: AbortSignal;
}

/**
 * Makes sure that a place has the newest backup, deletes those there that need not stay, and reads one back each
 * month. Never rejects but by the signal: what failed is in the state that it returns.
 */
export async function copyTo({ place, newest, state = NO_COPY, ...rest }: Request): Promise<CopyState> {
  const { keep, clock, log, signal } = rest;
  const name = basename(newest.file);
  const now: CopyState = { ...state, error: null };
  try {
    if (state.name !== name) {
      await place.store(newest.file, signal);
      Object.assign(now, { name, at: clock.now() });
      log.info({ place: place.name, name, bytes: newest.bytes }, 'a copy of the backup is there');
      await prune(place, keep, name, signal);
    }
    if (place.read && clock.now() - (state.readAt ?? 0) >= READ_BACK_MS) {
      await readBack(place.read, newest, signal);
      now.readAt = clock.now();
    }
  } catch (error) {
    signal.throwIfAborted();
    now.error = `${place.name}: ${toAppError(error).message}`;
  }
  return now;
}

async function prune({ list, remove }: Place, keep: Keep, stored: string, signal: AbortSignal) {
  if (!list || !remove) return;
  const there = await list(signal);
  if (!there.some(({ name }) => name === stored))
    throw new AppError('upstream_error', `${stored} is not in its list, so that no older one is deleted`);
  for (const { name } of superfluous(there, keep)) await remove(name, signal);
}

async function readBack(read: NonNullable<Place['read']>, { file, bytes }: Found, signal: AbortSignal) {
  const [there, here] = await Promise.all([
    read(basename(file), signal).then(stream => hashStream(stream, signal)),
    hashFile(file, bytes, signal),
  ]);
  if (there !== here)
    throw new AppError('upstream_error', `the copy of ${basename(file)} has another content than the backup`);
}
