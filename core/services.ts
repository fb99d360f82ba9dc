import 'reflect-metadata';
import { join } from 'node:path';
import { instanceCachingFactory, container as root } from 'tsyringe';
import { type LoadedConfig, recognisersOf, sttNames } from '../config/load.ts';
import { type Backups, backupSettings, createBackups } from './backup/backups.ts';
import type { Clock } from './contract/model.ts';
import type { Storage } from './contract/plugin.ts';
import { createCommands } from './control/commands.ts';
import { createHealth, createStatus } from './control/readiness.ts';
import { createDaySummary } from './delivery/day-summary.ts';
import { createFeed } from './delivery/feed.ts';
import { createTestHook } from './delivery/hook-test.ts';
import { createTellOff } from './delivery/notify-owner.ts';
import type { Outbound } from './delivery/outbound.ts';
import { createProactive } from './delivery/proactive.ts';
import { createDelivery, type Delivery } from './delivery/service.ts';
import { createAccounts, wasRemoved } from './domain/accounts/accounts.ts';
import { type Credentials, createCredentials } from './domain/accounts/credentials.ts';
import { createIdentities } from './domain/accounts/identities.ts';
import { createKeys } from './domain/accounts/keys.ts';
import { createLocks } from './domain/accounts/locks.ts';
import { createPeople } from './domain/accounts/people.ts';
import { createSignIn } from './domain/accounts/sign-in.ts';
import { createUsers } from './domain/accounts/users.ts';
import { createVocabularies, type Vocabularies } from './domain/accounts/vocabulary.ts';
import { type Apps, createApps } from './domain/apps/apps.ts';
import { createDeliveries } from './domain/apps/deliveries.ts';
import { createHooks } from './domain/apps/hooks.ts';
import { createAsk } from './domain/ask/ask.ts';
import { createChat } from './domain/ask/chat.ts';
import { createRetrieval } from './domain/ask/retrieval.ts';
import { createSources } from './domain/ask/sources.ts';
import { createCalendarFeed } from './domain/calendar/calendar-feed.ts';
import { createCalendarLinks } from './domain/calendar/calendar-links.ts';
import { type Conversations, createConversations } from './domain/conversations/conversations.ts';
import { createFolders } from './domain/conversations/folders.ts';
import { createSummaryTemplates } from './domain/conversations/summary-templates.ts';
import { createAccountExport } from './domain/export/export.ts';
import { createAccountImport } from './domain/export/import.ts';
import { createMemories } from './domain/memories/memories.ts';
import { createCategorise } from './domain/memories/memory-category.ts';
import { createCompareMemories } from './domain/memories/memory-comparison.ts';
import { createChannelAddresses } from './domain/notifications/channel-addresses.ts';
import { createDaySummaries } from './domain/notifications/day-summaries.ts';
import { createNotifications } from './domain/notifications/notifications.ts';
import { createPhotos, type Photos } from './domain/photos/photos.ts';
import { createEmbedding } from './domain/search/embedding.ts';
import { createSearch } from './domain/search/search.ts';
import { createSpeechSettings } from './domain/speech/speech-settings.ts';
import { createTranslations } from './domain/speech/translations.ts';
import { createVoices, type Voices } from './domain/speech/voices.ts';
import { createActionItems } from './domain/tasks/action-items.ts';
import { createDueNotices } from './domain/tasks/due-notices.ts';
import { createGoals } from './domain/tasks/goals.ts';
import { minuteOf, zoneOfMachine } from './domain/wall-clock.ts';
import { createNotificationLimit, createRateLimits } from './http/rate-limit.ts';
import { createServer } from './http/server.ts';
import { createUploads } from './http/uploads.ts';
import { createFinalPass, type FinalPass, removeFinalPass } from './listen/final-pass.ts';
import { createImages } from './listen/images.ts';
import { createLiveAudios, type LiveAudios } from './listen/live-audio.ts';
import { createOrphanedAudio, type OrphanedAudio, removeOrphanedAudio } from './listen/orphaned-audio.ts';
import type { NamedProvider } from './listen/providers.ts';
import { type Aside, createAside, removeAside } from './listen/quarantine.ts';
import { createRecogniser } from './listen/recogniser.ts';
import { createListen } from './listen/socket.ts';
import type { Spool } from './listen/spool/spool.ts';
import { createPhotoFiles, type PhotoFiles } from './photos/photo-files.ts';
import { createPictures, type Pictures } from './photos/pictures.ts';
import { createDescribe } from './pipeline/describe.ts';
import { createFinish } from './pipeline/finish.ts';
import { createRemember } from './pipeline/remember.ts';
import { createReprocess } from './pipeline/reprocess.ts';
import { createUnderstand } from './pipeline/understanding.ts';
import type { PluginHost } from './plugin-host/plugin-host.ts';
import { createVoiceMessages } from './recordings/voice-messages.ts';
import { createEvents, type EventBus } from './runtime/events.ts';
import { createJobs } from './runtime/jobs.ts';
import type { Log } from './runtime/log.ts';
import { createMetrics, type Metrics, timedStorage } from './runtime/metrics.ts';

/** What there is before any service. */
interface Ground {
  loaded: LoadedConfig;
  log: Log;
  clock: Clock;
  host: PluginHost;
  outbound: Outbound;
  /** As its plugin gives it. */
  database: Storage;
  /** Where the server listens, null until it does; whether everything is up; the node's id once it serves. */
  state: { url: string | null; isReady: boolean; node?: string };
}

/** With what plugins can do at this moment: asked for at each use, as one may have been started again. */
function given(ground: Ground) {
  const { host, outbound, loaded } = ground;
  const { config } = loaded;
  return {
    ...ground,
    config,
    node: () => ground.state.node,
    health: createHealth({ ...ground, config }),
    checkUrl: outbound.check,
    fetchUser: outbound.fetchUser,
    identities: createIdentities(() => {
      const working = host.list('identity', config.identity);
      const missing = config.identity.filter(name => !working.some(provider => provider.name === name));
      return { working: working.map(({ value }) => value), missing };
    }),
    recognisers: () => recognisers(host, sttNames(config)),
    finalRecogniser: finalRecogniser(host, config),
    vad: () => host.get('vad'),
    embedder: () => host.get('embedder', config.embedder),
    vectors: () => host.get('vectors', config.vectors),
    models: () => host.list('llm', config.llm).map(({ value }) => value),
    visions: () => host.list('vision', config.llm).map(({ value }) => value),
    understandings: () => understandings(host, config),
    translators: () => translators(host, config),
    speakers: () => host.list('speakers', config.speakers)[0]?.value ?? null,
    pages: () => host.list('page').map(({ value }) => value),
    webhooks: () => host.list('webhook').map(({ value }) => value),
    outlets: () => host.list('notify').map(({ name, title, value }) => ({ name, title, channel: value })),
    channel: (name: string) => host.get('notify', name),
  };
}

function recognisers(host: PluginHost, names: readonly string[]): NamedProvider[] {
  return host.list('stt', names).map(({ name, value }) => ({ name, stt: value }));
}

/** Of the second pass, as it is at the moment of the call; null: none is configured. */
function finalRecogniser(host: PluginHost, config: LoadedConfig['config']) {
  const { final } = recognisersOf(config);
  return final === null ? null : () => recognisers(host, [final])[0] ?? null;
}

/** Those of the configuration, in its order; without a model to ask, those that need one are left out. */
function understandings(host: PluginHost, { understanding, llm }: LoadedConfig['config']) {
  const working = new Map(host.list('understanding', understanding).map(({ name, value }) => [name, value]));
  return understanding
    .map(name => ({ name, understanding: working.get(name) ?? null }))
    .filter(each => llm.length > 0 || !each.understanding?.needsModel);
}
/** Those of the configuration, in its order; without a model to ask, those that need one are left out. */
function translators(host: PluginHost, { translator, llm }: LoadedConfig['config']) {
  const working = host.list('translator', translator).map(({ value }) => value);
  return working.filter(({ needsModel }) => !needsModel || host.list('llm', llm).length > 0);
}
type Given = ReturnType<typeof given>;
type Stored = Given & { storage: Storage };
type Recording = Stored & { events: EventBus };
type Recorded = Given & { conversations: Conversations; vocabularies: Vocabularies };

/** The directory of what the second pass has still to hear. */
const FINAL_PASS = 'final-pass';

/**
 * Each is made at its first use. Its maker takes what it needs out of the house, by the names that stand here; it copies
 * nothing of the rest, which would make all that there is.
 */
const SERVICES = {
  metrics: (house: Given & { spool?: Spool }) =>
    createMetrics({
      now: () => performance.now(),
      plugins: house.host.status,
      jobs: () => house.database.jobs.counts(house.clock.now()),
      spool: () => house.spool?.counts ?? null,
    }),
  storage: ({ database, metrics }: Given & { metrics: Metrics }) => timedStorage(database, metrics),
  events: createEvents,
  jobs: part('jobs', ({ storage, clock, log, metrics, node }: Stored & { metrics: Metrics }) =>
    createJobs({ storage, clock, log, metrics, holder: node }),
  ),

  users: createUsers,
  signIn: createSignIn,
  keys: createKeys,
  accounts: part('accounts', createHouseAccounts),
  credentials: createCredentials,
  photoFiles: ({ config: { dataDir } }: Given) => createPhotoFiles(join(dataDir, 'photos')),
  pictures: createPictures,
  conversations: ({
    storage,
    clock,
    events,
    photoFiles,
    config: { sources },
  }: Recording & { photoFiles: PhotoFiles }) =>
    createConversations({ storage, clock, events, sources, removePhotoFiles: photoFiles.remove }),
  photos: part('photos', (house: Recording & { photoFiles: PhotoFiles; pictures: Pictures }) => {
    const { storage, clock, events, photoFiles: files, pictures, log, config } = house;
    const { maxBytesPerUser } = config.photos;
    return createPhotos({ storage, clock, events, files, prepare: pictures.prepare, maxBytesPerUser, log });
  }),
  describe: part('photos', createDescribe),
  understand: part('understanding', ({ understandings, log }: Given) =>
    createUnderstand({ providers: understandings, log }),
  ),
  remember: createRemember,
  finish: part('finish', createFinish),
  reprocess: part('reprocess', createReprocess),
  actionItems: createActionItems,
  goals: createGoals,
  memories: createMemories,
  categorise: part('memories', createCategorise),
  compareMemories: part('memories', createCompareMemories),
  folders: createFolders,
  summaryTemplates: createSummaryTemplates,
  calendarLinks: ({ storage, clock, config: { publicUrl } }: Stored) =>
    createCalendarLinks({ storage, clock, publicUrl: publicUrl ?? null }),
  calendarFeed: createCalendarFeed,
  accountExport: createAccountExport,
  accountImport: createAccountImport,
  people: createPeople,
  vocabularies: createVocabularies,
  speechSettings: createSpeechSettings,
  translations: part('translation', createTranslations),
  voices: part('voices', createVoices),
  search: part('search', createSearch),
  embedding: part('embedding', createEmbedding),
  sources: createSources,
  retrieve: part('ask', createRetrieval),
  ask: part('ask', createAsk),
  chat: createChat,
  daySummaries: createDaySummaries,
  locks: createLocks,

  apps: createApps,
  hooks: createHooks,
  notifications: ({ storage, clock, config: { notifications, publicUrl } }: Stored) =>
    createNotifications({
      ...{ storage, clock },
      defaults: {
        timeZone: notifications.timeZone ?? zoneOfMachine(),
        perAppPerHour: notifications.perAppPerHour,
        daySummaryAt: minuteOf(notifications.daySummaryAt),
      },
      publicUrl: publicUrl ?? null,
    }),
  channelAddresses: part('notifications', createChannelAddresses),
  dueNotices: createDueNotices,
  deliveries: createDeliveries,
  delivery: part('delivery', createDelivery),
  feed: part('feed', createFeed),
  testHook: part('delivery', createTestHook),
  tellOff: createTellOff,
  proactive: part('proactive', createProactive),
  answered: ({ proactive }: { proactive: ReturnType<typeof createProactive> }) => proactive.receive,
  deliveriesOf: ({ delivery }: { delivery: Delivery }) => delivery.fanOut.deliveriesOf,
  daySummary: part('day', createDaySummary),

  aside: part('listen', ({ config, clock, log, spool }: Given & { spool: Spool }) =>
    createAside({ dir: join(config.dataDir, 'untranscribed'), clock, log, checkDisk: spool.checkDisk }),
  ),
  finalPass: part('listen', (house: Recorded) => {
    const { config, finalRecogniser: provider, conversations, vocabularies, clock, log } = house;
    const dir = join(config.dataDir, FINAL_PASS);
    return createFinalPass({ dir, provider, conversations, vocabularies, clock, log });
  }),
  orphaned: part('listen', ({ config, log, storage }: Stored) =>
    createOrphanedAudio({
      ...{ dataDir: config.dataDir, log },
      wasRemoved: userId => wasRemoved(storage, userId),
    }),
  ),
  audio: part('listen', ({ delivery, clock, log }: Given & { delivery: Delivery }) =>
    createLiveAudios({ hooks: delivery.live, now: () => clock.now(), log }),
  ),
  listen: part('listen', createHouseListen),
  voiceMessages: part('voice messages', (house: Given & { metrics: Metrics }) => {
    const { recognisers, vad, metrics, clock, log } = house;
    return createVoiceMessages({
      ...{ recognisers, vad, metrics, clock, log },
      recogniserFor: recogniserFor({ recognisers, clock, log }),
    });
  }),
  uploads: ({ config: { dataDir, listen }, clock }: Given) =>
    createUploads({ dir: join(dataDir, 'uploads'), minFreeBytes: listen.spool.minFreeBytes, clock }),
  rateLimits: ({ storage, clock, config: { rateLimits: limits } }: Stored) =>
    limits.enabled ? createRateLimits({ storage, clock, limits }) : undefined,
  notificationLimit: ({ storage, clock, config: { rateLimits: limits } }: Stored) =>
    limits.enabled ? createNotificationLimit({ storage, clock, perHour: limits.notification }) : undefined,
  server: part('http', createServer),

  backups: part('backup', ({ loaded, config, database, clock, log }: Given) =>
    createBackups({
      ...{ dataDir: config.dataDir, configFile: loaded.file, storage: database, clock, log },
      settings: backupSettings(config),
    }),
  ),
  remains:
    ({ backups }: { backups: Backups }) =>
    () =>
      backups.remains(),
  status: createStatus,
  commands: createCommands,
};
type Made = { [Name in keyof typeof SERVICES]: ReturnType<(typeof SERVICES)[Name]> };
export type House = Given & Made & { spool: Spool };
const MAKERS: { [Name in keyof Made]: (house: House) => Made[Name] } = SERVICES;

type AccountNeeds = Omit<Parameters<typeof createAccounts>[0], 'installed' | 'forgetFiles'>;

function createHouseAccounts(house: AccountNeeds & Given & { apps: Apps; photoFiles: PhotoFiles }) {
  const { storage, clock, log, events, users, signIn, embedding, apps, photoFiles, config } = house;
  const { dataDir } = config;
  return createAccounts({
    ...{ storage, clock, log, events, users, signIn, embedding },
    installed: apps.installed,
    async forgetFiles(userId, ids) {
      await photoFiles.removeAll(userId);
      await removeAside(join(dataDir, 'untranscribed'), ids);
      await removeFinalPass(join(dataDir, FINAL_PASS), ids);
      await removeOrphanedAudio(dataDir, userId);
    },
  });
}

/** The house but for its spool, which is opened when it starts. */
export function furnish(ground: Ground): House {
  const container = root.createChildContainer();
  const house = given(ground) as House; // what is made follows
  for (const [name, make] of Object.entries(MAKERS)) {
    container.register(name, { useFactory: instanceCachingFactory(() => make(house)) });
    Object.defineProperty(house, name, { get: () => container.resolve(name), enumerable: true });
  }
  return house;
}

/** Made with a log that says which part of the house speaks. */
function part<Needs extends { log: Log }, Service>(name: string, make: (needs: Needs) => Service) {
  return (house: Needs): Service => {
    const own = { log: { value: house.log.child({ part: name }), enumerable: true } };
    return make(Object.create(null, { ...Object.getOwnPropertyDescriptors(house), ...own }));
  };
}

interface Heard extends Given {
  credentials: Credentials;
  conversations: Conversations;
  vocabularies: Vocabularies;
  spool: Spool;
  events: EventBus;
  metrics: Metrics;
  aside: Aside;
  finalPass: FinalPass;
  voices: Voices;
  orphaned: OrphanedAudio;
  audio: LiveAudios;
  photos: Photos;
}

function createHouseListen(house: Heard) {
  const { credentials, conversations, spool, events, metrics, orphaned, clock, log } = house;
  const { aside, finalPass, audio, voices } = house;
  const { listen: limits, dataDir } = house.config;
  const images = createImages({
    ...{ photos: house.photos, events, clock, dir: join(dataDir, 'uploads') },
    minFreeBytes: limits.spool.minFreeBytes,
  });
  return createListen({
    ...{ credentials, events, conversations, spool, orphaned, metrics, clock, log, limits },
    sessionDeps: sessionLog => ({
      ...{ aside, finalPass, audio, images, voices, metrics },
      ...{ vad: house.vad, maxQueuedBytes: limits.maxQueuedBytes },
      recogniser: ({ userId, language, sttService: wish }, signal, told) =>
        createRecogniser({
          ...{ providers: house.recognisers, language, wish, signal, clock, log: sessionLog },
          vocabulary: () => house.vocabularies.expected(userId),
          ...told,
        }),
    }),
  });
}

/** Pauses of a recogniser that whoever sent a recording waits for, in ms. */
const SHORT_PAUSES_MS = [100, 500];

/** For recordings: nobody is told what becomes of the recogniser meanwhile. */
function recogniserFor({ recognisers, clock, log }: Pick<Given, 'recognisers' | 'clock' | 'log'>) {
  const silent = { onLost() {}, onBack() {}, onGone() {} };
  return (language: string, signal: AbortSignal) =>
    createRecogniser({
      ...{ providers: recognisers, language, wish: null, signal, clock, log, ...silent },
      retryPausesMs: SHORT_PAUSES_MS,
    });
}
