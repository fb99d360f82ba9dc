import type { z } from 'zod';
import { type Key, keysOf, readText } from './keys.ts';
import { suggestion } from './nearest.ts';
import { isRecord, type Problem } from './problems.ts';
import { fillSecrets, readSecret } from './secrets.ts';

/** One place where values come from. A later layer wins over an earlier one. */
export interface Layer {
  values: Record<string, unknown>;
  /** Describes where this key was set; null: not in this layer. */
  where(path: readonly string[]): string | null;
}

export const EMPTY: Layer = { values: {}, where: () => null };

export const ENVIRONMENT_PREFIX = 'EARSHOT_';

/** Merges layers: later ones win, sections are merged, other values replaced. Empty values count as absent. */
export function merge(layers: readonly Layer[]): Record<string, unknown> {
  return layers.reduce<Record<string, unknown>>((merged, layer) => mergeSections(merged, layer.values), {});
}

function mergeSections(
  base: Record<string, unknown>,
  over: Record<string, unknown>,
): Record<string, unknown> {
  const set = Object.entries(over).filter(([, value]) => value !== undefined && value !== null);
  const merged = set.map(([key, value]): [string, unknown] => {
    if (!isRecord(value)) return [key, value];
    const below = base[key];
    return [key, mergeSections(isRecord(below) ? below : {}, value)];
  });
  return { ...base, ...Object.fromEntries(merged) };
}

/** Describes where a key, or the nearest section around it, was last set. */
function locate(layers: readonly Layer[], path: readonly string[]): string | null {
  const found = layers.findLast(layer => layer.where(path) !== null)?.where(path);
  if (found !== undefined && found !== null) return found;
  return path.length === 0 ? null : locate(layers, path.slice(0, -1));
}

/** Formats a problem as one line: place, key, reason. `prefix` is the section of the layers. */
export function tell(layers: readonly Layer[], problem: Problem, prefix: readonly string[] = []): string {
  const place = locate(layers, problem.path);
  return `${place === null ? '' : `${place}: `}${[...prefix, ...problem.path].join('.')} ${problem.message}`;
}

export function valueAt(values: unknown, path: readonly string[]): unknown {
  return path.reduce((value, name) => (isRecord(value) ? value[name] : undefined), values);
}

/** Returns one section of a layer as a layer. */
export function section(layer: Layer, path: readonly string[]): Layer {
  const values = valueAt(layer.values, path);
  return { values: isRecord(values) ? values : {}, where: rest => layer.where([...path, ...rest]) };
}

/**
 * Reads the settings of a schema from variables with a prefix.
 * @param ignore names (after the prefix) that mean something else
 */
export function readEnvironment(
  schema: z.core.$ZodType,
  env: NodeJS.ProcessEnv,
  options: { prefix: string; ignore: (name: string) => boolean; problems: string[]; dir: string },
): Layer {
  const { prefix, problems } = options;
  const keys = keysOf(schema);
  const variables = new Map<string, string>();
  let values: Record<string, unknown> = {};

  for (const [name, text] of variablesOf(env, prefix)) {
    const setting = name.slice(prefix.length).toUpperCase();
    if (options.ignore(setting)) continue;
    const found = findKey(keys, setting);
    if (!found) {
      const known = keys.map(key => prefix + key.variable);
      problems.push(`${name} is not a known setting; ${suggestion(name, known)}`);
      continue;
    }
    const { key, inFile } = found;
    const path = key.path.join('.');
    const other = variables.get(path);
    if (other) problems.push(`${name} and ${other} both set ${path}; keep one`);
    variables.set(path, name);
    const value = inFile ? readSecret(text, options.dir, name, problems) : readText(key.schema, text);
    values = mergeSections(values, nest(key.path, value));
  }
  return { values, where: path => variables.get(path.join('.')) ?? null };
}

/** Returns the key of a variable; `inFile`: it is the `…_FILE` of a secret. */
function findKey(keys: readonly Key[], variable: string): { key: Key; inFile: boolean } | null {
  const key = keys.find(key => key.variable === variable);
  if (key) return { key, inFile: false };
  const secret = keys.find(key => key.secret && `${key.variable}_FILE` === variable);
  return secret ? { key: secret, inFile: true } : null;
}

/** Lists names and values with a prefix. An empty value counts as unset, as in container files. */
export function variablesOf(env: NodeJS.ProcessEnv, prefix: string): [string, string][] {
  return Object.entries(env).flatMap(([name, value]): [string, string][] =>
    value !== undefined && value !== '' && name.toUpperCase().startsWith(prefix) ? [[name, value]] : [],
  );
}

function nest(path: readonly string[], value: unknown): Record<string, unknown> {
  const [first = '', ...rest] = path;
  return { [first]: rest.length === 0 ? value : nest(rest, value) };
}

/** Replaces the `<secret>File` keys of a layer by the contents of the files. */
export function withSecrets(
  schema: z.core.$ZodType,
  layer: Layer,
  options: { dir: string; problems: string[]; prefix?: readonly string[] },
): Layer {
  const label = (path: string[]) => {
    const key = [...(options.prefix ?? []), ...path].join('.');
    const place = layer.where(path);
    return place === null ? key : `${place}: ${key}`;
  };
  return { values: fillSecrets(schema, layer.values, { ...options, label }), where: layer.where };
}
