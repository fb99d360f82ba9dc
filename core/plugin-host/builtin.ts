import { existsSync, readdirSync } from 'node:fs';
import { extname } from 'node:path';
import type { Config } from '../../config/schema.ts';
import type { Choices } from './selection.ts';

const PLUGINS = new URL('../../plugins/', import.meta.url);
const INDEX = `index${extname(import.meta.filename)}`; // .ts in a checkout, .js when published

/** Built-in plugins are folders: `plugins/<kind>/<name>/index.ts`. `kind` is the capability that they provide. */
interface Builtin {
  name: string;
  kind: string;
  module: URL;
}

const BUILTINS: readonly Builtin[] = foldersIn(PLUGINS).flatMap(kind =>
  foldersIn(new URL(`${kind}/`, PLUGINS)).flatMap(name => {
    const module = new URL(`${kind}/${name}/${INDEX}`, PLUGINS);
    return existsSync(module) ? [{ name, kind, module }] : [];
  }),
);

/** The plugins that come with Earshot: name → module. They are loaded in the same way as third-party ones. */
export const BUILTIN_PLUGINS: Readonly<Record<string, URL>> = Object.fromEntries(
  BUILTINS.map(({ name, module }) => [name, module]),
);

/** Kinds whose plugins the configuration chooses by name; every built-in plugin of another kind is loaded. */
const CHOSEN_KINDS = [
  ...['storage', 'stt', 'identity', 'embedder', 'vectors'],
  ...['llm', 'understanding', 'translator', 'speakers', 'notify'],
];

/** The keys of the configuration that choose plugins by name, except for the storage. */
export function choicesOf(config: Config) {
  const { stt, identity, embedder, vectors, llm, understanding, translator, speakers, notify } = config;
  return {
    ...(Array.isArray(stt) ? { stt } : { 'stt.live': stt.live, 'stt.final': stt.final }),
    identity, embedder, vectors, llm, understanding, translator, speakers, notify,
  } satisfies Choices;
}

/** Names of the built-in plugins that are loaded only if configured, and that `chosen` leaves out. */
export function notChosen(chosen: readonly string[]): string[] {
  return BUILTINS.filter(({ name, kind }) => CHOSEN_KINDS.includes(kind) && !chosen.includes(name)).map(
    ({ name }) => name,
  );
}

/** Names of the built-in plugins of one kind. */
export function builtinsOf(kind: string): string[] {
  return BUILTINS.filter(builtin => builtin.kind === kind).map(({ name }) => name);
}

function foldersIn(directory: URL): string[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}
