import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { environment, type LoadedConfig, recognisersOf, sttNames } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { backupSettings, createBackups } from './backup/backups.ts';
import type { Clock } from './contract/model.ts';
import type { Storage } from './contract/plugin.ts';
import { createCommands } from './control/commands.ts';
import { createOpenings, type Openings } from './control/openings.ts';
import { createHealth, createStatus } from './control/readiness.ts';
import { createDaySummary } from './delivery/day-summary.ts';
import { createFeed } from './delivery/feed.ts';
import { createHomes } from './delivery/homes.ts';
import { createTestHook } from './delivery/hook-test.ts';
import { createNotifyOwner } from './delivery/notify-owner.ts';
import type { Outbound } from './delivery/outbound.ts';
import { createProactive } from './delivery/proactive.ts';
import { createServerNotices } from './delivery/server-notices.ts';
import { createDelivery } from './delivery/service.ts';
import { createAccounts, wasRemoved } from './domain/accounts/accounts.ts';
import { createCredentials } from './domain/accounts/credentials.ts';
import { createIdentities } from './domain/accounts/identities.ts';
import { createKeys } from './domain/accounts/keys.ts';
import { createLocks } from './domain/accounts/locks.ts';
import { createPeople } from './domain/accounts/people.ts';
import { sentElsewhere } from './domain/accounts/sent-elsewhere.ts';
import { createSessions } from './domain/accounts/sessions.ts';
import { createSignIn } from './domain/accounts/sign-in.ts';
import { createUsers } from './domain/accounts/users.ts';
import { createVocabularies } from './domain/accounts/vocabulary.ts';
import { createApps } from './domain/apps/apps.ts';
import { createDeliveries } from './domain/apps/deliveries.ts';
import { createHooks } from './domain/apps/hooks.ts';
import { createAsk } from './domain/ask/ask.ts';
import { createChat } from './domain/ask/chat.ts';
import { createRetrieval } from './domain/ask/retrieval.ts';
import { createSources } from './domain/ask/sources.ts';
import { createCalendarFeed } from './domain/calendar/calendar-feed.ts';
import { createCalendarLinks } from './domain/calendar/calendar-links.ts';
import { createCalendarSync } from './domain/calendar/calendar-sync.ts';
import { createConversations } from './domain/conversations/conversations.ts';
import { createFolders } from './domain/conversations/folders.ts';
import { createMarks } from './domain/conversations/marks.ts';
import { createPlaces } from './domain/conversations/places.ts';
import { createSummaryTemplates } from './domain/conversations/summary-templates.ts';
import { createVoiceAssignments } from './domain/conversations/voice-assignments.ts';
import { createWeeklyReviews } from './domain/conversations/weekly-review.ts';
import { createDevices } from './domain/devices/devices.ts';
import { createAccountMedia } from './domain/export/account-media.ts';
import { createAccountExport } from './domain/export/export.ts';
import { createExportFiles } from './domain/export/export-files.ts';
import { createAccountImport } from './domain/export/import.ts';
import { createForeignImports } from './domain/foreign/foreign-imports.ts';
import { createTakeIn } from './domain/foreign/take-in.ts';
import { createUploadedImports } from './domain/foreign/uploaded-imports.ts';
import { createMemories } from './domain/memories/memories.ts';
import { createCategorise } from './domain/memories/memory-category.ts';
import { createCompareMemories } from './domain/memories/memory-comparison.ts';
import { createChannelAddresses } from './domain/notifications/channel-addresses.ts';
import { createDaySummaries } from './domain/notifications/day-summaries.ts';
import { createNotifications } from './domain/notifications/notifications.ts';
import { createPhotos, PHOTO_FILES } from './domain/photos/photos.ts';
import { createPictures } from './domain/photos/pictures.ts';
import { createAccesses } from './domain/privacy/accesses.ts';
import { createListening } from './domain/privacy/listening.ts';
import { createRetention } from './domain/privacy/retention.ts';
import { createRecordings } from './domain/recordings/recordings.ts';
import { createEmbedding } from './domain/search/embedding.ts';
import { createSearch } from './domain/search/search.ts';
import { CLIP_FILES, createClips } from './domain/speech/clips.ts';
import { createKeptAudios } from './domain/speech/kept-audio.ts';
import { createSpeechSettings } from './domain/speech/speech-settings.ts';
import { createTranslations } from './domain/speech/translations.ts';
import { createVoiceSamples } from './domain/speech/voice-samples.ts';
import { createVoices } from './domain/speech/voices.ts';
import { createActionItems } from './domain/tasks/action-items.ts';
import { createDueNotices } from './domain/tasks/due-notices.ts';
import { createGoals } from './domain/tasks/goals.ts';
import { createUserFiles } from './domain/user-files.ts';
import { minuteOf, zoneOfMachine } from './domain/wall-clock.ts';
import { createNotificationLimit, createRateLimits } from './http/rate-limit.ts';
import { createServer } from './http/server.ts';
import { createUploads } from './http/uploads.ts';
import { createImages } from './listen/connection/images.ts';
import { createLiveAudios } from './listen/live-audio.ts';
import { createFinalPass, removeFinalPass } from './listen/recogniser/final-pass.ts';
import type { NamedProvider } from './listen/recogniser/providers.ts';
import { createQuarantine, quarantinedBefore, removeQuarantined } from './listen/recogniser/quarantine.ts';
import { createRecogniser } from './listen/recogniser/recogniser.ts';
import { createHeldAudio } from './listen/recordings/held-audio.ts';
import { encodeOpusFile, loadOgg } from './listen/recordings/opus-file.ts';
import { createRecordingFiles } from './listen/recordings/recording-files.ts';
import { createSpeechProfiles } from './listen/recordings/speech-profile.ts';
import { createTranscribeRecording } from './listen/recordings/transcribe-recording.ts';
import { createVoiceMessages } from './listen/recordings/voice-messages.ts';
import { createListen } from './listen/socket.ts';
import { keepingFiles, openDisk } from './listen/spool/disk.ts';
import {
  createOrphanedAudio,
  type OrphanedAudio,
  removeOrphanedAudio,
} from './listen/spool/orphaned-audio.ts';
import { openSpool, type Spool } from './listen/spool/spool.ts';
import { createDescribe } from './pipeline/describe.ts';
import { createFinish } from './pipeline/finish.ts';
import { createRemember } from './pipeline/remember.ts';
import { createReprocess } from './pipeline/reprocess.ts';
import { createUnderstand } from './pipeline/understanding.ts';
import type { PluginHost } from './plugin-host/plugin-host.ts';
import { AppError } from './runtime/errors.ts';
import { createEvents } from './runtime/events.ts';
import { freeBytes, requireRoom } from './runtime/files.ts';
import { createJobs } from './runtime/jobs.ts';
import type { Log } from './runtime/log.ts';
import { createMetrics, timedStorage } from './runtime/metrics.ts';
import { version } from './runtime/version.ts';
import { createDiskUsage } from './system/disk-usage.ts';
import { createExamination } from './system/examination.ts';
import { logLines } from './system/log-lines.ts';
import { type Catalogue, createModels } from './system/models.ts';
import { createPluginChanges, describePlugins } from './system/plugins.ts';
import { createReadiness } from './system/readiness.ts';
import { createSimulation } from './system/simulation.ts';
import { createUpdates } from './system/updates.ts';

/** Everything that exists before the first service. */
export interface Foundation {
  loaded: LoadedConfig;
  log: Log;
  clock: Clock;
  host: PluginHost;
  outbound: Outbound;
  /** The storage as its plugin provides it. */
  database: Storage;
  state: ServerState;
  catalogue: () => Promise<Catalogue>;
}

export interface ServerState {
  /** The server's address; null until it listens. */
  url: string | null;
  /** Whether the start is complete. */
  isReady: boolean;
}

/** Audio of live connections on disk; null: this process serves none. */
interface LiveSpool {
  spool: Spool | null;
}

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

type Domain = ReturnType<typeof createDomain>;

/** Creates what everything else is built on, and the services of the domain. */
function createDomain(foundation: Foundation) {
  const { loaded, log, clock, host, outbound, database } = foundation;
  const { config } = loaded;
  const logOf = (part: string) => log.child({ part });
  const openings = createOpenings(clock);
  const plugins = pluginsOf(host, config, openings);
  const { identities, embedder, vectors, models, webhooks, outlets } = plugins;
  const { check: checkUrl, fetchUser } = outbound;

  const metrics = createMetrics({
    now: () => performance.now(),
    plugins: host.status,
    jobs: () => database.jobs.counts(clock.now()),
  });
  const storage = timedStorage(database, metrics);
  const events = createEvents();

  const sessions = createSessions({ storage, clock, events });
  const users = createUsers({ storage, clock, identities, sessions, events });
  const signIn = createSignIn({ users, storage, clock, identities, sessions });
  const keys = createKeys({ storage, clock, events });
  const locks = createLocks({ storage });
  const people = createPeople({ storage, clock });
  const vocabularies = createVocabularies({ storage });

  const apps = createApps({ storage, clock, events, webhooks, checkUrl, fetchUser });
  const hooks = createHooks({ storage, clock, events, webhooks, checkUrl });
  const deliveries = createDeliveries({ storage, clock });
  const credentials = createCredentials({ users, keys, apps, identities });

  const { defaults, publicUrl } = notificationSettings(config);
  const notifications = createNotifications({ storage, clock, events, defaults, publicUrl });
  const listening = createListening({ storage, clock, events, notifications });
  const channelAddresses = createChannelAddresses({
    storage,
    clock,
    events,
    log: logOf('notifications'),
    checkUrl,
    outlets,
  });
  const daySummaries = createDaySummaries({ storage });
  const weeklyReview = createWeeklyReviews({ storage, notifications, clock });
  const devices = createDevices({ storage, clock, events, notifications });

  const photoFiles = createUserFiles(join(config.dataDir, 'photos'), PHOTO_FILES);
  const clipFiles = createUserFiles(join(config.dataDir, 'clips'), CLIP_FILES);
  const pictures = createPictures({ clock });
  const conversations = createConversations({
    storage,
    clock,
    events,
    sources: config.sources,
    async removeFiles(userId, ids) {
      await photoFiles.remove(userId, ids.photos);
      await clipFiles.remove(userId, ids.clips);
    },
  });
  const marks = createMarks({ storage, clock, events });
  const photos = createPhotos({
    storage,
    clock,
    events,
    files: photoFiles,
    prepare: pictures.prepare,
    maxBytesPerUser: config.photos.maxBytesPerUser,
    log: logOf('photos'),
  });
  const accesses = createAccesses({ storage, clock, log: logOf('accesses') });
  const retention = createRetention({
    storage,
    accesses,
    clock,
    log: logOf('retention'),
    conversations,
    photos,
    audio: {
      before: (userId, before) =>
        quarantinedBefore(
          quarantineOf(config),
          before,
          async id => (await storage.streams.get(userId, id)) !== null,
        ),
      remove: path => rm(path, { force: true }),
    },
  });
  const recordingFiles = createRecordingFiles(
    join(config.dataDir, 'recordings'),
    config.listen.spool.minFreeBytes,
  );
  const recordings = createRecordings({
    storage,
    clock,
    sources: conversations.sources,
    files: recordingFiles,
  });
  const speechSettings = createSpeechSettings({
    storage,
    clock,
    async checkCanKeep() {
      await loadOgg();
    },
  });
  const clips = createClips({
    storage,
    speechSettings,
    files: clipFiles,
    encode: encodeOpusFile,
    checkDisk: () => requireRoom(config.dataDir, config.listen.spool.minFreeBytes),
    maxBytesPerUser: config.clips.maxBytesPerUser,
    clock,
    log: logOf('clips'),
  });
  const keptAudios = createKeptAudios({ storage, clips, dir: quarantineOf(config) });
  const translations = createTranslations({
    storage,
    speechSettings,
    translators: plugins.translators,
    models,
    events,
    clock,
    log: logOf('translation'),
  });
  const voices = createVoices({
    storage,
    speechSettings,
    speakers: plugins.speakers,
    clock,
    log: logOf('voices'),
  });
  const voiceSamples = createVoiceSamples({ storage, speakers: plugins.speakers, clock });
  const voiceAssignments = createVoiceAssignments({ storage, speakers: plugins.speakers, events, clock });
  const speechProfiles = createSpeechProfiles({
    voiceSamples,
    speechSettings,
    speakers: plugins.speakers,
    vad: plugins.vad,
    clock,
  });
  const folders = createFolders({ storage, clock });
  const places = createPlaces({ storage, clock });
  const summaryTemplates = createSummaryTemplates({ storage, clock });
  const actionItems = createActionItems({ storage, clock, events });
  const goals = createGoals({ storage, clock });
  const calendarLinks = createCalendarLinks({ storage, clock, publicUrl });
  const calendarFeed = createCalendarFeed({ storage, clock, notifications });
  const calendarSync = createCalendarSync({
    storage,
    feed: calendarFeed,
    actionItems,
    outlets: plugins.calendars,
    checkUrl,
    events,
    clock,
    log: logOf('calendar'),
  });
  const media = createAccountMedia({
    dataDir: config.dataDir,
    maxPhotoBytes: config.photos.maxBytesPerUser,
    minFreeBytes: config.listen.spool.minFreeBytes,
  });
  const live: LiveSpool = { spool: null };
  const heldAudio = createHeldAudio({
    conversations,
    listening,
    spool: async () =>
      live.spool ??
      openSpool({
        disk: keepingFiles(await openDisk(spoolOf(config))),
        ...{ clock, metrics, log: logOf('spool'), limits: config.listen.spool },
      }),
  });
  const accountExport = createAccountExport({
    ...{ storage, conversations, calendarFeed, media, heldAudio, clock },
  });
  const exportFiles = createExportFiles({
    dataDir: config.dataDir,
    minFreeBytes: config.listen.spool.minFreeBytes,
    accountExport,
    clock,
    log: logOf('export'),
  });
  const foreignImports = createForeignImports({ storage, clock, conversations, recordings });
  const accountImport = createAccountImport({ storage, clock, media });
  const uploadedImports = createUploadedImports({
    foreignImports,
    notifications,
    dir: uploadsOf(config),
    log: logOf('imports'),
  });
  const takeIn = createTakeIn({
    accountImport,
    foreignImports,
    notifications,
    fetchUser,
    clock,
  });

  const search = createSearch({ storage, log: logOf('search'), embedder, vectors });
  const embedding = createEmbedding({ storage, clock, log: logOf('embedding'), embedder, vectors });
  const categorise = createCategorise({ models, embedder, clock, log: logOf('memories') });
  const memories = createMemories({ storage, clock, events, categorise });
  const sources = createSources({ storage, conversations, search });
  const retrieve = createRetrieval({ sources, embedder, log: logOf('ask') });
  const ask = createAsk({ sources, retrieve, notifications, models, clock, log: logOf('ask') });
  const chat = createChat({ storage, ask, sources, notifications, clock });

  const accounts = createAccounts({
    storage,
    clock,
    log: logOf('accounts'),
    events,
    users,
    signIn,
    embedding,
    installed: apps.installed,
    async forgetFiles(userId, ids) {
      await photoFiles.removeAll(userId);
      await clipFiles.removeAll(userId);
      await recordingFiles.removeAll(userId);
      await removeQuarantined(quarantineOf(config), ids);
      await removeFinalPass(finalPassOf(config), ids);
      await removeOrphanedAudio(config.dataDir, userId);
      await exportFiles.removeAll(userId);
    },
  });

  return {
    ...foundation,
    config,
    logOf,
    plugins,
    metrics,
    storage,
    events,
    users,
    signIn,
    sessions,
    keys,
    locks,
    people,
    vocabularies,
    apps,
    hooks,
    deliveries,
    credentials,
    notifications,
    listening,
    retention,
    accesses,
    channelAddresses,
    daySummaries,
    weeklyReview,
    devices,
    pictures,
    conversations,
    marks,
    photos,
    keptAudios,
    clips,
    live,
    recordingFiles,
    recordings,
    speechSettings,
    translations,
    voices,
    voiceSamples,
    voiceAssignments,
    speechProfiles,
    folders,
    places,
    summaryTemplates,
    actionItems,
    goals,
    calendarLinks,
    calendarFeed,
    calendarSync,
    accountExport,
    exportFiles,
    foreignImports,
    accountImport,
    takeIn,
    uploadedImports,
    search,
    embedding,
    categorise,
    memories,
    ask,
    chat,
    accounts,
  };
}

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

/** Audio that waits for its text. */
export function spoolOf({ dataDir }: Config): string {
  return join(dataDir, 'audio');
}

/** Audio of utterances for which every recogniser failed. */
function quarantineOf({ dataDir }: Config): string {
  return join(dataDir, 'untranscribed');
}

/** Requests and images that are being received. */
function uploadsOf({ dataDir }: Config): string {
  return join(dataDir, 'uploads');
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

/** Audio that waits for the second pass. */
function finalPassOf({ dataDir }: Config): string {
  return join(dataDir, 'final-pass');
}

function notificationSettings({ notifications, publicUrl }: Config) {
  const { timeZone, perAppPerHour, daySummaryAt } = notifications;
  return {
    defaults: {
      timeZone: timeZone ?? zoneOfMachine(),
      perAppPerHour,
      daySummaryAt: minuteOf(daySummaryAt),
    },
    publicUrl: publicUrl ?? null,
  };
}

/** Returns access to what plugins provide. It asks at each use, because a plugin may have been restarted. */
function pluginsOf(host: PluginHost, config: Config, openings: Openings) {
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
