/** Fetches audio that is stored in one file, or in several: firmware before 3.0.20. */
import { createHash } from 'node:crypto';
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

const ATT_HEADER_BYTES = 3;
const END_OF_FILE = 100;
const DELETED = 200;

/** Position up to which a file is on disk, as it is saved. */
interface FilePlace {
  /** UTC seconds; 0: unknown. */
  time: number;
  /** Offset of the next block that is not on disk yet, and when it was recorded. */
  offset: number;
  atMs: number;
  /** Hash of the previous block: it differs between files. */
  hash: string;
}

interface File {
  size: number;
  /** UTC seconds; 0: unknown. */
  time: number;
  /** The command that reads from this offset. */
  read(offset: number): number[];
  /** The command that removes the file, and the answer to it. */
  remove: number[];
  removed: number;
}

/** Fetches a single file (firmware before 3.0.16). It has no time: inferred, it was recorded until just before now. */
export async function fetchSingleFile(
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

/**
 * Fetches several files (firmware 3.0.16 to 3.0.19). Inferred: they are read with an offset, and end, as a single file
 * does.
 */
export async function fetchFiles(session: Session, data: Incoming, format: WireFormat): Promise<void> {
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

async function answered(data: Incoming, what: string): Promise<number> {
  const answer = await data.next();
  if (answer.length !== 1) throw new StorageError(`${what}: an answer of ${answer.length} bytes`);
  return answer[0] ?? 0;
}

/** Waits for the answer to the removal; answers to heartbeats may arrive before it. */
async function deleted(data: Incoming, wanted: number): Promise<void> {
  for (let answers = 0; answers < 8; answers += 1) {
    const answer = await answered(data, 'deleting');
    if (answer === wanted) return;
    if (answer !== 0 && answer !== END_OF_FILE)
      throw new StorageError(`the pendant refuses to delete (answer ${answer})`);
  }
  throw new StorageError('the pendant does not confirm the deletion');
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
  /** Whether this is the file of `place`: the block before its offset is read again, and shows that. */
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

/** Forgets the place in a file that the pendant has replaced. */
async function another({ memory }: Session, data: Incoming): Promise<never> {
  await data.command(COMMAND.stop, 1);
  await memory.set('file', null);
  throw new StorageError('the file is not the same as before: it is read from its beginning');
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
