import type { Clock } from '../../contract/model.ts';
import { decodeChunk, decodeChunks, type Extent, extentOf, type Found } from './chunk.ts';
import type { Disk, DiskFile } from './disk.ts';

/** Location of a chunk. */
export interface Place {
  file: LogFile;
  offset: number;
  length: number;
}

/** File of the log; deleted when none of its chunks is needed any more. */
interface LogFile {
  name: string;
  size: number;
  /** Number of its chunks that are still needed. */
  wanted: number;
}

/** Log in files of bounded size: appended to at one end, deleted file by file at the other. */
export interface AppendLog {
  /** Chunks of an earlier process, in the order of writing. */
  readonly found: { place: Place; extent: Extent }[];
  /** Number of damaged stretches in them. */
  readonly damaged: number;
  /**
   * Writes chunks one after the other; they are on disk when it resolves. If it rejects, none is. Calls must not
   * overlap.
   */
  write(chunks: Buffer[]): Promise<Place[]>;
  /** Null: it cannot be read back. */
  read(place: Place): Promise<Found | null>;
  /** Marks a chunk as no longer needed. */
  release(place: Place): Promise<void>;
  /** Bytes on disk. */
  readonly bytes: number;
  close(): Promise<void>;
}

interface LogOptions {
  disk: Disk;
  clock: Clock;
  /** A new file is begun when the current one reaches this size … */
  fileBytes: number;
  /** … or this age. */
  fileMs: number;
}

const NAME = /^(\d{12})\.log$/;

/** Opens the log of a directory with all intact chunks. Other files are left alone. */
export async function openAppendLog({ disk, clock, fileBytes, fileMs }: LogOptions): Promise<AppendLog> {
  const names = (await disk.list()).filter(name => NAME.test(name)).sort();
  const found: AppendLog['found'] = [];
  let damaged = 0;
  let bytes = 0;
  let nextNumber = Number(NAME.exec(names.at(-1) ?? '')?.[1] ?? 0) + 1;
  /** The current file. */
  let growing: { file: LogFile; handle: DiskFile; since: number } | null = null;
  let writing = false;

  for (const name of names) {
    const content = await disk.read(name);
    const scan = decodeChunks(content);
    damaged += scan.damaged;
    const file = { name, size: content.length, wanted: scan.chunks.length };
    bytes += file.size;
    for (const chunk of scan.chunks)
      found.push({
        place: { file, offset: chunk.offset, length: chunk.length },
        extent: extentOf(chunk), // without its audio, which may exceed the memory
      });
    if (file.wanted === 0) await drop(file);
  }

  async function drop(file: LogFile) {
    bytes -= file.size;
    file.size = 0;
    await disk.remove(file.name);
  }

  async function fileToWrite() {
    if (growing && isOver(growing)) await roll();
    growing ??= await begin();
    return growing;
  }

  /**
   * Tells whether the current file is complete. One that holds nothing needed is closed early, but not at every chunk.
   */
  function isOver({ file, since }: { file: LogFile; since: number }) {
    const enough = file.wanted === 0 ? fileBytes / 64 : fileBytes;
    return file.size >= enough || clock.now() - since >= fileMs;
  }

  async function begin() {
    const name = `${String(nextNumber).padStart(12, '0')}.log`;
    nextNumber += 1;
    return { file: { name, size: 0, wanted: 0 }, handle: await disk.create(name), since: clock.now() };
  }

  async function roll() {
    const old = growing;
    growing = null;
    await old?.handle.close();
    if (old?.file.wanted === 0) await drop(old.file);
  }

  async function write(chunks: Buffer[]) {
    writing = true;
    try {
      return await writeTo(await fileToWrite(), chunks);
    } finally {
      writing = false;
    }
  }

  async function writeTo({ file, handle }: { file: LogFile; handle: DiskFile }, chunks: Buffer[]) {
    const start = file.size;
    const all = Buffer.concat(chunks);
    try {
      await handle.write(all, start);
      await handle.sync();
    } catch (error) {
      // Half-written bytes are cut off, or at least nothing is appended to them.
      await handle.truncate(start).catch(() => {});
      await roll().catch(() => {});
      throw error;
    }
    file.size += all.length;
    bytes += all.length;
    file.wanted += chunks.length;
    let offset = start;
    return chunks.map(({ length }) => {
      const place = { file, offset, length };
      offset += length;
      return place;
    });
  }

  return {
    found,
    damaged,
    write,
    async read({ file, offset, length }) {
      const content = await disk.read(file.name, offset, length).catch(() => Buffer.alloc(0));
      return decodeChunk(content, 0);
    },
    async release({ file }) {
      file.wanted -= 1;
      if (file.wanted > 0) return;
      if (file !== growing?.file) await drop(file);
      else if (!writing && isOver(growing)) await roll(); // no later write may do it
    },
    get bytes() {
      return bytes;
    },
    async close() {
      await roll();
    },
  };
}
