import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { type InjectionToken, instanceCachingFactory, container as rootContainer } from 'tsyringe';
import type { LoadedConfig } from '../config/load.ts';
import { finishRestore, refuseUnfinishedRestore } from './backup/restore.ts';
import type { Clock } from './contract/model.ts';
import type { Storage } from './contract/plugin.ts';
import type { Commands } from './control/commands.ts';
import { controlPath, isServed, serveControl } from './control/control.ts';
import { createOutbound } from './delivery/outbound.ts';
import { DAY_JOB } from './domain/apps/deliveries.ts';
import { CALENDAR_JOB } from './domain/calendar/calendar-sync.ts';
import { FINISH_JOB, REPROCESS_JOB } from './domain/conversations/lifecycle.ts';
import { VOICE_JOB } from './domain/conversations/voice-assignments.ts';
import { RELEASE_JOB } from './domain/notifications/notifications.ts';
import { DESCRIBE_JOB, PHOTO_INDEX_JOB } from './domain/photos/photos.ts';
import { RETENTION_JOB } from './domain/privacy/retention.ts';
import { RECORDING_JOB } from './domain/recordings/recordings.ts';
import { EMBED_CHECK_JOB, EMBED_JOB } from './domain/search/embedding.ts';
import { CLIPS_JOB } from './domain/speech/speech-settings.ts';
import { NOTICE_JOB, REMINDER_JOB } from './domain/tasks/reminders.ts';
import type { RateLimits } from './http/rate-limit.ts';
import { connectionOf } from './listen/connection/parameters.ts';
import { type Served, serveRecognition } from './listen/recognition/service.ts';
import { openDisk } from './listen/spool/disk.ts';
import type { OrphanedAudio } from './listen/spool/orphaned-audio.ts';
import { openSpool } from './listen/spool/spool.ts';
import { createPhotoIndex } from './pipeline/describe.ts';
import { createGivenUp } from './pipeline/finish.ts';
import { createReprocessGivenUp } from './pipeline/reprocess.ts';
import { BUILTIN_PLUGINS, builtinsOf, choicesOf, notChosen } from './plugin-host/builtin.ts';
import { createPluginHost, type PluginLimits } from './plugin-host/plugin-host.ts';
import { localRecognisers } from './plugin-host/selection.ts';
import { createPluginStarts } from './plugin-host/starts.ts';
import { AppError, toAppError } from './runtime/errors.ts';
import { recordInstallation, refuseLostDatabase } from './runtime/installation.ts';
import { concealSecrets, type Log } from './runtime/log.ts';
import { startUpkeep } from './runtime/upkeep.ts';
import { spoolOf } from './services/directories.ts';
import type { Foundation, ServerState } from './services/domain.ts';
import { createServices, createServing, orphanedAudioOf, type Services } from './services.ts';
import { type Catalogue, readCatalogue } from './system/models.ts';

export interface App {
  /** Loads every plugin, creates the first account, and listens. Rejects with an error that names a remedy. */
  start(): Promise<{ url: string; host: string; port: number }>;
  /** Closes sockets first and storage last; everything heard is stored. Never rejects. */
  stop(): Promise<void>;
  commands: Commands;
  /** Returns the link at which the first account sets its first password; null once any account has one. */
  welcomeUrl(): Promise<string | null>;
}

interface AppOptions {
  loaded: LoadedConfig;
  log: Log;
  clock?: Clock;
  /** True: to serve. False, the default: only for commands, without recognisers and detectors. */
  serving?: boolean;
  /** Whether commands need the notification channels; default: not. Serving does. */
  channels?: boolean;
  /** Models that operators can download; default: those of `config/models.json`. */
  catalogue?: () => Promise<Catalogue>;
  /** Time that plugins have to start; default: the contract's limits. */
  pluginLimits?: PluginLimits;
}

/** The roots that the container resolves; services.ts constructs everything below them explicitly. */
const FOUNDATION: InjectionToken<Foundation> = Symbol('foundation');
const SERVICES: InjectionToken<Services> = Symbol('services');

type Close = () => Promise<unknown>;

/**
 * The composition root: when it resolves, storage is open and migrated. Rejects with `conflict` when it is to serve a
 * data directory that another server serves.
 */
export async function createApp({
  loaded,
  log,
  clock = systemClock,
  serving = false,
  channels = false,
  pluginLimits = {},
  catalogue = readCatalogue,
}: AppOptions): Promise<App> {
  const { config } = loaded;
  const outbound = createOutbound({ ...config.delivery, clock });
  const host = createPluginHost({
    ...{ builtin: BUILTIN_PLUGINS, config: loaded, log, clock, dataDir: config.dataDir },
    wanted: choicesOf(config),
    fetchUser: outbound.fetchUser,
    ...(serving && { starts: createPluginStarts(config.dataDir, clock) }),
    limits: pluginLimits,
  });
  concealSecrets(
    [config.metrics.token, config.bridge.key, config.backup.s3.secretAccessKey].filter(
      secret => secret !== undefined,
    ),
  );
  const state: ServerState = { url: null, isReady: false };
  /** Handlers of `stop`, run in reverse order. */
  const closers: Close[] = [outbound.close, host.stop];

  async function open(): Promise<Services> {
    if (serving && (await isServed(controlPath(config.dataDir))))
      throw new AppError(
        'conflict',
        `Earshot is already running on ${config.dataDir}; stop it, or set EARSHOT_DATA_DIR`,
      );
    if (serving) await takeUpRestore(config.dataDir, log);
    else await refuseUnfinishedRestore(config.dataDir);
    const database = await host.loadStorage(config.storage);
    await refuseLostDatabase(config.dataDir, database);
    await database.migrate();
    if (!serving) {
      const needed = [...config.identity, ...(channels ? config.notify : [])];
      await host.loadAll({ skip: [...notChosen(needed), ...builtinsOf('vad')] });
    }
    const container = rootContainer.createChildContainer();
    container.register(FOUNDATION, {
      useValue: { loaded, log, clock, host, outbound, database, state, catalogue },
    });
    container.register(SERVICES, {
      useFactory: instanceCachingFactory(all => createServices(all.resolve(FOUNDATION))),
    });
    return container.resolve(SERVICES);
  }

  async function stop() {
    state.isReady = false;
    for (const close of closers.splice(0).reverse())
      await close().catch(error => log.error({ err: error }, 'could not close'));
  }

  try {
    const services = await open();
    return {
      start: () => start(services, close => closers.push(close)),
      stop,
      commands: services.commands,
      async welcomeUrl() {
        const code = await services.signIn.welcome();
        return code && `${config.publicUrl ?? state.url}/welcome#${code}`;
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function takeUpRestore(dataDir: string, log: Log): Promise<void> {
  const replaced = await finishRestore(dataDir);
  if (replaced !== undefined)
    log.warn({ dataDir, replaced }, 'a restore that was interrupted is finished: the backup is in place');
}

/**
 * Time in ms that live connections have to store what they heard, and then the same for recognisers to close. The
 * rest is kept on disk; a stop must end within ten seconds.
 */
const DRAIN_MS = 4000;

/** Starts everything in this order; it is stopped in reverse order of the calls of `onStop`. */
async function start(services: Services, onStop: (close: Close) => void) {
  const { config, host, log, state, commands, users, embedding, jobs, delivery, backups } = services;
  const { recordings, recordingFiles, recordingJobs, transcribeRecording } = services;
  await host.loadAll({ skip: notChosen(Object.values(choicesOf(config)).flat()) });
  const created = await users.ensureFirst(config.account);
  if (created) log.info({ account: created.name }, 'first account made');

  const control = await serveControl(controlPath(config.dataDir), commands, log);
  onStop(control.close);

  const node = await takeUpJobs(services);

  await services.uploads.begin();
  onStop(services.pictures.stop);
  const orphaned = orphanedAudioOf(services);
  const spool = await openAudio(services, orphaned);
  onStop(spool.close);

  const { finalPass, listen, server, rateLimits } = createServing(services, spool, orphaned);
  await finalPass.start();
  onStop(finalPass.stop);

  await listen.start(); // before the jobs, which would end the conversations that wait for text

  await services.accountImport.recover();
  handleJobs(services);
  await embedding.begin();
  jobs.start(node);
  onStop(jobs.stop);

  await recordingFiles.sweep(recordings.isWaiting);
  recordingJobs.handle(RECORDING_JOB, transcribeRecording.run, transcribeRecording.givenUp);
  recordingJobs.start(node);
  onStop(recordingJobs.stop);

  delivery.start(node);
  onStop(delivery.stop);

  services.homes.start();
  onStop(services.homes.stop);
  onStop(async () => services.system.models.stop());
  onStop(services.system.examination.stop);

  services.calendarSync.start();
  onStop(async () => services.calendarSync.stop());

  services.translations.start();
  onStop(services.translations.stop);

  onStop(keepUp(services, rateLimits).close);
  onStop(backups.stop); // before: nightly work waits for a backup in progress

  const { host: name, port } = await server.listen(config.host, config.port);
  // In parallel: no new connections are accepted while the open ones end.
  onStop(() => Promise.all([server.close(), listen.stop(DRAIN_MS)]));

  onStop(services.exportFiles.stop);
  onStop(services.system.simulation.stop); // before the server: it is a client

  const url = `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
  Object.assign(state, { url, isReady: true });
  return { url, host: name, port };
}

/**
 * Makes jobs due that an earlier process of this node left running: only one process serves a data directory.
 * Resolves to the node's id.
 */
async function takeUpJobs({ config, clock, log, storage, users }: Services): Promise<string> {
  const hasAccounts = (await users.list()).length > 0;
  const { id } = await recordInstallation(config.dataDir, hasAccounts);
  const left = await storage.jobs.release(id, clock.now());
  if (left > 0) log.info({ jobs: left }, 'jobs that an earlier process left unfinished are run again');
  return id;
}

/** Opens the spool, together with the orphaned audio whose streams the database knows by now. */
async function openAudio(
  { config, clock, logOf, metrics, conversations, live }: Services,
  orphaned: OrphanedAudio,
) {
  const dir = spoolOf(config);
  const disk = await openDisk(dir);
  await orphaned.takeBack(dir, async ({ userId, id }) => {
    const stream = await conversations.stream(userId, id);
    return stream !== null && connectionOf(stream) !== null;
  });
  const spool = await openSpool({ disk, clock, log: logOf('spool'), limits: config.listen.spool, metrics });
  metrics.watchSpool(() => spool.counts);
  live.spool = spool;
  return spool;
}

/** Registers the handlers of stored jobs; `delivery` has its own. */
function handleJobs({
  jobs,
  conversations,
  finish,
  reprocess,
  dueNotices,
  notifications,
  daySummary,
  embedding,
  photos,
  describe,
  voiceAssignments,
  calendarSync,
  retention,
  clips,
}: Services) {
  jobs.handle(FINISH_JOB, finish, createGivenUp(conversations));
  jobs.handle(REPROCESS_JOB, reprocess, createReprocessGivenUp({ conversations }));
  jobs.handle(NOTICE_JOB, dueNotices.notice);
  jobs.handle(REMINDER_JOB, dueNotices.reminder);
  jobs.handle(RELEASE_JOB, notifications.release);
  jobs.handle(DAY_JOB, daySummary);
  jobs.handle(DESCRIBE_JOB, describe);
  jobs.handle(VOICE_JOB, voiceAssignments.run, voiceAssignments.givenUp);
  jobs.handle(PHOTO_INDEX_JOB, createPhotoIndex({ photos }));
  jobs.handle(RETENTION_JOB, retention.run);
  jobs.handle(CLIPS_JOB, clips.expire);
  jobs.handle(CALENDAR_JOB, calendarSync.sync);
  jobs.handle(EMBED_JOB, embedding.embed);
  jobs.handle(EMBED_CHECK_JOB, embedding.check);
}

const DAY_MS = 24 * 3_600_000;

function keepUp(services: Services, rateLimits: RateLimits | undefined) {
  const {
    config,
    clock,
    logOf,
    storage,
    keys,
    deliveries,
    devices,
    notifications,
    photos,
    backups,
    recordings,
  } = services;
  const daysAgo = (days: number) => clock.now() - days * DAY_MS;
  return startUpkeep({
    clock,
    log: logOf('upkeep'),
    eachMinute: {
      keys: keys.flush,
      sessions: services.sessions.flush,
      accesses: services.accesses.flush,
      rateLimits: async () => rateLimits?.flush(),
      deliveries: () => deliveries.prune(daysAgo(config.delivery.logDays)),
      devices: devices.sweep,
      homes: services.homes.refresh,
      disk: services.serverNotices.checkDisk,
      exports: services.exportFiles.sweep,
    },
    eachNight: {
      notifications: () => notifications.prune(daysAgo(config.notifications.keepDays)),
      attempts: () => storage.attempts.prune(clock.now()),
      retention: services.retention.nightly,
      accesses: services.accesses.prune,
      photos: photos.sweep,
      clips: services.clips.nightly,
      recordings: recordings.prune,
      updates: services.updates.check,
      voiceAssignments: services.voiceAssignments.prune,
      storage: storage.upkeep, // after the others, so that what they removed leaves the disk too
      async backup() {
        await backups.nightly().catch(async error => {
          await services.serverNotices.backup(toAppError(error).message);
          throw error;
        });
        await services.serverNotices.backup(null);
      },
    },
  });
}

const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}),
};

/** Opens the storage of a configuration alone, without migrating it. */
export async function openStorage({
  loaded,
  log,
}: Pick<AppOptions, 'loaded' | 'log'>): Promise<{ storage: Storage; close(): Promise<void> }> {
  const { storage, dataDir } = loaded.config;
  const host = createPluginHost({
    ...{ builtin: BUILTIN_PLUGINS, config: loaded, log, clock: systemClock, dataDir },
  });
  try {
    return { storage: await host.loadStorage(storage), close: host.stop };
  } catch (error) {
    await host.stop();
    throw error;
  }
}

/** Serves the recognisers of a configuration that work on this machine. Nothing is stored. */
export async function openRecognisers({
  loaded,
  log,
  served,
}: Pick<AppOptions, 'loaded' | 'log'> & { served: Served }): Promise<{
  lines: string[];
  stop(): Promise<void>;
}> {
  const { config } = loaded;
  const names = await localRecognisers({ builtin: BUILTIN_PLUGINS, config: loaded });
  const needed = [...names, ...builtinsOf('vad')];
  const plugins = Object.fromEntries(
    Object.entries(config.plugins).filter(([name]) => needed.includes(name)),
  );
  const host = createPluginHost({
    ...{ builtin: BUILTIN_PLUGINS, log, clock: systemClock, dataDir: config.dataDir },
    config: { ...loaded, config: { ...config, plugins } },
    wanted: { stt: names },
  });
  try {
    await host.loadAll({ skip: Object.keys(BUILTIN_PLUGINS).filter(name => !needed.includes(name)) });
    const service = await serveRecognition({ ...served, plugins: host, names, clock: systemClock, log });
    return {
      lines: service.lines,
      async stop() {
        await service.stop();
        await host.stop();
      },
    };
  } catch (error) {
    await host.stop();
    throw error;
  }
}
