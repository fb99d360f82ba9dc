/**
 * A backup is one file: a tar, compressed with zstd, and encrypted with age if there are recipients. Its first entry,
 * `manifest.json`, lists every other entry in order, with size and hash. `tar --zstd -xf` opens it without Earshot.
 */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { PassThrough, Readable, type Transform, type Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { type Extract, extract, pack } from 'tar-stream';
import { z } from 'zod';
import { AppError } from '../runtime/errors.ts';

const MANIFEST = 'manifest.json';
/** Ends the compressed data with a checksum, which covers the manifest as well. */
const CHECKED = { [constants.ZSTD_c_checksumFlag]: 1 };
/** The database as a SQLite file, wherever it lay. */
export const DATABASE = 'earshot.db';
/** Enough for some 250,000 files. */
const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;

export const Manifest = z.object({
  format: z.literal(1),
  /** Version of Earshot that made the backup. */
  version: z.string(),
  createdAt: z.iso.datetime(),
  /** Rows of the database by table. */
  rows: z.record(z.string(), z.number().int().min(0)),
  files: z.array(
    z.object({
      path: z.string().refine(isInside, 'must be a path within the data directory'),
      bytes: z.number().int().min(0),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
});
export type Manifest = z.infer<typeof Manifest>;
export type ArchivedFile = Manifest['files'][number];

/** Loaded by those who encrypt: its tables take a quarter of the time in which a command starts. */
const age = () => import('age-encryption');

/** A relative path below the target directory, with forward slashes on every system. */
function isInside(path: string): boolean {
  const parts = path.split('/');
  return !/[\\\0]/.test(path) && parts.every(part => part !== '' && part !== '.' && part !== '..');
}

/** Source of an archived file: no more than `bytes` are read, because some files grow meanwhile. */
export interface Source extends ArchivedFile {
  from: string;
}

/**
 * Writes an archive to `target`, which must not be there, and syncs it.
 * @param recipients age public keys; none: it is not encrypted
 */
export async function writeArchive(
  target: string,
  { files, ...manifest }: Omit<Manifest, 'files'> & { files: readonly Source[] },
  recipients: readonly string[],
): Promise<void> {
  const listed = files.map(({ path, bytes, sha256 }) => ({ path, bytes, sha256 }));
  const tar = pack();
  const filling = (async () => {
    tar.entry({ name: MANIFEST, mode: 0o600 }, JSON.stringify({ ...manifest, files: listed }));
    for (const { path, bytes, from } of files) {
      const entry = tar.entry({ name: path, size: bytes, mode: 0o600 }) as unknown as Writable;
      if (bytes === 0) entry.end();
      else await pipeline(createReadStream(from, { end: bytes - 1 }), entry);
    }
    tar.finalize();
  })();
  filling.catch(error => tar.destroy(error));
  const compressed = new PassThrough();
  const compressing = pipeline(
    tar as unknown as Readable,
    createZstdCompress({ params: CHECKED }),
    compressed,
  );
  const output = recipients.length === 0 ? compressed : await encrypt(compressed, recipients);
  const file = createWriteStream(target, { flags: 'wx', mode: 0o600, flush: true });
  await Promise.all([filling, compressing, pipeline(output, file)]);
}

async function encrypt(plain: Readable, recipients: readonly string[]): Promise<Readable> {
  const { Encrypter } = await age();
  const encrypter = new Encrypter();
  for (const recipient of recipients) encrypter.addRecipient(recipient);
  return Readable.fromWeb(await encrypter.encrypt(Readable.toWeb(plain)));
}

/** Decides where the bytes of a file go; null: they are only checked. */
export type Take = (file: ArchivedFile) => Promise<Writable | null>;

/**
 * Reads an archive to its end, and checks its contents against its manifest.
 * @param identity the age private key; null: none
 * @param begin receives the manifest before anything else is read
 * @throws AppError `invalid_input` where the file is no backup, is damaged, or was encrypted for another key
 */
export async function readArchive(
  file: string,
  identity: string | null,
  begin: (manifest: Manifest) => Promise<Take>,
  signal?: AbortSignal,
): Promise<Manifest> {
  const entries = extract();
  const streams = [...(await decode(file, identity)), entries];
  const reading = pipeline(streams as unknown as [Readable, Writable], { ...(signal && { signal }) });
  const failed = reading.then(
    () => null,
    error => ({ error }),
  );
  try {
    const manifest = await readEntries(entries, begin);
    await reading;
    return manifest;
  } catch (error) {
    entries.destroy();
    signal?.throwIfAborted();
    if (error instanceof AppError || !isOfArchive(error)) throw error;
    throw new AppError('invalid_input', `${file} is damaged or not complete`, {
      cause: (await failed)?.error ?? error,
    });
  }
}

/** Errors of the file system have a code such as ENOSPC, and do not mean that the archive is damaged. */
function isOfArchive(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined || !/^E[A-Z0-9]+$/.test(code);
}

async function readEntries(
  entries: Extract,
  begin: (manifest: Manifest) => Promise<Take>,
): Promise<Manifest> {
  let manifest: Manifest | null = null;
  let take: Take = async () => null;
  let next = 0;
  for await (const entry of entries) {
    const { name, size = 0, type } = entry.header;
    if (!manifest) {
      if (name !== MANIFEST || size > MAX_MANIFEST_BYTES) throw new Error('it begins with no manifest');
      manifest = parseManifest(await text(entry));
      take = await begin(manifest);
      continue;
    }
    const listed = manifest.files[next++];
    if (type !== 'file' || name !== listed?.path || size !== listed.bytes)
      throw new Error(`${name} is not what the manifest lists`);
    await readFile(entry, listed, await take(listed));
  }
  if (!manifest) throw new Error('it is empty');
  if (next < manifest.files.length) throw new Error(`${manifest.files[next]?.path} is missing`);
  return manifest;
}

async function readFile(entry: AsyncIterable<Buffer>, { path, sha256 }: ArchivedFile, to: Writable | null) {
  const hash = createHash('sha256');
  const hashed = async function* () {
    for await (const chunk of entry) {
      hash.update(chunk);
      yield chunk;
    }
  };
  if (to) await pipeline(hashed, to);
  else for await (const _ of hashed());
  if (hash.digest('hex') !== sha256) throw new Error(`${path} has changed`);
}

function parseManifest(json: string): Manifest {
  const parsed = Manifest.safeParse(JSON.parse(json));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new AppError(
    'invalid_input',
    `The backup is of another version of Earshot, or damaged: ${issue?.path.join('.')}: ${issue?.message}`,
  );
}

/** Creates the streams that lead from the file to the tar in it. */
async function decode(file: string, identity: string | null): Promise<(Readable | Transform)[]> {
  const beginning = await firstBytes(file);
  if (beginning.subarray(0, 4).equals(ZSTD)) return [createReadStream(file), createZstdDecompress()];
  if (!beginning.toString('latin1').startsWith(AGE))
    throw new AppError('invalid_input', `${file} is not a backup of Earshot`);
  if (identity === null)
    throw new AppError(
      'invalid_input',
      `${file} is encrypted: name the file with its private key (--identity)`,
    );
  const { Decrypter } = await age();
  const decrypter = new Decrypter();
  try {
    decrypter.addIdentity(identity);
  } catch (cause) {
    throw new AppError('invalid_input', 'This is not a private key: it must begin with AGE-SECRET-KEY-', {
      cause,
    });
  }
  try {
    const plain = await decrypter.decrypt(
      Readable.toWeb(createReadStream(file)) as ReadableStream<Uint8Array>,
    );
    return [Readable.fromWeb(plain as import('node:stream/web').ReadableStream), createZstdDecompress()];
  } catch (cause) {
    throw new AppError('invalid_input', `${file} was encrypted for another key, or is damaged`, { cause });
  }
}
const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
const AGE = 'age-encryption.org/v1';

async function firstBytes(file: string): Promise<Buffer> {
  const handle = await open(file, 'r').catch(cause => {
    throw new AppError('not_found', `${file} cannot be read: ${(cause as NodeJS.ErrnoException).code}`, {
      cause,
    });
  });
  try {
    if ((await handle.stat()).isDirectory())
      throw new AppError('invalid_input', `${file} is a directory: name the file of a backup`);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(AGE.length), 0, AGE.length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** SHA-256 of the first bytes of a file, hex. */
export async function hashFile(file: string, bytes: number, signal?: AbortSignal): Promise<string> {
  if (bytes === 0) return hashStream(Readable.from([]), signal);
  return hashStream(createReadStream(file, { end: bytes - 1 }), signal);
}

/** SHA-256 of all that a stream yields, hex. */
export async function hashStream(stream: Readable, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(stream, hash, { ...(signal && { signal }) });
  return hash.digest('hex');
}

/** Creates a key pair: backups are encrypted for the public key, and opened with the private one. */
export async function createKey(): Promise<{ recipient: string; identity: string }> {
  const { generateX25519Identity, identityToRecipient } = await age();
  const identity = await generateX25519Identity();
  return { identity, recipient: await identityToRecipient(identity) };
}
