/** The contract between core and a storage plugin: types only. It is part of `plugin.ts`, which is what plugins import. */
import type {
  AttemptStore,
  GrantStore,
  KeyStore,
  RateLimitStore,
  SessionStore,
  UserStore,
} from './storage/accounts.ts';
import type { AppStore, InstallationStore } from './storage/apps.ts';
import type { ChatStore } from './storage/chat.ts';
import type {
  ConversationStore,
  FolderStore,
  MarkStore,
  PassageStore,
  PhotoStore,
  PlaceStore,
  SegmentStore,
  SummaryStore,
} from './storage/conversations.ts';
import type { DeliveryStore, HookStore } from './storage/deliveries.ts';
import type { DeviceStore } from './storage/devices.ts';
import type { ForeignImportStore } from './storage/imports.ts';
import type { JobStore } from './storage/jobs.ts';
import type { ClaimStore, SpeechStore, StreamStore } from './storage/listening.ts';
import type { EmbeddingStore, ForgottenMemoryStore, MemoryStore } from './storage/memories.ts';
import type { ChannelAddressStore, NotificationStore } from './storage/notifications.ts';
import type { PrivacyStore } from './storage/privacy.ts';
import type { ClipStore, RecordingStore } from './storage/recordings.ts';
import type { OwnedTable, Table } from './storage/tables.ts';
import type {
  ActionItemStore,
  CalendarLinkStore,
  GoalStore,
  GoalSuggestionStore,
} from './storage/tasks-and-goals.ts';
import type { PersonStore, VoiceStore } from './storage/voices.ts';

export type * from './storage/accounts.ts';
export type * from './storage/apps.ts';
export type * from './storage/chat.ts';
export type * from './storage/conversations.ts';
export type * from './storage/deliveries.ts';
export type * from './storage/devices.ts';
export type * from './storage/imports.ts';
export type * from './storage/jobs.ts';
export type * from './storage/listening.ts';
export type * from './storage/memories.ts';
export type * from './storage/notifications.ts';
export type * from './storage/privacy.ts';
export type * from './storage/recordings.ts';
export type * from './storage/tables.ts';
export type * from './storage/tasks-and-goals.ts';
export type * from './storage/voices.ts';

/**
 * Everything durable. Its contract is stable within a minor version. Every query on a user's data takes the user's id;
 * rows of other users count as missing.
 */
export interface Storage extends Stores {
  /**
   * Runs `work` in one transaction. Inside, only `tx` is used and nothing but storage is awaited; a store outside
   * `tx` throws at once if used inside. Rolls back if `work` throws, and also if a store threw and `work` caught
   * that: to handle a `conflict`, check first, or use a separate transaction.
   * @param name for the log: a transaction over 50 ms is logged with it
   */
  transaction<T>(name: string, work: (tx: Stores) => Promise<T>): Promise<T>;
  /**
   * Calls `listener` whenever jobs that were enqueued through this storage have been committed, on their own or in a
   * transaction, with the earliest `runAt` of each kind; never after a rollback. This wakes the job runner. The
   * listener must not throw. Returns a function that removes it.
   */
  onEnqueued(listener: (jobs: ReadonlyMap<string, number>) => void): () => void;
  /** Migrates the schema to this version, after a backup of existing data. Never goes backwards. */
  migrate(): Promise<{ from: number; to: number; backup: string | null }>;
  /**
   * Removes deleted data from the disk, as far as that is the storage's task. Called each night, and when the server
   * starts. Other reads and writes continue meanwhile.
   */
  upkeep(): Promise<void>;
  /**
   * Writes a consistent snapshot of all data into a new SQLite file for a backup, checks the file and counts its rows.
   * Other reads and writes continue meanwhile. Rejects if the copy is damaged.
   * It need not be synced: the backup reads it back and deletes it.
   * @param target path of a file that does not exist
   * @returns the number of rows by table
   */
  snapshot(target: string): Promise<Record<string, number>>;
  /** Describes the data and its state; changes nothing. */
  describe(): Promise<StorageState>;
  /**
   * Passes every table to `work`, parents before their children, for a move to another storage: in one
   * transaction, without other writers. Rolls back if `work` throws. Requires a schema of this version.
   */
  tables<T>(work: (tables: Table[]) => Promise<T>): Promise<T>;
  /**
   * Returns every table with rows of users, parents before their children, for the export or import of one account.
   * Other reads and writes continue meanwhile: a row that changes while it is read is returned in either form.
   */
  owned(): Promise<OwnedTable[]>;
}

export interface StorageState {
  /** Description for people, without secrets: `database /var/lib/earshot/earshot.db`. */
  title: string;
  /** Equal for two storages if and only if they share their data. */
  id: string;
  /** Migrations that have not run yet. */
  due: number;
  isEmpty: boolean;
}

export interface Stores {
  users: UserStore;
  attempts: AttemptStore;
  keys: KeyStore;
  sessions: SessionStore;
  grants: GrantStore;
  rateLimits: RateLimitStore;
  conversations: ConversationStore;
  segments: SegmentStore;
  photos: PhotoStore;
  marks: MarkStore;
  clips: ClipStore;
  recordings: RecordingStore;
  streams: StreamStore;
  claims: ClaimStore;
  folders: FolderStore;
  places: PlaceStore;
  people: PersonStore;
  actionItems: ActionItemStore;
  memories: MemoryStore;
  forgottenMemories: ForgottenMemoryStore;
  embeddings: EmbeddingStore;
  goals: GoalStore;
  goalSuggestions: GoalSuggestionStore;
  summaries: SummaryStore;
  calendarLinks: CalendarLinkStore;
  devices: DeviceStore;
  foreignImports: ForeignImportStore;
  speech: SpeechStore;
  privacy: PrivacyStore;
  voices: VoiceStore;
  passages: PassageStore;
  chat: ChatStore;
  apps: AppStore;
  installations: InstallationStore;
  hooks: HookStore;
  deliveries: DeliveryStore;
  notifications: NotificationStore;
  channelAddresses: ChannelAddressStore;
  jobs: JobStore;
  pluginState: PluginStateStore;
}

export interface PluginStateStore {
  get(plugin: string, key: string): Promise<{ value: unknown; version: number } | null>;
  compareAndSet(plugin: string, key: string, version: number, value: unknown): Promise<boolean>;
  list(plugin: string, prefix: string): Promise<string[]>;
  delete(plugin: string, key: string): Promise<void>;
}
