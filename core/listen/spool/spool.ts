import type { Clock } from '../../contract/model.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import type { SpoolMetrics } from '../../runtime/metrics.ts';
import { openAppendLog, type Place } from './append-log.ts';
import { bytesIn, type Entry, type Extent, encodeChunk, extentOf, sizeOf, withoutHoles } from './chunk.ts';
import type { Disk } from './disk.ts';
import { Held } from './held.ts';

export { type AudioEntry, type Entry, isAudio, MAX_MESSAGES } from './chunk.ts';
export { LEAD_IN_MESSAGES } from './held.ts';

export interface SpoolLimits {
  /** Limit on disk; beyond it no audio is accepted. */
  maxBytes: number;
  /** Bytes of one user's audio that wait for transcription. */
  maxBytesPerUser: number;
  /** Free space that the disk must keep; with less, no audio is accepted. */
  minFreeBytes: number;
}

/**
 * Keeps the audio of all live streams on disk, in one log, until its text is stored. A slow reader reads from the disk.
 */
export interface Spool {
  /**
   * Opens a stream with what an earlier connection, or process, left there. Once at a time.
   * @param settled messages whose text is stored
   */
  open(stream: StreamName, settled: number): HeldStream;
  /** Throws `storage_full` while the disk has too little room for new streams. */
  checkDisk(): Promise<void>;
  /** Streams with held audio that are not open. */
  left(): StreamName[];
  /** Streams of a user with held audio. */
  streamsOf(userId: string): StreamName[];
  /** Yields what is on the disk of a stream, beside its reader; what is settled meanwhile may be left out. */
  copy(stream: StreamName): AsyncGenerator<Entry>;
  readonly counts: Readonly<SpoolCounts>;
  /** Resolves once everything appended is on the disk, if the disk accepts it. */
  close(): Promise<void>;
}

export interface StreamName {
  id: string;
  userId: string;
}

export interface SpoolCounts {
  /** Bytes on disk. */
  bytes: number;
  /** Bytes that are not on disk yet. */
  pendingBytes: number;
  /** Stretches that could not be read back. */
  damaged: number;
}

export interface HeldStream {
  /** Number of the next message: those below it need not be sent again, once they are on the disk. */
  readonly next: number;
  /** Messages below this are on the disk. */
  readonly durable: number;
  /** Why the disk accepts no more; messages from `durable` on must then be sent again. */
  readonly broken: AppError | null;
  /**
   * Appends an entry. Returns a promise to wait for where the disk is far behind. Throws `storage_full` where there is
   * no room.
   */
  append(entry: Entry): Promise<void> | undefined;
  /** Tells a reader at the end that audio paused. Nothing is written. */
  pause(): void;
  /**
   * Yields entries from message `from`, or somewhat before it, to the end, as they arrive. Numbers have holes where the
   * disk lost something.
   */
  read(from: number): AsyncGenerator<Entry | 'pause'>;
  /** Yields the entries that are held now. To be called before `read`. */
  current(): AsyncGenerator<Entry>;
  /** Marks everything before this message as stored text. */
  settle(number: number): void;
  /** Registers a listener for growth of `durable`, and for failure of the stream. */
  onSynced(listener: () => void): void;
  /** Ends the stream: readers finish. */
  end(): void;
  /** Closes the stream; unsettled audio stays on the disk. */
  close(): void;
}

/** Least time between two syncs of the disk. */
const SYNC_MS = 200;
const MiB = 1024 * 1024;
const FILE_BYTES = 64 * MiB;
const FILE_MS = 60_000;
/** Bytes that may wait to be written; beyond it, users with more than their share wait. */
const MAX_PENDING_BYTES = 16 * MiB;

interface SpoolOptions {
  disk: Disk;
  clock: Clock;
  log: Log;
  limits: SpoolLimits;
  metrics: SpoolMetrics;
}

export async function openSpool({ disk, clock, log, limits, metrics }: SpoolOptions): Promise<Spool> {
  const files = await openAppendLog({ disk, clock, fileBytes: FILE_BYTES, fileMs: FILE_MS });
  const streams = new Map<string, Held>();
  /** By user: bytes that are not settled. */
  const bytesOf = new Map<string, number>();
  const dirty = new Set<Held>();
  const counts = { pendingBytes: 0, damaged: files.damaged };
  /** Set while the disk had too little room at the last look. */
  let lackOfRoom: AppError | null = null;
  const closing = new AbortController();
  let lastSyncAt = Number.NEGATIVE_INFINITY;
  let flushing: Promise<void> | null = null;
  let roomFreed = Promise.withResolvers<void>();

  if (files.damaged > 0)
    log.warn({ stretches: files.damaged }, 'damaged audio in the spool; the rest of it goes on');
  for (const { place, extent } of files.found) {
    count(extent.userId, extent.bytes);
    heldOf({ id: extent.streamId, userId: extent.userId }).recall(place, extent);
  }

  function heldOf({ id, userId }: StreamName): Held {
    const known = streams.get(id);
    if (known) return known;
    const held = new Held({
      id,
      userId,
      async load(place) {
        const chunk = await files.read(place);
        if (!chunk) counts.damaged += 1;
        return chunk;
      },
      release({ place, bytes }) {
        count(userId, -bytes);
        files.release(place).catch(error => log.warn({ err: error }, 'could not remove a file of the spool'));
      },
    });
    streams.set(id, held);
    return held;
  }

  function count(userId: string, bytes: number) {
    const sum = (bytesOf.get(userId) ?? 0) + bytes;
    if (sum > 0) bytesOf.set(userId, sum);
    else bytesOf.delete(userId);
  }

  function checkRoom({ userId, broken }: Held, size: number) {
    const refusal = broken ?? lackOfRoom;
    if (refusal) throw refusal;
    if (files.bytes + counts.pendingBytes + size > limits.maxBytes)
      throw new AppError('storage_full', 'The spool of this server is full (listen.spool.maxBytes)');
    if ((bytesOf.get(userId) ?? 0) + size > limits.maxBytesPerUser)
      throw new AppError(
        'storage_full',
        'Too much audio of this user waits for transcription (listen.spool.maxBytesPerUser)',
      );
  }

  function append(held: Held, entry: Entry) {
    const size = sizeOf(entry);
    checkRoom(held, size);
    count(held.userId, size);
    counts.pendingBytes += size;
    dirty.add(held);
    held.push(entry);
    flushing ??= flush();
    return counts.pendingBytes > MAX_PENDING_BYTES ? room(held) : undefined;
  }

  async function room(held: Held) {
    while (counts.pendingBytes > MAX_PENDING_BYTES && hasMoreThanItsShare(held)) await roomFreed.promise;
  }

  /** On a slow disk, keeps a client that sends little from waiting behind one that sends everything at once. */
  function hasMoreThanItsShare(held: Held) {
    return bytesIn(held.unwritten()) > MAX_PENDING_BYTES / streams.size;
  }

  /** Runs while there is something to write: one sync serves all streams. */
  async function flush() {
    while (dirty.size > 0) {
      await clock.sleep(Math.max(0, lastSyncAt + SYNC_MS - clock.now()), closing.signal).catch(() => {});
      lastSyncAt = clock.now();
      await lookAtDisk();
      const batch = [...dirty].map(held => ({ held, entries: held.unwritten() }));
      dirty.clear();
      await write(batch.filter(({ entries }) => entries.length > 0));
      metrics.synced(clock.now() - lastSyncAt);
      roomFreed.resolve();
      roomFreed = Promise.withResolvers();
    }
    flushing = null;
  }

  async function write(batch: { held: Held; entries: Entry[] }[]) {
    const parts = batch.flatMap(({ held, entries }) =>
      withoutHoles(entries).map(part => ({
        held,
        chunk: { streamId: held.id, userId: held.userId, entries: part },
      })),
    );
    const places = await files.write(parts.map(({ chunk }) => encodeChunk(chunk))).catch(error => {
      log.error({ err: error }, 'the spool cannot be written');
      return null;
    });
    for (const [i, { held, chunk }] of parts.entries()) {
      const place = places?.[i];
      if (place) wrote(held, place, extentOf(chunk));
      else giveUp(held);
    }
  }

  function wrote(held: Held, place: Place, extent: Extent) {
    counts.pendingBytes -= extent.bytes;
    held.wrote(place, extent);
    dropIfDone(held);
  }

  function giveUp(held: Held) {
    const lost = held.break(new AppError('storage_full', 'The disk of this server is full'));
    dirty.delete(held);
    counts.pendingBytes -= lost;
    count(held.userId, -lost);
  }

  function dropIfDone(held: Held) {
    if (!held.isOpen && held.isSettled) streams.delete(held.id);
  }

  function open(stream: StreamName, settled: number): HeldStream {
    const held = heldOf(stream);
    held.open(settled);
    return {
      get next() {
        return held.next;
      },
      get durable() {
        return held.durable;
      },
      get broken() {
        return held.broken;
      },
      append: entry => append(held, entry),
      pause: () => held.pause(),
      read: from => held.read(from),
      current: () => held.current(),
      settle: number => held.settle(number),
      onSynced(listener) {
        held.onSynced = listener;
      },
      end: () => held.end(),
      close() {
        held.close();
        dropIfDone(held);
      },
    };
  }

  /** Checks the disk's free space. Up to 16 MiB in memory are still written, far less than the reserve. */
  async function lookAtDisk() {
    const free = await disk.free().catch(() => null);
    if (free === null) return; // the write that follows reports the problem
    const left = `The disk of this server has ${Math.floor(free / MiB)} MiB left (listen.spool.minFreeBytes)`;
    lackOfRoom = free < limits.minFreeBytes ? new AppError('storage_full', left) : null;
  }

  const names = (isMeant: (held: Held) => boolean): StreamName[] =>
    [...streams.values()].filter(isMeant).map(({ id, userId }) => ({ id, userId }));

  async function* copy({ id }: StreamName) {
    for (const place of streams.get(id)?.places() ?? []) yield* (await files.read(place))?.entries ?? [];
  }

  async function checkDisk() {
    await lookAtDisk();
    if (lackOfRoom) throw lackOfRoom;
  }

  return {
    open,
    checkDisk,
    left: () => names(({ isOpen }) => !isOpen),
    streamsOf: wanted => names(({ userId }) => userId === wanted),
    copy,
    counts: {
      get bytes() {
        return files.bytes;
      },
      get pendingBytes() {
        return counts.pendingBytes;
      },
      get damaged() {
        return counts.damaged;
      },
    },
    async close() {
      closing.abort();
      await flushing;
      await files.close();
    },
  };
}
