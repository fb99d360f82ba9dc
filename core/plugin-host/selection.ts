import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigError, type LoadedConfig } from '../../config/load.ts';
import { nearest } from '../../config/nearest.ts';
import { sttNames } from '../../config/schema.ts';
import { AppError } from '../runtime/errors.ts';
import { importPlugin, type PluginSource } from './loader.ts';
import { CAPABILITIES } from './shapes.ts';

/** A plugin that may be loaded: built in, or named by `use:` in the configuration. */
export interface KnownPlugin extends PluginSource {
  builtin: boolean;
  /** The capability of a built-in plugin, known before it is loaded; null for one of a third party. */
  kind: string | null;
  /** Selected by name: when it is broken, the server does not start. */
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

/** Configuration keys (`notify`, `stt.live`) whose values name plugins: one, or several. */
export type Choices = Readonly<Record<string, string | readonly string[]>>;

/**
 * Lists all plugins. Third-party plugins come first, because whoever installs one wants it used.
 * @throws {ConfigError} when a section of `plugins` belongs to no plugin, or uses a taken name
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
    return [{ name, module: use, dir: config.dir, builtin: false, kind: null, selected: true, off: false }];
  });
  const own = Object.entries(builtin).map(([name, module]): KnownPlugin => {
    const url = String(module);
    const dir = dirname(fileURLToPath(url));
    return {
      name,
      module: url,
      dir,
      builtin: true,
      kind: CAPABILITIES.find(capability => capability === basename(dirname(dir))) ?? null,
      selected: selected.has(name),
      off: sections[name] === false,
    };
  });
  return [...foreign, ...own];
}

/**
 * Lists the configured recognisers that work on this machine, in order. One that cannot be loaded is among them: the
 * plugin host reports it.
 * @throws {AppError} `config_error` where there are none
 */
export async function localRecognisers({ builtin, config }: Selection): Promise<string[]> {
  const known = knownPlugins({ builtin, config });
  const isLocal = async (name: string) => {
    const source = known.find(each => each.name === name);
    const plugin = source && (await importPlugin(source).catch(() => undefined));
    return plugin?.sends === undefined;
  };
  const names = sttNames(config.config);
  const local = await Promise.all(names.map(isLocal));
  if (local.includes(true)) return names.filter((_, at) => local[at]);
  throw new AppError(
    'config_error',
    'stt names no recogniser that works on this machine; name one in the configuration: stt: [sherpa-onnx]',
  );
}

function refuseClash(config: LoadedConfig, name: string, use: unknown): [] {
  if (use === undefined) return [];
  throw config.problem(
    ['plugins', name, 'use'],
    `clashes: ${name} is built in; give yours a name of its own`,
  );
}

function unknownPlugin(config: LoadedConfig, name: string, builtin: readonly string[]) {
  const near = nearest(name, builtin);
  const meant = near === null ? '' : `did you mean ${near}? `;
  return config.problem(
    ['plugins', name],
    `is no built-in plugin; ${meant}One of your own needs use: <path or package>`,
  );
}

/** A plugin that the configuration may name. */
export interface Candidate {
  name: string;
  off: boolean;
  /** Its capabilities; null: unknown, as it is not loaded. */
  provides: readonly string[] | null;
}

/**
 * Checks that each name in the configuration is that of a plugin which provides what its key asks for.
 * @throws {ConfigError} that lists every wrong name with its place, and the plugins to choose from
 */
export function checkChoices(config: LoadedConfig, wanted: Choices, candidates: readonly Candidate[]): void {
  const problems = Object.entries(wanted)
    .filter(([key]) => config.isSet(key))
    .flatMap(([key, names]) =>
      namesAt(key.split('.'), names).flatMap(({ path, name }) => {
        const problem = problemWith(name, path[0] ?? key, candidates);
        return problem === null ? [] : config.problem(path, problem).problems;
      }),
    );
  if (problems.length > 0) throw new ConfigError(problems);
}

function namesAt(path: string[], names: string | readonly string[]): { path: string[]; name: string }[] {
  if (typeof names === 'string') return [{ path, name: names }];
  return names.map((name, index) => ({ path: [...path, String(index)], name }));
}

/** Completes the sentence that a key of the configuration begins; null: the name is right. */
function problemWith(name: string, key: string, candidates: readonly Candidate[]): string | null {
  const found = candidates.find(candidate => candidate.name === name);
  if (!found) {
    const names = providersOf(key, candidates);
    const near = nearest(name, names);
    return `names no plugin: "${name}"; ${near === null ? listed(key, names) : `did you mean ${near}?`}`;
  }
  if (found.off) return `names ${name}, which plugins.${name}: false switches off`;
  const { provides } = found;
  return provides === null || serves(provides, key)
    ? null
    : `names ${name}, which ${lackOf(provides, key, candidates)}`;
}

/** Says what a plugin provides in place of a capability, and which plugins provide that. */
export function lackOf(
  provides: readonly string[],
  capability: string,
  candidates: readonly Candidate[],
): string {
  const names = providersOf(capability, candidates);
  return `provides ${provides.join(' and ')}, not ${capability}; ${listed(capability, names)}`;
}

function providersOf(capability: string, candidates: readonly Candidate[]): string[] {
  return candidates
    .filter(({ off, provides }) => !off && (provides === null || serves(provides, capability)))
    .map(({ name }) => name);
}

function listed(capability: string, names: readonly string[]): string {
  return names.length === 0
    ? `no plugin provides ${capability}`
    : `plugins that provide ${capability}: ${names.join(', ')}`;
}

/** Tells whether a plugin may stand under a key: `llm` also chooses vision models. */
function serves(provides: readonly string[], capability: string): boolean {
  return provides.includes(capability) || (capability === 'llm' && provides.includes('vision'));
}
