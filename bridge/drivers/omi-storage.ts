import { createHash } from 'node:crypto';
import type { Ref, Session, Track, WireFormat, Writable } from '../driver.ts';

const SERVICE = '30295780-4301-eabd-2904-2849adfeae43';
const DATA: Ref = { service: SERVICE, characteristic: '30295781-4301-eabd-2904-2849adfeae43' };
const STATUS: Ref = { service: SERVICE, characteristic: '30295782-4301-eabd-2904-2849adfeae43' };
const FIRMWARE: Ref = { service: '180a', characteristic: '2a26' };

/** Commands that the bridge uses. 0x02 (wipe) and 0x13 (clear) are not among them. */
const COMMAND = {
  readFile: 0x00,
  deleteFile: 0x01,
  stop: 0x03,
  heartbeat: 50,
  list: 0x10,
  read: 0x11,
  advance: 0x12,
  advanceOfRing: 0x15,
} as const;
const RELEASES: readonly number[] = [COMMAND.deleteFile, COMMAND.advance, COMMAND.advanceOfRing];

/** Characteristics that are written to fetch stored audio. */
export const STORAGE_WRITES: Writable = {
  ...DATA,
  first: Object.values(COMMAND),
  releases: bytes => RELEASES.includes(bytes[0] ?? -1),
};

const BLOCK_BYTES = 440;
const RECORD_BYTES = 444;
const ATT_HEADER_BYTES = 3;
/** Stored, remembered and released together. */
const BLOCKS_AT_ONCE = 64;
/** The live audio comes first. */
const SETTLE_MS = 2000;
/** Without a notification for so long, a download has failed. */
const SILENCE_MS = 10_000;
/** A longer pause begins another recording. */
const MAX_PAUSE_MS = 600_000;
const MIN_PAUSE_MS = 1500;
const END_OF_FILE = 100;
const DELETED = 200;
/** Firmware from which on the audio is in several files, and in a ring. */
const FIRST_WITH_FILES = [3, 0, 16];
const FIRST_WITH_RING = [3, 0, 20];

/** Fetches what the pendant recorded out of reach; resolves when there is no more. @param format of its encoder */
export async function fetchStored(session: Session, format: WireFormat): Promise<void> {
  const { link, clock, sink } = session;
  await clock.sleep(SETTLE_MS);
  if ((await link.properties(DATA)).size === 0) return;
  const status = await link.read(STATUS, { optional: true });
  const firmware = await firmwareOf(session);
  sink.about({ firmware: firmware?.text ?? null, storageFreeBytes: freeBytesOf(status) });
  if (!status || status.length < 8) return;
  const data = await open(session);
  if (!data) return;
  const kind = kindOf(status, firmware?.numbers);
  if (kind === 'ring') await fetchRing(session, data, format);
  else if (kind === 'files') await fetchFiles(session, data, format);
  else await fetchSingleFile(session, data, { format, status });
}

const RING_STATUS_BYTES = 16;
const FREE_AT = 8;

/** Null: the firmware has no ring, and does not tell. */
function freeBytesOf(status: Uint8Array | undefined): number | null {
  if (!status || status.length < RING_STATUS_BYTES) return null;
  return Buffer.from(status).readUInt32LE(FREE_AT);
}

async function firmwareOf({ link }: Session): Promise<{ text: string; numbers: number[] } | null> {
  const bytes = await link.read(FIRMWARE, { optional: true });
  if (!bytes) return null;
  const text = Buffer.from(bytes)
    .toString('utf8')
    .replaceAll(/[^ -~]/g, '')
    .slice(0, 32);
  return { text, numbers: (text.match(/\d{1,4}/g) ?? []).slice(0, 3).map(Number) };
}

function isFrom(numbers: readonly number[] | undefined, first: readonly number[]): boolean {
  if (!numbers || numbers.length < 3) return false;
  const at = first.findIndex((number, index) => number !== numbers[index]);
  return at < 0 || (numbers[at] ?? 0) > (first[at] ?? 0);
}

/** Inferred where the firmware does not tell: an offset is a multiple of a block, a number of files mostly is not. */
function kindOf(status: Uint8Array, numbers: readonly number[] | undefined): 'ring' | 'files' | 'single' {
  if (status.length >= 16 || isFrom(numbers, FIRST_WITH_RING)) return 'ring';
  if (numbers && numbers.length >= 3) return isFrom(numbers, FIRST_WITH_FILES) ? 'files' : 'single';
  const second = Buffer.from(status).readUInt32LE(4);
  return second <= 1000 && second % BLOCK_BYTES !== 0 ? 'files' : 'single';
}

// ── what comes back ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Notifications, one at a time. */
interface Incoming {
  /** Rejects when none comes in time. */
  next(): Promise<Uint8Array>;
  command(...bytes: number[]): Promise<void>;
}

async function open({ link, clock }: Session): Promise<Incoming | null> {
  const notifications = await link.notifications(DATA, { optional: true });
  if (!notifications) return null;
  const iterator = notifications[Symbol.asyncIterator]();
  /** Asked for, and not come in time: it is the next one. */
  let asked: ReturnType<typeof iterator.next> | null = null;
  return {
    async next() {
      asked ??= iterator.next();
      const late = clock.sleep(SILENCE_MS).then(() => null);
      late.catch(() => {});
      const result = await Promise.race([asked, late]);
      if (result === null) throw new StorageError('the pendant stopped sending what it has stored');
      asked = null;
      if (result.done) throw new StorageError('the connection ended');
      return result.value.bytes;
    },
    command: (...bytes) => link.write(DATA, Uint8Array.from(bytes), { response: true }),
  };
}

/** Costs the download, and not the connection: it is tried again at the next one. */
export class StorageError extends Error {}

async function answered(data: Incoming, what: string): Promise<number> {
  const answer = await data.next();
  if (answer.length !== 1) throw new StorageError(`${what}: an answer of ${answer.length} bytes`);
  return answer[0] ?? 0;
}

// ── frames ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Each after its length. A block may end with the length of a frame that did not fit any more, and with old bytes. */
function framesOf(block: Uint8Array): Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (let at = 0; at < block.length; ) {
    const length = block[at] ?? 0;
    if (length === 0 || at + 1 + length >= BLOCK_BYTES) break;
    frames.push(block.subarray(at + 1, at + 1 + length));
    at += 1 + length;
  }
  return frames;
}

/** Frames at their times: one recording as long as they follow on each other. */
function createTimeline({ sink }: Session, format: WireFormat) {
  let track: Track | null = null;
  let atMs = 0;

  return {
    /** @param startMs null: right behind what came before */
    add(frames: readonly Uint8Array[], startMs: number | null): void {
      let pauseMs = startMs === null || !track ? 0 : startMs - atMs;
      if (!track || pauseMs > MAX_PAUSE_MS || pauseMs < -MAX_PAUSE_MS) {
        track?.end();
        atMs = startMs ?? atMs;
        track = sink.audio(format, { live: false, startedAtMs: Math.max(0, Math.round(atMs)) });
        pauseMs = 0;
      }
      const pause = pauseMs >= MIN_PAUSE_MS ? pauseMs : 0;
      for (const [index, bytes] of frames.entries())
        track.frame(bytes, index === 0 ? { pauseMs: pause } : {});
      atMs += pause + frames.length * format.frameMs;
    },
    stored: async () => track?.stored(),
    /** Where it ends; 0: nothing was added. */
    get atMs() {
      return atMs;
    },
    end: () => track?.end(),
  };
}

// ── a ring of records (firmware 3.0.20 and later) ───────────────────────────────────────────────────────────────────

interface RingInfo {
  read: number;
  write: number;
  dropped: number;
  ringId: bigint | null;
}

interface RingPlace {
  ringId: string | null;
  next: number;
}

const RING = { ack: 0x01, info: 0x02, data: 0x03, done: 0x04, begin: 0x05 } as const;
const HAS_RING_ID = 8;
/** Notifications of other kinds before an answer: those of a download that was cut off. */
const MAX_OTHERS = 4096;
const INFO_BYTES = 31;

async function fetchRing(session: Session, data: Incoming, format: WireFormat): Promise<void> {
  const { sink, memory, log } = session;
  const timeline = createTimeline(session, format);
  let info = await ringInfo(data);
  const first = info.read;
  await catchUp(session, data, info);
  info = await ringInfo(data);
  if (info.dropped > 0)
    log.warn({ dropped: info.dropped }, 'the pendant was full, and has dropped some of what it recorded');
  for (let at = info.read; at < info.write; ) {
    const count = Math.min(BLOCKS_AT_ONCE, info.write - at);
    const { next, bytes } = await readRecords(data, at, count);
    if (next <= at) throw new StorageError('the pendant does not go on');
    addRecords(session, timeline, { bytes, format, left: info.write - at });
    await timeline.stored();
    await memory.set('ring', { ringId: info.ringId?.toString() ?? null, next } satisfies RingPlace);
    await advance(data, next, info.ringId);
    at = next;
    sink.progress({ bytes: (at - first) * RECORD_BYTES, ofBytes: (info.write - first) * RECORD_BYTES });
  }
  timeline.end();
}

/** Releases audio that was stored before the connection was lost, instead of fetching it again. */
async function catchUp({ memory }: Session, data: Incoming, info: RingInfo): Promise<void> {
  const place = memory.get('ring') as RingPlace | undefined;
  if (!place || place.ringId !== (info.ringId?.toString() ?? null)) return;
  if (place.next > info.read && place.next <= info.write) await advance(data, place.next, info.ringId);
}

async function ringInfo(data: Incoming): Promise<RingInfo> {
  await data.command(COMMAND.list);
  for (let others = 0; others < MAX_OTHERS; others += 1) {
    const bytes = Buffer.from(await data.next());
    if (bytes[0] !== RING.info) continue; // the rest of a download that was cut off
    if (bytes.length < INFO_BYTES) throw new StorageError(`the state of its ring has ${bytes.length} bytes`);
    const capabilities = bytes[INFO_BYTES] ?? 0;
    const hasId = (capabilities & HAS_RING_ID) !== 0 && bytes.length >= INFO_BYTES + 10;
    return {
      read: Number(bytes.readBigUInt64BE(1)),
      write: Number(bytes.readBigUInt64BE(9)),
      dropped: Number(bytes.readBigUInt64BE(21)),
      ringId: hasId ? bytes.readBigUInt64BE(INFO_BYTES + 2) : null,
    };
  }
  throw new StorageError('the pendant does not tell the state of its ring');
}

/** All of what was asked for, or nothing. */
async function readRecords(
  data: Incoming,
  start: number,
  count: number,
): Promise<{ next: number; bytes: Buffer }> {
  const command = Buffer.alloc(13);
  command[0] = COMMAND.read;
  command.writeBigUInt64BE(BigInt(start), 1);
  command.writeUInt32BE(count, 9);
  await data.command(...command);
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const bytes = Buffer.from(await data.next());
    if (bytes[0] === RING.data) {
      pieces.push(bytes.subarray(1));
      size += bytes.length - 1;
      if (size > count * RECORD_BYTES) throw new StorageError('the pendant sends more than it was asked for');
    } else if (bytes[0] === RING.ack && (bytes[1] ?? 0) !== 0) {
      throw new StorageError(`the pendant refuses to read (status ${bytes[1]})`);
    } else if (bytes[0] === RING.begin && bytes.length >= 9 && Number(bytes.readBigUInt64BE(1)) !== start) {
      throw new StorageError('the pendant begins elsewhere');
    } else if (bytes[0] === RING.done) return readTo(bytes, { start, records: Buffer.concat(pieces) });
  }
}

function readTo(done: Buffer, { start, records }: { start: number; records: Buffer }) {
  if (done.length < 10 || done[1] !== 0) throw new StorageError(`reading failed (status ${done[1]})`);
  const next = Number(done.readBigUInt64BE(2));
  if (records.length !== (next - start) * RECORD_BYTES)
    throw new StorageError(`${records.length} bytes came of ${next - start} records: the rest was lost`);
  return { next, bytes: records };
}

async function advance(data: Incoming, next: number, ringId: bigint | null): Promise<void> {
  const command = Buffer.alloc(ringId === null ? 9 : 17);
  command[0] = ringId === null ? COMMAND.advance : COMMAND.advanceOfRing;
  if (ringId !== null) command.writeBigUInt64BE(ringId, 1);
  command.writeBigUInt64BE(BigInt(next), command.length - 8);
  await data.command(...command);
  for (let others = 0; others < MAX_OTHERS; others += 1) {
    const bytes = await data.next();
    if (bytes[0] !== RING.ack) continue;
    if (bytes[1] === 0) return;
    throw new StorageError(`the pendant does not release what was stored (status ${bytes[1]})`);
  }
  throw new StorageError('the pendant does not confirm what it released');
}

const SINCE_BOOT = 0x80000000;

/** A record: its time in seconds, and a block. Inferred: what has no time was recorded just before now. */
function addRecords(
  { clock }: Session,
  timeline: ReturnType<typeof createTimeline>,
  { bytes, format, left }: { bytes: Buffer; format: WireFormat; left: number },
): void {
  for (let at = 0, index = 0; at < bytes.length; at += RECORD_BYTES, index += 1) {
    const time = bytes.readUInt32BE(at);
    const frames = framesOf(bytes.subarray(at + 4, at + RECORD_BYTES));
    const isUnknown = time >= SINCE_BOOT || time === 0;
    const blockMs = frames.length * format.frameMs;
    const startMs = isUnknown
      ? timeline.atMs === 0
        ? clock.now() - (left - index) * blockMs
        : null
      : time * 1000;
    timeline.add(frames, startMs);
  }
}

// ── files ───────────────────────────────────────────────────────────────────────────────────────────────────────────

interface FilePlace {
  /** UTC seconds; 0: it does not say. */
  time: number;
  /** Offset of the next block that is not stored yet, and when it was recorded. */
  offset: number;
  atMs: number;
  /** Hash of the previous block: it differs between files. */
  hash: string;
}

interface File {
  size: number;
  /** UTC seconds; 0: it does not say. */
  time: number;
  read(offset: number): number[];
  remove: number[];
  removed: number;
}

/** One file (firmware before 3.0.16). It has no time: inferred, it was recorded until just before now. */
async function fetchSingleFile(
  session: Session,
  data: Incoming,
  { format, status }: { format: WireFormat; status: Uint8Array },
): Promise<void> {
  const size = Buffer.from(status).readUInt32LE(0);
  if (size < BLOCK_BYTES) return;
  const file: File = {
    size,
    time: 0,
    read: offset => [COMMAND.readFile, 1, ...bigEndian(offset)],
    remove: [COMMAND.deleteFile, 1],
    removed: DELETED,
  };
  await fetchFile(session, data, { format, file });
}

/** Several (firmware 3.0.16 to 3.0.19). Inferred: reading takes an offset as the single file's, and ends as its does. */
async function fetchFiles(session: Session, data: Incoming, format: WireFormat): Promise<void> {
  for (let files = await list(data); files.length > 0; ) {
    const [first] = files;
    if (!first) return;
    const file: File = {
      ...first,
      read: offset => [COMMAND.read, 0, ...bigEndian(offset)],
      remove: [COMMAND.advance, 0],
      removed: 0,
    };
    await fetchFile(session, data, { format, file });
    const left = await list(data);
    if (left.length >= files.length) throw new StorageError('the pendant does not release a file');
    files = left;
  }
}

async function list(data: Incoming): Promise<{ time: number; size: number }[]> {
  await data.command(COMMAND.list);
  let bytes = Buffer.from(await data.next());
  const count = bytes[0] ?? 0;
  while (bytes.length < 1 + count * 8) bytes = Buffer.concat([bytes, await data.next()]);
  return Array.from({ length: count }, (_, index) => ({
    time: bytes.readUInt32BE(1 + index * 8),
    size: bytes.readUInt32BE(5 + index * 8),
  }));
}

async function fetchFile(
  session: Session,
  data: Incoming,
  { format, file }: { format: WireFormat; file: File },
): Promise<void> {
  const { link, memory, log } = session;
  if (link.mtu < BLOCK_BYTES + ATT_HEADER_BYTES) {
    log.warn({ mtu: link.mtu }, `stored audio needs an ATT MTU of ${BLOCK_BYTES + ATT_HEADER_BYTES}`);
    return;
  }
  const known = memory.get('file') as FilePlace | null | undefined;
  const isKnown = known?.time === file.time && known.offset <= file.size;
  const place = isKnown ? known : { time: file.time, offset: 0, atMs: 0, hash: '' };
  await readBlocks(session, data, { format, file, place });
  await data.command(...file.remove);
  await deleted(data, file.removed);
  await memory.set('file', null);
}

/** Answers to heartbeats may come before. */
async function deleted(data: Incoming, wanted: number): Promise<void> {
  for (let answers = 0; answers < 8; answers += 1) {
    const answer = await answered(data, 'deleting');
    if (answer === wanted) return;
    if (answer !== 0 && answer !== END_OF_FILE)
      throw new StorageError(`the pendant does not delete (answer ${answer})`);
  }
  throw new StorageError('the pendant does not say that it deleted');
}

/** Resolves when every block of the file is on disk. */
async function readBlocks(
  session: Session,
  data: Incoming,
  { format, file, place }: { format: WireFormat; file: File; place: FilePlace },
): Promise<void> {
  const { sink, memory, clock } = session;
  const end = file.size - (file.size % BLOCK_BYTES);
  const timeline = createTimeline(session, format);
  let { offset, atMs } = place;
  let waiting: Buffer[] = [];
  /** The block before what is wanted shows whether it is the same file. */
  let isSure = offset === 0;

  async function keep(): Promise<void> {
    const frames = waiting.flatMap(framesOf);
    if (atMs === 0)
      atMs = file.time > 0 ? file.time * 1000 : clock.now() - durationOf(file.size, waiting, format);
    timeline.add(frames, timeline.atMs === 0 ? atMs : null);
    await timeline.stored();
    offset += waiting.length * BLOCK_BYTES;
    atMs = timeline.atMs;
    const hash = hashOf(waiting.at(-1) ?? Buffer.alloc(0));
    waiting = [];
    await memory.set('file', { time: file.time, offset, atMs, hash } satisfies FilePlace);
    sink.progress({ bytes: offset, ofBytes: end });
  }

  await data.command(...file.read(isSure ? 0 : offset - BLOCK_BYTES));
  const refused = await answered(data, 'reading');
  if (refused !== 0) throw new StorageError(`the pendant refuses to read (answer ${refused})`);
  for (;;) {
    const bytes = Buffer.from(await data.next());
    if (bytes.length === BLOCK_BYTES && !isSure) {
      if (hashOf(bytes) !== place.hash) return another(session, data);
      isSure = true;
    } else if (bytes.length === BLOCK_BYTES) waiting.push(bytes);
    else if (bytes.length === 1 && bytes[0] === END_OF_FILE) break;
    else if (bytes.length !== 1) throw new StorageError(`a block of ${bytes.length} bytes`);
    if (waiting.length < BLOCKS_AT_ONCE) continue;
    await data.command(COMMAND.heartbeat, 1);
    await keep();
  }
  if (waiting.length > 0) await keep();
  timeline.end();
  if (!isSure || offset < end) throw new StorageError('the file ended early: it is kept on the pendant');
}

async function another({ memory }: Session, data: Incoming): Promise<never> {
  await data.command(COMMAND.stop, 1);
  await memory.set('file', null);
  throw new StorageError('it is another file than before: it is read from its beginning');
}

function hashOf(block: Uint8Array): string {
  return createHash('sha256').update(block).digest('hex').slice(0, 16);
}

/** Estimates the duration of a file from its first blocks. */
function durationOf(size: number, blocks: readonly Buffer[], format: WireFormat): number {
  const frames = blocks.reduce((sum, block) => sum + framesOf(block).length, 0);
  return ((frames * format.frameMs) / (blocks.length * BLOCK_BYTES)) * size;
}

function bigEndian(value: number): number[] {
  return [value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff];
}
