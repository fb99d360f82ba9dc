import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Clock } from './clock.ts';
import {
  createRecording,
  type Recording,
  type RecordingInfo,
  recoverRecording,
  type Store,
} from './recording.ts';

export interface SpoolCounts {
  /** On disk now. */
  bytes: number;
  /** Messages that had to go before core had them: the spool was full, or the disk. */
  dropped: number;
  droppedMs: number;
  /** Stretches of damaged bytes found on disk. */
  damaged: number;
}

/**
 * Audio on disk until core has it, over all wearables. Every message is handed to the system as it comes, so that a
 * killed bridge loses none; once a second it is forced onto the disk itself.
 */
export interface Spool {
  /** Begins a recording. Nothing is on disk before its first message. */
  begin(info: RecordingInfo): Recording;
  /** Lists recordings of one wearable, oldest first. */
  recordings(clientDeviceId: string): Recording[];
  /** Wearables of which something waits. */
  devices(): string[];
  /** `listener` is told when there is something new for this wearable. Returns how to end that. */
  watch(clientDeviceId: string, listener: () => void): () => void;
  /** Resolves when it is less than half full: until then a device keeps what it has stored. */
  room(): Promise<void>;
  readonly counts: Readonly<SpoolCounts>;
  /** Age of the oldest audio that core has not confirmed; null: it has all. */
  oldestMs(): number | null;
  close(): Promise<void>;
}

export interface SpoolOptions {
  dir: string;
  /** Over all; past it the oldest is dropped. */
  maxBytes: number;
  clock: Clock;
  log: Logger;
  /** Between two syncs of the disk. */
  syncMs?: number;
}

const MAX_SEGMENT_BYTES = 256 * 1024;
const MIN_SEGMENT_BYTES = 4 * 1024;
/** Between two looks whether there is room. */
const ROOM_MS = 1000;
/** Losses are told at most so often. */
const TELL_EVERY_MS = 10_000;

/** Opens the spool of a data directory, with what an earlier process left in it. */
export async function openSpool({ dir, maxBytes, clock, log, syncMs = 1000 }: SpoolOptions): Promise<Spool> {
  const counts: SpoolCounts = { bytes: 0, dropped: 0, droppedMs: 0, damaged: 0 };
  const watchers = new Map<string, Set<() => void>>();
  let recordings: Recording[] = [];
  let closed = false;
  let toldAt = Number.NEGATIVE_INFINITY;

  const store: Store = {
    segmentBytes: Math.max(MIN_SEGMENT_BYTES, Math.min(MAX_SEGMENT_BYTES, Math.floor(maxBytes / 16))),
    clock,
    grew(bytes) {
      counts.bytes += bytes;
      while (counts.bytes > maxBytes && dropOldest()) {}
    },
    makeRoom: dropOldest,
    lost(messages, ms, why) {
      counts.dropped += messages;
      counts.droppedMs += ms;
      if (clock.now() - toldAt < TELL_EVERY_MS) return;
      toldAt = clock.now();
      log.warn({ dropped: counts.dropped, droppedMs: counts.droppedMs }, `audio was lost: ${why}`);
    },
    damaged(stretches, file) {
      counts.damaged += stretches;
      log.warn({ file, stretches }, 'damaged audio in the spool; the rest of it goes on');
    },
    changed(clientDeviceId) {
      for (const listener of watchers.get(clientDeviceId) ?? []) listener();
    },
    gone(recording) {
      recordings = recordings.filter(other => other !== recording);
    },
  };

  function dropOldest(): boolean {
    return recordings.some(recording => recording.dropOldest());
  }

  await mkdir(dir, { recursive: true, mode: 0o700 });
  for (const name of (await readdir(dir)).sort()) {
    const path = join(dir, name);
    const recording = await recoverRecording(path, store);
    if (recording && recording.next > recording.first) recordings.push(recording);
    if (recording) continue;
    store.damaged(1, path);
    await rm(path, { recursive: true, force: true });
  }
  store.grew(0);

  const timer = setInterval(() => {
    for (const recording of recordings) recording.sync();
  }, syncMs);
  timer.unref();

  return {
    begin(info) {
      // Sorts by time; the rest keeps two of one millisecond apart.
      const name = `${String(info.startedAtMs).padStart(14, '0')}-${randomUUID().slice(0, 8)}`;
      const recording = createRecording(join(dir, name), info, store);
      recordings.push(recording);
      return recording;
    },
    recordings: clientDeviceId => recordings.filter(({ info }) => info.clientDeviceId === clientDeviceId),
    devices: () => [...new Set(recordings.map(({ info }) => info.clientDeviceId))],
    watch(clientDeviceId, listener) {
      const listeners = watchers.get(clientDeviceId) ?? new Set();
      watchers.set(clientDeviceId, listeners.add(listener));
      return () => listeners.delete(listener);
    },
    async room() {
      while (counts.bytes > maxBytes / 2 && !closed) await clock.sleep(ROOM_MS);
    },
    counts,
    oldestMs() {
      const since = recordings.flatMap(({ unconfirmedSinceMs }) => unconfirmedSinceMs ?? []);
      return since.length === 0 ? null : Math.max(0, clock.now() - Math.min(...since));
    },
    async close() {
      closed = true;
      clearInterval(timer);
      for (const recording of recordings) recording.close();
    },
  };
}
