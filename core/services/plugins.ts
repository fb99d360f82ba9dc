import { recognisersOf, sttNames } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { Openings } from '../control/openings.ts';
import { createIdentities } from '../domain/accounts/identities.ts';
import type { NamedProvider } from '../listen/recogniser/providers.ts';
import type { PluginHost } from '../plugin-host/plugin-host.ts';
import { AppError } from '../runtime/errors.ts';

/** Returns access to what plugins provide. It asks at each use, because a plugin may have been restarted. */
export function pluginsOf(host: PluginHost, config: Config, openings: Openings) {
  return {
    identities: createIdentities(() => {
      const working = host.list('identity', config.identity);
      const missing = config.identity.filter(name => !working.some(provider => provider.name === name));
      return { working: working.map(({ value }) => value), missing };
    }),
    openings,
    recognisers: () => recognisers(host, openings, sttNames(config)),
    finalRecogniser: finalRecogniser(host, openings, config),
    vad: () => host.get('vad'),
    embedder: () => host.get('embedder', config.embedder),
    vectors: () => host.get('vectors', config.vectors),
    translators: () => translators(host, config),
    speakers: () => host.list('speakers', config.speakers)[0]?.value ?? null,
    visions: () => host.list('vision', config.llm).map(({ value }) => value),
    models: () => host.list('llm', config.llm).map(({ value }) => value),
    understandings: () => understandings(host, config),
    pages: () => host.list('page').map(({ value }) => value),
    webhooks: () => host.list('webhook').map(({ value }) => value),
    outlets: () =>
      host.list('notify', config.notify).map(({ name, title, value }) => ({ name, title, channel: value })),
    channel: (name: string) => offeredChannel(host, config, name),
    calendars: () => host.list('calendar').map(({ name, value }) => ({ name, outlet: value })),
  };
}

/** @throws {AppError} `unavailable` where the channel does not work, or the configuration does not offer it */
function offeredChannel(host: PluginHost, config: Config, name: string) {
  if (config.notify.includes(name)) return host.get('notify', name);
  throw new AppError('unavailable', `The configuration does not offer the channel ${name} (notify)`);
}

/** Lists the configured translators in their order, without those that need a model while there is none. */
function translators(host: PluginHost, { translator, llm }: Config) {
  const working = host.list('translator', translator).map(({ value }) => value);
  return working.filter(({ needsModel }) => !needsModel || host.list('llm', llm).length > 0);
}

function recognisers(host: PluginHost, openings: Openings, names: readonly string[]): NamedProvider[] {
  return host.list('stt', names).map(({ name, value: stt }) => ({
    name,
    stt,
    onOpening: failure => openings.tell(stt, failure),
  }));
}

/** Returns the recogniser of the second pass that is configured now; null: none. */
function finalRecogniser(host: PluginHost, openings: Openings, config: Config) {
  const { final } = recognisersOf(config);
  return final === null ? null : () => recognisers(host, openings, [final])[0] ?? null;
}

/** Lists the configured plugins in their order, without those that need a model while there is none. */
function understandings(host: PluginHost, { understanding, llm }: Config) {
  const working = new Map(host.list('understanding', understanding).map(({ name, value }) => [name, value]));
  return understanding
    .map(name => ({ name, understanding: working.get(name) ?? null }))
    .filter(each => llm.length > 0 || !each.understanding?.needsModel);
}
