import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LoadedConfig } from '../../config/load.ts';
import type { PluginSource } from './loader.ts';

/** A plugin that may be loaded: built in, or named by `use:` in the configuration. */
export interface KnownPlugin extends PluginSource {
  builtin: boolean;
  /** Someone asked for it by name: when it is broken, the server does not start. */
  selected: boolean;
  /** `plugins.<name>: false`. */
  off: boolean;
}

interface Selection {
  builtin: Readonly<Record<string, URL | string>>;
  config: LoadedConfig;
  /** Configuration keys whose values name plugins. */
  wanted?: Choices | undefined;
}

/** Configuration keys whose values name plugins: one, or several. */
export type Choices = Readonly<Record<string, string | readonly string[]>>;

/**
 * Every plugin that there is, third parties' first: who brings his own means it to be used.
 * @throws {ConfigError} when the configuration names one that there is not, or gives a taken name to another
 */
export function knownPlugins({ builtin, config, wanted = {} }: Selection): KnownPlugin[] {
  const sections = config.config.plugins;
  const chosen = Object.entries(wanted).filter(([key]) => config.isSet(key));
  const selected = new Set(chosen.flatMap(([, names]) => names));

  const foreign = Object.entries(sections).flatMap(([name, section]): KnownPlugin[] => {
    const use = section === false ? undefined : section.use;
    if (Object.hasOwn(builtin, name)) return refuseClash(config, name, use);
    if (section === false) return [];
    if (typeof use !== 'string' || use === '') throw unknownPlugin(config, name, Object.keys(builtin));
    return [{ name, module: use, dir: config.dir, builtin: false, selected: true, off: false }];
  });
  const own = Object.entries(builtin).map(([name, module]): KnownPlugin => {
    const url = String(module);
    const dir = dirname(fileURLToPath(url));
    return {
      name,
      module: url,
      dir,
      builtin: true,
      selected: selected.has(name),
      off: sections[name] === false,
    };
  });
  const known = [...foreign, ...own];
  for (const [key, names] of chosen) checkNames(config, key, names, known);
  return known;
}

function refuseClash(config: LoadedConfig, name: string, use: unknown): [] {
  if (use === undefined) return [];
  throw config.problem(
    ['plugins', name, 'use'],
    `clashes: ${name} is built in; give yours a name of its own`,
  );
}

function unknownPlugin(config: LoadedConfig, name: string, builtin: readonly string[]) {
  return config.problem(
    ['plugins', name],
    `is no plugin: built in are ${builtin.join(', ')}; one of your own needs use: <path or package>`,
  );
}

function checkNames(
  config: LoadedConfig,
  key: string,
  names: string | readonly string[],
  known: readonly KnownPlugin[],
) {
  const named =
    typeof names === 'string'
      ? [{ path: [key], name: names }]
      : names.map((name, index) => ({ path: [key, String(index)], name }));
  for (const { path, name } of named) {
    const plugin = known.find(candidate => candidate.name === name);
    if (!plugin) {
      const all = known.map(candidate => candidate.name).join(', ');
      throw config.problem(path, `names no plugin: "${name}"; known: ${all}`);
    }
    if (plugin.off) throw config.problem(path, `names ${name}, which plugins.${name}: false switches off`);
  }
}
