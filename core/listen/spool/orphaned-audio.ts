import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { namesIn, syncDirectory } from '../../runtime/files.ts';
import type { Log } from '../../runtime/log.ts';
import { sizeOf } from '../../runtime/terminal.ts';
import { sizeOf as bytesOf, type Entry, encodeChunk, withoutHoles } from './chunk.ts';
import type { HeldStream, StreamName } from './spool.ts';

/** Folder in the data directory. */
export const ORPHANED = 'orphaned-audio';
const FILE = /^([0-9a-f-]{36})_([0-9a-f-]{36})\.log$/;
const SPOOL_FILE = /^(\d{12})\.log$/;
const PART_BYTES = 1024 * 1024;

/**
 * Audio whose stream the database does not know, as after the restore of an older backup. Each file holds one stream in
 * the format of the spool.
 */
export interface OrphanedAudio {
  /** Saves everything held of the stream, unless its account was removed. It is on the disk when this resolves. */
  save(stream: StreamName, held: HeldStream): Promise<void>;
  /** Moves files back into the spool whose streams are known now. Called while the spool is closed. */
  takeBack(spoolDir: string, isKnown: (stream: StreamName) => Promise<boolean>): Promise<void>;
}

export function createOrphanedAudio({
  dataDir,
  log,
  wasRemoved,
}: {
  dataDir: string;
  log: Log;
  wasRemoved(userId: string): Promise<boolean>;
}): OrphanedAudio {
  const dir = join(dataDir, ORPHANED);

  async function save(stream: StreamName, held: HeldStream): Promise<void> {
    if (await wasRemoved(stream.userId)) return;
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const path = join(dir, `${stream.userId}_${stream.id}.log`);
    const file = await open(`${path}.unfinished`, 'w', 0o600);
    try {
      held.end();
      for await (const entries of parts(held.read(0)))
        for (const part of withoutHoles(entries))
          await file.writeFile(encodeChunk({ streamId: stream.id, userId: stream.userId, entries: part }));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}.unfinished`, path);
    await syncDirectory(dir);
    await syncDirectory(dataDir);
    log.error(
      { stream: stream.id, user: stream.userId, path },
      'the database does not know this stream: its audio is kept in a file',
    );
  }

  async function takeBack(spoolDir: string, isKnown: (stream: StreamName) => Promise<boolean>) {
    let number = await lastNumber(spoolDir);
    for (const name of await namesIn(dir)) {
      const [, userId, id] = FILE.exec(name) ?? [];
      if (userId === undefined || id === undefined || !(await isKnown({ userId, id }))) continue;
      number += 1;
      await rename(join(dir, name), join(spoolDir, `${String(number).padStart(12, '0')}.log`));
      log.info({ stream: id, user: userId }, 'the database knows this stream again: its audio is taken back');
    }
    await syncDirectory(spoolDir);
  }

  return { save, takeBack };
}

/** Deletes the orphaned audio of a user. */
export async function removeOrphanedAudio(dataDir: string, userId: string): Promise<void> {
  const dir = join(dataDir, ORPHANED);
  const names = (await namesIn(dir)).filter(name => FILE.exec(name)?.[1] === userId);
  for (const name of names) await rm(join(dir, name), { force: true });
}

/** Counts the files of orphaned audio, and their bytes. */
export async function countOrphanedAudio(dataDir: string): Promise<{ files: number; bytes: number }> {
  const dir = join(dataDir, ORPHANED);
  const names = (await namesIn(dir)).filter(name => FILE.test(name));
  const sizes = await Promise.all(names.map(async name => (await stat(join(dir, name))).size));
  return { files: names.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

/** Describes the amount in words. */
export function tellOrphaned(files: number, bytes: number): string {
  const what = files === 1 ? '1 recording' : `${files} recordings`;
  return `${what} (${sizeOf(bytes)}) of streams that the database does not know`;
}

export const ORPHANED_CURE =
  'put back the database that knows them and start Earshot again; or delete the files, if nobody misses them';

async function* parts(entries: AsyncIterable<Entry | 'pause'>): AsyncGenerator<Entry[]> {
  let part: Entry[] = [];
  let bytes = 0;
  for await (const entry of entries) {
    if (entry === 'pause') continue;
    part.push(entry);
    bytes += bytesOf(entry);
    if (bytes < PART_BYTES) continue;
    yield part;
    part = [];
    bytes = 0;
  }
  if (part.length > 0) yield part;
}

async function lastNumber(spoolDir: string): Promise<number> {
  const numbers = (await namesIn(spoolDir)).map(name => Number(SPOOL_FILE.exec(name)?.[1] ?? 0));
  return numbers.reduce((most, number) => Math.max(most, number), 0);
}
