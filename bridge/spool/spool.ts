import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import {
  createRecording,
  type Recording,
  type RecordingInfo,
  recoverRecording,
  type Store,
} from './recording.ts';

export interface SpoolCounts {
  /** Bytes on disk. */
  bytes: number;
  /** Messages dropped before core had them, because the spool or the disk was full. */
  dropped: number;
  droppedMs: number;
  /** Damaged byte ranges found on disk. */
  damaged: number;
}

/**
 * Audio of all wearables, kept on disk until core has it. Each message is written at once, so that none is lost when
 * the bridge is killed, and synced once a second, in case of a power loss.
 */
export interface Spool {
  /** Begins a recording. Nothing is written before its first message. */
  begin(info: RecordingInfo): Recording;
  /** Lists recordings of one wearable, oldest first. */
  recordings(clientDeviceId: string): Recording[];
  /** Returns the wearables with recordings. */
  devices(): string[];
  /** Calls `listener` when there is new audio of this wearable. @returns a function that ends it */
  watch(clientDeviceId: string, listener: () => void): () => void;
  /** Resolves when the spool is less than half full. Stored audio is not fetched from devices before. */
  room(): Promise<void>;
  readonly counts: Readonly<SpoolCounts>;
  /** Returns the age of the oldest audio that core has not confirmed; null: it has everything. */
  oldestMs(): number | null;
  close(): Promise<void>;
}

export interface SpoolOptions {
  dir: string;
  /** Maximum size of all recordings; beyond it the oldest audio is dropped. */
  maxBytes: number;
  clock: Clock;
  log: Logger;
  /** Interval of syncs to disk. */
  syncMs?: number;
}

const MAX_SEGMENT_BYTES = 256 * 1024;
const MIN_SEGMENT_BYTES = 4 * 1024;
/** Interval at which the free space is checked. */
const ROOM_MS = 1000;
/** Minimum interval of warnings about losses. */
const TELL_EVERY_MS = 10_000;

/** Opens the spool in a directory, including recordings of earlier processes. */
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
      log.warn({ file, stretches }, 'damaged audio in the spool; the rest is sent');
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
      // Names sort by time; the random part distinguishes two of the same millisecond.
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
