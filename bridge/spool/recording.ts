import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { open as openFile, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { KEEP_ALIVE_BYTES } from '../../core/listen/protocol.ts';
import type { Clock } from '../clock.ts';
import { createSegments, discard, recoverSegments, type Segment } from './segments.ts';
import type { SpoolRecord } from './spool-file.ts';

const RecordingInfo = z.object({
  /** Permanent id of the wearable. */
  clientDeviceId: z.string().min(1),
  /** Display name. */
  deviceName: z.string(),
  /** Core's value for the kind of device. */
  source: z.string().min(1),
  codec: z.string().min(1),
  /** Hz. */
  sampleRate: z.number().int().positive(),
  frameMs: z.number().positive(),
  /** UTC epoch ms of the first message. */
  startedAtMs: z.number().int().nonnegative(),
  /** Recorded by the device earlier: times follow from the length of the audio, not from its arrival. */
  stored: z.boolean().default(false),
});
export type RecordingInfo = z.input<typeof RecordingInfo>;

/** `stream`: id in core; `base`: number of its first message within the recording. */
const Meta = RecordingInfo.extend({
  stream: z.uuid(),
  base: z.number().int().nonnegative(),
  /** Time of that message, in ms since the start of the recording. */
  baseAtMs: z.number().int().nonnegative(),
});
type Meta = z.infer<typeof Meta>;

/** Part of the spool that a recording uses. */
export interface Store {
  segmentBytes: number;
  clock: Clock;
  grew(bytes: number): void;
  /** Drops the oldest file of all recordings. @returns false if there is none */
  makeRoom(): boolean;
  lost(messages: number, ms: number, why: string): void;
  damaged(stretches: number, file: string): void;
  changed(clientDeviceId: string): void;
  gone(recording: Recording): void;
}

/** Messages of one connection of a wearable, stored on disk and numbered from 0. */
export interface Recording {
  readonly info: RecordingInfo;
  /** Id of the stream in core. Changes when audio in the middle was dropped, since core's count has no gaps. */
  readonly stream: string;
  /** Number of the stream's first message. */
  readonly base: number;
  /** UTC epoch ms of the stream's first message. */
  readonly streamStartedAtMs: number;
  /** Number of the first message that is still stored. */
  readonly first: number;
  /** Number that the next message will get. */
  readonly next: number;
  /** Whether no more messages will follow. */
  readonly ended: boolean;
  /** UTC epoch ms of the oldest audio not confirmed by core, as exact as files are long; null: it has everything. */
  readonly unconfirmedSinceMs: number | null;
  /** Appends a message. Never throws: what cannot be stored counts as lost. @param gapMs loss just before it */
  append(bytes: Uint8Array, gapMs: number): void;
  /** Reads up to `limit` messages from number `from` on; empty: none yet. Null: that message is lost, see `skip`. */
  read(from: number, limit: number): SpoolRecord[] | null;
  /** Begins a new stream at the first stored message from number `from` on. */
  skip(from: number): void;
  /** Marks messages below this number as sent: until core tells what it has, dropping them is not counted as a loss. */
  sent(below: number): void;
  /** Deletes messages below this number, which core has; and the recording, if it has ended and none is left. */
  cut(below: number): void;
  end(): void;
  /** Drops the oldest file. @returns false if there is none */
  dropOldest(): boolean;
  /** Starts to sync appended data to disk. */
  sync(): void;
  /** Resolves when everything appended is synced to disk. Rejects if some of it could not be stored. */
  settled(): Promise<void>;
  remove(): void;
  close(): void;
}

const META = 'meta.json';
/** Longest gap that can be announced to core. */
const MAX_GAP_MS = 86_400_000;

/** Begins a recording in `dir`, which is created with the first message. */
export function createRecording(dir: string, info: RecordingInfo, store: Store): Recording {
  const { stored = false } = info;
  return open(dir, { ...info, stored, stream: randomUUID(), base: 0, baseAtMs: 0 }, null, store);
}

/** Restores a recording of an earlier process, which has ended; null if it is unreadable. */
export async function recoverRecording(dir: string, store: Store): Promise<Recording | null> {
  const meta = await readMeta(dir);
  if (!meta) return null;
  const segments = await recoverSegments(dir, store.damaged);
  const recording = open(dir, meta, segments, store);
  store.grew(segments.reduce((sum, { bytes }) => sum + bytes, 0));
  recording.end();
  return recording;
}

/** @param found what is stored already; null: nothing */
function open(dir: string, startMeta: Meta, found: Segment[] | null, store: Store): Recording {
  const segments = createSegments(dir, found ?? [], store.segmentBytes);
  let meta = startMeta;
  let next = Math.max(found?.at(-1)?.next ?? 0, meta.base);
  let sentBelow = 0;
  let heldBelow = meta.base;
  let isOnDisk = found !== null;
  let ended = false;
  let removed = false;
  /** Loss that is not announced to core yet; may be slightly negative, since announcements are rounded. */
  let pendingGapMs = 0;

  const openedAtMs = store.clock.now();
  /** Duration of everything appended, including gaps. */
  let heldMs = 0;
  let failures = 0;

  const age = () => clamp(meta.stored ? heldMs : store.clock.now() - meta.startedAtMs, 0xffffffff);

  function append(bytes: Uint8Array, gapMs: number): void {
    if (ended) return;
    if (bytes.length <= KEEP_ALIVE_BYTES) {
      pendingGapMs += gapMs + messageMs(meta, bytes); // core would take it for a keep-alive, which it does not count
      return;
    }
    const gap = gapMs + pendingGapMs;
    const toldMs = clamp(gap, MAX_GAP_MS);
    const record = { number: next, gapMs: toldMs, atMs: age(), bytes: Buffer.from(bytes) };
    let failure = tryAppend(record);
    if (failure?.isFull && store.makeRoom()) failure = tryAppend(record);
    heldMs += gapMs + messageMs(meta, bytes);
    if (failure) {
      failures += 1;
      const lostMs = messageMs(meta, bytes);
      pendingGapMs = gap + lostMs;
      store.lost(1, lostMs, `it cannot be written to disk (${failure.reason})`);
      return;
    }
    pendingGapMs = gap - toldMs; // the remainder: core is told whole milliseconds
    store.changed(meta.clientDeviceId);
  }

  /** Writes a message. @returns why it could not be stored; null: it was */
  function tryAppend(record: SpoolRecord): { reason: string; isFull: boolean } | null {
    try {
      if (!isOnDisk) settle();
      const bytes = segments.append(record);
      next = record.number + 1;
      store.grew(bytes);
      return null;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return { reason, isFull: /ENOSPC|EDQUOT/.test(reason) };
    }
  }

  function settle(): void {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    writeMeta(dir, meta);
    isOnDisk = true;
  }

  function read(from: number, limit: number): SpoolRecord[] | null {
    if (from >= next) return [];
    const run = segments.from(from, limit);
    if (run[0]?.number !== from) return null;
    const hole = run.findIndex(({ number }, i) => number !== from + i);
    return hole < 0 ? run : run.slice(0, hole);
  }

  function skip(from: number): void {
    const record = segments.from(from, 1)[0];
    const to = record?.number ?? next;
    loseUpTo(to, from, 'it was damaged, or dropped before core had received it');
    beginStream(to, record?.atMs ?? age());
    removeWhere(segment => segment.next <= to);
    if (ended && to >= next) remove();
  }

  async function settled(): Promise<void> {
    await segments.settled();
    for (const path of [dir, dirname(dir)])
      if (isOnDisk && !removed)
        await syncDirectory(path).catch(error => {
          if (!removed) throw error; // otherwise core has everything, and the files were deleted
        });
    if (failures > 0) throw new Error('audio could not be kept on disk');
  }

  function loseUpTo(to: number, from: number, why: string): void {
    const lost = to - Math.max(from, heldBelow);
    if (lost <= 0) return;
    failures += 1;
    store.lost(lost, lost * meta.frameMs, why);
  }

  function beginStream(base: number, baseAtMs: number): void {
    meta = { ...meta, stream: randomUUID(), base, baseAtMs };
    heldBelow = base;
    sentBelow = base;
    try {
      if (isOnDisk) writeMeta(dir, meta);
    } catch {
      // The disk is full. If the bridge is killed now, core's count will differ from ours, and a new stream begins.
    }
  }

  function removeWhere(which: (segment: Segment) => boolean): void {
    for (const segment of segments.list.filter(which)) {
      segments.remove(segment);
      store.grew(-segment.bytes);
    }
  }

  function dropOldest(): boolean {
    const [oldest, after] = segments.list;
    if (!oldest) return false;
    const from = Math.max(oldest.first, sentBelow);
    if (oldest.next > Math.max(from, heldBelow)) {
      loseUpTo(oldest.next, from, 'the spool is full, so the oldest was dropped');
      // Saved before the file is deleted: after a crash in between, core's count and ours must not differ.
      beginStream(oldest.next, after?.firstAtMs ?? age());
    }
    removeWhere(segment => segment === oldest);
    if (ended && segments.list.length === 0) remove();
    return true;
  }

  function cut(below: number): void {
    heldBelow = Math.max(heldBelow, Math.min(below, next));
    // The file being written is kept: otherwise live audio would make a new file several times a second.
    removeWhere(segment => segment.next <= heldBelow && !segments.isGrowing(segment));
    if (ended && heldBelow >= next) remove();
  }

  function remove(): void {
    if (removed) return;
    removed = true;
    ended = true;
    removeWhere(() => true);
    discard(dir);
    store.gone(recording);
    store.changed(meta.clientDeviceId);
  }

  const recording: Recording = {
    info: startMeta,
    get stream() {
      return meta.stream;
    },
    get base() {
      return meta.base;
    },
    get streamStartedAtMs() {
      return meta.startedAtMs + meta.baseAtMs;
    },
    get first() {
      return segments.list[0]?.first ?? next;
    },
    get next() {
      return next;
    },
    get ended() {
      return ended;
    },
    get unconfirmedSinceMs() {
      const oldest = segments.list.find(segment => segment.next > heldBelow);
      if (!oldest) return null;
      return meta.stored ? openedAtMs : meta.startedAtMs + oldest.firstAtMs;
    },
    append,
    read,
    skip,
    sent(below) {
      sentBelow = below;
    },
    cut,
    end() {
      if (ended) return;
      ended = true;
      segments.roll();
      if (heldBelow >= next) remove();
      else store.changed(meta.clientDeviceId);
    },
    dropOldest,
    sync: segments.sync,
    settled,
    remove,
    close: segments.roll,
  };
  return recording;
}

const SAMPLE_BYTES: Readonly<Record<string, number>> = { pcm8: 1, pcm16: 2 };

/** Duration of a message; a PCM message may hold a part of a frame. */
function messageMs({ codec, sampleRate, frameMs }: RecordingInfo, { length }: Uint8Array): number {
  const sampleBytes = SAMPLE_BYTES[codec];
  return sampleBytes ? (length * 1000) / (sampleBytes * sampleRate) : frameMs;
}

function clamp(ms: number, max: number): number {
  return Math.max(0, Math.min(max, Math.round(ms)));
}

async function readMeta(dir: string): Promise<Meta | null> {
  try {
    return Meta.parse(JSON.parse(await readFile(join(dir, META), 'utf8')));
  } catch {
    return null;
  }
}

/** Syncs a directory, so that new files in it survive a power loss. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await openFile(path);
  await directory.sync().finally(() => directory.close());
}

/** Writes a file atomically. */
function writeMeta(dir: string, meta: Meta): void {
  const path = join(dir, META);
  const fd = openSync(`${path}.new`, 'w', 0o600);
  try {
    writeSync(fd, JSON.stringify(meta));
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(`${path}.new`, path);
}
