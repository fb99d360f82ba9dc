import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import { type CameraPhoto, orientedJpeg } from '../framing/photo.ts';

const About = z.object({
  clientDeviceId: z.string().min(1),
  /** Display name. */
  deviceName: z.string(),
  /** Core's value for the kind of device. */
  source: z.string().min(1),
  /** UTC epoch ms. */
  atMs: z.number().int().nonnegative(),
});
type About = z.infer<typeof About>;

/** A stored photo that core has not confirmed. */
export interface WaitingPhoto extends About {
  /** Id under which it is sent to core. */
  id: string;
  path: string;
  /** Rejects when the file cannot be read. */
  jpeg(): Promise<Buffer>;
}

/** Photos of all wearables, kept on disk until core has them. */
export interface PhotoQueue {
  /** Resolves when the photo is synced to disk; rejects when it cannot be stored. */
  add(about: About, photo: CameraPhoto): Promise<void>;
  /** Returns the oldest photo of a wearable. */
  first(clientDeviceId: string): WaitingPhoto | null;
  /** Returns the time (UTC epoch ms) of the last photo that follows the oldest one without a long pause in between. */
  lastWithin(clientDeviceId: string, pauseMs: number): number;
  /** Deletes a photo that core has. */
  stored(photo: WaitingPhoto): Promise<void>;
  /** Deletes and counts a photo that core will never accept. */
  refused(photo: WaitingPhoto): Promise<void>;
  /** Returns the wearables with photos. */
  devices(): string[];
  /** Calls `listener` for each new photo of this wearable. @returns a function that ends it */
  watch(clientDeviceId: string, listener: () => void): () => void;
  readonly counts: Readonly<PhotoCounts>;
}

export interface PhotoCounts {
  /** Number of stored photos. */
  waiting: number;
  /** Photos dropped before core had them, because there were too many or the disk was full. */
  dropped: number;
  /** Photos that core refused. */
  refused: number;
}

const MAX_WAITING = 1000;
/** A file holds a line of JSON with the metadata, then the photo. */
const LINE_END = 0x0a;
const MAX_LINE_BYTES = 4096;
const NAME = /^\d{14}-([0-9a-f-]{36})\.photo$/;

/** Opens the queue in `dir`, including photos of earlier processes. */
export async function openPhotos({
  dir,
  log,
  maxWaiting = MAX_WAITING,
}: {
  dir: string;
  log: Logger;
  /** Maximum number of photos of all wearables; beyond it the oldest is dropped. */
  maxWaiting?: number;
}): Promise<PhotoQueue> {
  const counts = { dropped: 0, refused: 0 };
  const watchers = new Map<string, Set<() => void>>();
  const photos: WaitingPhoto[] = [];

  async function forget(photo: WaitingPhoto): Promise<void> {
    const at = photos.indexOf(photo);
    if (at >= 0) photos.splice(at, 1);
    await rm(photo.path, { force: true });
  }

  async function makeRoom(): Promise<void> {
    while (photos.length > maxWaiting) {
      const [oldest] = photos;
      if (!oldest) return;
      counts.dropped += 1;
      if (counts.dropped % maxWaiting === 1 || maxWaiting === 1)
        log.warn(
          { dropped: counts.dropped },
          `dropped the oldest of ${maxWaiting} photos that wait for core`,
        );
      await forget(oldest);
    }
  }

  function first(clientDeviceId: string): WaitingPhoto | null {
    return photos.find(photo => photo.clientDeviceId === clientDeviceId) ?? null;
  }

  for (const name of (await readdir(dir).catch(() => [])).sort()) {
    const path = join(dir, name);
    const photo = await recover(path, name);
    if (photo) photos.push(photo);
    else await rm(path, { recursive: true, force: true }); // incomplete, or not a photo
  }
  await makeRoom();

  return {
    async add(about, photo) {
      const id = randomUUID();
      const path = join(dir, `${String(about.atMs).padStart(14, '0')}-${id}.photo`);
      try {
        await mkdir(dir, { recursive: true, mode: 0o700 });
        await writeWhole(
          dir,
          path,
          Buffer.concat([Buffer.from(`${JSON.stringify(about)}\n`), orientedJpeg(photo)]),
        );
      } catch (error) {
        counts.dropped += 1;
        await rm(`${path}.new`, { force: true }).catch(() => {});
        throw error;
      }
      photos.push(waitingOf(path, id, about));
      await makeRoom();
      for (const listener of watchers.get(about.clientDeviceId) ?? []) listener();
    },
    first,
    lastWithin(clientDeviceId, pauseMs) {
      let last = first(clientDeviceId)?.atMs ?? 0;
      for (const photo of photos)
        if (photo.clientDeviceId === clientDeviceId && photo.atMs <= last + pauseMs)
          last = Math.max(last, photo.atMs);
      return last;
    },
    stored: forget,
    async refused(photo) {
      counts.refused += 1;
      await forget(photo);
    },
    devices: () => [...new Set(photos.map(({ clientDeviceId }) => clientDeviceId))],
    watch(clientDeviceId, listener) {
      const listeners = watchers.get(clientDeviceId) ?? new Set();
      watchers.set(clientDeviceId, listeners.add(listener));
      return () => listeners.delete(listener);
    },
    get counts() {
      return { waiting: photos.length, ...counts };
    },
  };
}

function waitingOf(path: string, id: string, about: About): WaitingPhoto {
  const jpeg = async () => {
    const file = await readFile(path);
    return file.subarray(file.indexOf(LINE_END) + 1);
  };
  return { ...about, id, path, jpeg };
}

/** Parses the file of a photo. Null: it is none. */
async function recover(path: string, name: string): Promise<WaitingPhoto | null> {
  const id = NAME.exec(name)?.[1];
  if (id === undefined) return null;
  try {
    return waitingOf(path, id, About.parse(JSON.parse(await firstLine(path))));
  } catch {
    return null;
  }
}

async function firstLine(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_LINE_BYTES), 0, MAX_LINE_BYTES, 0);
    return buffer
      .subarray(0, bytesRead)
      .subarray(0, Math.max(0, buffer.indexOf(LINE_END)))
      .toString();
  } finally {
    await file.close();
  }
}

/** Writes a file atomically, so that a crash or power loss leaves no part of it. */
async function writeWhole(dir: string, path: string, bytes: Buffer): Promise<void> {
  const file = await open(`${path}.new`, 'w', 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
  const directory = await open(dir);
  await directory.sync().finally(() => directory.close());
}
