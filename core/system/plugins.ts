/** Every plugin with its state and options, as operators see and change them. */
import { z } from 'zod';
import { descriptionOf, isFileOnly, type Key, keysOf } from '../../config/keys.ts';
import type { Origin } from '../../config/load.ts';
import type { User } from '../contract/model.ts';
import type { GivenOptions, PluginHost, PluginStatus } from '../plugin-host/plugin-host.ts';
import { AppError } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';

export interface PluginOption {
  /** Path in the plugin's section, joined with dots. */
  name: string;
  description: string | null;
  /** Then its value is not told. */
  secret: boolean;
  /** As the plugin has it, defaults included; null: it is not set, or secret. */
  value: unknown;
  from: Origin['from'] | 'default';
  /** Line or variable that sets it. */
  place: string | null;
  isChangeable: boolean;
  /** JSON schema of the value. */
  schema: Record<string, unknown>;
}

export interface DescribedPlugin extends PluginStatus {
  /** Empty where it was not loaded, or is off. */
  options: PluginOption[];
  /** Problems of the options that were set on the page, which are ignored then. */
  ignored: readonly string[];
}

export function describePlugins(host: Pick<PluginHost, 'status' | 'options'>): DescribedPlugin[] {
  return host.status().map(plugin => {
    const given = host.options(plugin.name);
    const options = given === null ? [] : keysOf(given.schema).map(key => optionOf(key, given));
    return { ...plugin, options, ignored: given?.ignored ?? [] };
  });
}

function optionOf(
  { path, schema, secret }: Key,
  { values, origins, isChangeable }: GivenOptions,
): PluginOption {
  const name = path.join('.');
  const { from, place } = origins.get(name) ?? { from: 'default', place: null };
  const value = path.reduce<unknown>((section, key) => Object(section)[key], values) ?? null;
  const isFixed = from === 'environment' || from === 'command';
  const {
    $schema: _,
    default: __,
    ...type
  } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return {
    name,
    secret,
    from,
    place,
    schema: type,
    description: descriptionOf(schema),
    value: secret ? null : value,
    isChangeable: isChangeable && !isFixed && !isFileOnly(schema),
  };
}

/** Changes options of plugins; the log tells who changed which, without their values. */
export function createPluginChanges({
  host,
  log,
  onChanged,
}: {
  host: Pick<PluginHost, 'change' | 'status' | 'options'>;
  log: Log;
  /** After the plugin has started again. */
  onChanged: (name: string) => Promise<void>;
}) {
  let last: Promise<unknown> = Promise.resolve();

  async function apply(user: User, name: string, options: Readonly<Record<string, unknown>>) {
    await host.change(name, new Map(Object.entries(options)));
    log.info(
      { account: user.name, plugin: name, options: Object.keys(options) },
      'options of a plugin were changed on the page',
    );
    await onChanged(name);
    const changed = describePlugins(host).find(plugin => plugin.name === name);
    if (!changed) throw new AppError('not_found', `There is no plugin ${name}`);
    return changed;
  }

  /** One after the other: each starts a plugin again. */
  return function change(
    ...given: [user: User, name: string, options: Readonly<Record<string, unknown>>]
  ): Promise<DescribedPlugin> {
    const changed = last.then(() => apply(...given));
    last = changed.catch(() => {});
    return changed;
  };
}
