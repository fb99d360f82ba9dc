import { readdir } from 'node:fs/promises';
import type { LoadedConfig } from '../config/load.ts';
import { RECOGNITION, type Readiness, type Status } from './commands.ts';
import type { Users } from './domain/users.ts';
import type { PluginHost } from './plugin-host.ts';
import { version } from './version.ts';

/** What of the house comes as plugins chosen by name, and what it means that there is none. */
const PARTS = [
  {
    key: 'stt',
    part: RECOGNITION,
    without: 'nothing is transcribed; name recognisers in the configuration (stt)',
  },
  { key: 'identity', part: 'signing in', without: 'nobody can sign in' },
  { key: 'llm', part: 'language model', without: 'titles and overviews are made by plain rules' },
  { key: 'embedder', part: 'search by meaning', without: 'search finds words alone' },
  { key: 'vectors', part: 'search by meaning', without: 'search finds words alone' },
] as const;

/** Tells what works of the house, and what makes the rest work. */
export function createStatus({
  loaded: { config, file: configFile },
  host,
  users,
  state,
}: {
  loaded: LoadedConfig;
  host: PluginHost;
  users: Pick<Users, 'list'>;
  state: { url: string | null };
}) {
  return async (): Promise<Status> => ({
    ...{ version, url: state.url, dataDir: config.dataDir, configFile },
    ready: [...PARTS.flatMap(part => readinessOf(host, part, [config[part.key]].flat())), await bluetooth()],
    users: (await users.list()).map(({ name }) => name),
  });
}

/** One line for each plugin that was chosen. Why one is not ready, and the way out, is in its own words. */
function readinessOf(
  host: PluginHost,
  { key, part, without }: (typeof PARTS)[number],
  wanted: readonly string[],
): Readiness[] {
  if (wanted.length === 0) return [{ part, name: 'none', ok: false, detail: without, cure: null }];
  const states = host.status();
  return wanted.map(name => {
    const plugin = states.find(state => state.name === name);
    const ok = plugin?.state === 'ready';
    const does = key === 'llm' && ok ? host.get('llm', name).model : plugin?.title;
    const detail = (ok ? does : plugin?.reason?.message) ?? 'not loaded';
    return { part, name, ok, detail, cure: null };
  });
}

/** The bridge uses the adapter; here it is only looked for. */
async function bluetooth(): Promise<Readiness> {
  const adapters = await readdir('/sys/class/bluetooth').catch(() => []);
  const part = 'Bluetooth';
  if (adapters.length > 0)
    return {
      part,
      name: adapters.join(', '),
      ok: true,
      detail: 'pair a wearable with: npx earshot bridge',
      cure: null,
    };
  return {
    part,
    name: 'no adapter',
    ok: false,
    detail: 'plug one in, or try without a wearable',
    cure: 'npx earshot bridge --simulate',
  };
}
