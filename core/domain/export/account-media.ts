/** Files of an account that lie beside the database, and are in its archive: photos and audio. */
import { createWriteStream } from 'node:fs';
import { access, mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Row } from '../../contract/plugin.ts';
import { freeBytes, syncDirectory } from '../../runtime/files.ts';

/** Length of the id of a row, with which the names of its files begin. */
export const ID_CHARS = 36;
const ENDING = /\.[a-z0-9]{1,8}$/;

/** Files that belong to the rows of a table. */
export interface MediaKind {
  table: string;
  /** In the archive. */
  folder: string;
  /** Names that are taken in. */
  name: RegExp;
  /** Bytes with which every file begins. */
  begins: Buffer;
  /** Names in the archive of the files of a row, among those found; null: it lacks one. */
  wanted(row: Row, found: readonly string[]): readonly string[] | null;
  /** Lists files of a row on the disk, by their names in the archive. */
  find(userId: string, row: Row): Promise<string[]>;
  pathOf(userId: string, name: string): string;
  /** Column with the bytes of all files of a row. */
  bytes?: string;
}

export type AccountMedia = ReturnType<typeof createAccountMedia>;

/** @param minFreeBytes free space on the disk that an import leaves */
export function createAccountMedia({
  dataDir,
  maxPhotoBytes,
  minFreeBytes,
}: {
  dataDir: string;
  maxPhotoBytes: number;
  minFreeBytes: number;
}) {
  const folderOf = (folder: string, userId: string) => join(dataDir, folder, userId);
  const quarantine = join(dataDir, 'untranscribed');

  const photos: MediaKind = {
    ...{ table: 'photos', folder: 'photos', bytes: 'bytes', begins: Buffer.of(0xff, 0xd8, 0xff) },
    name: /^[0-9a-f-]{36}(\.small)?\.jpg$/,
    wanted(row, found) {
      const names = namesOfPhoto(row);
      return names.every(name => found.includes(name)) ? names : null;
    },
    find: async (_, row) => namesOfPhoto(row),
    pathOf: (userId, name) => join(folderOf('photos', userId), name),
  };
  /** Finished ones have no file any more. */
  const recordings: MediaKind = {
    ...{ table: 'recordings', folder: 'recordings', bytes: 'bytes', begins: Buffer.alloc(0) },
    name: /^[0-9a-f-]{36}(\.[a-z0-9]{1,8})?$/,
    wanted({ state }, found) {
      if (state !== 'waiting' && state !== 'running') return [];
      return found.length === 1 ? found : null;
    },
    find: async (_, row) => [`${row.id}${ENDING.exec(String(row.name).toLowerCase())?.[0] ?? ''}`],
    pathOf: (userId, name) => join(folderOf('recordings', userId), name.slice(0, ID_CHARS)),
  };
  const clips: MediaKind = {
    ...{ table: 'clips', folder: 'clips', bytes: 'bytes', begins: Buffer.from('OggS') },
    name: /^[0-9a-f-]{36}\.ogg$/,
    wanted: (_, found) => (found.length === 1 ? found : null),
    find: async (_, row) => [`${row.id}.ogg`],
    pathOf: (userId, name) => join(folderOf('clips', userId), name),
  };
  /** Utterances at which every recogniser failed. Other streams are not exported. */
  const untranscribed: MediaKind = {
    ...{ table: 'streams', folder: 'untranscribed', begins: Buffer.from('RIFF') },
    name: /^[0-9a-f-]{36}-\d{1,15}\.wav$/,
    wanted: (_, found) => (found.length > 0 ? found : null),
    find: async (_, row) =>
      (await readdir(quarantine).catch(() => [])).filter(name => name.startsWith(`${row.id}-`)).sort(),
    pathOf: (_, name) => join(quarantine, name),
  };

  return {
    kinds: [photos, recordings, clips, untranscribed],
    /** Why files of such sizes cannot be taken in; null: they can. */
    async refusal(sizes: Iterable<[kind: MediaKind, bytes: number]>): Promise<string | null> {
      let [all, ofPhotos] = [0, 0];
      for (const [kind, bytes] of sizes) {
        all += bytes;
        if (kind === photos) ofPhotos += bytes;
      }
      if (ofPhotos > maxPhotoBytes)
        return `its photos have ${ofPhotos} bytes, and an account may keep ${maxPhotoBytes} (photos.maxBytesPerUser)`;
      if (all > 0 && (await freeBytes(dataDir)) - all < minFreeBytes)
        return 'the disk of the server has no room for its photos and audio';
      return null;
    },
    /** Deletes the files of an account that has nothing but an import. */
    async removeAll(userId: string, streamIds: readonly string[]): Promise<void> {
      for (const folder of ['photos', 'recordings', 'clips'])
        await rm(folderOf(folder, userId), { recursive: true, force: true });
      for (const id of streamIds)
        for (const name of await untranscribed.find(userId, { id }))
          await rm(join(quarantine, name), { force: true });
    },
  };
}

function namesOfPhoto({ id }: Row): string[] {
  return [`${id}.jpg`, `${id}.small.jpg`];
}

/** Whether a file of this name is there. */
export function isTaken(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Writes a file so that it survives a power loss. Rejects where it does not begin as it has to. */
export async function writeMedia(source: Readable, path: string, begins: Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const target = createWriteStream(path, { mode: 0o600, flush: true });
  await pipeline(source, chunks => checked(chunks, begins), target);
  await syncDirectory(dirname(path));
}

/** Reads a file to its end, and keeps nothing of it. */
export async function checkMedia(source: Readable, begins: Buffer): Promise<void> {
  for await (const _ of checked(source, begins));
}

async function* checked(chunks: AsyncIterable<Buffer>, begins: Buffer): AsyncGenerator<Buffer> {
  let head = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (head.length < begins.length) head = Buffer.concat([head, chunk.subarray(0, begins.length)]);
    yield chunk;
  }
  if (!head.subarray(0, begins.length).equals(begins)) throw new Error('is no file of its kind');
}
