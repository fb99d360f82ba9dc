/** The catalogue of models, and whether a file is what it should be. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, relative } from 'node:path';

export interface KnownFile {
  name: string;
  url?: string;
  /** Bytes; absent where only the checksum is known. */
  size?: number;
  /** Absent: its operator vouches for it. */
  sha256?: string;
}

const CATALOGUE = new URL('../../../config/models.json', import.meta.url);

interface Catalogue<Model> {
  default: string;
  /** By plugin. */
  defaults: Record<string, string>;
  models: Record<string, Model>;
}

/** Reads the entries of config/models.json for this plugin. */
export async function readCatalogue<Model>(plugin: string): Promise<Catalogue<Model>> {
  const { defaults, models } = JSON.parse(await readFile(CATALOGUE, 'utf8'));
  const all = Object.entries<Model & { plugin: string }>(models);
  return {
    default: defaults[plugin],
    defaults,
    models: Object.fromEntries(all.filter(([, each]) => each.plugin === plugin)),
  };
}

/** Describes the problem of a file, or returns null. */
export async function problemOf(
  path: string,
  { size, sha256 }: Omit<KnownFile, 'name'>,
): Promise<string | null> {
  const found = await stat(path).catch(() => null);
  if (found === null) return 'is missing';
  if (size !== undefined && found.size !== size) return `has ${found.size} bytes instead of ${size}`;
  if (sha256 === undefined) return null;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  const digest = hash.digest('hex');
  return digest === sha256 ? null : `has the SHA-256 ${digest} instead of ${sha256}`;
}

/** Names a file in a message: below the data directory of the plugins by its short path, elsewhere by the whole one. */
export function shownPath(path: string, dataDir: string): string {
  const below = relative(dirname(dataDir), path);
  return below.startsWith('..') || below.startsWith('/') ? path : below;
}

/** @param directory where the files have to be, unless it is the default directory */
export function fetchRemedy(name: string, directory?: string): string {
  return `fetch the model with: earshot models pull ${name}${directory === undefined ? '' : ` --into ${directory}`}`;
}
