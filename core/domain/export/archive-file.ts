/** Reads an archive of an account. Nothing in it is trusted. */
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import yauzl, { type Entry, type ZipFile } from 'yauzl';
import { z } from 'zod';
import { AppError } from '../../runtime/errors.ts';
import { FORMAT, MANIFEST } from './account-files.ts';
import { ID_CHARS, type MediaKind } from './account-media.ts';

const MAX_MANIFEST_BYTES = 64 * 1024;
/** Maximum length of a row, which holds at most the text of a transcript. */
const MAX_LINE_CHARS = 32 * 1024 * 1024;
const MAX_ENTRIES = 2_000_000;
/** Maximum number of photos and audio files, whose places are kept in memory. */
const MAX_MEDIA = 500_000;

const Manifest = z.object({
  format: z.int(),
  earshot: z.string().max(100),
  account: z.string().max(1000),
  rows: z.record(z.string(), z.int().min(0)),
});
type Manifest = z.infer<typeof Manifest>;

const openZip = promisify<string, object, ZipFile>(yauzl.open);

export type Archive = Awaited<ReturnType<typeof openArchive>>;

/** Opens an archive and reads its manifest. @throws {AppError} `invalid_request` that says what is wrong */
export async function openArchive(file: string, kinds: readonly MediaKind[]) {
  const zip = await openZip(file, { lazyEntries: true, autoClose: false }).catch(cause => {
    throw wrong('it is no ZIP archive, or cannot be read', cause);
  });
  const open = promisify<Entry, Readable>(zip.openReadStream.bind(zip));
  try {
    const { entries, media } = await entriesOf(zip, kinds);
    return {
      manifest: await readManifest(open, entries.get(MANIFEST)),
      lines: (path: string) => linesOf(open, path, entries.get(path)),
      /** Names of the files of a row. */
      filesOf: (kind: MediaKind, id: string): string[] => [...(media.get(kind)?.get(id)?.keys() ?? [])],
      bytesOf: (kind: MediaKind, name: string): number => entryOf(kind, name).uncompressedSize,
      open: (kind: MediaKind, name: string): Promise<Readable> => open(entryOf(kind, name)),
      *sizes(): Generator<[MediaKind, number]> {
        for (const [kind, files] of media)
          for (const names of files.values())
            for (const { uncompressedSize } of names.values()) yield [kind, uncompressedSize];
      },
      close: () => zip.close(),
    };

    function entryOf(kind: MediaKind, name: string): Entry {
      const entry = media.get(kind)?.get(name.slice(0, ID_CHARS))?.get(name);
      if (!entry) throw wrong(`${kind.folder}/${name} is missing`);
      return entry;
    }
  } catch (error) {
    zip.close();
    throw error;
  }
}

/** Files by the rows that they belong to. */
type Media = Map<MediaKind, Map<string, Map<string, Entry>>>;

/** Lists the entries that an import reads. */
async function entriesOf(
  zip: ZipFile,
  kinds: readonly MediaKind[],
): Promise<{ entries: Map<string, Entry>; media: Media }> {
  if (zip.entryCount > MAX_ENTRIES) throw wrong(`it has more than ${MAX_ENTRIES} files`);
  const entries = new Map<string, Entry>();
  const media: Media = new Map(kinds.map(kind => [kind, new Map()]));
  let count = 0;
  await new Promise<void>((resolve, reject) => {
    zip.on('entry', (entry: Entry) => {
      const [folder = '', name = '', ...deeper] = entry.fileName.split('/');
      const kind = deeper.length > 0 ? undefined : kinds.find(each => each.folder === folder);
      if (entry.fileName === MANIFEST || folder === 'data') entries.set(entry.fileName, entry);
      else if (kind?.name.test(name)) {
        count += 1;
        if (count > MAX_MEDIA) return reject(wrong(`it has more than ${MAX_MEDIA} photos and audio files`));
        addTo(media, kind, name, entry);
      }
      zip.readEntry();
    });
    zip.once('end', resolve);
    zip.once('error', cause => reject(wrong('the archive is damaged', cause)));
    zip.readEntry();
  });
  return { entries, media };
}

function addTo(media: Media, kind: MediaKind, name: string, entry: Entry): void {
  const files = media.get(kind);
  const id = name.slice(0, ID_CHARS);
  const names = files?.get(id) ?? new Map<string, Entry>();
  files?.set(id, names.set(name, entry));
}

type OpenEntry = (entry: Entry) => Promise<Readable>;

async function readManifest(open: OpenEntry, entry: Entry | undefined): Promise<Manifest> {
  if (!entry) throw wrong(`it has no ${MANIFEST}: it is no export of Earshot`);
  if (entry.uncompressedSize > MAX_MANIFEST_BYTES) throw wrong(`${MANIFEST} is too large`);
  let text = '';
  for await (const line of linesOf(open, MANIFEST, entry)) text += line;
  const parsed = Manifest.safeParse(fromJson(text));
  if (!parsed.success) throw wrong(`${MANIFEST} is not what an export of Earshot has`);
  if (parsed.data.format !== FORMAT)
    throw wrong(`its format is ${parsed.data.format}, and this version reads ${FORMAT}`);
  return parsed.data;
}

async function* linesOf(open: OpenEntry, path: string, entry: Entry | undefined): AsyncGenerator<string> {
  if (!entry) throw wrong(`${path} is missing`);
  try {
    const input = await open(entry);
    input.setEncoding('utf8');
    let rest = '';
    for await (const chunk of input) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MAX_LINE_CHARS) throw wrong(`${path} has a line that is too long`);
      yield* lines;
    }
    if (rest !== '') yield rest;
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw wrong(`${path} is damaged`, cause);
  }
}

export function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Refuses an archive, and says why. */
export function wrong(what: string, cause?: unknown): AppError {
  return new AppError('invalid_request', `The file cannot be imported: ${what}. Nothing was changed`, {
    cause,
  });
}
