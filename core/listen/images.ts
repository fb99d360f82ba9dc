import { randomUUID } from 'node:crypto';
import { appendFile, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Photo } from '../contract/model.ts';
import type { Photos } from '../domain/photos/photos.ts';
import { AppError, toAppError } from '../runtime/errors.ts';
import type { EventBus, Events } from '../runtime/events.ts';
import { freeBytes } from '../runtime/files.ts';
import type { Log } from '../runtime/log.ts';
import type { ClientMessage } from './protocol.ts';
import type { Send } from './thread.ts';

export type ImageChunk = Extract<ClientMessage, { type: 'image_chunk' }>;

/** Images whose pieces are still missing, of one account. */
const MAX_OPEN = 50;
const MAX_IMAGE_BYTES = 10 * 1024 * 1024;
/** From its first piece on. */
const OPEN_MS = 60_000;
/** Pieces of a whole image that come within this are repeated ones; then the id may stand for another. */
const REPEATED_MS = 10_000;
/** Whole ones of a connection that wait to be read; past that the connection waits. */
const MAX_WAITING = 4;

interface ImagesDeps {
  photos: Pick<Photos, 'add'>;
  events: EventBus;
  /** Pieces are kept there until their image is whole. */
  dir: string;
  minFreeBytes: number;
  clock: Clock;
}

/** An image that is not whole yet: its pieces as they came, one after the other, in a file. */
interface OpenImage {
  path: string;
  total: number;
  bytes: number;
  /** By index: where the piece begins in the file, and its length. */
  pieces: Map<number, { at: number; length: number }>;
  expired: AbortController;
}

/** The images that one connection sends. */
export interface Images {
  /** Resolves when the piece is kept. What is wrong with it is answered with an error. */
  take(chunk: ImageChunk): Promise<void>;
  /** Forgets what is not whole, and waits for what is. */
  close(): Promise<void>;
}

interface ImagesOptions {
  userId: string;
  /** Returns the conversation of an image, and when it was taken (epoch ms). */
  place(): Promise<{ conversationId: string; takenAt: number }>;
  send: Send;
  log: Log;
}

export type OpenImages = ReturnType<typeof createImages>;

/** Puts images together that come in pieces, in any order, some of them twice. */
export function createImages({ photos, events, dir, minFreeBytes, clock }: ImagesDeps) {
  /** By account. */
  const openImages = new Map<string, number>();

  function count(userId: string, change: number): number {
    const now = (openImages.get(userId) ?? 0) + change;
    if (now > 0) openImages.set(userId, now);
    else openImages.delete(userId);
    return now;
  }

  return ({ userId, place, send, log }: ImagesOptions): Images => {
    const images = new Map<string, OpenImage>();
    /** Photos of which the client is still to be told what they show. */
    const awaited = new Set<string>();
    const keeping = new Set<Promise<void>>();
    /** Ids of whole ones, and since when they are. */
    const done = new Map<string, number>();

    const onDescribed = ({ photo }: Events['photo.described'][0]) => {
      if (awaited.delete(photo.id)) tell(photo);
    };
    events.on('photo.described', onDescribed);

    function tell({ id, description, discarded }: Photo) {
      send({ type: 'photo_described', photo_id: id, description: description ?? '', discarded });
    }

    function refuse(id: string, thrown: unknown) {
      const error = toAppError(thrown);
      const code = CODES[error.code] ?? 'invalid_image';
      if (!error.expose) log.error({ err: thrown }, 'an image could not be kept');
      const why = error.expose ? error.message : 'The server failed';
      send({ type: 'error', code, message: `image ${JSON.stringify(id.slice(0, 50))}: ${why}` });
    }

    async function take(chunk: ImageChunk) {
      if (isDone(chunk.id)) return;
      try {
        const image = images.get(chunk.id) ?? (await begin(chunk));
        await add(image, chunk);
      } catch (error) {
        await drop(chunk.id);
        refuse(chunk.id, error);
      }
    }

    /** A piece that comes twice may come after its image is whole. */
    function isDone(id: string): boolean {
      for (const [known, at] of done) if (clock.now() - at > REPEATED_MS) done.delete(known);
      return done.has(id);
    }

    async function begin({ id, total }: ImageChunk): Promise<OpenImage> {
      if ((openImages.get(userId) ?? 0) >= MAX_OPEN)
        throw new AppError('rate_limited', `At most ${MAX_OPEN} images may be open at once`);
      const path = join(dir, `${randomUUID()}.unfinished`);
      const image = { path, total, bytes: 0, pieces: new Map(), expired: new AbortController() };
      images.set(id, image);
      count(userId, 1);
      clock.sleep(OPEN_MS, image.expired.signal).then(
        async () => {
          await drop(id);
          refuse(id, new AppError('timeout', `Its pieces did not all arrive within ${OPEN_MS / 1000} s`));
        },
        () => {}, // it is whole, or dropped
      );
      await mkdir(dir, { recursive: true, mode: 0o700 });
      if ((await freeBytes(dir)) < minFreeBytes)
        throw new AppError('storage_full', 'The disk of the server has no room for it');
      return image;
    }

    async function add(image: OpenImage, { id, index, total, data }: ImageChunk) {
      if (total !== image.total || index >= total)
        throw new AppError('invalid_input', 'index and total do not fit its other pieces');
      if (image.pieces.has(index)) return;
      const bytes = Buffer.from(data, 'base64');
      if (image.bytes + bytes.length > MAX_IMAGE_BYTES)
        throw new AppError('too_large', `It has more than ${MAX_IMAGE_BYTES} bytes`);
      image.pieces.set(index, { at: image.bytes, length: bytes.length });
      image.bytes += bytes.length;
      await appendFile(image.path, bytes, { mode: 0o600 });
      if (image.pieces.size < total) return;
      images.delete(id);
      done.set(id, clock.now());
      image.expired.abort();
      const kept = keep(id, image)
        .catch(error => refuse(id, error))
        .finally(async () => {
          count(userId, -1);
          keeping.delete(kept);
          await rm(image.path, { force: true });
        });
      keeping.add(kept);
      if (keeping.size > MAX_WAITING) await Promise.race(keeping);
    }

    async function keep(id: string, image: OpenImage) {
      await inOrder(image);
      const photo = await store(image.path);
      send({ type: 'photo_processing', temp_id: id, photo_id: photo.id });
      if (photo.discarded) tell(photo);
      else awaited.add(photo.id);
    }

    /** A conversation that ends at this moment leaves the photo to the next one. */
    async function store(from: string): Promise<Photo> {
      try {
        return await photos.add({ userId, from, ...(await place()) });
      } catch (error) {
        if (!(error instanceof AppError && error.code === 'conflict')) throw error;
        return photos.add({ userId, from, ...(await place()) });
      }
    }

    async function drop(id: string) {
      const image = images.get(id);
      if (!image) return;
      images.delete(id);
      image.expired.abort();
      count(userId, -1);
      await rm(image.path, { force: true });
    }

    return {
      take,
      async close() {
        for (const id of [...images.keys()]) await drop(id);
        await Promise.all(keeping);
        events.off('photo.described', onDescribed);
      },
    };
  };
}

/** As errors on the socket call them; all else is an `invalid_image`. */
const CODES: Readonly<Record<string, string>> = {
  unsupported_media: 'not_supported',
  storage_full: 'photos_full',
  rate_limited: 'too_many_images',
  internal: 'internal',
};

/** Its pieces in the order of their numbers, where they did not come so. */
async function inOrder({ path, pieces, total }: OpenImage): Promise<void> {
  const inOrder = Array.from({ length: total }, (_, index) => pieces.get(index) ?? { at: 0, length: 0 });
  if (inOrder.every(({ at }, place) => place === 0 || at >= (inOrder[place - 1]?.at ?? 0))) return;
  const bytes = await readFile(path); // at most 10 MiB, of one image at a time
  const file = await open(path, 'w');
  try {
    for (const { at, length } of inOrder) await file.write(bytes.subarray(at, at + length));
  } finally {
    await file.close();
  }
}
