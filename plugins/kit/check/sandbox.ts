import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type LoadedConfig, loadConfig } from '../../../config/load.ts';
import type { Clock } from '../../../core/contract/model.ts';
import type { Capabilities } from '../../../core/contract/plugin.ts';
import { createOutbound } from '../../../core/delivery/outbound.ts';
import { BUILTIN_PLUGINS, builtinsOf } from '../../../core/plugin-host/builtin.ts';
import { UNDO_FAILED } from '../../../core/plugin-host/life.ts';
import type { LoadedPlugin } from '../../../core/plugin-host/loader.ts';
import { createPluginHost, type PluginHost, STORAGE_FIRST } from '../../../core/plugin-host/plugin-host.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import { createLog } from '../../../core/runtime/log.ts';
import type { GivenKeys } from './given.ts';

/** Runs a plugin under the server's plugin host, in a directory of its own. */
export interface Sandbox {
  plugin: LoadedPlugin;
  /** Its configuration, as the host gets it. */
  config: LoadedConfig;
  /**
   * Starts it.
   * @param aheadMs how far its clock is ahead
   * @throws {AppError | ConfigError} the reason why it does not start; everything it opened is closed
   */
  start(dataDir?: string, aheadMs?: number): Promise<Run>;
  /** Refuses an address that nothing may be sent to. */
  checkUrl(url: string): void;
  /** An empty data directory. */
  directory(): Promise<string>;
}

export interface Run {
  host: PluginHost;
  capabilities: (keyof Capabilities)[];
  dataDir: string;
  /** Resolves to a list of what could not be closed. */
  stop(): Promise<string[]>;
}

interface Surroundings {
  dir: string;
  scratch: string;
  environment: NodeJS.ProcessEnv;
  clock: Clock;
  /** Private hosts that the plugin may reach for users, in addition to public ones. */
  allowHosts: readonly string[];
}

/** @param module an absolute path, or the name of a package or a built-in plugin */
export async function createSandbox(
  plugin: LoadedPlugin,
  module: string,
  options: GivenKeys,
  { dir, scratch, environment, clock, allowHosts }: Surroundings,
): Promise<Sandbox> {
  const { name } = plugin;
  const isBuiltin = isBuiltinModule(name, module);
  const file = join(scratch, 'earshot.yaml'); // otherwise an existing file in the working directory would be read
  await writeFile(file, '');
  const config = loadConfig({
    env: variablesOf(name, environment),
    cwd: dir,
    file,
    overrides: {
      dataDir: scratch,
      plugins: { [name]: { ...options.values, ...(isBuiltin ? {} : { use: module }) } },
    },
    overriddenAt: ([, , ...path]) => options.where(path),
  });
  /** Known after the first start. */
  let isStorage = false;

  async function start(dataDir = scratch, aheadMs = 0): Promise<Run> {
    const complaints: string[] = [];
    const outbound = createOutbound({ allowHosts, clock });
    const host = createPluginHost({
      builtin: BUILTIN_PLUGINS,
      config: { ...config, dir },
      log: createLog({ level: 'warn', format: 'json' }, { write: line => note(line, name, complaints) }),
      clock: { ...clock, now: () => clock.now() + aheadMs },
      dataDir,
      fetchUser: outbound.fetchUser,
    });
    const stop = async () => {
      await host.stop();
      await outbound.close();
    };
    try {
      await (isStorage ? host.loadStorage(name) : startBeside(host));
      const { capabilities, reason } = stateOf(host);
      if (reason) throw new AppError(reason.code, reason.message);
      return { host, capabilities, dataDir, stop: () => stop().then(() => complaints) };
    } catch (error) {
      await stop();
      const reason = error instanceof AppError ? (error.cause ?? error) : error; // without the host's words around it
      if (isStorage || !String(error).includes(STORAGE_FIRST)) throw reason;
      isStorage = true;
      return start(dataDir, aheadMs);
    }
  }

  /** Starts the plugin beside a storage, which holds its state, and the webhooks whose names are taken. */
  async function startBeside(host: PluginHost): Promise<void> {
    const storage = await host.loadStorage('sql');
    await storage.migrate();
    const needed = [name, ...builtinsOf('webhook')];
    await host.loadAll({ skip: Object.keys(BUILTIN_PLUGINS).filter(builtin => !needed.includes(builtin)) });
  }

  function stateOf(host: PluginHost) {
    const state = host.status().find(plugin => plugin.name === name);
    if (state) return state;
    throw new AppError('internal', `the host does not know ${name}`);
  }

  return {
    plugin,
    config,
    start,
    checkUrl: createOutbound({ allowHosts, clock }).check,
    directory: () => mkdtemp(join(scratch, 'empty-')),
  };
}

export function isBuiltinModule(name: string, module: string): boolean {
  const own = Object.hasOwn(BUILTIN_PLUGINS, name) ? BUILTIN_PLUGINS[name] : undefined;
  return own !== undefined && [own.href, fileURLToPath(own)].includes(module);
}

/** Its own options may come as variables too; what else is set is the server's. */
function variablesOf(name: string, environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const prefix = `EARSHOT_PLUGINS__${name.replaceAll('-', '_').toUpperCase()}__`;
  const own = Object.entries(environment).filter(([variable]) => variable.startsWith(prefix));
  return Object.fromEntries(own.filter(([variable]) => variable !== `${prefix}USE`));
}

function note(line: string, name: string, complaints: string[]): void {
  const { plugin, msg, err } = JSON.parse(line);
  if (plugin === name && msg === UNDO_FAILED) complaints.push(err.message);
}
