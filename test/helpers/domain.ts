import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { pino } from 'pino';
import type { Clock, Segment } from '../../core/contract/model.ts';
import type {
  CalendarOutlet,
  Embedder,
  IdentityProvider,
  LanguageModel,
  Storage,
  VectorIndex,
} from '../../core/contract/plugin.ts';
import { createFeed } from '../../core/delivery/feed.ts';
import { createTestHook } from '../../core/delivery/hook-test.ts';
import { createNotifyOwner } from '../../core/delivery/notify-owner.ts';
import { createOutbound } from '../../core/delivery/outbound.ts';
import { createTargets } from '../../core/delivery/targets.ts';
import { createAccounts } from '../../core/domain/accounts/accounts.ts';
import { createCredentials } from '../../core/domain/accounts/credentials.ts';
import { type ChosenProviders, createIdentities } from '../../core/domain/accounts/identities.ts';
import { createKeys } from '../../core/domain/accounts/keys.ts';
import { createPeople } from '../../core/domain/accounts/people.ts';
import { createSessions } from '../../core/domain/accounts/sessions.ts';
import { createSignIn } from '../../core/domain/accounts/sign-in.ts';
import { createUsers } from '../../core/domain/accounts/users.ts';
import { createVocabularies } from '../../core/domain/accounts/vocabulary.ts';
import { createApps } from '../../core/domain/apps/apps.ts';
import { createDeliveries } from '../../core/domain/apps/deliveries.ts';
import { createHooks } from '../../core/domain/apps/hooks.ts';
import { createAsk } from '../../core/domain/ask/ask.ts';
import { createChat } from '../../core/domain/ask/chat.ts';
import { createRetrieval } from '../../core/domain/ask/retrieval.ts';
import { createSources } from '../../core/domain/ask/sources.ts';
import { createCalendarFeed } from '../../core/domain/calendar/calendar-feed.ts';
import { createCalendarLinks } from '../../core/domain/calendar/calendar-links.ts';
import { createCalendarSync } from '../../core/domain/calendar/calendar-sync.ts';
import { createConversations } from '../../core/domain/conversations/conversations.ts';
import { createFolders } from '../../core/domain/conversations/folders.ts';
import { createMarks } from '../../core/domain/conversations/marks.ts';
import { createPlaces } from '../../core/domain/conversations/places.ts';
import { createSummaryTemplates } from '../../core/domain/conversations/summary-templates.ts';
import { createVoiceAssignments } from '../../core/domain/conversations/voice-assignments.ts';
import { createWeeklyReviews } from '../../core/domain/conversations/weekly-review.ts';
import { createDevices } from '../../core/domain/devices/devices.ts';
import { createAccountMedia } from '../../core/domain/export/account-media.ts';
import { createAccountExport } from '../../core/domain/export/export.ts';
import { createExportFiles } from '../../core/domain/export/export-files.ts';
import { createAccountImport } from '../../core/domain/export/import.ts';
import { createForeignImports } from '../../core/domain/foreign/foreign-imports.ts';
import { createTakeIn } from '../../core/domain/foreign/take-in.ts';
import { createUploadedImports } from '../../core/domain/foreign/uploaded-imports.ts';
import { createMemories } from '../../core/domain/memories/memories.ts';
import { createCategorise } from '../../core/domain/memories/memory-category.ts';
import { createCompareMemories } from '../../core/domain/memories/memory-comparison.ts';
import {
  createChannelAddresses,
  type LoadedChannel,
} from '../../core/domain/notifications/channel-addresses.ts';
import { createDaySummaries } from '../../core/domain/notifications/day-summaries.ts';
import { createNotifications } from '../../core/domain/notifications/notifications.ts';
import { createPhotos, PHOTO_FILES } from '../../core/domain/photos/photos.ts';
import { createPictures } from '../../core/domain/photos/pictures.ts';
import { createAccesses } from '../../core/domain/privacy/accesses.ts';
import { createListening } from '../../core/domain/privacy/listening.ts';
import { createRetention } from '../../core/domain/privacy/retention.ts';
import { createRecordings } from '../../core/domain/recordings/recordings.ts';
import { createEmbedding } from '../../core/domain/search/embedding.ts';
import { createSearch } from '../../core/domain/search/search.ts';
import { CLIP_FILES, createClips } from '../../core/domain/speech/clips.ts';
import { createKeptAudios } from '../../core/domain/speech/kept-audio.ts';
import { createSpeechSettings } from '../../core/domain/speech/speech-settings.ts';
import { createVoiceSamples } from '../../core/domain/speech/voice-samples.ts';
import { createActionItems } from '../../core/domain/tasks/action-items.ts';
import { createGoals } from '../../core/domain/tasks/goals.ts';
import { createUserFiles } from '../../core/domain/user-files.ts';
import { createUploads } from '../../core/http/uploads.ts';
import { createHeldAudio } from '../../core/listen/recordings/held-audio.ts';
import { encodeOpusFile } from '../../core/listen/recordings/opus-file.ts';
import { createRecordingFiles } from '../../core/listen/recordings/recording-files.ts';
import { createSpeechProfiles } from '../../core/listen/recordings/speech-profile.ts';
import { createVoiceMessages } from '../../core/listen/recordings/voice-messages.ts';
import { keepingFiles, openDisk } from '../../core/listen/spool/disk.ts';
import { openSpool } from '../../core/listen/spool/spool.ts';
import { createRemember } from '../../core/pipeline/remember.ts';
import { createPluginState } from '../../core/plugin-host/state.ts';
import { AppError } from '../../core/runtime/errors.ts';
import { createEvents, type EventBus, type Events } from '../../core/runtime/events.ts';
import localPlugin from '../../plugins/identity/local/index.ts';
import { createPasswords } from '../../plugins/identity/local/passwords.ts';
import audioBytes from '../../plugins/webhook/audio-bytes/index.ts';
import conversationCreated from '../../plugins/webhook/conversation-created/index.ts';
import daySummary from '../../plugins/webhook/day-summary/index.ts';
import deviceEvent from '../../plugins/webhook/device-event/index.ts';
import transcriptProcessed from '../../plugins/webhook/transcript-processed/index.ts';
import { indiscretions } from './discretion.ts';
import { manualClock } from './manual-clock.ts';
import { type OpenStorage, temporaryStorage } from './storage.ts';
import { systemOf } from './system.ts';

export type Domain = Awaited<ReturnType<typeof openDomain>>;

/**
 * Opens the domain on a real database and a real identity provider, with a clock that the test moves. Everything is
 * removed when the test ends.
 * @param openStorage opens a migrated storage; absent: a new SQLite file
 */
export async function openDomain(t: Pick<ExecutionContext, 'teardown'>, openStorage = temporarySqlite) {
  const clock = manualClock();
  const { storage, close } = await openStorage(clock);
  t.teardown(close);
  const local = await localIdentity(clock, await temporaryDirectory(t), storage);
  /** Identity providers; tests may add and remove some. */
  const providers: ChosenProviders = { working: [local], missing: [] };
  const identities = createIdentities(() => providers);
  const events = createEvents();
  const sessions = createSessions({ storage, clock, events });
  const users = createUsers({ storage, clock, identities, sessions, events });
  const signIn = createSignIn({ users, storage, clock, identities, sessions });
  const keys = createKeys({ storage, clock, events });
  const outbound = createOutbound({ allowHosts: ['127.0.0.1'], clock });
  t.teardown(outbound.close);
  const outside = { webhooks: () => HOOK_TYPES, checkUrl: outbound.check, fetchUser: outbound.fetchUser };
  const hooks = createHooks({ storage, clock, events, ...outside });
  const apps = createApps({ storage, clock, events, ...outside });
  const credentials = createCredentials({ users, keys, apps, identities });
  const mediaDir = await temporaryDirectory(t);
  const files = createUserFiles(join(mediaDir, 'photos'), PHOTO_FILES);
  const clipFiles = createUserFiles(join(mediaDir, 'clips'), CLIP_FILES);
  const pictures = createPictures({ clock });
  t.teardown(pictures.stop);
  const photos = createPhotos({
    ...{ storage, clock, events, files, prepare: pictures.prepare, log: pino({ level: 'silent' }) },
    maxBytesPerUser: 1e9,
  });
  const conversations = createConversations({
    ...{ storage, clock, events },
    async removeFiles(userId, ids) {
      await files.remove(userId, ids.photos);
      await clipFiles.remove(userId, ids.clips);
    },
  });
  const actionItems = createActionItems({ storage, clock, events });
  const goals = createGoals({ storage, clock });
  const folders = createFolders({ storage, clock });
  const places = createPlaces({ storage, clock });
  const people = createPeople({ storage, clock });
  const vocabularies = createVocabularies({ storage });
  const { log, logged, lines } = recordedLog();
  t.teardown(async () => {
    const shown = await indiscretions(lines, storage);
    if (shown.length > 0) throw new Error(`the log shows what nobody may read there: ${shown.join(', ')}`);
  });
  const meaning = noMeaning();
  const models: LanguageModel[] = [];
  /** Directory of the system's models. */
  const systemDir = await temporaryDirectory(t);
  const late = { embedder: () => meaning.embedder(), vectors: () => meaning.vectors() };
  const categorise = createCategorise({ models: () => [], embedder: late.embedder, clock, log });
  const memories = createMemories({
    storage,
    clock,
    events,
    categorise,
  });
  const channels: LoadedChannel[] = [];
  const calendars: { name: string; outlet: CalendarOutlet }[] = [];
  const told = recorded(events);
  const search = createSearch({ storage, log, ...late });
  const compareMemories = createCompareMemories({
    ...{ storage, search, categorise, log },
    embedder: late.embedder,
  });
  const notifications = createNotifications({
    storage,
    clock,
    events,
    defaults: { timeZone: 'UTC', perAppPerHour: 20, daySummaryAt: 22 * 60 },
    publicUrl: 'https://earshot.example',
  });
  const sources = createSources({ storage, conversations, search });
  const retrieve = createRetrieval({ sources, embedder: late.embedder, log });
  const ask = createAsk({ sources, retrieve, notifications, models: () => models, clock, log });
  const calendarFeed = createCalendarFeed({ storage, notifications, clock });
  const media = createAccountMedia({ dataDir: mediaDir, maxPhotoBytes: 5 * 2 ** 30, minFreeBytes: 0 });
  const listening = createListening({ storage, clock, events, notifications });
  const spool = async () =>
    openSpool({
      disk: keepingFiles(await openDisk(join(mediaDir, 'audio'))),
      ...{ clock, log, metrics: { synced() {} } },
      limits: { maxBytes: 2 ** 30, maxBytesPerUser: 2 ** 30, minFreeBytes: 0 },
    });
  const heldAudio = createHeldAudio({ conversations, listening, spool });
  const accountExport = createAccountExport({
    ...{ storage, conversations, calendarFeed, media, heldAudio, clock },
  });
  const accountImport = createAccountImport({ storage, clock, media });
  const recordings = createRecordings({
    storage,
    clock,
    sources: conversations.sources,
    files: createRecordingFiles(join(mediaDir, 'recordings'), 0),
  });
  const foreignImports = createForeignImports({ storage, clock, conversations, recordings });
  const embedding = createEmbedding({ storage, clock, log, ...late });
  const accounts = createAccounts({
    ...{ storage, clock, log, events, users, signIn, embedding },
    installed: apps.installed,
    forgetFiles: async () => {},
  });
  const speechSettings = createSpeechSettings({ storage, clock, async checkCanKeep() {} });
  const clips = createClips({
    ...{ storage, speechSettings, clock, log, files: clipFiles, encode: encodeOpusFile },
    async checkDisk() {},
    maxBytesPerUser: 1e9,
  });
  const accesses = createAccesses({ storage, clock, log });
  const voiceless = { speakers: () => null, vad: noSpeech.vad };
  const voiceSamples = createVoiceSamples({ storage, ...voiceless, clock });
  return {
    accounts,
    clock,
    storage,
    local,
    providers,
    identities,
    users,
    signIn,
    sessions,
    keys,
    apps,
    hooks,
    credentials,
    events,
    feed: createFeed({ events, conversations, clock, log }),
    conversations,
    actionItems,
    goals,
    memories,
    search,
    remember: createRemember({ compareMemories }),
    daySummaries: createDaySummaries({ storage }),
    weeklyReview: createWeeklyReviews({ storage, notifications, clock }),
    devices: createDevices({ storage, clock, events, notifications }),
    ask,
    chat: createChat({ storage, ask, sources, notifications, clock }),
    notifications,
    accesses,
    clips,
    listening,
    retention: createRetention({ storage, accesses, clock, log, conversations, photos, audio: noAudio }),
    channelAddresses: createChannelAddresses({
      ...{ storage, clock, events, log, ...outside, outlets: () => channels },
    }),
    /** Notification channels; tests may add some. */
    channels,
    calendars,
    /** Language models; tests may add some. */
    models,
    embedding,
    meaning,
    folders,
    places,
    summaryTemplates: createSummaryTemplates({ storage, clock }),
    calendarLinks: createCalendarLinks({ storage, clock, publicUrl: 'https://earshot.example' }),
    calendarFeed,
    calendarSync: createCalendarSync({
      ...{ storage, feed: calendarFeed, actionItems, outlets: () => calendars, checkUrl: () => {} },
      ...{ events, clock, log },
    }),
    accountExport,
    exportFiles: createExportFiles({ dataDir: mediaDir, minFreeBytes: 0, accountExport, clock, log }),
    /** Has photos, recordings, untranscribed audio and that of live connections, as a data directory. */
    mediaDir,
    media,
    accountImport,
    foreignImports,
    uploadedImports: createUploadedImports({
      ...{ foreignImports, notifications, log, dir: join(mediaDir, 'uploads') },
    }),
    takeIn: createTakeIn({
      ...{ accountImport, foreignImports, notifications, clock },
      fetchUser: outbound.fetchUser,
    }),
    remains: async () => [],
    people,
    vocabularies,
    recordings,
    speechSettings,
    voiceAssignments: createVoiceAssignments({ storage, speakers: () => null, events, clock }),
    voiceSamples,
    speechProfiles: createSpeechProfiles({ voiceSamples, speechSettings, ...voiceless, clock }),
    deliveries: createDeliveries({ storage, clock }),
    testHook: createTestHook({
      ...{ storage, clock, log, webhooks: () => HOOK_TYPES },
      delivery: {
        targets: createTargets({
          ...{ clock, outbound, notifyOwner: createNotifyOwner({ notifications }) },
          channel: () => {
            throw new AppError('unavailable', 'There are no channels here');
          },
        }),
      },
    }),
    marks: createMarks({ storage, clock, events }),
    photos,
    keptAudios: createKeptAudios({ storage, clips, dir: join(mediaDir, 'untranscribed') }),
    voiceMessages: createVoiceMessages({ ...noSpeech, clock, log }),
    uploads: createUploads({ dir: join(await temporaryDirectory(t), 'uploads'), minFreeBytes: 0, clock }),
    systemDir,
    system: systemOf({ dataDir: systemDir, keys, users, storage, clock, log }),
    /** All events so far, by name. */
    told,
    log,
    /** All lines logged. */
    logged,
  };
}

const HOOK_TYPES = [transcriptProcessed, audioBytes, conversationCreated, daySummary, deviceEvent].map(
  plugin => plugin.setup().webhook,
);

/** Used until a test sets an embedder and vectors. */
function noMeaning(): { embedder: () => Embedder; vectors: () => VectorIndex } {
  const absent = () => {
    throw new AppError('unavailable', 'there is none');
  };
  return { embedder: absent, vectors: absent };
}

/** Neither recogniser nor speech detector: tests of the whole server have them. */
const noSpeech = {
  recognisers: () => [],
  recogniserFor: () => {
    throw new AppError('config_error', 'This test has no recogniser');
  },
  vad: () => {
    throw new AppError('config_error', 'This test has no detector');
  },
  metrics: { utterance() {} },
};

function temporarySqlite(clock: Clock): Promise<OpenStorage> {
  return temporaryStorage({ clock });
}

export async function temporaryDirectory(t: Pick<ExecutionContext, 'teardown'>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-'));
  t.teardown(() => rm(directory, { recursive: true }));
  return directory;
}

/** Makes hashes of passwords cheap; their real cost is tested elsewhere. */
export function hashCheaply({ storage, providers, local }: Pick<Domain, 'storage' | 'providers' | 'local'>) {
  const passwords = createPasswords(
    {
      state: createPluginState('local', () => storage.pluginState),
      error: (code, message, options) => new AppError(code, message, options),
    },
    { memory: 64, passes: 1, parallelism: 1 },
  );
  providers.working[0] = { ...local, passwords };
}

/** Sets up the identity plugin as the host does. */
export async function localIdentity(
  clock: Clock,
  dataDir: string,
  storage?: Storage,
): Promise<Required<Omit<IdentityProvider, 'verifyAccess'>>> {
  const { identity } = await localPlugin.setup({
    options: undefined as never, // the plugin has one
    log: pino({ level: 'silent' }),
    clock,
    signal: new AbortController().signal,
    dataDir,
    state: createPluginState('local', () => {
      if (!storage) throw new Error('this test has no passwords');
      return storage.pluginState;
    }),
    fetch,
    fetchUser: async () => {
      throw new Error('this test has no addresses of users');
    },
    onStop: () => {},
    error: (code, message, options) => new AppError(code, message, options),
    fail: () => {},
  });
  return identity;
}

/** Creates a conversation with these texts, 10 s apart, that has passed the pipeline. */
export async function completedConversation(
  { conversations, clock }: Pick<Domain, 'conversations' | 'clock'>,
  userId: string,
  texts: string[] = ['hello'],
  { title = 'Title', overview = 'Overview.', category = 'other', source = 'omi' } = {},
): Promise<{ id: string; segments: Segment[] }> {
  const startedAt = clock.now();
  const { id } = await conversations.open({
    userId,
    source,
    deviceId: null,
    language: 'en',
    timeoutMs: 120_000,
  });
  const pieces = texts.map((text, index) => ({
    text,
    startAt: startedAt + index * 10_000,
    endAt: startedAt + index * 10_000 + 2000,
    speaker: 'SPEAKER_00',
    sttProvider: 'test',
  }));
  const segments = await conversations.append({
    userId,
    conversationId: id,
    stream: null,
    startedAt,
    pieces,
  });
  await conversations.finish(userId, id);
  await conversations.complete(userId, id, {
    title,
    overview,
    category,
    emoji: '🧠',
    actionItems: [],
    events: [],
  });
  return { id, segments };
}

const noAudio = { before: async () => [], remove: async () => {} };

type Told = { [Name in keyof Events]: Events[Name][0][] };

function recorded(events: EventBus): Told {
  const told: Told = {
    segments: [],
    'photo.described': [],
    translated: [],
    'conversation.processing': [],
    'conversation.processed': [],
    'conversation.dropped': [],
    changed: [],
    marked: [],
    device: [],
    'device.happened': [],
    'addresses.changed': [],
    'hooks.changed': [],
    'listening.changed': [],
    'zone.changed': [],
    'credential.revoked': [],
  };
  events.on('segments', event => told.segments.push(event));
  events.on('translated', event => told.translated.push(event));
  events.on('conversation.processing', event => told['conversation.processing'].push(event));
  events.on('conversation.processed', event => told['conversation.processed'].push(event));
  events.on('conversation.dropped', event => told['conversation.dropped'].push(event));
  events.on('changed', event => told.changed.push(event));
  events.on('marked', event => told.marked.push(event));
  events.on('device', event => told.device.push(event));
  events.on('device.happened', event => told['device.happened'].push(event));
  events.on('hooks.changed', event => told['hooks.changed'].push(event));
  events.on('credential.revoked', event => told['credential.revoked'].push(event));
  return told;
}

function recordedLog() {
  const logged: { level: number; msg: string; [key: string]: unknown }[] = [];
  const lines: string[] = [];
  const write = (line: string) => {
    lines.push(line);
    logged.push(JSON.parse(line));
  };
  return { log: pino({ level: 'trace' }, { write }), logged, lines };
}
