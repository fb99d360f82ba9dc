import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { open as openFile, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { KEEP_ALIVE_BYTES } from '../core/listen/protocol.ts';
import type { Clock } from './clock.ts';
import { createSegments, discard, recoverSegments, type Segment } from './segments.ts';
import type { SpoolRecord } from './spool-file.ts';

const RecordingInfo = z.object({
  /** One per wearable, for ever. */
  clientDeviceId: z.string().min(1),
  /** For people. */
  deviceName: z.string(),
  /** As core knows the kind of device. */
  source: z.string().min(1),
  codec: z.string().min(1),
  /** Hz. */
  sampleRate: z.number().int().positive(),
  frameMs: z.number().positive(),
  /** UTC epoch ms of the first message. */
  startedAtMs: z.number().int().nonnegative(),
  /** The device had recorded it before it came: its time goes by what it holds. */
  stored: z.boolean().default(false),
});
export type RecordingInfo = z.input<typeof RecordingInfo>;

/** `stream`: what core knows it by; `base`: number of the stream's first message within the recording. */
const Meta = RecordingInfo.extend({
  stream: z.uuid(),
  base: z.number().int().nonnegative(),
  /** When that message was recorded, in ms since the recording began. */
  baseAtMs: z.number().int().nonnegative(),
});
type Meta = z.infer<typeof Meta>;

/** Part of the spool that a recording needs. */
export interface Store {
  segmentBytes: number;
  clock: Clock;
  grew(bytes: number): void;
  /** Drops the oldest of all; false when there is nothing. */
  makeRoom(): boolean;
  lost(messages: number, ms: number, why: string): void;
  damaged(stretches: number, file: string): void;
  changed(clientDeviceId: string): void;
  gone(recording: Recording): void;
}

/** Messages from one connection of one wearable, on disk. Numbers count from 0. */
export interface Recording {
  readonly info: RecordingInfo;
  /** Under which core counts it; changes when audio in the middle is gone, since core's count has no holes. */
  readonly stream: string;
  /** Number of the stream's first message. */
  readonly base: number;
  /** UTC epoch ms of the stream's first message. */
  readonly streamStartedAtMs: number;
  /** First message that is still here. */
  readonly first: number;
  /** One past the last message. */
  readonly next: number;
  /** No message will follow. */
  readonly ended: boolean;
  /** UTC epoch ms from which on core has not confirmed what is here, to the length of a file; null: it has all. */
  readonly unconfirmedSinceMs: number | null;
  /** Never throws; what cannot be stored is counted, and core is told of it as a loss. @param gapMs of a loss just before */
  append(bytes: Uint8Array, gapMs: number): void;
  /** Up to `limit` messages from number `from` on; empty: none yet. Null: that one is lost, see `skip`. */
  read(from: number, limit: number): SpoolRecord[] | null;
  /** Begins a new stream at the first message from number `from` on that is still here. */
  skip(from: number): void;
  /** Messages below this number may have arrived: dropping them is no loss before core has said what it holds. */
  sent(below: number): void;
  /** Core has all messages below this number: they go. An ended recording without any left goes as a whole. */
  cut(below: number): void;
  end(): void;
  /** Drops its oldest file; false when it has none. */
  dropOldest(): boolean;
  /** Forces appended data onto the disk, without waiting. */
  sync(): void;
  /** Resolves when what was appended is forced onto the disk. Rejects when some of it could not be kept. */
  settled(): Promise<void>;
  remove(): void;
  close(): void;
}

const META = 'meta.json';
/** The longest that can be announced to core. */
const MAX_GAP_MS = 86_400_000;

/** Begins one in `dir`, which is made with its first message. */
export function createRecording(dir: string, info: RecordingInfo, store: Store): Recording {
  const { stored = false } = info;
  return open(dir, { ...info, stored, stream: randomUUID(), base: 0, baseAtMs: 0 }, null, store);
}

/** Restores a recording of an earlier process, to which nothing can be added; null if it is unreadable. */
export async function recoverRecording(dir: string, store: Store): Promise<Recording | null> {
  const meta = await readMeta(dir);
  if (!meta) return null;
  const segments = await recoverSegments(dir, store.damaged);
  const recording = open(dir, meta, segments, store);
  store.grew(segments.reduce((sum, { bytes }) => sum + bytes, 0));
  recording.end();
  return recording;
}

/** @param found what is on disk already; null: nothing at all */
function open(dir: string, startMeta: Meta, found: Segment[] | null, store: Store): Recording {
  const segments = createSegments(dir, found ?? [], store.segmentBytes);
  let meta = startMeta;
  let next = Math.max(found?.at(-1)?.next ?? 0, meta.base);
  let sentBelow = 0;
  let heldBelow = meta.base;
  let isOnDisk = found !== null;
  let ended = false;
  let removed = false;
  /** Loss that core was not told of yet; negative if it was told of half a millisecond too much. */
  let pendingGapMs = 0;

  const openedAtMs = store.clock.now();
  /** Length of what was appended, including gaps. */
  let heldMs = 0;
  let failures = 0;

  const age = () => clamp(meta.stored ? heldMs : store.clock.now() - meta.startedAtMs, 0xffffffff);

  function append(bytes: Uint8Array, gapMs: number): void {
    if (ended) return;
    if (bytes.length <= KEEP_ALIVE_BYTES) {
      pendingGapMs += gapMs + messageMs(meta, bytes); // core would take it for a keep-alive and not count it
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
    pendingGapMs = gap - toldMs; // core counts in whole milliseconds
    store.changed(meta.clientDeviceId);
  }

  /** Null: done. Else why not. */
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
    loseUpTo(to, from, 'it was damaged, or dropped before core had it');
    beginStream(to, record?.atMs ?? age());
    removeWhere(segment => segment.next <= to);
    if (ended && to >= next) remove();
  }

  async function settled(): Promise<void> {
    await segments.settled();
    for (const path of [dir, dirname(dir)])
      if (isOnDisk && !removed)
        await syncDirectory(path).catch(error => {
          if (!removed) throw error; // else core has it all
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
      // A full disk: if the bridge is killed now, core's answer shows the difference, and the stream begins anew then.
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
      // Written down before the file goes: a crash in between must not make core's count and ours differ.
      beginStream(oldest.next, after?.firstAtMs ?? age());
    }
    removeWhere(segment => segment === oldest);
    if (ended && segments.list.length === 0) remove();
    return true;
  }

  function cut(below: number): void {
    heldBelow = Math.max(heldBelow, Math.min(below, next));
    // The growing file stays, or a recording that is sent as fast as it comes would be a new file several times a second.
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

/** How long a message is; of PCM it may be a part of a frame. */
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

/** New files of it stay through a power loss. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await openFile(path);
  await directory.sync().finally(() => directory.close());
}

/** All or nothing, also in a crash. */
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
