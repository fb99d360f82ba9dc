import { randomUUID } from 'node:crypto';
import { appendFile, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Photo } from '../../contract/model.ts';
import type { Photos } from '../../domain/photos/photos.ts';
import { AppError, toAppError } from '../../runtime/errors.ts';
import type { EventBus, Events } from '../../runtime/events.ts';
import { freeBytes } from '../../runtime/files.ts';
import type { Log } from '../../runtime/log.ts';
import type { ClientMessage } from '../protocol.ts';
import type { Send } from '../thread.ts';

export type ImageChunk = Extract<ClientMessage, { type: 'image_chunk' }>;

/** Incomplete images of one account. */
const MAX_OPEN = 50;
const MAX_IMAGE_BYTES = 10 * 1024 * 1024;
/** Time to complete an image, from its first piece. */
const OPEN_MS = 60_000;
/** Time in which pieces of a completed image count as repeats; later the id may be used for another image. */
const REPEATED_MS = 10_000;
/** Completed images of a connection that wait to be processed; beyond it the connection is paused. */
const MAX_WAITING = 4;

interface ImagesDeps {
  photos: Pick<Photos, 'add'>;
  events: EventBus;
  /** Folder for pieces until their image is complete. */
  dir: string;
  minFreeBytes: number;
  clock: Clock;
}

/** Incomplete image: its pieces in the order of arrival, in a file. */
interface OpenImage {
  path: string;
  total: number;
  bytes: number;
  /** By index: offset and length of the piece in the file. */
  pieces: Map<number, { at: number; length: number }>;
  /** As the client says, epoch ms; undefined: it does not. */
  takenAt: number | undefined;
  expired: AbortController;
}

/** Images that one connection sends. */
export interface Images {
  /** Resolves when the piece is stored. A bad piece is answered with an error message. */
  take(chunk: ImageChunk): Promise<void>;
  /** Drops incomplete images and waits for complete ones. */
  close(): Promise<void>;
}

interface ImagesOptions {
  userId: string;
  /** Returns the conversation of an image, and when it was taken (epoch ms). @param takenAt as the client says */
  place(takenAt: number | undefined): Promise<{ conversationId: string; takenAt: number }>;
  send: Send;
  log: Log;
}

export type OpenImages = ReturnType<typeof createImages>;

/** Assembles images from pieces that come in any order, some of them twice. */
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
    /** Photos whose description the client is still to be sent. */
    const awaited = new Set<string>();
    const keeping = new Set<Promise<void>>();
    /** Ids of completed images, and when they were completed. */
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

    /** Tells whether the image was completed already: a repeated piece may come after that. */
    function isDone(id: string): boolean {
      for (const [known, at] of done) if (clock.now() - at > REPEATED_MS) done.delete(known);
      return done.has(id);
    }

    async function begin({ id, total, taken_at: takenAt }: ImageChunk): Promise<OpenImage> {
      if ((openImages.get(userId) ?? 0) >= MAX_OPEN)
        throw new AppError('rate_limited', `At most ${MAX_OPEN} images may be open at once`);
      const path = join(dir, `${randomUUID()}.unfinished`);
      const image = { path, total, bytes: 0, pieces: new Map(), takenAt, expired: new AbortController() };
      images.set(id, image);
      count(userId, 1);
      clock.sleep(OPEN_MS, image.expired.signal).then(
        async () => {
          await drop(id);
          refuse(id, new AppError('timeout', `Its pieces did not all arrive within ${OPEN_MS / 1000} s`));
        },
        () => {}, // complete or dropped by now
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
      const photo = await store(image);
      send({ type: 'photo_processing', temp_id: id, photo_id: photo.id });
      if (photo.discarded) tell(photo);
      else awaited.add(photo.id);
    }

    /** Stores the photo; where its conversation ends at this moment, in the next one. */
    async function store({ path: from, takenAt }: OpenImage): Promise<Photo> {
      try {
        return await photos.add({ userId, from, ...(await place(takenAt)) });
      } catch (error) {
        if (!(error instanceof AppError && error.code === 'conflict')) throw error;
        return photos.add({ userId, from, ...(await place(takenAt)) });
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

/** Error codes on the socket; others become `invalid_image`. */
const CODES: Readonly<Record<string, string>> = {
  unsupported_media: 'not_supported',
  storage_full: 'photos_full',
  rate_limited: 'too_many_images',
  internal: 'internal',
};

/** Sorts the pieces by number where they came in another order. */
async function inOrder({ path, pieces, total }: OpenImage): Promise<void> {
  const inOrder = Array.from({ length: total }, (_, index) => pieces.get(index) ?? { at: 0, length: 0 });
  if (inOrder.every(({ at }, place) => place === 0 || at >= (inOrder[place - 1]?.at ?? 0))) return;
  const bytes = await readFile(path); // at most 10 MiB, one image at a time
  const file = await open(path, 'w');
  try {
    for (const { at, length } of inOrder) await file.write(bytes.subarray(at, at + length));
  } finally {
    await file.close();
  }
}
