/** Fetches audio that is stored in a ring of records: firmware 3.0.20 and later. */
import type { Session, WireFormat } from '../driver.ts';
import {
  BLOCK_BYTES,
  BLOCKS_AT_ONCE,
  COMMAND,
  createTimeline,
  framesOf,
  type Incoming,
  StorageError,
} from './omi-storage-wire.ts';

/** Each record is its time, and a block. */
const TIME_BYTES = 4;
const RECORD_BYTES = TIME_BYTES + BLOCK_BYTES;

/** Numbers of records. */
interface RingInfo {
  /** The oldest that is not released. */
  read: number;
  /** The next to be written. */
  write: number;
  /** Records that were dropped because the ring was full. */
  dropped: number;
  /** Changes when the ring is created anew; null: the firmware does not report it. */
  ringId: bigint | null;
}

/** Position up to which records are on disk, as it is saved. */
interface RingPlace {
  ringId: string | null;
  next: number;
}

const RING = { ack: 0x01, info: 0x02, data: 0x03, done: 0x04, begin: 0x05 } as const;
const HAS_RING_ID = 8;
/** Maximum notifications before an answer that belong to a download that was cut off. */
const MAX_OTHERS = 4096;
const INFO_BYTES = 31;

export async function fetchRing(session: Session, data: Incoming, format: WireFormat): Promise<void> {
  const { sink, memory, log } = session;
  const timeline = createTimeline(session, format);
  let info = await ringInfo(data);
  const first = info.read;
  await catchUp(session, data, info);
  info = await ringInfo(data);
  if (info.dropped > 0)
    log.warn({ dropped: info.dropped }, 'the pendant was full, and has dropped some of its recordings');
  for (let at = info.read; at < info.write; ) {
    const count = Math.min(BLOCKS_AT_ONCE, info.write - at);
    const { next, bytes } = await readRecords(data, at, count);
    if (next <= at) throw new StorageError('the pendant repeats what it sent before');
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
    if (bytes[0] !== RING.info) continue; // from a download that was cut off
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

/** Reads records. @throws StorageError unless all of them arrive */
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
      throw new StorageError('the pendant starts at another position');
    } else if (bytes[0] === RING.done) return readTo(bytes, { start, records: Buffer.concat(pieces) });
  }
}

/** Checks the message that ends a download against the records that arrived. */
function readTo(done: Buffer, { start, records }: { start: number; records: Buffer }) {
  if (done.length < 10 || done[1] !== 0) throw new StorageError(`reading failed (status ${done[1]})`);
  const next = Number(done.readBigUInt64BE(2));
  if (records.length !== (next - start) * RECORD_BYTES)
    throw new StorageError(`${records.length} bytes came of ${next - start} records: the rest was lost`);
  return { next, bytes: records };
}

/** Releases the records before `next`, which the pendant may then overwrite. */
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

/** From here on, a time counts from the start of the pendant, whose clock was not set. */
const SINCE_BOOT = 0x80000000;

/** Appends records. Inferred: records without a time were recorded just before now. */
function addRecords(
  { clock }: Session,
  timeline: ReturnType<typeof createTimeline>,
  { bytes, format, left }: { bytes: Buffer; format: WireFormat; left: number },
): void {
  for (let at = 0, index = 0; at < bytes.length; at += RECORD_BYTES, index += 1) {
    const time = bytes.readUInt32BE(at);
    const frames = framesOf(bytes.subarray(at + TIME_BYTES, at + RECORD_BYTES));
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
