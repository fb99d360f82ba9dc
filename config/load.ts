import { existsSync } from 'node:fs';
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import { stringify } from 'yaml';
import type { z } from 'zod';
import { secretPathsOf } from './keys.ts';
import {
  EMPTY,
  ENVIRONMENT_PREFIX,
  type Layer,
  merge,
  readEnvironment,
  tell,
  valueAt,
  withSecrets,
} from './layers.ts';
import {
  changePluginOptions,
  type PluginOptions,
  readPluginOptions,
  readPluginSwitches,
  withVariablesOnly,
} from './plugin-settings.ts';
import { ConfigError, check, isRecord } from './problems.ts';
import { type Config, ConfigSchema } from './schema.ts';
import { readFileLayer } from './yaml-file.ts';

export type { Origin, PluginOptions } from './plugin-settings.ts';
export { ConfigError } from './problems.ts';
export { recognisersOf, sttNames } from './schema.ts';

/** The process's environment. Nothing else reads it. */
export const environment: NodeJS.ProcessEnv = process.env;

const DEFAULT_FILE = 'earshot.yaml';

/** Some keys of the configuration; other keys keep the values of file and environment. */
export type Overrides = {
  [K in keyof Config]?:
    | (Config[K] extends readonly unknown[]
        ? Config[K]
        : Config[K] extends object
          ? Partial<Config[K]>
          : Config[K])
    | undefined;
};

export interface LoadedConfig {
  config: Config;
  /** Absolute path of the YAML file; null when there is none. */
  file: string | null;
  /** Base of relative paths and package names in the configuration: the file's directory. */
  dir: string;
  /** Tells whether this key (`stt`, `bridge.core`) was set; otherwise it has its default. */
  isSet(path: string): boolean;
  /**
   * The options of one plugin from its section, the page and its variables, parsed by its schema. Those of the page are
   * left out where they are wrong, and where `withoutPage` is set: they must not prevent a start.
   * @throws {ConfigError} that lists everything wrong with them
   */
  pluginOptions(name: string, schema: z.core.$ZodType, withoutPage?: boolean): PluginOptions;
  /**
   * Stores options of one plugin, by their paths, as the page sets them; null: what the file or the default says.
   * @throws {ConfigError} that lists everything wrong with them; nothing is stored then
   */
  changePluginOptions(name: string, schema: z.core.$ZodType, changes: ReadonlyMap<string, unknown>): void;
  /** Creates an error about one key, with the place where it was set. */
  problem(path: readonly string[], message: string): ConfigError;
  /** Returns the configuration as YAML, without secrets and values of plugins. */
  describe(): string;
}

/**
 * Reads the configuration: defaults, then the YAML file, then the environment, then `overrides`.
 * @param options.file takes precedence over EARSHOT_CONFIG and `earshot.yaml` in the working directory
 * @param options.overrides what the command line, or a program, sets; relative paths count from `cwd`
 * @throws {ConfigError} that lists every problem with its key and place
 */
export function loadConfig(options: {
  env: NodeJS.ProcessEnv;
  file?: string | undefined;
  cwd?: string | undefined;
  overrides?: Overrides | undefined;
  /** Describes where one of the `overrides` was set; absent: unknown. */
  overriddenAt?: Layer['where'];
}): LoadedConfig {
  const { env, cwd = process.cwd() } = options;
  const file = findFile(options.file, env, cwd);
  const dir = file === null ? cwd : dirname(file);
  const problems: string[] = [];

  const fromFile = file === null ? EMPTY : readFileLayer(file, labelOf(file, cwd));
  const layers = [
    absolutePaths(withSecrets(ConfigSchema, fromFile, { dir, problems }), dir),
    absolutePaths(readVariables(env, cwd, problems), cwd),
    absolutePaths({ values: { ...options.overrides }, where: options.overriddenAt ?? (() => null) }, cwd),
  ];
  const { data, problems: wrong } = check(ConfigSchema, merge(layers));
  problems.push(...wrong.map(problem => tell(layers, problem)));
  if (problems.length > 0 || data === undefined) throw new ConfigError(problems);

  const plugins = withVariablesOnly(data.plugins, env);
  const config = { ...data, dataDir: resolve(cwd, data.dataDir), plugins };
  const sources = { layers, env, dir, cwd, dataDir: config.dataDir };
  return {
    config,
    file,
    dir,
    isSet: path => layers.some(layer => isSetIn(layer, path.split('.'))),
    pluginOptions: (name, schema, withoutPage = false) =>
      readPluginOptions(name, schema, { ...sources, withoutPage }),
    changePluginOptions: (name, schema, changes) => changePluginOptions(name, schema, changes, sources),
    problem: (path, message) => new ConfigError([tell(layers, { path: [...path], message })]),
    describe: () => describe(config),
  };
}

/** @throws {ConfigError} when a file that was named is not there */
function findFile(named: string | undefined, env: NodeJS.ProcessEnv, cwd: string): string | null {
  const name = named ?? (env.EARSHOT_CONFIG || undefined);
  const file = resolve(cwd, name ?? DEFAULT_FILE);
  if (existsSync(file)) return file;
  if (name === undefined) return null;
  const source = named === undefined ? 'EARSHOT_CONFIG' : 'the configuration file';
  throw new ConfigError([`${source}: there is no file ${file}`]);
}

function labelOf(file: string, cwd: string): string {
  const fromHere = relative(cwd, file);
  return fromHere.startsWith('..') ? file : fromHere;
}

/** Reads all `EARSHOT_*` variables except options of plugins, whose schemas are not known yet. */
function readVariables(env: NodeJS.ProcessEnv, dir: string, problems: string[]): Layer {
  const known = readEnvironment(ConfigSchema, env, {
    prefix: ENVIRONMENT_PREFIX,
    ignore: name => /^(CALLED_AS|CONFIG|OFFLINE|TEST_.*|PLUGINS__.*)$/.test(name),
    problems,
    dir,
  });
  const switches = readPluginSwitches(env, problems);
  return {
    values: merge([known, switches]),
    where: path => known.where(path) ?? switches.where(path),
  };
}

/** Relative paths in a layer, made absolute; a value of the wrong type is left to the schema. */
function absolutePaths(layer: Layer, dir: string): Layer {
  const { plugins, bridge } = layer.values;
  const values = { ...layer.values };
  if (isRecord(plugins)) {
    const entries = Object.entries(plugins).map(([name, plugin]) => [
      name,
      isRecord(plugin) && typeof plugin.use === 'string'
        ? { ...plugin, use: absoluteUse(plugin.use, dir) }
        : plugin,
    ]);
    values.plugins = Object.fromEntries(entries);
  }
  if (isRecord(bridge) && Array.isArray(bridge.drivers)) {
    const drivers = bridge.drivers.map(path => (typeof path === 'string' ? resolve(dir, path) : path));
    values.bridge = { ...bridge, drivers };
  }
  return { values, where: layer.where };
}

/** Makes paths, which begin with a dot or a slash, absolute; anything else names a package. */
function absoluteUse(use: string, dir: string): string {
  return use.startsWith('.') || isAbsolute(use) ? resolve(dir, use) : use;
}

function isSetIn(layer: Layer, path: string[]): boolean {
  const value = valueAt(layer.values, path);
  return value !== undefined && value !== null;
}

function describe(config: Config): string {
  const hidden = secretPathsOf(ConfigSchema).map(path => path.join('.'));
  const show = (path: string[], value: unknown): unknown => {
    if (isRecord(value)) {
      return Object.fromEntries(
        Object.entries(value).map(([key, child]) => [key, show([...path, key], child)]),
      );
    }
    if (Array.isArray(value) && path[0] !== 'plugins') return value.map(item => show([...path, '*'], item));
    const isOption = path[0] === 'plugins' && path.length > 2 && path[2] !== 'use';
    const isHidden = hidden.includes(path.join('.')) || (isOption && typeof value !== 'boolean');
    return isHidden && value !== undefined ? '[set]' : value;
  };
  return stringify(show([], config));
}
