import { environment } from '../config/load.ts';
import { backupSettings, createBackups } from './backup/backups.ts';
import type { Clock } from './contract/model.ts';
import { createCommands } from './control/commands.ts';
import { createHealth, createStatus } from './control/readiness.ts';
import { createDaySummary } from './delivery/day-summary.ts';
import { createFeed } from './delivery/feed.ts';
import { createHomes } from './delivery/homes.ts';
import { createTestHook } from './delivery/hook-test.ts';
import { createNotifyOwner } from './delivery/notify-owner.ts';
import { createProactive } from './delivery/proactive.ts';
import { createServerNotices } from './delivery/server-notices.ts';
import { createDelivery } from './delivery/service.ts';
import { wasRemoved } from './domain/accounts/accounts.ts';
import { sentElsewhere } from './domain/accounts/sent-elsewhere.ts';
import { createCompareMemories } from './domain/memories/memory-comparison.ts';
import { createDueNotices } from './domain/tasks/due-notices.ts';
import { createNotificationLimit, createRateLimits } from './http/rate-limit.ts';
import { createServer } from './http/server.ts';
import { createUploads } from './http/uploads.ts';
import { createImages } from './listen/connection/images.ts';
import { createLiveAudios } from './listen/live-audio.ts';
import { createFinalPass } from './listen/recogniser/final-pass.ts';
import type { NamedProvider } from './listen/recogniser/providers.ts';
import { createQuarantine } from './listen/recogniser/quarantine.ts';
import { createRecogniser } from './listen/recogniser/recogniser.ts';
import { createTranscribeRecording } from './listen/recordings/transcribe-recording.ts';
import { createVoiceMessages } from './listen/recordings/voice-messages.ts';
import { createListen } from './listen/socket.ts';
import { createOrphanedAudio, type OrphanedAudio } from './listen/spool/orphaned-audio.ts';
import type { Spool } from './listen/spool/spool.ts';
import { createDescribe } from './pipeline/describe.ts';
import { createFinish } from './pipeline/finish.ts';
import { createRemember } from './pipeline/remember.ts';
import { createReprocess } from './pipeline/reprocess.ts';
import { createUnderstand } from './pipeline/understanding.ts';
import { freeBytes } from './runtime/files.ts';
import { createJobs } from './runtime/jobs.ts';
import type { Log } from './runtime/log.ts';
import { version } from './runtime/version.ts';
import { finalPassOf, quarantineOf, uploadsOf } from './services/directories.ts';
import { createDomain, type Domain, type Foundation } from './services/domain.ts';
import { createDiskUsage } from './system/disk-usage.ts';
import { createExamination } from './system/examination.ts';
import { logLines } from './system/log-lines.ts';
import { createModels } from './system/models.ts';
import { createPluginChanges, describePlugins } from './system/plugins.ts';
import { createReadiness } from './system/readiness.ts';
import { createSimulation } from './system/simulation.ts';
import { createUpdates } from './system/updates.ts';

export type Services = ReturnType<typeof createServices>;

/** Creates all services except those of live connections, which need the audio on disk: see `createServing`. */
export function createServices(foundation: Foundation) {
  const { loaded, clock, host, database, state } = foundation;
  const domain = createDomain(foundation);
  const pipeline = createPipeline(domain);
  const senders = createSenders(domain);
  const { storage, metrics, users, logOf } = domain;
  const jobs = createJobs({ storage, clock, log: logOf('jobs'), metrics });
  const recordingJobs = createJobs({
    storage,
    clock,
    log: logOf('recordings'),
    metrics,
    ...RECORDINGS_AT_ONCE,
  });
  const { recognisers, finalRecogniser, vad } = domain.plugins;
  const voiceLog = logOf('voice messages');
  const voiceMessages = createVoiceMessages({
    recognisers,
    vad,
    metrics,
    clock,
    log: voiceLog,
    recogniserFor: recogniserFor(recognisers, clock, voiceLog),
  });
  const best = () => {
    const final = finalRecogniser?.() ?? null; // nobody waits for a recording, so the better recogniser hears it first
    return final ? [final, ...recognisers().filter(({ name }) => name !== final.name)] : recognisers();
  };
  const recordingLog = logOf('recordings');
  const transcribeRecording = createTranscribeRecording({
    ...domain,
    recognisers: best,
    recogniserFor: recogniserFor(best, clock, recordingLog),
    vad,
    log: recordingLog,
  });
  const uploads = createUploads({
    dir: uploadsOf(loaded.config),
    minFreeBytes: loaded.config.listen.spool.minFreeBytes,
    clock,
  });
  const backups = createBackups({
    dataDir: loaded.config.dataDir,
    configFile: loaded.file,
    storage: database,
    clock,
    log: logOf('backup'),
    settings: backupSettings(loaded.config),
  });
  const updates = createUpdates({
    settings: loaded.config.updates,
    ...{ dataDir: loaded.config.dataDir, version, clock },
    fetchUser: foundation.outbound.fetchUser,
    log: logOf('updates'),
    tell: senders.serverNotices.update,
  });
  const { openings } = domain.plugins;
  const status = createStatus({ loaded, host, openings, users, backups, updates, state });
  const remains = async (userId: string) => [
    ...(await backups.remains()),
    ...(await sentElsewhere(storage, domain.calendarSync, userId)),
  ];
  const commands = createCommands({ ...domain, ...senders, backups, remains, status });
  const models = createModels({
    dataDir: loaded.config.dataDir,
    catalogue: foundation.catalogue,
    log: logOf('models'),
    chosen: plugin => modelIn(host.options(plugin)?.values),
    installed: host.retry,
  });
  const simulation = createSimulation({ keys: domain.keys, url: () => state.url, environment });
  const { dataDir } = loaded.config;
  const system = {
    readiness: createReadiness({ status, models }),
    models,
    simulation,
    examination: createExamination({
      request: { ...(loaded.file === null ? {} : { file: loaded.file }), dataDir },
      environment,
      clock,
    }),
    diskUsage: createDiskUsage({ dataDir, users }),
    jobs: () => storage.jobs.counts(clock.now()),
    latency: metrics.latency,
    plugins: () => describePlugins(host),
    changePlugin: createPluginChanges({
      ...{ host, log: logOf('plugins') },
      async onChanged(name) {
        if ([loaded.config.embedder, loaded.config.vectors].includes(name)) await domain.embedding.begin();
      },
    }),
    logLines,
    backups,
  };
  return {
    ...domain,
    ...pipeline,
    ...senders,
    jobs,
    recordingJobs,
    transcribeRecording,
    voiceMessages,
    uploads,
    backups,
    remains,
    updates,
    commands,
    system,
  };
}

/** The model that the options of a plugin name. */
function modelIn(options: unknown): string | undefined {
  const { model } = Object(options);
  return typeof model === 'string' ? model : undefined;
}

/** Recordings run for hours: they have a job runner of their own, with one job per user. */
const RECORDINGS_AT_ONCE = { maxRunning: 2, maxOfUser: 1 };

/** Creates the handlers of the jobs that follow a conversation. */
function createPipeline(domain: Domain) {
  const { storage, clock, search, categorise, photos, logOf } = domain;
  const { embedder, models, visions, understandings } = domain.plugins;
  const understand = createUnderstand({ providers: understandings, log: logOf('understanding') });
  const compareMemories = createCompareMemories({
    storage,
    search,
    embedder,
    categorise,
    log: logOf('memories'),
  });
  const remember = createRemember({ compareMemories });
  const needs = { ...domain, embedder, models, understand, remember };
  return {
    finish: createFinish({ ...needs, log: logOf('finish') }),
    reprocess: createReprocess({ ...needs, log: logOf('reprocess') }),
    describe: createDescribe({ photos, visions, clock, log: logOf('photos') }),
  };
}

/** Creates everything that sends to others without being asked. */
function createSenders(domain: Domain) {
  const { loaded, storage, clock, logOf, outbound, metrics, events } = domain;
  const { conversations, notifications, actionItems, chat } = domain;
  const { models, webhooks, channel } = domain.plugins;
  const proactive = createProactive({
    storage,
    conversations,
    notifications,
    chat,
    models,
    clock,
    log: logOf('proactive'),
  });
  const delivery = createDelivery({
    storage,
    clock,
    log: logOf('delivery'),
    metrics,
    events,
    conversations,
    outbound,
    webhooks,
    channel,
    notifyOwner: createNotifyOwner({ notifications }),
    answered: proactive.receive,
  });
  const testHook = createTestHook({ storage, clock, log: logOf('delivery'), webhooks, delivery });
  const dueNotices = createDueNotices({ storage, clock, notifications });
  const daySummary = createDaySummary({
    storage,
    conversations,
    actionItems,
    notifications,
    deliveriesOf: delivery.fanOut.deliveriesOf,
    models,
    clock,
    log: logOf('day'),
  });
  const homes = createHomes({
    storage,
    notifications,
    actionItems,
    listening: domain.listening,
    events,
    outlets: domain.plugins.outlets,
    clock,
    log: logOf('homes'),
  });
  const serverNotices = createServerNotices({
    ...{ storage, notifications, clock, freeBytes },
    dataDir: loaded.config.dataDir,
    noticeBytes: loaded.config.notifications.minFreeBytes,
    minBytes: loaded.config.listen.spool.minFreeBytes,
  });
  return { delivery, testHook, dueNotices, daySummary, homes, serverNotices };
}

/** Audio of streams that are not in the database. */
export function orphanedAudioOf({ config, logOf, storage }: Services): OrphanedAudio {
  return createOrphanedAudio({
    dataDir: config.dataDir,
    log: logOf('listen'),
    wasRemoved: userId => wasRemoved(storage, userId),
  });
}

/** Creates the live side and the HTTP server over it. */
export function createServing(services: Services, spool: Spool, orphaned: OrphanedAudio) {
  const { config, clock, logOf, plugins, storage, metrics, events, conversations } = services;
  const { host, database, state, credentials, delivery, listening, vocabularies, photos, voices, clips } =
    services;
  const { rateLimits: limits } = config;
  const log = logOf('listen');
  const quarantine = createQuarantine({
    dir: quarantineOf(config),
    clock,
    log,
    checkDisk: spool.checkDisk,
  });
  const images = createImages({
    photos,
    events,
    clock,
    dir: uploadsOf(config),
    minFreeBytes: config.listen.spool.minFreeBytes,
  });
  const finalPass = createFinalPass({
    dir: finalPassOf(config),
    provider: plugins.finalRecogniser,
    conversations,
    vocabularies,
    clock,
    log,
  });
  const listen = createListen({
    credentials,
    events,
    limits: config.listen,
    metrics,
    clock,
    log,
    conversations,
    listening,
    spool,
    orphaned,
    quarantine,
    finalPass,
    audio: createLiveAudios({ hooks: delivery.live, now: () => clock.now(), log }),
    vad: plugins.vad,
    recognisers: plugins.recognisers,
    images,
    voices,
    clips,
    vocabularies,
  });
  const rateLimits = limits.enabled ? createRateLimits({ storage, clock, limits }) : undefined;
  const notificationLimit = limits.enabled
    ? createNotificationLimit({ storage, clock, perHour: limits.notification })
    : undefined;
  const server = createServer({
    ...services,
    identities: plugins.identities,
    log: logOf('http'),
    feed: createFeed({ events, conversations, clock, log: logOf('feed') }),
    listen,
    rateLimits,
    notificationLimit,
    pages: plugins.pages,
    health: createHealth({ config, host, openings: plugins.openings, database, clock, state }),
  });
  return { finalPass, listen, rateLimits, server };
}

/** Pauses in ms between attempts of a recogniser while somebody waits for a recording. */
const SHORT_PAUSES_MS = [100, 500];

/** Creates recognisers for recordings; nobody is told of their failures. */
function recogniserFor(recognisers: () => NamedProvider[], clock: Clock, log: Log) {
  const silent = { onLost() {}, onBack() {}, onGone() {} };
  return (language: string, signal: AbortSignal, vocabulary?: () => Promise<readonly string[]>) =>
    createRecogniser({
      ...silent,
      providers: recognisers,
      language,
      wish: null,
      signal,
      clock,
      log,
      retryPausesMs: SHORT_PAUSES_MS,
      ...(vocabulary ? { vocabulary } : {}),
    });
}
