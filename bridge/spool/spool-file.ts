import { crc32 } from 'node:zlib';

/** A stored audio message. */
export interface SpoolRecord {
  /** Its number within the recording, from 0. */
  number: number;
  /** Loss just before it, in ms. */
  gapMs: number;
  /** Time of arrival, in ms since the start of the recording. */
  atMs: number;
  bytes: Buffer;
}

/**
 * `45 53 | u16 length | u32 number | u32 gapMs | u32 atMs | u32 CRC-32 of all that, and of the bytes | bytes`, little-endian.
 * The marker at the start lets a reader find the next record after a damaged one.
 */
const MARK = 0x5345;
const HEADER_BYTES = 20;
const CRC_AT = 16;
const MAX_RECORD_BYTES = 0xffff;

export function encodeRecord({ number, gapMs, atMs, bytes }: SpoolRecord): Buffer {
  if (bytes.length > MAX_RECORD_BYTES)
    throw new RangeError(`a message of ${bytes.length} bytes does not fit into the spool`);
  const record = Buffer.alloc(HEADER_BYTES + bytes.length);
  record.writeUInt16LE(MARK, 0);
  record.writeUInt16LE(bytes.length, 2);
  record.writeUInt32LE(number, 4);
  record.writeUInt32LE(gapMs, 8);
  record.writeUInt32LE(atMs, 12);
  bytes.copy(record, HEADER_BYTES);
  record.writeUInt32LE(crcOf(record), CRC_AT);
  return record;
}

/** Content of a file. */
export interface Scan {
  records: SpoolRecord[];
  /** Number of byte ranges that are not valid records, because of a crash or damage. */
  damaged: number;
}

/** Parses a file. Never throws, whatever the bytes. */
export function decodeRecords(file: Buffer): Scan {
  const records: SpoolRecord[] = [];
  let damaged = 0;
  for (let at = 0; at < file.length; ) {
    const record = recordAt(file, at);
    if (record) {
      records.push(record);
      at += HEADER_BYTES + record.bytes.length;
      continue;
    }
    damaged += 1;
    at = nextRecord(file, at + 1);
  }
  return { records, damaged };
}

function nextRecord(file: Buffer, from: number): number {
  for (let at = from; at + HEADER_BYTES <= file.length; at += 1) if (recordAt(file, at)) return at;
  return file.length;
}

function recordAt(file: Buffer, at: number): SpoolRecord | null {
  if (at + HEADER_BYTES > file.length || file.readUInt16LE(at) !== MARK) return null;
  const end = at + HEADER_BYTES + file.readUInt16LE(at + 2);
  if (end > file.length) return null;
  const record = file.subarray(at, end);
  if (record.readUInt32LE(CRC_AT) !== crcOf(record)) return null;
  return {
    number: record.readUInt32LE(4),
    gapMs: record.readUInt32LE(8),
    atMs: record.readUInt32LE(12),
    bytes: record.subarray(HEADER_BYTES),
  };
}

function crcOf(record: Buffer): number {
  return crc32(record.subarray(HEADER_BYTES), crc32(record.subarray(0, CRC_AT)));
}
