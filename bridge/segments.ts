import { closeSync, fdatasync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeRecords, encodeRecord, type SpoolRecord } from './spool-file.ts';

/** A file of messages in order. Only the last of a recording grows. */
export interface Segment {
  readonly path: string;
  /** Numbers of its first message, and one past its last. */
  readonly first: number;
  readonly next: number;
  readonly firstAtMs: number;
  readonly bytes: number;
}

/** The files of one recording: appended to at one end, taken away at the other. */
export interface Segments {
  readonly list: readonly Segment[];
  /** Bytes added. Throws what the file system throws; then nothing was added. */
  append(record: SpoolRecord): number;
  /** The first message from number `from` on that is here, and those behind it, up to `limit`. Numbers may have holes. */
  from(number: number, limit: number): SpoolRecord[];
  isGrowing(segment: Segment): boolean;
  remove(segment: Segment): void;
  /** Forces appended data onto the disk, without waiting. */
  sync(): void;
  /** Resolves when all of it is. Rejects with what the disk says. */
  settled(): Promise<void>;
  /** The growing file ends here; the next message begins another. */
  roll(): void;
}

interface Growing {
  segment: { path: string; first: number; next: number; firstAtMs: number; bytes: number };
  fd: number;
  /** Also held in memory, since they are read as soon as they are written. */
  records: SpoolRecord[];
  dirty: boolean;
}

/**
 * Restores the segments that an earlier process left in `dir`.
 * @param onDamage called when bytes of a file are unreadable
 */
export async function recoverSegments(dir: string, onDamage: (stretches: number, path: string) => void) {
  const segments: Segment[] = [];
  for (const name of (await readdir(dir)).filter(file => /^\d+\.log$/.test(file)).sort()) {
    const path = join(dir, name);
    const file = await readFile(path);
    const { records, damaged } = decodeRecords(file);
    if (damaged > 0) onDamage(damaged, path);
    const [head, tail] = [records[0], records.at(-1)];
    if (!head || !tail) discard(path);
    else
      segments.push({
        path,
        first: head.number,
        next: tail.number + 1,
        firstAtMs: head.atMs,
        bytes: file.length,
      });
  }
  return segments;
}

/** @param maxBytes of one file */
export function createSegments(dir: string, found: Segment[], maxBytes: number): Segments {
  const list = [...found];
  const forcing = new Set<Promise<void>>();
  let growing: Growing | null = null;
  let cached: { path: string; records: SpoolRecord[] } | null = null;

  function grow({ number, atMs }: SpoolRecord): Growing {
    const path = join(dir, `${String(number).padStart(10, '0')}.log`);
    const fd = openSync(path, 'w', 0o600);
    const segment = { path, first: number, next: number, firstAtMs: atMs, bytes: 0 };
    list.push(segment);
    return { segment, fd, records: [], dirty: false };
  }

  function roll(): void {
    if (!growing) return;
    const { fd, dirty, segment } = growing;
    growing = null;
    if (segment.bytes === 0) remove(segment);
    if (dirty) force(fd, () => closeSync(fd));
    else closeSync(fd);
  }

  /** Forces a file onto the disk. @param then whatever the disk says */
  function force(fd: number, then: () => void = () => {}): void {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => {}); // an error shows at the next write, and to those who wait for it
    const mine = promise.finally(() => forcing.delete(mine));
    mine.catch(() => {});
    forcing.add(mine);
    fdatasync(fd, error => {
      then();
      if (error) reject(error);
      else resolve();
    });
  }

  function remove(segment: Segment): void {
    if (growing?.segment === segment) roll();
    if (!list.includes(segment)) return;
    list.splice(list.indexOf(segment), 1);
    if (cached?.path === segment.path) cached = null;
    discard(segment.path);
  }

  function recordsOf(segment: Segment): SpoolRecord[] {
    if (growing?.segment === segment) return growing.records;
    if (cached?.path === segment.path) return cached.records;
    const { records } = decodeRecords(readFileSync(segment.path));
    cached = { path: segment.path, records };
    return records;
  }

  return {
    list,
    append(record) {
      const encoded = encodeRecord(record);
      if (growing && growing.segment.bytes + encoded.length > maxBytes) roll();
      growing ??= grow(record);
      const { segment, fd, records } = growing;
      try {
        writeAll(fd, encoded);
      } catch (error) {
        roll(); // half a record may be in it
        throw error;
      }
      growing.dirty = true;
      records.push(record);
      segment.next = record.number + 1;
      segment.bytes += encoded.length;
      return encoded.length;
    },
    from(number, limit) {
      for (const segment of list) {
        if (segment.next <= number) continue;
        const records = recordsOf(segment);
        const index = indexFrom(records, number);
        if (index < records.length) return records.slice(index, index + limit);
      }
      return [];
    },
    isGrowing: segment => growing?.segment === segment,
    remove,
    sync() {
      if (!growing?.dirty) return;
      growing.dirty = false;
      force(growing.fd);
    },
    async settled() {
      this.sync();
      await Promise.all(forcing);
    },
    roll,
  };
}

/** A file that cannot be deleted is left: the next start makes the best of it. */
export function discard(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {}
}

/** A full disk may take a part of it only. */
function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

/** Where `number`, or the first after it, stands; numbers ascend, mostly without holes. */
function indexFrom(records: SpoolRecord[], number: number): number {
  const guess = number - (records[0]?.number ?? 0);
  if (records[guess]?.number === number) return guess;
  const index = records.findIndex(record => record.number >= number);
  return index < 0 ? records.length : index;
}
