/**
 * Access to a single file, or to the files of a folder or a ZIP archive: readers of formats see nothing else of a disk.
 */
import { open, opendir, readFile, stat } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import yauzl, { type Entry, type ZipFile } from 'yauzl';
import { AppError } from '../../runtime/errors.ts';

export interface SourceFile {
  /** Path within the folder or archive, with `/`. */
  path: string;
  bytes: number;
  /** Epoch ms. */
  modifiedAt: number;
  read(): Promise<Buffer>;
  /** Path on the disk; null: it is in an archive. */
  place: string | null;
  /** Reads its beginning: at most 4 KiB, as text. */
  head(): Promise<string>;
}

const MiB = 1024 * 1024;
/** Maximum number of files, as in Earshot's own archives. */
const MAX_FILES = 2_000_000;
/** Maximum size of a file; a JSON file may contain a whole account. */
const MAX_BYTES = 256 * MiB;
const HEAD_BYTES = 4096;
/** Files that operating systems create in folders and archives. */
const CLUTTER = /(^|\/)(\.|__MACOSX\/|Thumbs\.db$|desktop\.ini$)/i;

const openZip = promisify<string, object, ZipFile>(yauzl.open);

/** Lists files in the order of their paths. Rejects where there are too many, or the archive is damaged. */
export async function filesOf(path: string): Promise<{ files: SourceFile[]; close(): void }> {
  const about = await stat(path).catch(cause => {
    const { code } = cause as NodeJS.ErrnoException;
    throw wrong(code === 'ENOENT' ? `${path} does not exist` : `${path} cannot be read: ${code}`, cause);
  });
  const { files, close } = about.isDirectory()
    ? { files: await filesIn(path), close: () => {} }
    : (await isZip(path))
      ? await filesInZip(path)
      : { files: [fileAt(path, basename(path), about)], close: () => {} };
  return { files: files.sort((a, b) => (a.path < b.path ? -1 : 1)), close };
}

async function filesIn(folder: string): Promise<SourceFile[]> {
  const files: SourceFile[] = [];
  for await (const entry of await opendir(folder, { recursive: true })) {
    const full = join(entry.parentPath, entry.name);
    const path = relative(folder, full).split(sep).join('/');
    if (!entry.isFile() || CLUTTER.test(path)) continue;
    if (files.length === MAX_FILES) throw wrong(`it has more than ${MAX_FILES} files`);
    files.push(fileAt(full, path, await stat(full)));
  }
  return files;
}

function fileAt(
  full: string,
  path: string,
  { size, mtimeMs }: { size: number; mtimeMs: number },
): SourceFile {
  return {
    path,
    place: full,
    bytes: size,
    modifiedAt: Math.round(mtimeMs),
    async read() {
      refuseLarge(path, size);
      return readFile(full);
    },
    async head() {
      const handle = await open(full, 'r');
      try {
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
        return buffer.toString('utf8', 0, bytesRead);
      } finally {
        await handle.close();
      }
    },
  };
}

async function isZip(path: string): Promise<boolean> {
  return (await fileAt(path, path, { size: 0, mtimeMs: 0 }).head()).startsWith('PK\u0003\u0004');
}

async function filesInZip(path: string): Promise<{ files: SourceFile[]; close(): void }> {
  const zip = await openZip(path, { lazyEntries: true, autoClose: false }).catch(cause => {
    throw wrong(`${basename(path)} is a damaged ZIP archive`, cause);
  });
  const files: SourceFile[] = [];
  try {
    await new Promise<void>((resolve, reject) => {
      zip.on('entry', (entry: Entry) => {
        if (files.length === MAX_FILES) return reject(wrong(`it has more than ${MAX_FILES} files`));
        if (!entry.fileName.endsWith('/') && !CLUTTER.test(entry.fileName)) files.push(zipped(zip, entry));
        zip.readEntry();
      });
      zip.once('end', resolve);
      zip.once('error', cause => reject(wrong(`${basename(path)} is a damaged ZIP archive`, cause)));
      zip.readEntry();
    });
  } catch (error) {
    zip.close();
    throw error;
  }
  return { files, close: () => zip.close() };
}

function zipped(zip: ZipFile, entry: Entry): SourceFile {
  const { fileName: path, uncompressedSize } = entry;
  const openEntry = promisify<Entry, NodeJS.ReadableStream>(zip.openReadStream.bind(zip));

  async function readSome(most: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const piece of await openEntry(entry)) {
        pieces.push(piece as Buffer);
        bytes += piece.length;
        if (bytes >= most) break;
      }
    } catch (cause) {
      throw wrong(`${path} is damaged, or encrypted`, cause);
    }
    return Buffer.concat(pieces).subarray(0, most);
  }

  return {
    path,
    place: null,
    bytes: uncompressedSize,
    modifiedAt: entry.getLastModDate().getTime(),
    async read() {
      refuseLarge(path, uncompressedSize);
      return readSome(Number.POSITIVE_INFINITY);
    },
    head: async () => (await readSome(HEAD_BYTES)).toString('utf8'),
  };
}

function refuseLarge(path: string, bytes: number): void {
  if (bytes > MAX_BYTES) throw wrong(`${path} is larger than ${MAX_BYTES / MiB} MiB`);
}

/** Creates the error that refuses an import; it names the file and its fault. */
export function wrong(what: string, cause?: unknown): AppError {
  return new AppError('invalid_request', `Nothing was imported: ${what}`, { cause });
}
