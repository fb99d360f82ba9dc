import { chmod, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { asCalled } from '../../config/called-as.ts';
import { ConfigError, type LoadedConfig } from '../../config/load.ts';
import type { Clock } from '../contract/model.ts';
import type { Capabilities, FetchUser, PluginState, Storage, Stores, Table } from '../contract/plugin.ts';
import { AppError, type ErrorCode, toAppError } from '../runtime/errors.ts';
import { createLogWithSecrets, type Log } from '../runtime/log.ts';
import { createPluginScope, type PluginScope } from './faults.ts';
import { createPluginKeeper, type PluginKeeper } from './keeper.ts';
import { type LifeLimits, type PluginLife, startPlugin, within } from './life.ts';
import { CAPABILITIES, importPlugin, type LoadedPlugin, optionsSchema, STORE_NAMES } from './loader.ts';
import { type Choices, type KnownPlugin, knownPlugins } from './selection.ts';
import { createPluginState } from './state.ts';

type Capability = keyof Capabilities;
type Given<C extends Capability> = NonNullable<Capabilities[C]>;
interface Loaded<C extends Capability> {
  name: string;
  /** For people. */
  title: string;
  value: Given<C>;
}

/** Loads plugins, watches over them, and hands out what they can do. */
export interface PluginHost {
  /**
   * Loads the storage plugin, before all others. What it resolves to stays valid when the plugin is started again.
   * @throws {AppError | ConfigError} that names the plugin; nothing of it is left open
   */
  loadStorage(name: string): Promise<Storage>;
  /**
   * Loads all others side by side, but for the built-in ones named in `skip`.
   * @throws {AppError | ConfigError} when one that the configuration selected is broken; all are undone by then
   */
  loadAll(options?: { skip?: readonly string[] }): Promise<void>;
  /**
   * Lists what works at this moment: those of `names`, in that order; without names every one, third parties' first. Ask
   * at each use and keep nothing: a plugin that was started again answers anew.
   */
  list<C extends Capability>(capability: C, names?: readonly string[]): Loaded<C>[];
  /** The first of `list`, or of this plugin. @throws {AppError} `unavailable`, or why it is degraded */
  get<C extends Capability>(capability: C, name?: string): Given<C>;
  /** Every known plugin, third parties' first. */
  status(): PluginStatus[];
  /** Undoes everything, storage last. Never rejects. */
  stop(): Promise<void>;
}

export interface PluginStatus {
  name: string;
  /** For people; its name until it was loaded. */
  title: string;
  /** `off`: switched off, or not asked for. */
  state: 'off' | 'starting' | 'ready' | 'degraded';
  /** Why it is degraded. */
  reason: { code: ErrorCode; message: string } | null;
  capabilities: Capability[];
  builtin: boolean;
}

export interface PluginHostOptions {
  /** The module of each built-in plugin. */
  builtin: Readonly<Record<string, URL | string>>;
  config: LoadedConfig;
  log: Log;
  clock: Clock;
  /** Storage lives right in it; every other plugin has a directory below `plugins/`. */
  dataDir: string;
  /**
   * Configuration keys whose values name plugins: `{ stt: config.stt }`. A plugin that someone named there, rather
   * than the default, stops the start when it is broken.
   */
  wanted?: Choices;
  fetch?: typeof fetch;
  /** Without it no plugin reaches addresses that users gave. */
  fetchUser?: FetchUser;
  /** Milliseconds: 30,000 to import the module, 10,000 for `setup`, 5,000 for each undo. */
  limits?: PluginLimits;
}

export type PluginLimits = Partial<LifeLimits & { importMs: number }>;

interface Entry extends KnownPlugin {
  keeper: PluginKeeper;
  scope: PluginScope & { close(): void };
  plugin: LoadedPlugin | null;
}

/** Why a storage that `loadAll` came upon does not start. */
export const STORAGE_FIRST = 'storage loads before all others';

/** @throws {ConfigError} when the configuration names a plugin that is not there */
export function createPluginHost(options: PluginHostOptions): PluginHost {
  const { clock, config, dataDir, log } = options;
  const limits = { importMs: 30_000, setupMs: 10_000, undoMs: 5000, ...options.limits };
  const entries: Entry[] = knownPlugins(options).map(createEntry);
  let storageEntry: Entry | null = null;
  let stopped: Promise<void> | null = null;

  function createEntry(known: KnownPlugin): Entry {
    const keeper = createPluginKeeper({
      begin: signal => begin(entry, signal),
      clock,
      log: log.child({ plugin: known.name }),
    });
    const scope = createPluginScope(known, { clock, log });
    const entry: Entry = { ...known, keeper, scope, plugin: null };
    return entry;
  }

  async function begin(entry: Entry, signal: AbortSignal): Promise<PluginLife> {
    const load = () => within(limits.importMs, 'its module did not load', importPlugin(entry), signal);
    entry.plugin ??= await entry.scope.run(load);
    const { plugin } = entry;
    const { values, secrets } = config.pluginOptions(entry.name, optionsSchema(plugin));
    const context = {
      options: values,
      log: createLogWithSecrets(log, { plugin: entry.name }, secrets),
      clock,
      ...(await surroundings(entry)),
    };
    const life = await startPlugin(plugin, context, {
      fetch: options.fetch ?? fetch,
      fetchUser: options.fetchUser ?? refuseFetchUser,
      signal,
      limits,
      scope: entry.scope,
    });
    const isStorage = life.capabilities.storage !== undefined;
    if (isStorage === (entry === storageEntry)) return life;
    await life.stop();
    throw new AppError('invalid_request', isStorage ? STORAGE_FIRST : 'it gives no storage');
  }

  /** Storage is the ground that the others stand on: it has the data directory itself, and no state. */
  async function surroundings(entry: Entry): Promise<{ dataDir: string; state: PluginState }> {
    if (entry === storageEntry) {
      return {
        dataDir: await makeDataDirectory(dataDir, log),
        state: createPluginState(entry.name, () => refuseState(entry.name)),
      };
    }
    return {
      dataDir: await makePrivateDirectory(join(dataDir, 'plugins', entry.name)),
      state: createPluginState(entry.name, () => get('storage').pluginState),
    };
  }

  /** Resolves to a failure that stops the start; any other leaves the plugin degraded and the server running. */
  async function load(entry: Entry): Promise<Error | null> {
    try {
      await entry.keeper.start();
      return null;
    } catch (thrown) {
      if (thrown instanceof ConfigError) return thrown;
      const error = toAppError(thrown);
      if (stopped || isFatal(entry, error)) return doesNotStart(entry, error);
      log.warn({ plugin: entry.name, err: withCommandsAsCalled(error) }, 'plugin is degraded');
      entry.keeper.persist();
      return null;
    }
  }

  /**
   * A plugin that says `config_error` is sound, and lacks something; one that says `upstream_error` waits for a server
   * that is not up yet. Without storage there is no server.
   */
  function isFatal(entry: Entry, error: AppError): boolean {
    if (entry === storageEntry) return true;
    return entry.selected && error.code !== 'config_error' && error.code !== 'upstream_error';
  }

  async function loadStorage(name: string): Promise<Storage> {
    const entry = entries.find(candidate => candidate.name === name);
    if (!entry) {
      const known = entries.map(candidate => candidate.name).join(', ');
      throw config.problem(['storage'], `names no plugin: "${name}"; known: ${known}`);
    }
    if (entry.off) throw config.problem(['plugins', name], 'cannot be false: it is the storage');
    storageEntry = entry;
    entry.scope.close(); // a fault of the storage ends the server
    const failure = await load(entry);
    if (failure) throw failure;
    return stableStorage(() => get('storage'));
  }

  async function loadAll({ skip = [] }: { skip?: readonly string[] } = {}): Promise<void> {
    const chosen = entries.filter(
      entry => entry !== storageEntry && !entry.off && !(entry.builtin && skip.includes(entry.name)),
    );
    const failures = (await Promise.all(chosen.map(load))).filter(failure => failure !== null);
    if (failures.length === 0) return;
    await stop();
    throw failures.length === 1
      ? failures[0]
      : new AppError('config_error', failures.map(({ message }) => message).join('\n'));
  }

  function list<C extends Capability>(capability: C, names?: readonly string[]) {
    const asked = names ? names.flatMap(name => entries.filter(entry => entry.name === name)) : entries;
    return asked.flatMap(({ name, plugin, keeper }): Loaded<C>[] => {
      const value = keeper.capabilities()?.[capability];
      return value ? [{ name, title: plugin?.title ?? name, value }] : [];
    });
  }

  function get<C extends Capability>(capability: C, name?: string): Given<C> {
    for (const entry of entries) {
      const value = entry.keeper.capabilities()?.[capability];
      if (value && (name === undefined || entry.name === name)) return value;
    }
    const degraded = status().filter(
      ({ reason, ...plugin }) => reason && (name ?? plugin.name) === plugin.name,
    );
    const reasons = degraded.map(plugin => `; ${plugin.name} is degraded: ${plugin.reason?.message}`);
    const lack = name === undefined ? `No plugin gives ${capability}` : `${name} gives no ${capability}`;
    const own = name === undefined ? undefined : degraded[0]?.reason?.code;
    const isOwn = own !== undefined && own !== 'internal' && own !== 'invalid_request';
    const code = isOwn ? own : 'unavailable';
    throw new AppError(code, `${lack} now${reasons.join('')}`);
  }

  function status(): PluginStatus[] {
    return entries.map(({ name, builtin, plugin, keeper }) => {
      const { state, error } = keeper.state();
      const given = keeper.capabilities() ?? {};
      return {
        name,
        title: plugin?.title ?? name,
        state,
        reason: error && { code: error.code, message: error.message },
        capabilities: CAPABILITIES.filter(capability => given[capability] !== undefined),
        builtin,
      };
    });
  }

  function stop(): Promise<void> {
    stopped ??= stopEntries();
    return stopped;
  }

  async function stopEntries(): Promise<void> {
    await Promise.all(entries.map(entry => (entry === storageEntry ? undefined : entry.keeper.stop())));
    await storageEntry?.keeper.stop();
    for (const { scope } of entries) scope.close();
  }

  return { loadStorage, loadAll, list, get, status, stop };
}

/** The same storage across restarts of its plugin: each use finds the one that runs. */
function stableStorage(running: () => Storage): Storage {
  const listeners = new Set<Parameters<Storage['onEnqueued']>[0]>();
  const heard = new WeakSet<Storage>();
  function current(): Storage {
    const storage = running();
    if (heard.has(storage)) return storage;
    heard.add(storage);
    storage.onEnqueued(jobs => {
      for (const listener of listeners) listener(jobs);
    });
    return storage;
  }
  const stable: Omit<Storage, keyof Stores> = {
    transaction: <T>(name: string, work: (tx: Stores) => Promise<T>) => current().transaction(name, work),
    onEnqueued(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    migrate: () => current().migrate(),
    upkeep: () => current().upkeep(),
    describe: () => current().describe(),
    snapshot: (target: string) => current().snapshot(target),
    owned: () => current().owned(),
    tables: <T>(work: (tables: Table[]) => Promise<T>) => current().tables(work),
  };
  const stores = STORE_NAMES.map(name => [name, { get: () => current()[name], enumerable: true }]);
  return Object.defineProperties(stable, Object.fromEntries(stores)) as Storage; // every store, by name
}

function refuseState(name: string): never {
  throw new AppError('config_error', `${name} has no state: storage plugins load before it`);
}

async function refuseFetchUser(): Promise<never> {
  throw new AppError('unavailable', 'No plugin reaches addresses of users here: only a server does');
}

function doesNotStart({ name }: KnownPlugin, cause: AppError): AppError {
  return new AppError('config_error', `Plugin ${name} does not start: ${cause.message}`, { cause });
}

async function makeDirectory(path: string): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  return path;
}

/**
 * One that everybody may look into was left so by chance, and becomes private; one that is open to its group alone was
 * made so by someone, and stays: the files in it are private in any case.
 */
async function makeDataDirectory(path: string, log: Log): Promise<string> {
  await makeDirectory(path);
  const { mode } = await stat(path);
  if ((mode & 0o007) === 0) return path;
  await chmod(path, 0o700).catch(error =>
    log.warn({ err: error, path }, 'other accounts may look into the data directory: chmod 700 it'),
  );
  return path;
}

/** Private also where it was made by another hand. */
async function makePrivateDirectory(path: string): Promise<string> {
  await makeDirectory(path);
  await chmod(path, 0o700);
  return path;
}

/** The way out that a message names, as the person who reads the log has to type it. */
function withCommandsAsCalled(error: AppError): AppError {
  if (error.code === 'internal') return error; // its stack is logged, too
  return new AppError(error.code, asCalled(error.message), { cause: error.cause });
}
