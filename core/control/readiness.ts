import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { LoadedConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { Backups } from '../backup/backups.ts';
import type { Clock, Health } from '../contract/model.ts';
import type { Storage } from '../contract/plugin.ts';
import type { Users } from '../domain/accounts/users.ts';
import { countOrphanedAudio, ORPHANED, ORPHANED_CURE, tellOrphaned } from '../listen/spool/orphaned-audio.ts';
import type { PluginHost, PluginStatus } from '../plugin-host/plugin-host.ts';
import { deadline } from '../runtime/deadline.ts';
import { AppError } from '../runtime/errors.ts';
import { toIso } from '../runtime/iso.ts';
import { version } from '../runtime/version.ts';
import { PLUGIN, RECOGNITION, type Readiness, type Status, UPDATES } from './commands.ts';
import type { Openings } from './openings.ts';

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

/** Source of notices of newer versions. Null: not configured. */
interface Updates {
  state(): Promise<{
    checkedAt: number | null;
    newer: { version: string; released: string; security: boolean; note: string } | null;
    error: string | null;
  } | null>;
}

type BackupState = Awaited<ReturnType<Backups['state']>>;

/** Names all plugins of `PLUGIN` together in `healthz`, which gives no details. */
const PLUGINS = 'plugins';

/** Time limit for reading one row: a slower database counts as failed. */
const DATABASE_MS = 3000;

/** Reports whether the server works. Concurrent requests share one query of the database. */
export function createHealth({
  config,
  host,
  openings,
  database,
  clock,
  state,
}: {
  config: Config;
  host: Pick<PluginHost, 'list' | 'status'>;
  openings: Pick<Openings, 'failureOf'>;
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
      return wanted.length > 0 && working({ host, openings }, key, wanted).length === 0;
    });
    const others = otherPlugins(host, config).some(plugin => plugin.state === 'degraded');
    const parts = [...new Set([...missing.map(({ part }) => part), ...(others ? [PLUGINS] : [])])];
    return { status: parts.length === 0 ? 'ok' : 'degraded', parts };
  };
}

/** Reports what works, and the remedy for the rest. */
export function createStatus({
  loaded: { config, file: configFile },
  host,
  openings,
  users,
  backups,
  updates,
  state,
}: {
  loaded: LoadedConfig;
  host: PluginHost;
  openings: Pick<Openings, 'failureOf'>;
  users: Pick<Users, 'list'>;
  backups: Pick<Backups, 'state'>;
  updates: Pick<Updates, 'state'>;
  state: { url: string | null };
}) {
  return async (): Promise<Status> => ({
    version,
    url: state.url,
    dataDir: config.dataDir,
    configFile,
    ready: [
      ...PARTS.flatMap(part => readinessOf({ host, openings, config }, part)),
      ...offered(host, config),
      ...otherPlugins(host, config).flatMap(tellPlugin),
      await bluetooth(),
      ...(await orphanedAudio(config.dataDir)),
      tellBackups(await backups.state()),
      ...tellUpdates(await updates.state()),
    ],
    users: (await users.list()).map(({ name }) => name),
  });
}

/** Names of plugins. */
function chosen(config: Config, key: (typeof PARTS)[number]['key']): string[] {
  const value = config[key];
  return typeof value === 'object' && 'final' in value ? [value.live, value.final].flat() : [value].flat();
}

interface Plugins<Host = PluginHost> {
  host: Host;
  openings: Pick<Openings, 'failureOf'>;
}

/** Lists the names in `wanted` of working plugins. A recogniser whose last opening failed does not work. */
function working(
  { host, openings }: Plugins<Pick<PluginHost, 'list'>>,
  key: (typeof PARTS)[number]['key'],
  wanted: readonly string[],
): string[] {
  if (key !== 'stt') return host.list(key, wanted).map(({ name }) => name);
  return host
    .list(key, wanted)
    .filter(({ value }) => openings.failureOf(value) === null)
    .map(({ name }) => name);
}

/** Reports each chosen plugin. Its own message explains why it is not ready, and the remedy. */
function readinessOf(
  { host, openings, config }: Plugins & { config: Config },
  { key, part, without }: (typeof PARTS)[number],
): Readiness[] {
  const wanted = chosen(config, key);
  if (wanted.length === 0)
    return [{ part, name: 'none', ok: false, optional: true, detail: without, cure: null }];
  const works = working({ host, openings }, key, wanted);
  const states = host.status();
  return wanted.map(name => {
    const state = states.find(each => each.name === name);
    const reason = state?.state === 'ready' ? lackOf({ host, openings, config }, key, name) : whyNot(state);
    const does = key === 'llm' && reason === null ? host.get('llm', name).model : (state?.title ?? name);
    const line = { part, name, optional: works.length > 0, cure: null };
    return { ...line, ok: reason === null, detail: reason ?? does };
  });
}

function whyNot(state: PluginStatus | undefined): string {
  return state?.reason?.message ?? 'not loaded';
}

/** Explains why a running plugin cannot be used; null: it can. */
function lackOf(
  { host, openings, config }: Plugins & { config: Config },
  key: (typeof PARTS)[number]['key'],
  name: string,
): string | null {
  if (key === 'stt') {
    const failure = openings.failureOf(host.get('stt', name));
    return failure && `did not open on ${toIso(failure.at)}: ${failure.error.message}`;
  }
  if (key !== 'understanding' && key !== 'translator') return null;
  const isWithout = config.llm.length === 0 && host.get(key, name).needsModel;
  return isWithout ? 'asks a language model, and the configuration names none (llm)' : null;
}

/** Lists the channels and webhook types that users can choose from. */
function offered(host: PluginHost, config: Config): Readiness[] {
  const channels = host.list('notify', config.notify).map(({ name }) => name);
  const types = host.list('webhook').map(({ value }) => value.type);
  const line = { ok: true, optional: true, cure: null };
  return [
    { ...line, part: 'notifications', name: 'channels', detail: listed('channels', channels) },
    { ...line, part: 'webhooks', name: 'types', detail: listed('types', types) },
  ];
}

function listed(what: string, names: readonly string[]): string {
  return `${what} ${names.length === 0 ? 'none' : names.join(', ')}`;
}

interface OtherPlugin extends PluginStatus {
  isNotOffered: boolean;
}

/** Plugins that no part chooses by name, except for built-in ones that work. */
function otherPlugins(host: Pick<PluginHost, 'status'>, config: Config): OtherPlugin[] {
  const told = new Set([config.storage, ...PARTS.flatMap(({ key }) => chosen(config, key))]);
  return host
    .status()
    .filter(({ name, builtin, state }) => !told.has(name) && (state === 'degraded' || !builtin))
    .map(plugin => ({
      ...plugin,
      isNotOffered: plugin.capabilities.includes('notify') && !config.notify.includes(plugin.name),
    }));
}

function tellPlugin({ name, title, state, reason, capabilities, isNotOffered }: OtherPlugin): Readiness[] {
  const line = { part: PLUGIN, name, cure: null };
  if (state === 'degraded')
    return [{ ...line, ok: false, optional: false, detail: reason?.message ?? state }];
  if (state !== 'ready') return [];
  const gives = `${title} (${capabilities.join(', ')})`;
  if (!isNotOffered) return [{ ...line, ok: true, optional: true, detail: gives }];
  const cure = `name it in the configuration, notify: [${name}, …]`;
  return [{ ...line, ok: false, optional: true, detail: `${gives} is not offered to users`, cure }];
}

/** Empty without orphaned audio. */
async function orphanedAudio(dataDir: string): Promise<Readiness[]> {
  const { files, bytes } = await countOrphanedAudio(dataDir);
  if (files === 0) return [];
  const detail = `${tellOrphaned(files, bytes)} in ${join(dataDir, ORPHANED)}`;
  return [{ part: 'audio', name: ORPHANED, ok: false, optional: true, detail, cure: ORPHANED_CURE }];
}

function tellUpdates(state: Awaited<ReturnType<Updates['state']>>): Readiness[] {
  if (state === null) return [];
  const about = { part: UPDATES, name: 'Earshot', optional: true };
  const { newer, error, checkedAt } = state;
  if (newer) {
    const why = newer.security ? ', which closes a security hole' : '';
    const detail = `${newer.version} of ${newer.released} is out${why}: ${newer.note}`;
    return [{ ...about, ok: false, detail, cure: 'update as docs/backup-restore-upgrade-uninstall.md says' }];
  }
  if (error !== null)
    return [{ ...about, ok: false, detail: error, cure: 'look at updates.url and updates.publicKey' }];
  const detail = checkedAt === null ? 'not looked for yet' : `${version} is the newest version`;
  return [{ ...about, ok: true, detail, cure: null }];
}

function tellBackups({ enabled, directory, newest, failed, rehearsed, copies }: BackupState): Readiness {
  const line = { part: 'backup', name: 'daily', optional: false, cure: null };
  const last = newest ? `the newest is of ${toIso(newest.createdAt)}` : 'there is none yet';
  if (failed)
    return { ...line, ok: false, detail: `failed on ${toIso(failed.at)}: ${failed.message}; ${last}` };
  if (rehearsed?.error)
    return { ...line, ok: false, detail: `${rehearsed.file} cannot be restored: ${rehearsed.error}` };
  if (!enabled) return { ...line, ok: false, optional: true, detail: `switched off; ${last}` };
  return {
    ...line,
    ok: true,
    detail: newest
      ? [`${last}, in ${directory}`, ...copies.map(tellCopy)].join('; ')
      : `the first is made within a day`,
  };
}

function tellCopy({ place, at }: BackupState['copies'][number]): string {
  return at === null ? `no copy in ${place} yet` : `copied to ${place} on ${toIso(at)}`;
}

/** Looks for a Bluetooth adapter, which the bridge uses. */
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
