/**
 * Options of plugins that operators set on the page. They have a file of their own in the data directory: that can always
 * be written, is in every backup, and leaves the operator's own file unchanged.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Document, isMap, parseDocument } from 'yaml';
import { EMPTY, type Layer } from './layers.ts';
import { ConfigError } from './problems.ts';
import { readFileLayer } from './yaml-file.ts';

/** In the data directory. */
const SETTINGS_FILE = 'settings.yaml';

const HEAD = ` Options of plugins that were set on the page. They replace those of the configuration file; the environment
 replaces both. Delete a line, or the file, to go back.`;

/** @throws {ConfigError} when it is no YAML */
export function readSettings(dataDir: string): Layer {
  const path = join(dataDir, SETTINGS_FILE);
  return existsSync(path) ? readFileLayer(path, SETTINGS_FILE) : EMPTY;
}

/** Returns the file with changed options of one plugin; null removes one. Comments in the file stay. */
export function changedSettings(
  dataDir: string,
  plugin: string,
  changes: ReadonlyMap<string, unknown>,
): Document {
  const document = openSettings(join(dataDir, SETTINGS_FILE));
  for (const [option, value] of changes) {
    const path = ['plugins', plugin, ...option.split('.')];
    if (value !== null) document.setIn(path, value);
    else if (document.hasIn(path)) document.deleteIn(path);
  }
  return document;
}

function openSettings(path: string): Document {
  const document = parseDocument(existsSync(path) ? readFileSync(path, 'utf8') : '');
  if (document.errors.length > 0 || !(document.contents === null || isMap(document.contents)))
    throw new ConfigError([`${SETTINGS_FILE} in the data directory is not valid YAML: correct or delete it`]);
  document.commentBefore ??= HEAD;
  return document;
}

/** Replaces the file atomically. It may contain secrets. */
export function writeSettings(dataDir: string, document: Document): void {
  const path = join(dataDir, SETTINGS_FILE);
  writeFileSync(`${path}.new`, document.toString(), { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
}
