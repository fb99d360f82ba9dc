import type { z } from 'zod';
import { descriptionOf, type Key, keysOf } from './keys.ts';
import {
  EMPTY,
  ENVIRONMENT_PREFIX,
  type Layer,
  merge,
  readEnvironment,
  section,
  tell,
  valueAt,
  variablesOf,
  withSecrets,
} from './layers.ts';
import { changedSettings, readSettings, writeSettings } from './page-settings.ts';
import { ConfigError, check, type Problem } from './problems.ts';
import type { Config } from './schema.ts';

const PLUGIN_PREFIX = `${ENVIRONMENT_PREFIX}PLUGINS__`;

/** `EARSHOT_PLUGINS__<NAME>=false` and `EARSHOT_PLUGINS__<NAME>__USE=<path or package>`. */
export function readPluginSwitches(env: NodeJS.ProcessEnv, problems: string[]): Layer {
  const sources = new Map<string, string>();
  const plugins: Record<string, unknown> = {};
  for (const [variable, text] of variablesOf(env, PLUGIN_PREFIX)) {
    const [name, option] = pluginVariable(variable);
    if (option === '') {
      if (text.toLowerCase() !== 'false') {
        problems.push(`${variable} can only be false; options are ${variable}__<OPTION>`);
        continue;
      }
      plugins[name] = false;
      sources.set(`plugins.${name}`, variable);
    }
    if (option === 'USE') {
      plugins[name] = { use: text };
      sources.set(`plugins.${name}.use`, variable);
    }
  }
  return { values: { plugins }, where: path => sources.get(path.join('.')) ?? null };
}

/** `EARSHOT_PLUGINS__MY_STT__API_KEY` → `['my-stt', 'API_KEY']`. */
function pluginVariable(variable: string): [name: string, option: string] {
  const [name = '', ...option] = variable.slice(PLUGIN_PREFIX.length).split('__');
  return [name.toLowerCase().replaceAll('_', '-'), option.join('__').toUpperCase()];
}

/** A plugin that only the environment configures has a section too. */
export function withVariablesOnly(plugins: Config['plugins'], env: NodeJS.ProcessEnv): Config['plugins'] {
  const names = variablesOf(env, PLUGIN_PREFIX).map(([variable]) => pluginVariable(variable)[0]);
  return { ...Object.fromEntries(names.map(name => [name, {}])), ...plugins };
}

/** Where an option was set: on the page, for example; `place` names the line, or the variable. */
export interface Origin {
  from: 'file' | 'page' | 'environment' | 'command';
  place: string | null;
}

/** Parsed options of a plugin, and its secrets. */
export interface PluginOptions {
  values: unknown;
  secrets: { key: string; text: string }[];
  /** By path, of those that are set. */
  origins: ReadonlyMap<string, Origin>;
  /** Problems of the options that were set on the page, which are ignored then. */
  ignored: readonly string[];
}

interface Sources {
  layers: readonly Layer[];
  env: NodeJS.ProcessEnv;
  dir: string;
  cwd: string;
  dataDir: string;
}

/** Adds description and variable to the problem of a missing option. */
function explained(problem: Problem, keys: readonly Key[], prefix: string): Problem {
  const key = keys.find(({ path }) => path.join('.') === problem.path.join('.'));
  if (!problem.isMissing || !key) return problem;
  const description = descriptionOf(key.schema);
  const purpose = description === null ? '' : `: ${description}`;
  const file = key.secret ? `${problem.path.at(-1)}File, or ` : '';
  return { ...problem, message: `is required${purpose}; set it, or ${file}${prefix}${key.variable}` };
}

export function readPluginOptions(
  name: string,
  schema: z.core.$ZodType,
  { withoutPage, ...from }: Sources & { withoutPage: boolean },
): PluginOptions {
  const parse = parserOf(name, schema, from);
  const given = withoutPage ? { layer: EMPTY, problems: [] } : pageLayer(name, from.dataDir);
  const parsed = parse(given.layer);
  if (parsed.problems.length === 0) return optionsOf(schema, parsed, given.problems);
  const without = parse(EMPTY);
  if (without.problems.length > 0) throw new ConfigError(without.problems);
  return optionsOf(schema, without, parsed.problems);
}

export function changePluginOptions(
  name: string,
  schema: z.core.$ZodType,
  changes: ReadonlyMap<string, unknown>,
  from: Sources,
): void {
  const changed = changedSettings(from.dataDir, name, changes);
  const layer = { values: Object(changed.toJS()), where: () => null };
  const { problems } = parserOf(name, schema, from)(section(layer, ['plugins', name]));
  if (problems.length > 0) throw new ConfigError(problems);
  writeSettings(from.dataDir, changed);
}

function pageLayer(name: string, dataDir: string): { layer: Layer; problems: readonly string[] } {
  try {
    return { layer: section(readSettings(dataDir), ['plugins', name]), problems: [] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { layer: EMPTY, problems: error.problems };
  }
}

interface Parsed {
  data: unknown;
  merged: Record<string, unknown>;
  problems: string[];
  origin(path: readonly string[]): Origin | null;
}

const FROM = ['file', 'page', 'environment', 'environment', 'command'] as const satisfies Origin['from'][];

/** Parses the options. Those of the page override the file, and variables override both. */
function parserOf(name: string, schema: z.core.$ZodType, from: Sources): (page: Layer) => Parsed {
  const path = ['plugins', name];
  const prefix = `${PLUGIN_PREFIX}${name.replaceAll('-', '_').toUpperCase()}__`;
  const [file = EMPTY, switches = EMPTY, overrides = EMPTY] = from.layers.map(layer => section(layer, path));
  const keys = keysOf(schema);
  return page => {
    const problems: string[] = [];
    const variables = readEnvironment(schema, from.env, {
      prefix,
      ignore: option => option === 'USE',
      problems,
      dir: from.cwd,
    });
    const filled = withSecrets(schema, file, { dir: from.dir, problems, prefix: path });
    const layers = [filled, page, switches, variables, overrides];
    const { use: _, ...merged } = merge(layers);
    const { data, problems: wrong } = check(schema, merged);
    problems.push(...wrong.map(problem => tell(layers, explained(problem, keys, prefix), path)));
    return {
      data,
      merged,
      problems,
      origin(key) {
        const index = layers.findLastIndex(({ values }) => (valueAt(values, key) ?? null) !== null);
        const at = FROM[index];
        return at ? { from: at, place: layers[index]?.where(key) ?? null } : null;
      },
    };
  };
}

function optionsOf(
  schema: z.core.$ZodType,
  { data, merged, origin }: Parsed,
  ignored: readonly string[],
): PluginOptions {
  const keys = keysOf(schema);
  const secrets = keys
    .filter(key => key.secret)
    .map(({ path }) => ({ key: path.at(-1) ?? '', text: valueAt(merged, path) }));
  const origins = keys.flatMap(({ path }): [string, Origin][] => {
    const found = origin(path);
    return found ? [[path.join('.'), found]] : [];
  });
  return {
    values: data,
    secrets: secrets.flatMap(({ key, text }) => (typeof text === 'string' ? [{ key, text }] : [])),
    origins: new Map(origins),
    ignored,
  };
}
