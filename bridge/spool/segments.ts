import { closeSync, fdatasync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeRecords, encodeRecord, type SpoolRecord } from './spool-file.ts';

/** A file of consecutive messages. Only the last one of a recording grows. */
export interface Segment {
  readonly path: string;
  /** Number of its first message, and the number after its last. */
  readonly first: number;
  readonly next: number;
  readonly firstAtMs: number;
  readonly bytes: number;
}

/** Files of one recording. Messages are appended to the last one; the first ones are deleted. */
export interface Segments {
  readonly list: readonly Segment[];
  /** Appends a message. @returns the bytes written. @throws the error of the file system; then nothing was appended */
  append(record: SpoolRecord): number;
  /** Reads up to `limit` messages from number `from` on, or from the next one stored. Numbers may have gaps. */
  from(number: number, limit: number): SpoolRecord[];
  isGrowing(segment: Segment): boolean;
  remove(segment: Segment): void;
  /** Starts to sync appended data to disk. */
  sync(): void;
  /** Resolves when all data are synced. Rejects with the error of the file system. */
  settled(): Promise<void>;
  /** Closes the last file; the next message begins a new one. */
  roll(): void;
}

interface Growing {
  segment: { path: string; first: number; next: number; firstAtMs: number; bytes: number };
  fd: number;
  /** Its messages in memory, because live audio is read right after it is written. */
  records: SpoolRecord[];
  dirty: boolean;
  /** Number of syncs in progress, during which the file stays open. */
  forcing: number;
  /** Whether it is complete. */
  isRolled: boolean;
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
    return { segment, fd, records: [], dirty: false, forcing: 0, isRolled: false };
  }

  function roll(): void {
    if (!growing) return;
    const rolled = growing;
    growing = null;
    rolled.isRolled = true;
    if (rolled.segment.bytes === 0) remove(rolled.segment);
    if (rolled.dirty) force(rolled);
    else if (rolled.forcing === 0) closeSync(rolled.fd);
  }

  /** Syncs a file to disk. */
  function force(file: Growing): void {
    file.forcing += 1;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => {}); // callers of `synced` get the error, and the next write fails with it
    const mine = promise.finally(() => forcing.delete(mine));
    mine.catch(() => {});
    forcing.add(mine);
    fdatasync(file.fd, error => {
      file.forcing -= 1;
      if (file.isRolled && file.forcing === 0) closeSync(file.fd);
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
        roll(); // the file may end with a part of the record
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
      force(growing);
    },
    async settled() {
      this.sync();
      await Promise.all(forcing);
    },
    roll,
  };
}

/** Deletes a file. If that fails it is left, and restored at the next start. */
export function discard(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {}
}

/** Writes all bytes. A single write may store only a part when the disk is full. */
function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

/** Returns the index of `number`, or of the first one after it. Numbers ascend, mostly without gaps. */
function indexFrom(records: SpoolRecord[], number: number): number {
  const guess = number - (records[0]?.number ?? 0);
  if (records[guess]?.number === number) return guess;
  const index = records.findIndex(record => record.number >= number);
  return index < 0 ? records.length : index;
}
