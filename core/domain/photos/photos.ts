import { readFile } from 'node:fs/promises';
import type { Clock, Photo } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { EventBus } from '../../runtime/events.ts';
import type { Log } from '../../runtime/log.ts';
import { writable } from '../conversations/edits.ts';
import { MAX_PHOTOS, reprocessIn } from '../conversations/lifecycle.ts';
import { isId, newId } from '../ids.ts';
import { index } from '../search/passages.ts';
import type { UserFiles } from '../user-files.ts';

/** Durable job that has a photo described; its key is the photo. */
export const DESCRIBE_JOB = 'photo.describe';
/** Durable job that indexes descriptions for search; its key is the conversation. */
export const PHOTO_INDEX_JOB = 'photo.index';

/** Delay, so that several descriptions in quick succession are indexed together. */
const INDEX_AFTER_MS = 2000;
const MAX_DESCRIPTION_CHARS = 2000;

/** Each photo has two files: the full size, and a thumbnail. */
export type PhotoSize = 'whole' | 'small';

export const PHOTO_FILES: Readonly<Record<PhotoSize, string>> = { whole: '.jpg', small: '.small.jpg' };

/** Result of reading a picture. */
interface Prepared {
  width: number;
  height: number;
  bytes: number;
  dark: boolean;
  blurred: boolean;
}

export interface PhotoRequest {
  userId: string;
  /** Id of a running conversation. */
  conversationId: string;
  /** Path of the original picture. */
  from: string;
  takenAt: number;
}

export type Photos = ReturnType<typeof createPhotos>;

/** The only writer of photos: a row each, and two files next to the database. */
export function createPhotos({
  storage,
  clock,
  events,
  files,
  prepare,
  maxBytesPerUser,
  log,
}: {
  storage: Storage;
  clock: Clock;
  events: EventBus;
  files: UserFiles<PhotoSize>;
  /** Checks a picture, and writes upright copies in full and small size, without metadata. */
  prepare(request: { from: string; to: string; small: string }): Promise<Prepared>;
  /** Bytes of all photos of one account. */
  maxBytesPerUser: number;
  log: Log;
}) {
  /** Photos whose files exist, but whose row does not yet. */
  const unsettled = new Set<string>();

  /**
   * Stores a picture as a photo of a conversation that goes on; one that is too dark or too blurred is marked. Rejects
   * with `conflict` when the conversation is over, `storage_full` when the account may keep no more, `invalid_input`
   * when it is no picture, and `unsupported_media` where none can be read.
   */
  async function add({ userId, conversationId, from, takenAt }: PhotoRequest): Promise<Photo> {
    const now = clock.now();
    const id = newId(now);
    const used = await storage.photos.bytes(userId);
    unsettled.add(id);
    try {
      const place = await files.place(userId, id);
      const { dark, blurred, ...size } = await prepare({ from, to: place.whole, small: place.small });
      if (used + size.bytes > maxBytesPerUser)
        throw new AppError(
          'storage_full',
          'The storage for photos of this account is full: delete some first',
        );
      await files.settle(userId);
      const about = { id, userId, conversationId, takenAt, createdAt: now, description: null };
      const photo: Photo = { ...about, ...size, discarded: dark || blurred };
      await storage.transaction('store photo', async tx => {
        const patch = { lastActivityAt: now };
        if (!(await tx.conversations.update(userId, conversationId, patch, 'in_progress')))
          throw new AppError('conflict', 'The conversation has ended: nothing can be added to it.');
        if ((await tx.photos.count(userId, conversationId)) >= MAX_PHOTOS)
          throw new AppError('storage_full', `A conversation has ${MAX_PHOTOS} photos at most`);
        await tx.photos.insert(photo);
        if (!photo.discarded)
          await tx.jobs.enqueue({
            kind: DESCRIBE_JOB,
            key: id,
            runAt: now,
            payload: { userId, photoId: id },
          });
      });
      events.emit('changed', { userId, kind: 'conversation', id: conversationId, change: 'changed' });
      return photo;
    } catch (error) {
      await files.remove(userId, [id]);
      throw error;
    } finally {
      unsettled.delete(id);
    }
  }

  async function get(userId: string, id: string): Promise<Photo | null> {
    const photo = isId(id) ? await storage.photos.get(userId, id) : null;
    const owner = photo && (await storage.conversations.get(userId, photo.conversationId));
    return owner?.locked ? null : photo;
  }

  /** Lists photos of a conversation. `not_found` if the user has none of this id, or it is locked. */
  async function list(userId: string, conversationId: string): Promise<Photo[]> {
    const found = isId(conversationId) ? await storage.conversations.get(userId, conversationId) : null;
    if (!found || found.locked) throw new AppError('not_found', 'Conversation not found');
    return storage.photos.list(userId, conversationId, MAX_PHOTOS);
  }

  /** The JPEG of a photo. `not_found`. */
  async function read(userId: string, id: string, size: PhotoSize): Promise<Buffer> {
    if (!(await get(userId, id))) throw new AppError('not_found', 'Photo not found');
    return readFile(files.pathOf(userId, id, size)).catch((cause: NodeJS.ErrnoException): never => {
      if (cause.code !== 'ENOENT') throw cause;
      throw new AppError('not_found', 'Photo not found', { cause });
    });
  }

  /** Deletes a photo for good. `not_found`, `locked`. */
  async function remove(userId: string, id: string): Promise<void> {
    const photo = isId(id) ? await storage.photos.get(userId, id) : null;
    if (!photo) throw new AppError('not_found', 'Photo not found');
    await storage.transaction('delete photo', async tx => {
      await writable(tx, userId, photo.conversationId);
      await tx.photos.remove(userId, id);
      await indexSoon(tx.jobs, photo, clock.now());
    });
    await files.remove(userId, [id]);
    events.emit('changed', { userId, kind: 'conversation', id: photo.conversationId, change: 'changed' });
  }

  /** Stores a model's description; null: nothing worth keeping. A photo that was deleted meanwhile stays deleted. */
  async function describe(photo: Photo, seen: string | null): Promise<void> {
    const { userId, id } = photo;
    const description = seen === null ? null : [...seen.trim()].slice(0, MAX_DESCRIPTION_CHARS).join('');
    const discarded = !description;
    const changed = await storage.transaction('describe photo', async tx => {
      if (!(await tx.photos.update(userId, id, { description: description || null, discarded }))) return null;
      await indexSoon(tx.jobs, photo, clock.now());
      return tx.photos.get(userId, id);
    });
    if (changed) events.emit('photo.described', { photo: changed });
  }

  /**
   * Indexes the descriptions of an ended conversation for search; a conversation without words is named after them.
   */
  async function indexAgain(userId: string, conversationId: string): Promise<void> {
    const conversation = await storage.conversations.get(userId, conversationId);
    if (conversation?.status !== 'completed') return;
    await index(storage, conversation);
    if ((await storage.segments.count(userId, conversationId)) > 0) return;
    await storage.transaction('name photos', tx => reprocessIn(tx, conversation, clock.now()));
  }

  /** Removes files without a row. */
  async function sweep(): Promise<void> {
    const removed = await files.removeOrphans(storage.photos.some, unsettled);
    if (removed > 0) log.info({ photos: removed }, 'files of photos that are gone were removed');
  }

  return {
    add,
    get,
    list,
    read,
    remove,
    describe,
    indexAgain,
    sweep,
    /** Finds a photo for the job that describes it, even of a locked conversation. */
    find: (userId: string, id: string): Promise<Photo | null> => storage.photos.get(userId, id),
  };
}

function indexSoon(
  jobs: Pick<Storage['jobs'], 'enqueue'>,
  { userId, conversationId }: Photo,
  now: number,
): Promise<void> {
  const payload = { userId, conversationId };
  return jobs.enqueue({ kind: PHOTO_INDEX_JOB, key: conversationId, runAt: now + INDEX_AFTER_MS, payload });
}
