import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { LoadedConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { Backups } from '../backup/backups.ts';
import type { Clock, Health } from '../contract/model.ts';
import type { Storage } from '../contract/plugin.ts';
import type { Users } from '../domain/accounts/users.ts';
import { countOrphanedAudio, ORPHANED, ORPHANED_CURE, tellOrphaned } from '../listen/orphaned-audio.ts';
import type { PluginHost } from '../plugin-host/plugin-host.ts';
import { deadline } from '../runtime/deadline.ts';
import { AppError } from '../runtime/errors.ts';
import { version } from '../runtime/version.ts';
import { RECOGNITION, type Readiness, type Status } from './commands.ts';

/** The parts that plugins chosen by name provide, and what works without them. */
const PARTS = [
  {
    key: 'stt',
    part: RECOGNITION,
    without: 'nothing is transcribed; name recognisers in the configuration (stt)',
  },
  { key: 'identity', part: 'signing in', without: 'nobody can sign in' },
  { key: 'llm', part: 'language model', without: 'none; plain rules make titles, tasks and memories' },
  { key: 'understanding', part: 'understanding', without: 'conversations stay without title and overview' },
  { key: 'speakers', part: 'speakers', without: 'voices are not told apart' },
  { key: 'translator', part: 'translation', without: 'nothing is translated' },
  { key: 'embedder', part: 'search by meaning', without: 'search finds words alone' },
  { key: 'vectors', part: 'search index', without: 'search finds words alone' },
] as const;

type BackupState = Awaited<ReturnType<Backups['state']>>;

/** A database that takes longer than this for one row is of no use. */
const DATABASE_MS = 3000;

/** Tells whether the server works. However often it is asked, the database is asked by one at a time. */
export function createHealth({
  config,
  host,
  database,
  clock,
  state,
}: {
  config: Config;
  host: Pick<PluginHost, 'list'>;
  database: { users: Pick<Storage['users'], 'get'> };
  clock: Pick<Clock, 'sleep'>;
  state: { isReady: boolean };
}): () => Promise<Health> {
  let asking: Promise<boolean> | null = null;

  async function readsDatabase(): Promise<boolean> {
    const late = () => new AppError('timeout', `the database did not answer within ${DATABASE_MS} ms`);
    return deadline({ clock, limitMs: DATABASE_MS, late }, () => database.users.get('')).then(
      () => true,
      () => false,
    );
  }

  return async () => {
    if (!state.isReady) return { status: 'failing', parts: [] };
    asking ??= readsDatabase().finally(() => {
      asking = null;
    });
    if (!(await asking)) return { status: 'failing', parts: ['database'] };
    const missing = PARTS.filter(({ key }) => {
      const wanted = chosen(config, key);
      return wanted.length > 0 && host.list(key, wanted).length === 0;
    });
    const parts = [...new Set(missing.map(({ part }) => part))];
    return { status: parts.length === 0 ? 'ok' : 'degraded', parts };
  };
}

/** Tells what works, and what makes the rest work. */
export function createStatus({
  loaded: { config, file: configFile },
  host,
  users,
  backups,
  state,
}: {
  loaded: LoadedConfig;
  host: PluginHost;
  users: Pick<Users, 'list'>;
  backups: Pick<Backups, 'state'>;
  state: { url: string | null };
}) {
  return async (): Promise<Status> => ({
    ...{ version, url: state.url, dataDir: config.dataDir, configFile },
    ready: [
      ...PARTS.flatMap(part => readinessOf(host, part, chosen(config, part.key))),
      await bluetooth(),
      ...(await orphanedAudio(config.dataDir)),
      tellBackups(await backups.state()),
    ],
    users: (await users.list()).map(({ name }) => name),
  });
}

/** Names of plugins. */
function chosen(config: Config, key: (typeof PARTS)[number]['key']): string[] {
  const value = config[key];
  return typeof value === 'object' && 'final' in value ? [value.live, value.final].flat() : [value].flat();
}

/** One line for each plugin that was chosen. Why one is not ready, and the way out, is in its own words. */
function readinessOf(
  host: PluginHost,
  { key, part, without }: (typeof PARTS)[number],
  wanted: readonly string[],
): Readiness[] {
  if (wanted.length === 0)
    return [{ part, name: 'none', ok: false, optional: true, detail: without, cure: null }];
  const works = host.list(key, wanted).length > 0;
  const states = host.status();
  return wanted.map(name => {
    const plugin = states.find(state => state.name === name);
    const ok = plugin?.state === 'ready';
    const does = key === 'llm' && ok ? host.get('llm', name).model : plugin?.title;
    const detail = (ok ? does : plugin?.reason?.message) ?? 'not loaded';
    return { part, name, ok, optional: works, detail, cure: null };
  });
}

/** Empty without orphaned audio. */
async function orphanedAudio(dataDir: string): Promise<Readiness[]> {
  const { files, bytes } = await countOrphanedAudio(dataDir);
  if (files === 0) return [];
  const detail = `${tellOrphaned(files, bytes)} in ${join(dataDir, ORPHANED)}`;
  return [{ part: 'audio', name: ORPHANED, ok: false, optional: true, detail, cure: ORPHANED_CURE }];
}

function tellBackups({ enabled, directory, newest, failed, rehearsed }: BackupState): Readiness {
  const line = { part: 'backup', name: 'daily', optional: false, cure: null };
  const last = newest ? `the newest is of ${iso(newest.createdAt)}` : 'there is none yet';
  if (failed)
    return { ...line, ok: false, detail: `failed on ${iso(failed.at)}: ${failed.message}; ${last}` };
  if (rehearsed?.error)
    return { ...line, ok: false, detail: `${rehearsed.file} cannot be restored: ${rehearsed.error}` };
  if (!enabled) return { ...line, ok: false, optional: true, detail: `switched off; ${last}` };
  return {
    ...line,
    ok: true,
    detail: newest ? `${last}, in ${directory}` : `the first is made within a day`,
  };
}

function iso(at: number): string {
  return new Date(at).toISOString();
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
      optional: true,
      detail: 'pair a wearable with: earshot bridge',
      cure: null,
    };
  return {
    part,
    name: 'no adapter',
    ok: false,
    optional: true,
    detail: 'plug one in, or try without a wearable: earshot bridge --simulate',
    cure: null,
  };
}
