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
 * Loads one plugin alone, as the server does. It uses its files of the data directory, and an empty temporary
 * database.
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

/** Removes the text that the host adds to a plugin's message. */
export function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const own = message.replace(/^[^;\n]* gives no \w+ now; [^:\n]* is degraded: /, '');
  return own
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
    .join(' ');
}

/** Splits a plugin's message into problem and remedy, which is its end. */
export function splitCure(message: string, otherwise: string): [detail: string, cure: string] {
  const at = Math.max(message.lastIndexOf('; '), message.lastIndexOf('. '));
  if (at < 0) return [message, otherwise];
  return [message.slice(0, at), message.slice(at + 2)];
}

/** Removes the name of the plugin, which is already shown before the message. */
export function withoutName(name: string, message: string): string {
  return message.startsWith(`${name}: `) ? message.slice(name.length + 2) : message;
}

/** Describes why a plugin fails its trial, and what to do. */
export function excuseOf(name: string, error: unknown): [detail: string, cure: string] {
  return splitCure(withoutName(name, messageOf(error)), `try it: earshot plugin check ${name}`);
}
