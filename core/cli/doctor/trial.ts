import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LoadedConfig, loadConfig } from '../../../config/load.ts';
import { BUILTIN_PLUGINS, builtinsOf } from '../../plugin-host/builtin.ts';
import { createPluginHost, type PluginHost } from '../../plugin-host/plugin-host.ts';
import { AppError } from '../../runtime/errors.ts';
import { createLog } from '../../runtime/log.ts';
import type { Patient } from './examination.ts';

/**
 * A plugin alone, as the server loads it: what it has in the data directory is lent to it, what it remembers begins
 * anew in a database that goes away again.
 */
export async function withPlugin<T>(
  name: string,
  { loaded, clock, pluginLimits = {} }: Patient,
  work: (host: PluginHost) => Promise<T>,
): Promise<T> {
  const scratch = await mkdtemp(join(tmpdir(), 'earshot-doctor-'));
  const host = createPluginHost({
    builtin: BUILTIN_PLUGINS,
    config: onlyOf(name, loaded, scratch),
    log: createLog({ level: 'silent', format: 'json' }),
    clock,
    dataDir: scratch,
    limits: pluginLimits,
  });
  try {
    await lend(loaded.config.dataDir, scratch);
    await (await host.loadStorage(builtinsOf('storage')[0] ?? '')).migrate();
    await host.loadAll({ skip: Object.keys(BUILTIN_PLUGINS).filter(builtin => builtin !== name) });
    return await work(host);
  } catch (error) {
    throw new AppError('unavailable', messageOf(error).replaceAll(scratch, loaded.config.dataDir));
  } finally {
    await host.stop();
    await rm(scratch, { recursive: true, force: true });
  }
}

/** The configuration with this plugin alone; the scratch storage knows nothing of the real one. */
function onlyOf(name: string, loaded: LoadedConfig, scratch: string): LoadedConfig {
  const bare = loadConfig({ env: {}, cwd: scratch });
  const section = loaded.config.plugins[name];
  return {
    ...loaded,
    config: { ...loaded.config, plugins: section === undefined ? {} : { [name]: section } },
    pluginOptions: (each, schema) => (each === name ? loaded : bare).pluginOptions(each, schema),
  };
}

/** Links files of all plugins, because some share models. */
async function lend(dataDir: string, scratch: string): Promise<void> {
  const plugins = join(dataDir, 'plugins');
  await mkdir(join(scratch, 'plugins'), { mode: 0o700 });
  for (const name of await readdir(plugins).catch((): string[] => []))
    await symlink(join(plugins, name), join(scratch, 'plugins', name));
}

/** Without what the host says around the plugin's own words. */
export function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const own = message.replace(/^[^;\n]* gives no \w+ now; [^:\n]* is degraded: /, '');
  return own
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
    .join(' ');
}

/** A plugin's message ends with the way out. */
export function splitCure(message: string, otherwise: string): [detail: string, cure: string] {
  const at = Math.max(message.lastIndexOf('; '), message.lastIndexOf('. '));
  if (at < 0) return [message, otherwise];
  return [message.slice(0, at), message.slice(at + 2)];
}

/** It stands before it already. */
export function withoutName(name: string, message: string): string {
  return message.startsWith(`${name}: `) ? message.slice(name.length + 2) : message;
}

/** Describes why a plugin fails its trial, and what to do. */
export function excuseOf(name: string, error: unknown): [detail: string, cure: string] {
  return splitCure(withoutName(name, messageOf(error)), `try it: earshot plugin check ${name}`);
}
