import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { LoadedConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../contract/model.ts';
import type { Storage } from '../contract/plugin.ts';
import { createOpenings } from '../control/openings.ts';
import type { Outbound } from '../delivery/outbound.ts';
import { createAccounts } from '../domain/accounts/accounts.ts';
import { createCredentials } from '../domain/accounts/credentials.ts';
import { createKeys } from '../domain/accounts/keys.ts';
import { createLocks } from '../domain/accounts/locks.ts';
import { createPeople } from '../domain/accounts/people.ts';
import { createSessions } from '../domain/accounts/sessions.ts';
import { createSignIn } from '../domain/accounts/sign-in.ts';
import { createUsers } from '../domain/accounts/users.ts';
import { createVocabularies } from '../domain/accounts/vocabulary.ts';
import { createApps } from '../domain/apps/apps.ts';
import { createDeliveries } from '../domain/apps/deliveries.ts';
import { createHooks } from '../domain/apps/hooks.ts';
import { createAsk } from '../domain/ask/ask.ts';
import { createChat } from '../domain/ask/chat.ts';
import { createRetrieval } from '../domain/ask/retrieval.ts';
import { createSources } from '../domain/ask/sources.ts';
import { createCalendarFeed } from '../domain/calendar/calendar-feed.ts';
import { createCalendarLinks } from '../domain/calendar/calendar-links.ts';
import { createCalendarSync } from '../domain/calendar/calendar-sync.ts';
import { createConversations } from '../domain/conversations/conversations.ts';
import { createFolders } from '../domain/conversations/folders.ts';
import { createMarks } from '../domain/conversations/marks.ts';
import { createPlaces } from '../domain/conversations/places.ts';
import { createSummaryTemplates } from '../domain/conversations/summary-templates.ts';
import { createVoiceAssignments } from '../domain/conversations/voice-assignments.ts';
import { createWeeklyReviews } from '../domain/conversations/weekly-review.ts';
import { createDevices } from '../domain/devices/devices.ts';
import { createAccountMedia } from '../domain/export/account-media.ts';
import { createAccountExport } from '../domain/export/export.ts';
import { createExportFiles } from '../domain/export/export-files.ts';
import { createAccountImport } from '../domain/export/import.ts';
import { createForeignImports } from '../domain/foreign/foreign-imports.ts';
import { createTakeIn } from '../domain/foreign/take-in.ts';
import { createUploadedImports } from '../domain/foreign/uploaded-imports.ts';
import { createMemories } from '../domain/memories/memories.ts';
import { createCategorise } from '../domain/memories/memory-category.ts';
import { createChannelAddresses } from '../domain/notifications/channel-addresses.ts';
import { createDaySummaries } from '../domain/notifications/day-summaries.ts';
import { createNotifications } from '../domain/notifications/notifications.ts';
import { createPhotos, PHOTO_FILES } from '../domain/photos/photos.ts';
import { createPictures } from '../domain/photos/pictures.ts';
import { createAccesses } from '../domain/privacy/accesses.ts';
import { createListening } from '../domain/privacy/listening.ts';
import { createRetention } from '../domain/privacy/retention.ts';
import { createRecordings } from '../domain/recordings/recordings.ts';
import { createEmbedding } from '../domain/search/embedding.ts';
import { createSearch } from '../domain/search/search.ts';
import { CLIP_FILES, createClips } from '../domain/speech/clips.ts';
import { createKeptAudios } from '../domain/speech/kept-audio.ts';
import { createSpeechSettings } from '../domain/speech/speech-settings.ts';
import { createTranslations } from '../domain/speech/translations.ts';
import { createVoiceSamples } from '../domain/speech/voice-samples.ts';
import { createVoices } from '../domain/speech/voices.ts';
import { createActionItems } from '../domain/tasks/action-items.ts';
import { createGoals } from '../domain/tasks/goals.ts';
import { createUserFiles } from '../domain/user-files.ts';
import { minuteOf, zoneOfMachine } from '../domain/wall-clock.ts';
import { removeFinalPass } from '../listen/recogniser/final-pass.ts';
import { quarantinedBefore, removeQuarantined } from '../listen/recogniser/quarantine.ts';
import { createHeldAudio } from '../listen/recordings/held-audio.ts';
import { encodeOpusFile, loadOgg } from '../listen/recordings/opus-file.ts';
import { createRecordingFiles } from '../listen/recordings/recording-files.ts';
import { createSpeechProfiles } from '../listen/recordings/speech-profile.ts';
import { keepingFiles, openDisk } from '../listen/spool/disk.ts';
import { removeOrphanedAudio } from '../listen/spool/orphaned-audio.ts';
import { openSpool, type Spool } from '../listen/spool/spool.ts';
import type { PluginHost } from '../plugin-host/plugin-host.ts';
import { createEvents } from '../runtime/events.ts';
import { requireRoom } from '../runtime/files.ts';
import type { Log } from '../runtime/log.ts';
import { createMetrics, timedStorage } from '../runtime/metrics.ts';
import type { Catalogue } from '../system/models.ts';
import { finalPassOf, quarantineOf, spoolOf, uploadsOf } from './directories.ts';
import { pluginsOf } from './plugins.ts';

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

export type Domain = ReturnType<typeof createDomain>;

/** Creates what everything else is built on, and the services of the domain. */
export function createDomain(foundation: Foundation) {
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
