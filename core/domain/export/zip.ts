/**
 * Writes ZIP archives (APPNOTE.TXT 6.3.10, with ZIP64) of any number of files while they are read. Libraries keep an
 * object for each file, look through all of them at each, and write the list of files without a pause.
 */
import { promisify } from 'node:util';
import zlib from 'node:zlib';

export interface ArchivedFile {
  /** Relative, with `/`. */
  path: string;
  /** When it was changed last (epoch ms). */
  at: number;
  pieces: AsyncIterable<Uint8Array>;
  /** Whether its content is compressed already. */
  isCompressed: boolean;
}

const compressed = promisify<Uint8Array, Buffer>(zlib.deflateRaw);
const inflate = promisify<Uint8Array, Buffer>(zlib.inflateRaw);

const VERSION = 45;
const MADE_ON_UNIX = 3 << 8;
/** Regular file that its owner can read and write. */
const MODE = 0o100600;
/** Sizes follow the content; the path is UTF-8. */
const FLAGS = 0x0808;
const STORED = 0;
const DEFLATED = 8;
const LAST_BLOCK = Buffer.of(3, 0);
const ZIP64_SIZES = 1;
const MAX_16 = 0xffff;
const MAX_32 = 0xffffffff;
/** Size of the parts in which the list of files is kept compressed: paths repeat, so a tenth remains. */
const LIST_BYTES = 64 * 1024;

/** Yields an archive, no faster than it is read. Its files are asked for one after the other. */
export async function* zipOf(files: AsyncIterable<ArchivedFile>): AsyncGenerator<Uint8Array> {
  const deflater = createDeflater();
  try {
    yield* piecesOf(files, deflater);
  } finally {
    deflater.close();
  }
}

async function* piecesOf(
  files: AsyncIterable<ArchivedFile>,
  { deflate }: ReturnType<typeof createDeflater>,
): AsyncGenerator<Uint8Array> {
  let offset = 0;
  let count = 0;
  const list = createList();
  for await (const { path, at, pieces, isCompressed } of files) {
    const name = Buffer.from(path);
    const common = [16, FLAGS, 16, isCompressed ? STORED : DEFLATED, 32, dosTime(at)] as const;
    const header = Buffer.concat([
      fields(32, 0x04034b50, 16, VERSION, ...common, 32, 0, 32, 0, 32, 0, 16, name.length, 16, 0),
      name,
    ]);
    yield header;
    let crc = 0;
    let size = 0;
    const ending = isCompressed ? Buffer.of() : LAST_BLOCK;
    let packed = ending.length;
    for await (const piece of pieces) {
      crc = zlib.crc32(piece, crc);
      size += piece.length;
      const part = isCompressed ? piece : await deflate(piece);
      packed += part.length;
      yield part;
    }
    const sizeBits = Math.max(size, packed) > MAX_32 ? 64 : 32;
    const descriptor = fields(32, 0x08074b50, 32, crc, sizeBits, packed, sizeBits, size);
    yield Buffer.concat([ending, descriptor]);

    const isLarge = sizeBits === 64 || offset >= MAX_32;
    const large = isLarge ? fields(16, ZIP64_SIZES, 16, 24, 64, size, 64, packed, 64, offset) : Buffer.of();
    const small = isLarge ? [MAX_32, MAX_32, MAX_32] : [packed, size, offset];
    const [packed32 = 0, size32 = 0, offset32 = 0] = small;
    await list.add([
      fields(32, 0x02014b50, 16, MADE_ON_UNIX | VERSION, 16, VERSION, ...common, 32, crc),
      fields(32, packed32, 32, size32, 16, name.length, 16, large.length, 16, 0, 16, 0, 16, 0),
      fields(32, MODE * 0x10000, 32, offset32),
      name,
      large,
    ]);
    offset += header.length + packed + descriptor.length;
    count++;
  }

  let length = 0;
  for await (const part of list.parts()) {
    length += part.length;
    yield part;
  }
  const end = offset + length;
  yield fields(32, 0x06064b50, 64, 44, 16, MADE_ON_UNIX | VERSION, 16, VERSION, 32, 0, 32, 0);
  yield fields(64, count, 64, count, 64, length, 64, offset);
  yield fields(32, 0x07064b50, 32, 0, 64, end, 32, 1);
  const few = Math.min(count, MAX_16);
  yield fields(32, 0x06054b50, 16, 0, 16, 0, 16, few, 16, few);
  yield fields(32, Math.min(length, MAX_32), 32, Math.min(offset, MAX_32), 16, 0);
}

/**
 * Compresses the pieces of all files. With a compressor for each file, of a quarter of a megabyte outside its heap, V8 collects
 * garbage for 20 to 55 ms twice a second.
 */
function createDeflater() {
  const stream = zlib.createDeflateRaw();
  let parts: Buffer[] = [];
  let failed: (error: Error) => void = () => {};
  stream.on('data', part => parts.push(part));
  stream.on('error', error => failed(error));
  return {
    /** Resolves to complete blocks, which refer to no earlier ones. */
    async deflate(piece: Uint8Array): Promise<Buffer> {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      failed = reject;
      stream.write(piece);
      stream.flush(zlib.constants.Z_FULL_FLUSH, resolve);
      await promise;
      const blocks = Buffer.concat(parts);
      parts = [];
      return blocks;
    },
    close: () => stream.destroy(),
  };
}

/** The central directory, which is written last. */
function createList() {
  const full: Buffer[] = [];
  let records: Buffer[] = [];
  let bytes = 0;
  return {
    async add(record: readonly Buffer[]): Promise<void> {
      records.push(...record);
      for (const part of record) bytes += part.length;
      if (bytes < LIST_BYTES) return;
      full.push(await compressed(Buffer.concat(records)));
      records = [];
      bytes = 0;
    },
    async *parts(): AsyncGenerator<Buffer> {
      for (const part of full) yield await inflate(part);
      yield Buffer.concat(records);
    },
  };
}

/** @param given the number of bits of each field, 16, 32 or 64, and its value */
function fields(...given: number[]): Buffer {
  let length = 0;
  for (let at = 0; at < given.length; at += 2) length += (given[at] ?? 0) / 8;
  const buffer = Buffer.allocUnsafe(length);
  let position = 0;
  for (let at = 0; at < given.length; at += 2) {
    const value = given[at + 1] ?? 0;
    if (given[at] === 16) position = buffer.writeUInt16LE(value, position);
    else if (given[at] === 32) position = buffer.writeUInt32LE(value, position);
    else position = buffer.writeBigUInt64LE(BigInt(value), position);
  }
  return buffer;
}

/** Date and time of MS-DOS, in the time of this machine: the format has no zones, and years from 1980 to 2107. */
function dosTime(at: number): number {
  const date = new Date(at);
  const year = Math.min(Math.max(date.getFullYear(), 1980), 2107) - 1980;
  const day = (year << 9) | ((date.getMonth() + 1) << 5) | date.getDate();
  const time = (date.getHours() << 11) | (date.getMinutes() << 5) | (date.getSeconds() >> 1);
  return day * 0x10000 + time;
}
