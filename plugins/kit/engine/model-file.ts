/** The catalogue of models, and checks of their files. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, relative } from 'node:path';

export interface KnownFile {
  name: string;
  url?: string;
  /** Bytes; absent where only the checksum is known. */
  size?: number;
  /** Absent: the file is the operator's own. */
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

/** Returns a file's name for messages: a short path inside the plugins' data directory, else the whole path. */
export function shownPath(path: string, dataDir: string): string {
  const below = relative(dirname(dataDir), path);
  return below.startsWith('..') || below.startsWith('/') ? path : below;
}

/** @param directory directory of the files, unless it is the default */
export function fetchRemedy(name: string, directory?: string): string {
  return `fetch the model with: earshot models pull ${name}${directory === undefined ? '' : ` --into ${directory}`}`;
}
