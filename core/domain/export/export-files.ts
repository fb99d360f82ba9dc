/** Exports kept as files for a day, so that a download that was interrupted can be resumed. */
import { createWriteStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Clock, User } from '../../contract/model.ts';
import { AppError, toAppError } from '../../runtime/errors.ts';
import { freeBytes, syncDirectory } from '../../runtime/files.ts';
import type { Log } from '../../runtime/log.ts';
import { newId, timeOfId } from '../ids.ts';
import type { AccountExport } from './export.ts';

/** Folder in the data directory, with a folder for each account. It is not part of backups. */
const EXPORTS = 'exports';
const KEPT_MS = 24 * 3_600_000;
/** Exports being written at a time, of all accounts. */
const MAX_AT_ONCE = 2;
/** Bytes between two looks at the free space of the disk. */
const LOOK_BYTES = 16 * 2 ** 20;
const ENDING = '.zip';

export interface ExportFile {
  id: string;
  state: 'running' | 'ready' | 'failed';
  bytes: number;
  /** Reason of a failure, for people. */
  error: string | null;
  /** Epoch ms. */
  createdAt: number;
  expiresAt: number;
}

interface Making {
  id: string;
  bytes: number;
  stop: AbortController;
  done: Promise<void>;
}

export type ExportFiles = ReturnType<typeof createExportFiles>;

/** @param minFreeBytes free space on the disk that an export leaves */
export function createExportFiles({
  dataDir,
  minFreeBytes,
  accountExport,
  clock,
  log,
}: {
  dataDir: string;
  minFreeBytes: number;
  accountExport: AccountExport;
  clock: Pick<Clock, 'now'>;
  log: Log;
}) {
  /** By user. */
  const making = new Map<string, Making>();
  /** The last one of a user, where it failed. */
  const failed = new Map<string, { id: string; error: string }>();
  const folderOf = (userId: string) => join(dataDir, EXPORTS, userId);
  const pathOf = (userId: string, id: string) => join(folderOf(userId), `${id}${ENDING}`);

  async function write(user: User, archive: Readable, current: Making): Promise<void> {
    const folder = folderOf(user.id);
    const draft = join(folder, `${current.id}.unfinished`);
    try {
      await rm(folder, { recursive: true, force: true }); // the one before: each account has one
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await pipeline(
        archive,
        chunks => withinRoom(chunks, folder, current),
        createWriteStream(draft, { flags: 'wx', mode: 0o600, flush: true }),
        { signal: current.stop.signal },
      );
      await rename(draft, pathOf(user.id, current.id));
      await syncDirectory(folder);
    } catch (error) {
      archive.destroy();
      await rm(folder, { recursive: true, force: true });
      if (current.stop.signal.aborted) return;
      const { expose, message } = toAppError(error);
      failed.set(user.id, {
        id: current.id,
        error: expose ? message : 'The server failed; its log says why',
      });
      log.warn({ err: error, user: user.id }, 'an export could not be written');
    } finally {
      making.delete(user.id);
    }
  }

  async function* withinRoom(
    chunks: AsyncIterable<Buffer>,
    folder: string,
    current: Making,
  ): AsyncGenerator<Buffer> {
    let lookAt = 0;
    for await (const chunk of chunks) {
      if (current.bytes >= lookAt) {
        lookAt = current.bytes + LOOK_BYTES;
        if ((await freeBytes(folder)) < minFreeBytes + LOOK_BYTES)
          throw new AppError('storage_full', 'The disk of the server has no room for the export');
      }
      current.bytes += chunk.length;
      yield chunk;
    }
  }

  function shown(id: string, state: ExportFile['state'], bytes: number, error: string | null): ExportFile {
    const createdAt = timeOfId(id);
    return { id, state, bytes, error, createdAt, expiresAt: createdAt + KEPT_MS };
  }

  /** Returns the export that an account has, if any. */
  async function current(userId: string): Promise<ExportFile | null> {
    const running = making.get(userId);
    if (running) return shown(running.id, 'running', running.bytes, null);
    const name = (await namesIn(folderOf(userId))).find(each => each.endsWith(ENDING));
    if (name !== undefined) {
      const id = name.slice(0, -ENDING.length);
      const file = await stat(pathOf(userId, id)).catch(() => null);
      if (file && timeOfId(id) + KEPT_MS > clock.now()) return shown(id, 'ready', file.size, null);
    }
    const failure = failed.get(userId);
    return failure ? shown(failure.id, 'failed', 0, failure.error) : null;
  }

  async function stop(userId: string): Promise<void> {
    const running = making.get(userId);
    running?.stop.abort();
    await running?.done;
  }

  async function removeAll(userId: string): Promise<void> {
    await stop(userId);
    failed.delete(userId);
    await rm(folderOf(userId), { recursive: true, force: true });
  }

  return {
    current,
    removeAll,
    /** Begins an export, in the place of the one before; where one is being written, that one is answered. */
    async begin(user: User): Promise<ExportFile> {
      if (!making.has(user.id)) {
        if (making.size >= MAX_AT_ONCE)
          throw new AppError('rate_limited', 'Exports of other accounts are being made: try again later', {
            retryAfter: 60,
          });
        const archive = accountExport.archive(user);
        const begun: Making = {
          ...{ id: newId(clock.now()), bytes: 0 },
          ...{ stop: new AbortController(), done: Promise.resolve() },
        };
        making.set(user.id, begun);
        failed.delete(user.id);
        begun.done = write(user, archive, begun);
      }
      const begun = await current(user.id);
      if (!begun) throw new AppError('unavailable', 'The export was deleted meanwhile');
      return begun;
    },
    /** Opens a complete export; the caller closes it. `not_found`, or `conflict` while it is being written. */
    async open(userId: string, id: string): Promise<{ handle: FileHandle; bytes: number }> {
      const found = await current(userId);
      if (found?.id !== id || found.state === 'failed') throw absent();
      if (found.state === 'running')
        throw new AppError('conflict', 'The export is being made: try again when its state is ready');
      const handle = await open(pathOf(userId, id)).catch(cause => {
        throw absent(cause);
      });
      return { handle, bytes: found.bytes };
    },
    /** `not_found` */
    async remove(userId: string, id: string): Promise<void> {
      if ((await current(userId))?.id !== id) throw absent();
      await removeAll(userId);
    },
    /** Deletes what has expired, and what a server that was killed left unfinished. */
    async sweep(): Promise<void> {
      for (const userId of await namesIn(join(dataDir, EXPORTS)))
        if (!making.has(userId) && (await current(userId))?.state !== 'ready')
          await rm(folderOf(userId), { recursive: true, force: true });
    },
    /** Ends those being written. */
    async stop(): Promise<void> {
      await Promise.all([...making.keys()].map(stop));
    },
  };
}

function absent(cause?: unknown): AppError {
  return new AppError('not_found', 'There is no such export, or it has expired', { cause });
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
