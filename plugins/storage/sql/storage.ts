import type { PluginContext, Storage, Stores } from '../../../core/contract/plugin.ts';
import { type Access, createAccess } from './access.ts';
import { keyStore, personStore, userStore } from './accounts.ts';
import { actionItemStore } from './action-items.ts';
import { appStore, hookStore, installationStore } from './apps.ts';
import { attemptStore } from './attempts.ts';
import { calendarLinkStore } from './calendar.ts';
import { chatStore } from './chat.ts';
import { claimStore } from './claims.ts';
import { clipStore } from './clips.ts';
import { conversationStore, segmentStore } from './conversations.ts';
import { deliveryStore } from './deliveries.ts';
import { deviceStore } from './devices.ts';
import type { Dialect } from './dialect.ts';
import { embeddingStore } from './embeddings.ts';
import { folderStore } from './folders.ts';
import { foreignImportStore } from './foreign-imports.ts';
import { goalSuggestionStore } from './goal-suggestions.ts';
import { goalStore } from './goals.ts';
import { grantStore } from './grants.ts';
import { jobStore } from './jobs.ts';
import { markStore } from './marks.ts';
import { forgottenMemoryStore, memoryStore } from './memories.ts';
import { createMigrator, type Migration } from './migrations.ts';
import { channelAddressStore, notificationStore } from './notifications.ts';
import { passageStore } from './passages.ts';
import { photoStore } from './photos.ts';
import { placeStore } from './places.ts';
import { pluginStateStore } from './plugin-state.ts';
import { privacyStore } from './privacy.ts';
import { rateLimitStore } from './rate-limits.ts';
import { recordingStore } from './recordings.ts';
import { sessionStore } from './sessions.ts';
import { speechStore } from './speech.ts';
import { checkSqlite } from './sqlite-snapshot.ts';
import { streamStore } from './streams.ts';
import { summaryStore } from './summaries.ts';
import { openOwned, openTables } from './tables.ts';
import { voiceStore } from './voices.ts';

export type StorageContext = Pick<PluginContext<never>, 'log' | 'clock' | 'error'>;

/**
 * Creates the storage on a database. Rejects with `config_error` when the database is damaged or was written by a newer
 * version. The caller closes the database.
 */
export async function createStorage(
  dialect: Dialect,
  context: StorageContext,
  migrations?: readonly Migration[],
): Promise<Storage> {
  const storesOn = (access: Access): Stores => ({
    users: userStore(access),
    attempts: attemptStore(access),
    keys: keyStore(access),
    sessions: sessionStore(access),
    grants: grantStore(access),
    rateLimits: rateLimitStore(access),
    conversations: conversationStore(access),
    segments: segmentStore(access),
    photos: photoStore(access),
    marks: markStore(access),
    clips: clipStore(access),
    recordings: recordingStore(access),
    streams: streamStore(access),
    claims: claimStore(access),
    folders: folderStore(access),
    places: placeStore(access),
    people: personStore(access),
    actionItems: actionItemStore(access),
    memories: memoryStore(access),
    forgottenMemories: forgottenMemoryStore(access),
    embeddings: embeddingStore(access),
    goals: goalStore(access),
    goalSuggestions: goalSuggestionStore(access),
    summaries: summaryStore(access),
    calendarLinks: calendarLinkStore(access),
    devices: deviceStore(access),
    foreignImports: foreignImportStore(access),
    speech: speechStore(access),
    privacy: privacyStore(access),
    voices: voiceStore(access),
    passages: passageStore(access),
    chat: chatStore(access),
    apps: appStore(access),
    installations: installationStore(access),
    hooks: hookStore(access),
    deliveries: deliveryStore(access),
    notifications: notificationStore(access),
    channelAddresses: channelAddressStore(access),
    jobs: jobStore(access, context.clock, dialect),
    pluginState: pluginStateStore(access, context.error),
  });
  const { outside, transaction, onEnqueued } = createAccess(dialect, context);
  const migrator = createMigrator(dialect, context, migrations);
  await outside.read('schema check', () => migrator.check());
  return {
    ...storesOn(outside),
    transaction: (name, work) => transaction(name, access => work(storesOn(access))),
    onEnqueued,
    async migrate() {
      const migrated = await outside.write('migrate', () => migrator.migrate());
      await outside.read('settle', () => dialect.settle());
      return migrated;
    },
    async snapshot(target) {
      await dialect.snapshot(target);
      return checkSqlite(target);
    },
    upkeep: () => outside.read('upkeep', () => dialect.upkeep()),
    describe: () =>
      outside.read('describe', async () => ({
        title: dialect.place,
        id: await dialect.identity(),
        ...(await migrator.state()),
      })),
    tables: work =>
      transaction('tables', async access => work(await openTables(dialect, access, context.error))),
    owned: () => openOwned(dialect, outside, context.error),
  };
}
