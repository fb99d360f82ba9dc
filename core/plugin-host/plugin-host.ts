import { join } from 'node:path';
import type { z } from 'zod';
import { asCalled } from '../../config/called-as.ts';
import { isFileOnly, keysOf } from '../../config/keys.ts';
import { ConfigError, type LoadedConfig, type PluginOptions } from '../../config/load.ts';
import type { Clock } from '../contract/model.ts';
import type { Capabilities, FetchUser, PluginState, Storage } from '../contract/plugin.ts';
import { orAborted } from '../runtime/deadline.ts';
import { AppError, type ErrorCode, toAppError } from '../runtime/errors.ts';
import { createLogWithSecrets, type Log } from '../runtime/log.ts';
import { makeDataDirectory, makePrivateDirectory } from './directories.ts';
import { createPluginScope, type PluginScope, placeOf } from './faults.ts';
import { createPluginKeeper, type PluginKeeper } from './keeper.ts';
import { type LifeLimits, type PluginLife, startPlugin, within } from './life.ts';
import { importPlugin, type LoadedPlugin, optionsSchema } from './loader.ts';
import {
  type Candidate,
  type Choices,
  checkChoices,
  type KnownPlugin,
  knownPlugins,
  lackOf,
} from './selection.ts';
import { CAPABILITIES } from './shapes.ts';
import { stableStorage } from './stable-storage.ts';
import type { PluginStarts } from './starts.ts';
import { createPluginState } from './state.ts';
import { refuseTakenWebhook } from './webhook-names.ts';

type Capability = keyof Capabilities;
type Given<C extends Capability> = NonNullable<Capabilities[C]>;
interface Loaded<C extends Capability> {
  name: string;
  /** Shown to people. */
  title: string;
  value: Given<C>;
}

/** Loads plugins, supervises them, and provides access to their capabilities. */
export interface PluginHost {
  /**
   * Loads the storage plugin, before all others. The result stays valid when the plugin is restarted.
   * @throws {AppError | ConfigError} that names the plugin; everything it opened is closed
   */
  loadStorage(name: string): Promise<Storage>;
  /**
   * Loads all others in parallel, except the built-in ones named in `skip`.
   * @throws {AppError | ConfigError} when one that the configuration selected is broken; all are stopped by then
   */
  loadAll(options?: { skip?: readonly string[] }): Promise<void>;
  /**
   * Lists what is available now: those of `names`, in that order; without names all, third parties' first. Ask at
   * each use and keep nothing: a restarted plugin provides new objects.
   */
  list<C extends Capability>(capability: C, names?: readonly string[]): Loaded<C>[];
  /**
   * Returns the first of `list`, or the capability of this plugin.
   * @throws {AppError} `unavailable`, or the reason why it is degraded
   */
  get<C extends Capability>(capability: C, name?: string): Given<C>;
  /** Every known plugin, third parties' first. */
  status(): PluginStatus[];
  /** The options that a plugin was last started with, parsed; null: not loaded, or they are not valid. */
  options(name: string): GivenOptions | null;
  /**
   * Stores options of a plugin, by their paths, and starts it again with them; null: what the file or the default says.
   * Resolves once it has started, or failed to.
   * @throws {AppError} when one of them is wrong, or cannot be set in this way; nothing is stored then
   */
  change(name: string, changes: ReadonlyMap<string, unknown>): Promise<void>;
  /** Starts the plugins again that lacked something, such as a model. Resolves once each has started, or failed again. */
  retry(): Promise<void>;
  /** Stops all plugins, storage last. Never rejects. */
  stop(): Promise<void>;
}

export interface GivenOptions extends PluginOptions {
  schema: z.core.$ZodType;
  /** Whether `change` takes them: not those of the storage, which everything else needs. */
  isChangeable: boolean;
}

export interface PluginStatus {
  name: string;
  /** Shown to people; the plugin's name until it is loaded. */
  title: string;
  /** `off`: switched off, or not selected. */
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
  /** Storage uses the directory itself; every other plugin has its own below `plugins/`. */
  dataDir: string;
  /**
   * Configuration keys whose values name plugins: `{ stt: config.stt }`. A plugin that someone named there, rather
   * than the default, stops the start when it is broken.
   */
  wanted?: Choices;
  fetch?: typeof fetch;
  /** Absent: plugins can reach no addresses that users gave. */
  fetchUser?: FetchUser;
  /** Leaves out third parties' plugins that ended the last starts. */
  starts?: PluginStarts;
  /** Limits in milliseconds: 30,000 to import the module, 30,000 for `setup`, 5,000 for each `onStop` handler. */
  limits?: PluginLimits;
}

export type PluginLimits = Partial<LifeLimits & { importMs: number }>;

interface Entry extends KnownPlugin {
  keeper: PluginKeeper;
  scope: PluginScope & { close(): void };
  plugin: LoadedPlugin | null;
  options: (PluginOptions & { schema: z.core.$ZodType }) | null;
  /** It did not start with the options that were set on the page. */
  isWithoutPage: boolean;
  /** Resolves after its first start, or the failure of it; null: it is not loaded yet. */
  loaded: Promise<unknown> | null;
}

/** Error of a storage plugin that `loadAll` finds. */
export const STORAGE_FIRST = 'storage loads before all others';

/** @throws {ConfigError} when the configuration names a plugin that does not exist */
export function createPluginHost(options: PluginHostOptions): PluginHost {
  const { clock, config, dataDir, log } = options;
  const limits = { importMs: 30_000, setupMs: 30_000, undoMs: 5000, ...options.limits };
  const entries: Entry[] = knownPlugins(options).map(createEntry);
  let storageEntry: Entry | null = null;
  let stopped: Promise<void> | null = null;
  let retried: Promise<unknown> | null = null;

  function createEntry(known: KnownPlugin): Entry {
    const keeper = createKeeper(known.name, signal => begin(entry, signal));
    const onCrash = (thrown: unknown) => options.starts?.crashed(known.name, thrown);
    const scope = createPluginScope(known, { clock, log, onCrash });
    const entry: Entry = {
      ...known,
      keeper,
      scope,
      plugin: null,
      options: null,
      loaded: null,
      isWithoutPage: false,
    };
    return entry;
  }

  function createKeeper(name: string, run: (signal: AbortSignal) => Promise<PluginLife>): PluginKeeper {
    return createPluginKeeper({ begin: run, clock, log: log.child({ plugin: name }) });
  }

  async function begin(entry: Entry, signal: AbortSignal): Promise<PluginLife> {
    watcherOf(entry)?.refuse(entry.name);
    const load = () => within(limits.importMs, 'its module did not load', importPlugin(entry), signal);
    entry.plugin ??= await entry.scope.run(load);
    const { plugin } = entry;
    const schema = optionsSchema(plugin);
    const isWithoutPage = entry.isWithoutPage || entry === storageEntry;
    const given = config.pluginOptions(entry.name, schema, isWithoutPage);
    entry.options = { ...given, schema };
    if (given.ignored.length > 0)
      log.warn({ plugin: entry.name, problems: given.ignored }, 'options set on the page are left out');
    const context = {
      options: given.values,
      log: createLogWithSecrets(log, { plugin: entry.name }, given.secrets),
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
    try {
      const isStorage = life.capabilities.storage !== undefined;
      if (isStorage !== (entry === storageEntry))
        throw new AppError('invalid_request', isStorage ? STORAGE_FIRST : 'it gives no storage');
      await checkWebhook(entry, life, signal);
      return life;
    } catch (error) {
      await life.stop();
      throw error;
    }
  }

  /** A built-in plugin keeps the names of its webhook, and so does one that the configuration has first. */
  async function checkWebhook(
    entry: Entry,
    { capabilities }: PluginLife,
    signal: AbortSignal,
  ): Promise<void> {
    if (!capabilities.webhook || entry.builtin) return;
    const before = entries.slice(0, entries.indexOf(entry));
    const first = [...before, ...entries.filter(({ builtin }) => builtin)];
    await orAborted(Promise.all(first.map(({ loaded }) => loaded)), signal);
    const others = list('webhook').filter(({ name }) => name !== entry.name);
    refuseTakenWebhook(entry.name, capabilities.webhook, others);
  }

  /** Storage is what the others depend on: it uses the data directory itself, and has no stored state. */
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

  /** Resolves to a failure that prevents the start; any other leaves the plugin degraded and the server running. */
  async function load(entry: Entry): Promise<Error | null> {
    const watcher = watcherOf(entry);
    try {
      watcher?.begin(entry.name);
      await entry.keeper.start();
      watcher?.survived(entry.name);
      return null;
    } catch (thrown) {
      const error = toAppError(thrown);
      const isCrash = !(thrown instanceof ConfigError) && !stopped && isFatal(entry, error);
      if (isCrash && !entry.isWithoutPage && isSetOnPage(entry)) {
        log.warn(
          { plugin: entry.name, err: error },
          'plugin does not start with the options set on the page',
        );
        entry.isWithoutPage = true;
        return load(entry);
      }
      if (isCrash) watcher?.crashed(entry.name, error);
      else watcher?.survived(entry.name);
      if (thrown instanceof ConfigError) return thrown;
      if (stopped || isCrash) return doesNotStart(entry, error);
      log.warn({ plugin: entry.name, err: withCommandsAsCalled(error) }, 'plugin is degraded');
      entry.keeper.persist();
      return null;
    }
  }

  function isSetOnPage({ options: given }: Entry): boolean {
    return [...(given?.origins.values() ?? [])].some(({ from }) => from === 'page');
  }

  async function change(name: string, changes: ReadonlyMap<string, unknown>): Promise<void> {
    const entry = entries.find(candidate => candidate.name === name);
    if (!entry) throw new AppError('not_found', `There is no plugin ${name}`);
    const { options: given, plugin } = entry;
    if (given === null || plugin === null || stopped)
      throw new AppError('conflict', `${name} is not in use, so its options are not known`);
    refuseChange(entry, given, changes);
    try {
      config.changePluginOptions(name, given.schema, changes);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      throw new AppError('invalid_request', error.problems.join('; '), { cause: error });
    }
    entry.isWithoutPage = false;
    await entry.keeper.stop();
    if (stopped) return;
    entry.keeper = createKeeper(name, signal => begin(entry, signal));
    await entry.keeper.start().catch(error => {
      log.warn({ plugin: name, err: error }, 'plugin is degraded by its new options');
      entry.keeper.persist();
    });
  }

  function refuseChange(
    entry: Entry,
    { schema, origins }: PluginOptions & { schema: z.core.$ZodType },
    changes: ReadonlyMap<string, unknown>,
  ): void {
    if (entry === storageEntry)
      throw new AppError('conflict', `${entry.name} holds the data: set its options in the configuration`);
    const keys = new Map(keysOf(schema).map(key => [key.path.join('.'), key]));
    for (const path of changes.keys()) {
      const key = keys.get(path);
      const { from, place } = origins.get(path) ?? {};
      if (!key) throw new AppError('invalid_request', `${entry.name} has no option ${path}`);
      if (isFileOnly(key.schema))
        throw new AppError('conflict', `${path} names code to run: set it in the configuration file`);
      if (from === 'environment' || from === 'command')
        throw new AppError('conflict', `${path} is set by ${place ?? 'the command line'}: change it there`);
    }
  }

  /** Undefined for the storage: its starts are not counted, because there is no server without it. */
  function watcherOf(entry: Entry): PluginStarts | undefined {
    return entry.builtin || entry === storageEntry ? undefined : options.starts;
  }

  /**
   * A plugin that reports `config_error` works, but lacks a setting; one that reports `upstream_error` waits for a
   * server that is not up yet. Without storage, no failure is acceptable.
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
    entry.scope.close(); // an uncaught error of the storage ends the server
    const failure = await load(entry);
    if (failure) throw failure;
    return stableStorage(() => get('storage'));
  }

  async function loadAll({ skip = [] }: { skip?: readonly string[] } = {}): Promise<void> {
    const chosen = entries.filter(
      entry => entry !== storageEntry && !entry.off && !(entry.builtin && skip.includes(entry.name)),
    );
    const failures = [...(await loadEach(chosen)), wrongChoices()].filter(failure => failure !== null);
    if (failures.length === 0) return;
    await stop();
    throw failures.length === 1
      ? failures[0]
      : new AppError('config_error', failures.map(({ message }) => message).join('\n'));
  }

  /** Checks names in the configuration against the capabilities of plugins, which are known once these are loaded. */
  function wrongChoices(): ConfigError | null {
    try {
      checkChoices(config, options.wanted ?? {}, candidates());
      return null;
    } catch (error) {
      if (error instanceof ConfigError) return error;
      throw error;
    }
  }

  function candidates(): Candidate[] {
    return entries.map(({ name, off, kind, keeper }) => {
      const given = capabilitiesOf(keeper);
      return { name, off, provides: given.length > 0 ? given : kind === null ? null : [kind] };
    });
  }

  function capabilitiesOf(keeper: PluginKeeper): Capability[] {
    const given = keeper.capabilities() ?? {};
    return CAPABILITIES.filter(capability => given[capability] !== undefined);
  }

  /** Loads plugins in parallel. Third-party plugins are loaded one by one if one may end the process, to know which. */
  async function loadEach(chosen: readonly Entry[]): Promise<(Error | null)[]> {
    options.starts?.conclude();
    if (!options.starts?.hasSuspects()) return Promise.all(chosen.map(loadFirst));
    const failures = await Promise.all(chosen.filter(({ builtin }) => builtin).map(loadFirst));
    for (const entry of chosen.filter(({ builtin }) => !builtin)) failures.push(await loadFirst(entry));
    return failures;
  }

  function loadFirst(entry: Entry): Promise<Error | null> {
    const loaded = load(entry);
    entry.loaded = loaded;
    return loaded;
  }

  function list<C extends Capability>(capability: C, names?: readonly string[]) {
    const asked = names ? names.flatMap(name => entries.filter(entry => entry.name === name)) : entries;
    return asked.flatMap(({ name, plugin, keeper }): Loaded<C>[] => {
      const value = keeper.capabilities()?.[capability];
      return value ? [{ name, title: titleOf(plugin) ?? name, value }] : [];
    });
  }

  function get<C extends Capability>(capability: C, name?: string): Given<C> {
    for (const entry of entries) {
      if (name !== undefined && entry.name !== name) continue;
      const value = entry.keeper.capabilities()?.[capability];
      if (value) return value;
    }
    const named = entries.find(entry => entry.name === name);
    const given = named ? capabilitiesOf(named.keeper) : [];
    if (given.length > 0)
      throw new AppError('unavailable', `${name} ${lackOf(given, capability, candidates())}`);
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
      return {
        name,
        title: titleOf(plugin) ?? name,
        state,
        reason: error && { code: error.code, message: error.message },
        capabilities: capabilitiesOf(keeper),
        builtin,
      };
    });
  }

  async function retry(): Promise<void> {
    if (stopped) return;
    retried ??= Promise.all(entries.filter(isGivenUp).map(load)).finally(() => {
      retried = null;
    });
    await retried;
  }

  function isGivenUp({ keeper }: Entry): boolean {
    const { error } = keeper.state();
    return error !== null && !error.retryable;
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

  function optionsOf(name: string): GivenOptions | null {
    const entry = entries.find(candidate => candidate.name === name);
    if (!entry?.options) return null;
    const isChangeable = entry !== storageEntry;
    const { ignored } = entry.options;
    return {
      ...entry.options,
      isChangeable,
      ignored: entry.isWithoutPage ? [`${name} does not start with them: set them anew`] : ignored,
    };
  }

  return { loadStorage, loadAll, list, get, status, options: optionsOf, change, retry, stop };
}

/** Returns the description that people see; undefined: the plugin is not loaded yet. */
function titleOf(plugin: LoadedPlugin | null): string | undefined {
  return plugin?.sends ? `${plugin.title}. ${plugin.sends} is sent there` : plugin?.title;
}

function refuseState(name: string): never {
  throw new AppError('config_error', `${name} has no state: storage plugins load before it`);
}

async function refuseFetchUser(): Promise<never> {
  throw new AppError('unavailable', 'No plugin reaches addresses of users here: only a server does');
}

function doesNotStart({ name, scope }: Entry, cause: AppError): AppError {
  const place = cause.code === 'internal' ? placeOf(cause.cause, scope.owns) : null; // other errors name their remedy
  const where = place === null ? '' : ` (at ${place})`;
  return new AppError('config_error', `Plugin ${name} does not start: ${cause.message}${where}`, { cause });
}

/** Returns the remedy that a message names, as the reader of the log has to type it. */
function withCommandsAsCalled(error: AppError): AppError {
  if (error.code === 'internal') return error; // its stack is logged as well
  return new AppError(error.code, asCalled(error.message), { cause: error.cause });
}
