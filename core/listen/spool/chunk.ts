import { crc32 } from 'node:zlib';

/** Binary message of a stream, or its client's request to end the conversation. */
export type Entry = AudioEntry | FinishEntry;

export interface AudioEntry {
  kind: 'audio';
  /** Number in the stream, from 0. */
  number: number;
  /** Time that passed in the stream without audio just before it, in ms. */
  gapMs: number;
  /** Arrival, epoch ms; of entries written together, that of the first. */
  at: number;
  /** Empty: its sound was dropped when it came, and only `gapMs` is left of it. */
  bytes: Buffer;
}

export interface FinishEntry {
  kind: 'finish';
  /** Number of the message that would follow. */
  number: number;
  at: number;
}

/** Messages of a stream: the range of the number's field. */
export const MAX_MESSAGES = 2 ** 32;

/** Messages of one stream between two syncs, with consecutive numbers. */
export interface Chunk {
  streamId: string;
  userId: string;
  entries: Entry[];
}

/** Extent of a chunk, without its audio. */
export interface Extent {
  streamId: string;
  userId: string;
  /** Number of entries. */
  count: number;
  bytes: number;
  /** Number behind its last message; 0 if it has none. */
  endNumber: number;
}

/** Chunk as found in a file. */
export interface Found extends Chunk {
  offset: number;
  length: number;
}

/**
 * `u32 mark | u32 length of what follows the CRC | u32 CRC-32 of that length, and of what follows | stream and user, a
 * UUID each | f64 time | u32 number of the first entry | entries`, little-endian; an entry is `u8 kind | u32 gapMs |
 * u32 length | bytes`.
 */
const MARK = 0x3170_5345;
const HEADER_BYTES = 12;
const FIXED_BYTES = 16 + 16 + 8 + 4;
const ENTRY_BYTES = 9;
const KINDS = { audio: 1, finish: 2 } as const;

/** Bytes of an entry on disk, without its share of the chunk's header. */
export function sizeOf(entry: Entry): number {
  return ENTRY_BYTES + (entry.kind === 'audio' ? entry.bytes.length : 0);
}

export function bytesIn(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + sizeOf(entry), 0);
}

export function extentOf({ streamId, userId, entries }: Chunk): Extent {
  const endNumber = (entries.findLast(isAudio)?.number ?? -1) + 1;
  return { streamId, userId, count: entries.length, bytes: bytesIn(entries), endNumber };
}

/** Splits entries into chunks with consecutive numbers: a chunk stores the number of its first message only. */
export function withoutHoles(entries: readonly Entry[]): Entry[][] {
  const parts: Entry[][] = [];
  let next: number | null = null;
  for (const entry of entries) {
    const part = entry.number === next ? parts.at(-1) : undefined;
    if (part) part.push(entry);
    else parts.push([entry]);
    next = isAudio(entry) ? entry.number + 1 : entry.number;
  }
  return parts;
}

export function encodeChunk({ streamId, userId, entries }: Chunk): Buffer {
  const size = FIXED_BYTES + bytesIn(entries);
  const chunk = Buffer.allocUnsafe(HEADER_BYTES + size); // all of it is overwritten
  chunk.writeUInt32LE(MARK, 0);
  chunk.writeUInt32LE(size, 4);
  let at = HEADER_BYTES;
  at += chunk.write(streamId.replaceAll('-', ''), at, 'hex');
  at += chunk.write(userId.replaceAll('-', ''), at, 'hex');
  at = chunk.writeDoubleLE(entries[0]?.at ?? 0, at);
  at = chunk.writeUInt32LE(entries[0]?.number ?? 0, at);
  for (const entry of entries) {
    const bytes = isAudio(entry) ? entry.bytes : EMPTY;
    at = chunk.writeUInt8(KINDS[entry.kind], at);
    at = chunk.writeUInt32LE(isAudio(entry) ? entry.gapMs : 0, at);
    at = chunk.writeUInt32LE(bytes.length, at);
    at += bytes.copy(chunk, at);
  }
  chunk.writeUInt32LE(crcOf(chunk), 8);
  return chunk;
}

const EMPTY = Buffer.alloc(0);

export function isAudio(entry: Entry): entry is AudioEntry {
  return entry.kind === 'audio';
}

/**
 * Decodes everything intact in a file, in order; never throws, whatever its bytes. `damaged`: stretches that are no
 * chunk.
 */
export function decodeChunks(file: Buffer): { chunks: Found[]; damaged: number } {
  const chunks: Found[] = [];
  let damaged = 0;
  for (let at = 0; at < file.length; ) {
    const chunk = decodeChunk(file, at);
    if (chunk) {
      chunks.push(chunk);
      at += chunk.length;
      continue;
    }
    damaged += 1;
    at = nextChunk(file, at + 1);
  }
  return { chunks, damaged };
}

function nextChunk(file: Buffer, from: number): number {
  const mark = Buffer.alloc(4);
  mark.writeUInt32LE(MARK);
  for (let at = file.indexOf(mark, from); at >= 0; at = file.indexOf(mark, at + 1))
    if (decodeChunk(file, at)) return at;
  return file.length;
}

/** Decodes the chunk at `offset`; null where there is none. */
export function decodeChunk(file: Buffer, offset: number): Found | null {
  if (offset + HEADER_BYTES + FIXED_BYTES > file.length || file.readUInt32LE(offset) !== MARK) return null;
  const end = offset + HEADER_BYTES + file.readUInt32LE(offset + 4);
  if (end > file.length || end < offset + HEADER_BYTES + FIXED_BYTES) return null;
  const chunk = file.subarray(offset, end);
  if (chunk.readUInt32LE(8) !== crcOf(chunk)) return null;
  return {
    offset,
    length: chunk.length,
    streamId: uuidAt(chunk, HEADER_BYTES),
    userId: uuidAt(chunk, HEADER_BYTES + 16),
    entries: entriesOf(chunk),
  };
}

function entriesOf(chunk: Buffer): Entry[] {
  let at = HEADER_BYTES + 32;
  const time = chunk.readDoubleLE(at);
  let number = chunk.readUInt32LE(at + 8);
  const entries: Entry[] = [];
  for (at += 12; at < chunk.length; ) {
    const gapMs = chunk.readUInt32LE(at + 1);
    const from = at + ENTRY_BYTES;
    const to = from + chunk.readUInt32LE(at + 5);
    if (chunk[at] === KINDS.finish) entries.push({ kind: 'finish', number, at: time });
    else entries.push({ kind: 'audio', number: number++, gapMs, at: time, bytes: chunk.subarray(from, to) });
    at = to;
  }
  return entries;
}

function crcOf(chunk: Buffer): number {
  return crc32(chunk.subarray(HEADER_BYTES), crc32(chunk.subarray(4, 8)));
}

function uuidAt(chunk: Buffer, at: number): string {
  const hex = chunk.toString('hex', at, at + 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
