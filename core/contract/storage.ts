/** The contract between core and a storage plugin: types only. It is part of `plugin.ts`, which is what plugins import. */
import type {
  AccessEntry,
  AccountSession,
  ActionItem,
  ApiKey,
  App,
  AppKey,
  CalendarLink,
  ChannelAddress,
  ChatMessage,
  ChatSession,
  Clip,
  Conversation,
  ConversationStatus,
  Delivery,
  DeliveryAttempt,
  Device,
  Embedding,
  Folder,
  ForeignImport,
  ForeignItem,
  ForgottenMemory,
  Geolocation,
  Goal,
  GoalProgress,
  GoalSuggestion,
  GoalSuggestionState,
  Grant,
  GrantName,
  Hook,
  Installation,
  Job,
  JobCount,
  ListeningSettings,
  LoggedDelivery,
  Mark,
  Memory,
  MemoryCategory,
  MemoryChange,
  Notification,
  NotificationSettings,
  Person,
  Photo,
  Place,
  RateLimit,
  Recording,
  RetentionSettings,
  Segment,
  SpeechSettings,
  Stream,
  StreamProgress,
  SummarySettings,
  SummaryTemplate,
  Translation,
  User,
  Voice,
  VoiceAssignment,
  VoiceChange,
  VoiceSample,
} from './model.ts';

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

export interface OwnedTable extends Pick<Table, 'name' | 'storable' | 'unfit'> {
  /** Yields the rows of a user in batches that fit into memory. */
  rows(userId: string): AsyncIterable<Row[]>;
  /** Inserts rows in a separate transaction. */
  write(rows: Row[]): Promise<void>;
  /** Removes all rows of a user, with their children, in transactions of at most 250 rows. */
  clear(userId: string): Promise<void>;
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

/** Table with all rows of all users. In every storage, names of tables and columns are those of the `sql` plugin. */
export interface Table {
  name: string;
  /** Columns of the primary key. */
  key: readonly string[];
  count(): Promise<number>;
  /** Yields all rows, ordered by key (texts by their UTF-8 bytes), in batches that fit into memory. */
  read(): AsyncIterable<Row[]>;
  write(rows: Row[]): Promise<void>;
  /** Returns the row as it will be read back, with values replaced that cannot be stored; the same object if unchanged. */
  storable(row: Row): Row;
  /** Returns the first column that is missing, unknown, or of the wrong type; null: the row can be written. */
  unfit(row: Record<string, unknown>): string | null;
}

/** Column → value, independent of the database. JSON is text. */
export type Row = Readonly<Record<string, string | number | boolean | null>>;

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

export interface UserStore {
  /** Rejects with `conflict` when the name, or the issuer's subject, is taken. */
  insert(user: User): Promise<void>;
  get(id: string): Promise<User | null>;
  /** By its `nameKey`. */
  byName(key: string): Promise<User | null>;
  byIdentity(issuer: string, subject: string): Promise<User | null>;
  /** Oldest first. */
  list(): Promise<User[]>;
  /** Resolves to whether there is such a user. */
  setMemoryAccess(id: string, isOpen: boolean): Promise<boolean>;
  /** Rejects with `conflict` when the name is taken. Resolves to whether there is such a user. */
  update(
    id: string,
    patch: Partial<Pick<User, 'signedOutAt' | 'name' | 'nameKey' | 'role' | 'disabledAt'>>,
  ): Promise<boolean>;
  /** Removes a user with all data, including apps and their installations. Resolves to whether there was one. */
  remove(id: string): Promise<boolean>;
}

/** Counts of attempts, which expire. */
export interface AttemptStore {
  /**
   * Adds to the count of this key, atomically across processes; an expired count starts again, and
   * expires at `until`. Resolves to the count and its expiry.
   * @param now epoch ms
   */
  add(key: string, by: number, now: number, until: number): Promise<AttemptCount>;
  /** Null: there is none, or it has expired. */
  get(key: string, now: number): Promise<AttemptCount | null>;
  remove(key: string): Promise<void>;
  /** Deletes expired counts. */
  prune(now: number): Promise<void>;
}

export interface AttemptCount {
  count: number;
  /** Epoch ms of the expiry. */
  until: number;
}

export interface KeyStore {
  insert(key: ApiKey): Promise<void>;
  get(userId: string, id: string): Promise<ApiKey | null>;
  /**
   * Finds a key with its user, for each request. A key that was replaced or removed, by any process, is no longer
   * found.
   */
  byHash(hash: string): Promise<{ key: ApiKey; user: User } | null>;
  /** Newest first, ties by id. */
  list(userId: string): Promise<ApiKey[]>;
  /** Replaces the secret of a key. Resolves to whether the key exists. */
  replace(userId: string, id: string, secret: Pick<ApiKey, 'hash' | 'hint'>): Promise<boolean>;
  /** Stores when keys were last used; times before the stored one are ignored. */
  used(uses: { userId: string; id: string; at: number }[]): Promise<void>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
}

/** Sign-ins of browsers and programs. */
export interface SessionStore {
  insert(session: AccountSession): Promise<void>;
  /** Finds a session, for each request with its token. */
  get(userId: string, id: string): Promise<AccountSession | null>;
  /** Last used first, ties by id. */
  list(userId: string): Promise<AccountSession[]>;
  /** Resolves to whether it existed. */
  update(
    userId: string,
    id: string,
    patch: Partial<Pick<AccountSession, 'lastUsedAt' | 'expiresAt'>>,
  ): Promise<boolean>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
}

export interface GrantStore {
  /** Inserts; existing rows stay. */
  give(grants: Grant[]): Promise<void>;
  has(userId: string, grantee: string, name: GrantName): Promise<boolean>;
  /** Removes all grants of a key. */
  removeOf(userId: string, grantee: string): Promise<void>;
}

export interface RateLimitStore {
  get(userId: string, subject: string, policy: string): Promise<RateLimit | null>;
  /** Inserts, or replaces by user, subject and policy where `fullAt` is later than the stored one. */
  put(limits: RateLimit[]): Promise<void>;
  /** Removes buckets of all users that are full by `now`. */
  removeFull(now: number): Promise<void>;
}

export interface ConversationFilter {
  /** At most 1000. */
  ids?: string[];
  statuses?: ConversationStatus[];
  discarded?: boolean;
  locked?: boolean;
  starred?: boolean;
  categories?: string[];
  folderId?: string;
  source?: string;
  /** Person who speaks in it. */
  personId?: string;
  /** Conversations whose position is at most so far from this point. */
  near?: Near;
  /** Inclusive bounds of `createdAt`. */
  createdFrom?: number;
  createdTo?: number;
  /** Inclusive bounds of `startedAt`: rows without one are excluded. */
  startedFrom?: number;
  startedTo?: number;
  limit: number;
  offset: number;
}

/** A point, in degrees, and its surroundings. */
export interface Near {
  latitude: number;
  longitude: number;
  radiusM: number;
}

/** Where and when a conversation began. */
export interface Position extends Geolocation {
  at: number;
}

/** Finished conversations that are not locked, or their data. */
export interface ExpiryFilter {
  /** Conversations that ended, or photos that were taken, before this instant. */
  before: number;
  /** Folder; null: any folder outside `otherThan`. */
  folderId: string | null;
  otherThan: string[];
  keepStarred: boolean;
}

/** All fields that may change after the row was created. */
export type ConversationPatch = Partial<Omit<Conversation, 'id' | 'userId' | 'createdAt'>>;

export interface ConversationStore {
  insert(conversation: Conversation): Promise<void>;
  get(userId: string, id: string): Promise<Conversation | null>;
  /** `createdAt` descending, ties by id. */
  list(userId: string, filter: ConversationFilter): Promise<Conversation[]>;
  /** Returns the positions of conversations, in the order of `list`. Those without a position are left out. */
  positions(userId: string, filter: ConversationFilter): Promise<Position[]>;
  /** Returns the newest `in_progress` one of this source and device (null matches null). */
  findOpen(userId: string, source: string, deviceId: string | null): Promise<Conversation | null>;
  /**
   * Changes the row if it exists and, with `ifStatus`, has that status. Resolves to whether it did,
   * so that one of several simultaneous changes succeeds.
   */
  update(
    userId: string,
    id: string,
    patch: ConversationPatch,
    ifStatus?: ConversationStatus,
  ): Promise<boolean>;
  /** Removes it with its segments. Its streams stay, and name a missing conversation. */
  remove(userId: string, id: string): Promise<boolean>;
  /** Oldest first. */
  expired(userId: string, filter: ExpiryFilter, limit: number): Promise<Conversation[]>;
  countExpired(userId: string, filter: ExpiryFilter): Promise<number>;
  /** Moves all conversations of one folder to another. */
  refile(userId: string, fromFolder: string, toFolder: string | null): Promise<void>;
}

export interface SegmentStore {
  /** Inserts, or replaces by id, all or nothing. Rejects with `not_found` if a conversation does not exist. */
  upsert(segments: Segment[]): Promise<void>;
  /**
   * Moves all segments, or those from `since` on, to another conversation (or the same), and shifts them by seconds.
   * Less than 0 shifts them earlier, if none then begins before 0. Times are whole milliseconds.
   */
  move(
    userId: string,
    from: string,
    change: { to: string; seconds: number; since?: Pick<Segment, 'start' | 'id'> },
  ): Promise<void>;
  /** Lists segments of several conversations by `start`, ties by id. */
  list(userId: string, conversationIds: string[]): Promise<Segment[]>;
  /** Lists segments of one conversation by `start`, ties by id, beginning behind `after` (null: at the first). */
  page(
    userId: string,
    conversationId: string,
    after: Pick<Segment, 'start' | 'id'> | null,
    limit: number,
  ): Promise<Segment[]>;
  get(userId: string, id: string): Promise<Segment | null>;
  /** Returns the number of segments, and the length of their texts in bytes (UTF-8). */
  size(userId: string, conversationId: string): Promise<TranscriptSize>;
  /** Returns the segment with the largest `end`, which the next piece may join; null: none. */
  last(userId: string, conversationId: string): Promise<Segment | null>;
  count(userId: string, conversationId: string): Promise<number>;
  /** Reassigns the segments of a person to another one, or to nobody. */
  forgetPerson(userId: string, personId: string, other?: string): Promise<void>;
  /** Lists segments of one speaker of a conversation by `start`, ties by id. */
  ofSpeaker(userId: string, conversationId: string, speakerId: number): Promise<Segment[]>;
  /** Stores a translation if the text is unchanged. Resolves to whether it is. */
  translated(
    userId: string,
    id: string,
    text: string,
    translations: readonly Translation[],
  ): Promise<boolean>;
}

export interface VoiceStore {
  /** Lists voices of a conversation; the one that changed last comes last, ties by `speakerId`. */
  list(userId: string, conversationId: string): Promise<Voice[]>;
  /** Inserts, or replaces by conversation and speaker. Rejects with `not_found` if the conversation does not exist. */
  put(voice: Voice): Promise<void>;
  /** Removes this person from voices. */
  forgetPerson(userId: string, personId: string): Promise<void>;
  /** Moves voices and samples of a person to another one. */
  movePerson(userId: string, from: string, to: string): Promise<void>;
  /**
   * Lists voices that one model has made a vector of, in conversations that began at `since` or later, by conversation
   * and speaker, from the one after `after` on.
   */
  page(
    userId: string,
    space: string,
    page: { since: number; after: Pick<Voice, 'conversationId' | 'speakerId'> | null; limit: number },
  ): Promise<Voice[]>;
  /** Inserts, or replaces by id. */
  putAssignment(assignment: VoiceAssignment): Promise<void>;
  assignment(userId: string, id: string): Promise<VoiceAssignment | null>;
  /** Newest first, ties by id. */
  assignments(userId: string, limit: number): Promise<VoiceAssignment[]>;
  /** Inserts; existing rows stay. Rejects with `not_found` if the assignment or conversation does not exist. */
  putChange(change: VoiceChange): Promise<void>;
  /** Lists the changes of one assignment, by conversation and speaker. */
  changes(userId: string, assignmentId: string): Promise<VoiceChange[]>;
  /** Deletes assignments made before this instant (epoch ms), with their changes. */
  pruneAssignments(before: number): Promise<void>;
  /**
   * Lists samples of all people of this user, oldest first, of one model or of any. Deleting a person deletes their
   * samples.
   */
  samples(userId: string, space?: string): Promise<VoiceSample[]>;
  /** Inserts, or replaces by id. Rejects with `not_found` if its person does not exist. */
  putSample(sample: VoiceSample): Promise<void>;
  /** Resolves to whether it existed. */
  removeSample(userId: string, id: string): Promise<boolean>;
  /** Deletes all voice data, including samples. */
  forget(userId: string): Promise<void>;
}

export interface SpeechStore {
  /** Null: the user has no settings. */
  settings(userId: string): Promise<SpeechSettings | null>;
  putSettings(settings: SpeechSettings): Promise<void>;
}

export interface PrivacyStore {
  /** Null: the user has no settings. */
  listening(userId: string): Promise<ListeningSettings | null>;
  putListening(settings: ListeningSettings): Promise<void>;
  /** Null: the user has no settings. */
  retention(userId: string): Promise<RetentionSettings | null>;
  putRetention(settings: RetentionSettings): Promise<void>;
  /** Stores entries; those of deleted users are ignored. */
  addAccesses(entries: readonly AccessEntry[]): Promise<void>;
  /** Newest first (by id, which grows with time). */
  accesses(userId: string, page: { beforeId?: string | undefined; limit: number }): Promise<AccessEntry[]>;
  /** Deletes at most `limit` entries whose last access was before. Resolves to their number. */
  pruneAccesses(before: number, limit: number): Promise<number>;
  /** Deletes at most `limit` of the oldest entries of users with more than `keep`. Resolves to their number. */
  trimAccesses(keep: number, limit: number): Promise<number>;
  /** Ids of users with retention settings, in order, beginning behind `afterId` (null: at the first). */
  withRetention(afterId: string | null, limit: number): Promise<string[]>;
}

export interface TranscriptSize {
  segments: number;
  textBytes: number;
}

export interface RecordingStore {
  /** Rejects with `conflict` if it exists. */
  insert(recording: Recording): Promise<void>;
  get(userId: string, id: string): Promise<Recording | null>;
  /** Newest first, ties by id. */
  list(userId: string, page: { limit: number; offset: number }): Promise<Recording[]>;
  /** Returns the number and bytes of unfinished recordings. */
  waiting(userId: string): Promise<{ recordings: number; bytes: number }>;
  /** Resolves to whether it exists. */
  update(
    userId: string,
    id: string,
    patch: Partial<Omit<Recording, 'id' | 'userId' | 'name' | 'bytes' | 'createdAt'>>,
  ): Promise<boolean>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
  /** Deletes recordings that were finished before this instant (epoch ms). */
  prune(before: number): Promise<void>;
}

export interface PhotoStore {
  /** Rejects with `not_found` if the conversation does not exist. */
  insert(photo: Photo): Promise<void>;
  get(userId: string, id: string): Promise<Photo | null>;
  /** Lists photos of one conversation by `takenAt`, ties by id. Deleting the conversation deletes them. */
  list(userId: string, conversationId: string, limit: number): Promise<Photo[]>;
  /** Finds photos by id, in no particular order. At most 1000 ids. */
  some(userId: string, ids: string[]): Promise<Photo[]>;
  count(userId: string, conversationId: string): Promise<number>;
  /** Sums the bytes of all files of a user. */
  bytes(userId: string): Promise<number>;
  /** Resolves to whether it exists. */
  update(userId: string, id: string, patch: Pick<Photo, 'description' | 'discarded'>): Promise<boolean>;
  /** Oldest first. */
  expired(userId: string, filter: ExpiryFilter, limit: number): Promise<Photo[]>;
  countExpired(userId: string, filter: ExpiryFilter): Promise<number>;
  /** Moves all photos of a conversation, or those from `since` on (`takenAt`), to another one. */
  moveAll(userId: string, fromConversation: string, toConversation: string, since?: number): Promise<void>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
}

/** Marks, which are removed with their conversation. */
export interface MarkStore {
  /** Rejects with `conflict` if this user has one with this id, with `not_found` if the conversation does not exist. */
  insert(mark: Mark): Promise<void>;
  get(userId: string, id: string): Promise<Mark | null>;
  /** Lists marks of one conversation by `at`, ties by id. */
  list(userId: string, conversationId: string, limit: number): Promise<Mark[]>;
  count(userId: string, conversationId: string): Promise<number>;
  /** Moves all marks of a conversation, or those from `since` on (`at`), to another one. */
  moveAll(userId: string, fromConversation: string, toConversation: string, since?: number): Promise<void>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
}

/** Clips, which are removed with their conversation. */
export interface ClipStore {
  /** Rejects with `not_found` if the conversation does not exist. */
  insert(clip: Clip): Promise<void>;
  get(userId: string, id: string): Promise<Clip | null>;
  /** Lists clips of one conversation from an instant on, by `startedAt`, ties by id. */
  list(userId: string, conversationId: string, page: { since: number; limit: number }): Promise<Clip[]>;
  /** Finds clips by id, in no particular order. At most 1000 ids. */
  some(userId: string, ids: string[]): Promise<Clip[]>;
  /** Moves all clips of a conversation, or those from `since` on (`startedAt`), to another one. */
  moveAll(userId: string, fromConversation: string, toConversation: string, since?: number): Promise<void>;
  /** Sums the bytes of all files of a user. */
  bytes(userId: string): Promise<number>;
  /** Lists clips that began before an instant, the oldest first. */
  expired(userId: string, before: number, limit: number): Promise<Clip[]>;
  /** At most 1000 ids. */
  remove(userId: string, ids: readonly string[]): Promise<void>;
}

export interface StreamStore {
  /** Rejects with `conflict` when this user's client stream and channel are taken. */
  insert(stream: Stream): Promise<void>;
  byClientStream(userId: string, clientStream: string, channel: number): Promise<Stream | null>;
  get(userId: string, id: string): Promise<Stream | null>;
  /** Lists the ids of all streams of a user. */
  ids(userId: string): Promise<string[]>;
  /** Advances it; a `through` below the stored one is ignored (resolves to false). */
  advance(userId: string, id: string, progress: StreamProgress): Promise<boolean>;
  /** Updates fields that a later connection, or its first sample, changes. */
  update(
    userId: string,
    id: string,
    patch: Partial<Pick<Stream, 'conversationId' | 'anchorAt' | 'codec' | 'setup'>>,
  ): Promise<void>;
  /** Moves all streams of a conversation to another one. */
  moveAll(userId: string, fromConversation: string, toConversation: string): Promise<void>;
}

/** Ids derived from ids of clients. A claimed id stays claimed, even if its row was deleted. */
export interface ClaimStore {
  /**
   * Resolves to whether the id was free. One of several simultaneous calls succeeds; the others resolve once the data of
   * that one can be read.
   * @param at epoch ms
   */
  take(userId: string, id: string, at: number): Promise<boolean>;
}

export interface FolderStore {
  /** Inserts, unless a folder with the id exists, or a system folder with the name of a new system folder. */
  insertMissing(folders: Folder[]): Promise<void>;
  get(userId: string, id: string): Promise<Folder | null>;
  /** By `order`, ties by id. */
  list(userId: string): Promise<Folder[]>;
  /** Counts conversations by folder, without discarded ones; empty folders may be absent. */
  counts(userId: string): Promise<Map<string, number>>;
  /** Resolves to whether it exists. */
  update(
    userId: string,
    id: string,
    patch: Partial<Pick<Folder, 'name' | 'description' | 'color' | 'icon' | 'updatedAt'>>,
  ): Promise<boolean>;
  /** Resolves to whether it existed. Its conversations stay, and name a missing folder. */
  remove(userId: string, id: string): Promise<boolean>;
}

export interface PlaceStore {
  insert(place: Place): Promise<void>;
  get(userId: string, id: string): Promise<Place | null>;
  /** `createdAt` ascending, ties by id. */
  list(userId: string): Promise<Place[]>;
  /** Resolves to whether it exists. */
  rename(userId: string, id: string, name: string): Promise<boolean>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
}

export interface PersonStore {
  insert(person: Person): Promise<void>;
  get(userId: string, id: string): Promise<Person | null>;
  /** `createdAt` ascending, ties by id. */
  list(userId: string): Promise<Person[]>;
  /** Resolves to whether it exists. */
  rename(userId: string, id: string, name: string): Promise<boolean>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
  /** Removes the people among these ids whom no segment and no voice names. At most 1000 ids. */
  removeUnnamed(userId: string, ids: string[]): Promise<void>;
}

/** Imports from other products, and the items that each of them stored. */
export interface ForeignImportStore {
  insert(run: ForeignImport): Promise<void>;
  get(userId: string, id: string): Promise<ForeignImport | null>;
  /** Newest first. */
  list(userId: string, limit: number): Promise<ForeignImport[]>;
  /** Resolves to whether it exists. */
  update(
    userId: string,
    id: string,
    patch: Partial<Pick<ForeignImport, 'state' | 'counts' | 'endedAt'>>,
  ): Promise<boolean>;
  /** Assigns items of an earlier import to this one. Rejects with `not_found` if the import does not exist. */
  note(items: ForeignItem[]): Promise<void>;
  /** Tells whether an import has stored this item and was not undone. */
  has(userId: string, id: string): Promise<boolean>;
  /** Ordered by id. */
  items(userId: string, importId: string, limit: number): Promise<ForeignItem[]>;
  /** Missing ids are no error. At most 1000. */
  forget(userId: string, ids: string[]): Promise<void>;
}

export interface ActionItemFilter {
  completed?: boolean | undefined;
  locked?: boolean | undefined;
  conversationId?: string | undefined;
  /** Inclusive bounds of `createdAt`. */
  createdFrom?: number | undefined;
  createdTo?: number | undefined;
  /** Inclusive bounds of `dueAt`: rows without one are excluded. */
  dueFrom?: number | undefined;
  dueTo?: number | undefined;
  limit: number;
  offset: number;
}

/** All fields that may change after the row was created. */
export type ActionItemPatch = Partial<Omit<ActionItem, 'id' | 'userId' | 'createdAt'>>;

export interface ActionItemStore {
  /** All or nothing. */
  insert(items: ActionItem[]): Promise<void>;
  get(userId: string, id: string): Promise<ActionItem | null>;
  /**
   * Lists open ones before done ones; within each by due date, then without one newest first, ties by id. If requested
   * with `locked`, an index provides this order, without sorting.
   */
  list(userId: string, filter: ActionItemFilter): Promise<ActionItem[]>;
  /** Changes these fields alone. Resolves to whether it exists. */
  update(userId: string, id: string, patch: ActionItemPatch): Promise<boolean>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
  /** Moves all tasks of a conversation to another one, or to none. */
  moveAll(userId: string, fromConversation: string, toConversation: string | null): Promise<void>;
}

export interface MemoryFilter {
  categories?: MemoryCategory[];
  reviewed?: boolean;
  limit: number;
  offset: number;
}

/** All fields that may change after the row was created. */
export type MemoryPatch = Partial<Omit<Memory, 'id' | 'userId' | 'createdAt' | 'manuallyAdded'>>;

export interface MemoryStore {
  /** Inserts all or nothing. Rejects with `conflict` if an id is taken. */
  insert(memories: Memory[]): Promise<void>;
  get(userId: string, id: string): Promise<Memory | null>;
  /** Finds memories by id, locked ones too, in no particular order. At most 1000 ids. */
  some(userId: string, ids: string[]): Promise<Memory[]>;
  /** `scoring` descending, ties by id; without locked ones. */
  list(userId: string, filter: MemoryFilter): Promise<Memory[]>;
  /** By id from the one after `afterId` (null: the first), locked ones too. */
  page(userId: string, afterId: string | null, limit: number): Promise<Memory[]>;
  /** Lists memories of this topic, locked ones too, oldest first. */
  ofTopic(userId: string, topic: string): Promise<Memory[]>;
  /** Changes these fields alone. Resolves to whether it exists. */
  update(userId: string, id: string, patch: MemoryPatch): Promise<boolean>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
  /**
   * Returns ids of memories that share words with the text, best first (BM25 or similar), without locked ones.
   * The text may be anything; stop words may be ignored. Case and accents are ignored.
   */
  match(userId: string, text: string, limit: number): Promise<string[]>;
}

export interface ForgottenMemoryStore {
  insert(forgotten: ForgottenMemory): Promise<void>;
  /** Newest first. */
  list(userId: string, limit: number): Promise<ForgottenMemory[]>;
  /** Missing ids are no error. */
  remove(userId: string, ids: string[]): Promise<void>;
}

/** Queue of memories whose vectors are missing or outdated. */
export interface EmbeddingStore {
  /** Stores changes; a later one replaces an earlier one of the same memory. */
  note(changes: MemoryChange[]): Promise<void>;
  /** Unordered. */
  changes(userId: string, limit: number): Promise<MemoryChange[]>;
  /** Deletes changes, except of memories that have changed again. */
  settle(changes: MemoryChange[]): Promise<void>;
  get(userId: string): Promise<Embedding | null>;
  put(embedding: Embedding): Promise<void>;
  /** Lists at most `limit` users with changes, or with memories missing from this space, by id, after `afterId`. */
  behind(space: string, afterId: string | null, limit: number): Promise<string[]>;
}

export interface GoalStore {
  insert(goal: Goal): Promise<void>;
  get(userId: string, id: string): Promise<Goal | null>;
  /** `createdAt` descending, ties by id. `active`: neither paused nor reached. */
  list(userId: string, filter: { active: boolean; limit: number; offset?: number }): Promise<Goal[]>;
  /** Changes these fields alone. Resolves to whether it exists. */
  update(
    userId: string,
    id: string,
    patch: Partial<Omit<Goal, 'id' | 'userId' | 'createdAt'>>,
  ): Promise<boolean>;
  /** Removes it with its progress and suggestions. Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
  /** Stores or replaces the value of a day. Rejects with `not_found` if the goal does not exist. */
  record(progress: GoalProgress): Promise<void>;
  /** Lists progress from `fromDay` on, by day. */
  progress(userId: string, goalId: string, fromDay: number): Promise<GoalProgress[]>;
  /** Deletes progress before this day. */
  forgetProgress(userId: string, goalId: string, beforeDay: number): Promise<void>;
}

/** Suggestions, which are removed with their goal and with their conversation. */
export interface GoalSuggestionStore {
  /** Rejects with `conflict` if this user has one with this id, with `not_found` without its goal or conversation. */
  insert(suggestion: GoalSuggestion): Promise<void>;
  get(userId: string, id: string): Promise<GoalSuggestion | null>;
  /** Unanswered ones, `createdAt` descending, ties by id. */
  open(userId: string, limit: number): Promise<GoalSuggestion[]>;
  /** Lists suggestions of any state, by id. */
  ofConversation(userId: string, conversationId: string, limit: number): Promise<GoalSuggestion[]>;
  /**
   * Changes these fields alone. Resolves to whether it exists.
   * @param from required present state
   */
  update(
    userId: string,
    id: string,
    patch: Partial<
      Pick<GoalSuggestion, 'conversationId' | 'segmentIds' | 'text' | 'value' | 'adds' | 'state'>
    >,
    from?: GoalSuggestionState,
  ): Promise<boolean>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
}

/** Summary templates, and the language of summaries. */
export interface SummaryStore {
  /** Rejects with `conflict` if this user has one with this id. */
  insert(template: SummaryTemplate): Promise<void>;
  get(userId: string, id: string): Promise<SummaryTemplate | null>;
  /** Oldest first, ties by id. */
  list(userId: string): Promise<SummaryTemplate[]>;
  /** Resolves to whether it exists. */
  update(
    userId: string,
    id: string,
    patch: Partial<Omit<SummaryTemplate, 'id' | 'userId' | 'createdAt'>>,
  ): Promise<boolean>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
  /** Null: this user has chosen nothing yet. */
  settings(userId: string): Promise<SummarySettings | null>;
  putSettings(settings: SummarySettings): Promise<void>;
}

/** Calendar links, at most one for each user. */
export interface CalendarLinkStore {
  /** Inserts, or replaces the link of the user. */
  put(link: CalendarLink): Promise<void>;
  get(userId: string): Promise<CalendarLink | null>;
  /** Finds a link with its user. A link that was replaced or removed is no longer found. */
  byHash(hash: string): Promise<{ link: CalendarLink; user: User } | null>;
  /** Resolves to whether it existed. */
  remove(userId: string): Promise<boolean>;
}

export interface DeviceStore {
  /** Inserts, or replaces by id. */
  put(device: Device): Promise<void>;
  get(userId: string, id: string): Promise<Device | null>;
  /** Oldest first, ties by id. */
  list(userId: string): Promise<Device[]>;
  /** Lists at most `limit` devices of all users that appear connected and were not reported since `before`. */
  silent(before: number, limit: number): Promise<Device[]>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
}

/** Texts of conversations in pieces of a few sentences, which are found by their words. */
export interface PassageStore {
  /**
   * Replaces all texts of the conversation; without any, it is not found. They are removed with it. Many texts take seconds:
   * outside a transaction they are written in several steps, between which others write, and a call that failed is repeated
   * as a whole.
   */
  put(userId: string, conversationId: string, texts: readonly string[]): Promise<void>;
  /**
   * Replaces the first text, `from`, by `to`. Resolves to whether it was `from`: otherwise nothing is changed, and the caller
   * has to put all texts again.
   */
  retitle(userId: string, conversationId: string, from: string, to: string): Promise<boolean>;
  /**
   * Returns passages that share words with the text, best first, of conversations that are completed and not locked;
   * without discarded ones unless `wanted` includes them. The text may be anything. At most `limit` (1 to 1000).
   */
  match(
    userId: string,
    text: string,
    limit: number,
    wanted?: { discarded?: boolean | undefined },
  ): Promise<Passage[]>;
}

export interface Passage {
  conversationId: string;
  text: string;
}

/** Chats about what was said: sessions, and the messages in each. */
export interface ChatStore {
  /** Rejects with `conflict` if this user has one with this id. */
  insertSession(session: ChatSession): Promise<void>;
  session(userId: string, id: string): Promise<ChatSession | null>;
  /** `updatedAt` descending, ties by id, also descending. */
  sessions(userId: string, page: { limit: number; offset: number }): Promise<ChatSession[]>;
  /** Resolves to whether it exists. */
  updateSession(
    userId: string,
    id: string,
    patch: Partial<Pick<ChatSession, 'title' | 'updatedAt'>>,
  ): Promise<boolean>;
  /** Removes it with its messages. Resolves to whether it existed. */
  removeSession(userId: string, id: string): Promise<boolean>;
  /** Rejects with `not_found` if the session does not exist. */
  insertMessage(message: ChatMessage): Promise<void>;
  /** Newest first: by id, which grows with time. */
  messages(
    userId: string,
    sessionId: string,
    page: { limit: number; offset: number },
  ): Promise<ChatMessage[]>;
  /** Deletes the messages of a session that are older than this one. */
  forgetMessages(userId: string, sessionId: string, beforeId: string): Promise<void>;
}

export interface JobStore {
  /**
   * Adds a job. If an unfinished job of this kind and key exists, it stays, and gets the earlier `runAt` of the two and
   * the new payload. If it is running, it runs once more afterwards.
   */
  enqueue(job: { kind: string; key: string; runAt: number; payload: Record<string, unknown> }): Promise<void>;
  /**
   * Withdraws the unfinished job of this kind and key. Resolves to whether it was still waiting. A running job continues,
   * and is not run again.
   */
  cancel(kind: string, key: string): Promise<boolean>;
  /**
   * Leases at most `limit` due jobs of these kinds for `leaseMs`, oldest `runAt` first.
   * @param holder of the leases, a UUID
   * @param except users whose jobs are left out, by the `userId` in the payload
   */
  claim(
    kinds: string[],
    now: number,
    leaseMs: number,
    limit: number,
    holder?: string,
    except?: readonly string[],
  ): Promise<Job[]>;
  /**
   * Releases the jobs of a holder whose process has ended: they are due now. A job that was started more than twice stays
   * leased until its lease expires, because it may have ended the process. Resolves to the number of released jobs.
   */
  release(holder: string, now: number): Promise<number>;
  /** Extends the lease. Like the next three, it resolves to false if the lease has been lost. */
  extend(job: Job, until: number): Promise<boolean>;
  done(job: Job): Promise<boolean>;
  /** Releases a job until `runAt`. Without an error the run counts as a success: `attempts` starts at 0 again. */
  retryAt(job: Job, runAt: number, error: string | null): Promise<boolean>;
  /** Gives a job up: it is kept for diagnosis, and never leased again. */
  dead(job: Job, error: string): Promise<boolean>;
  /** Returns when the next job is due, without those of some users; null: there is none. */
  nextRunAt(kinds: string[], except?: readonly string[]): Promise<number | null>;
  /** Counts jobs by kind and state; counts of 0 are left out. */
  counts(now: number): Promise<JobCount[]>;
}

export interface AppStore {
  insert(app: App): Promise<void>;
  /** Finds an app of any user, as everyone on this server may install it. */
  get(id: string): Promise<App | null>;
  /** Lists the apps of this owner, or all: newest first, ties by id. */
  list(userId?: string): Promise<App[]>;
  /** Resolves to whether this user owns such an app. */
  update(
    userId: string,
    id: string,
    patch: Partial<Omit<App, 'id' | 'userId' | 'createdAt'>>,
  ): Promise<boolean>;
  /** Removes it with its keys, webhooks and installations. Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
  insertKey(key: AppKey): Promise<void>;
  keyByHash(hash: string): Promise<AppKey | null>;
  /** Newest first. */
  keys(userId: string, appId: string): Promise<AppKey[]>;
  /** Resolves to whether it existed. */
  removeKey(userId: string, appId: string, id: string): Promise<boolean>;
}

export interface InstallationStore {
  /** Inserts or replaces. Rejects with `not_found` if the app does not exist. */
  put(installation: Installation): Promise<void>;
  get(userId: string, appId: string): Promise<Installation | null>;
  /** Newest first. */
  list(userId: string): Promise<Installation[]>;
  /** Resolves to whether it was installed. */
  remove(userId: string, appId: string): Promise<boolean>;
}

export interface HookStore {
  /** Inserts, or replaces by id. Rejects with `conflict` where the user has another of this type and label, or the app one of this type. */
  put(hook: Hook): Promise<void>;
  get(userId: string, id: string): Promise<Hook | null>;
  /** Finds a webhook of any user, for deliveries. */
  target(id: string): Promise<Hook | null>;
  /** Lists the user's own webhooks and those of their apps, by `createdAt`, ties by id. */
  list(userId: string): Promise<Hook[]>;
  /** Lists webhooks that receive events of this user: enabled ones, their own or of apps that they installed. */
  targets(userId: string, types: readonly string[]): Promise<Hook[]>;
  update(
    userId: string,
    id: string,
    patch: Partial<Omit<Hook, 'id' | 'userId' | 'appId' | 'createdAt'>>,
  ): Promise<boolean>;
  /** Resolves to whether it existed. Its deliveries stay. */
  remove(userId: string, id: string): Promise<boolean>;
}

export interface DeliveryFilter {
  targetId?: string | undefined;
  state?: Delivery['state'] | undefined;
  /** Only deliveries that follow this one in the list. */
  beforeId?: string | undefined;
  limit: number;
}

/** Outcome of one attempt, and the resulting state of its delivery. */
export interface DeliveryOutcome {
  attempt: DeliveryAttempt;
  state: Delivery['state'];
  nextAt: number | null;
}

export interface DeliveryStore {
  insert(deliveries: readonly Delivery[]): Promise<void>;
  get(userId: string, id: string): Promise<Delivery | null>;
  /** Newest first (by id, which grows with time). An index provides every filter. */
  list(userId: string, filter: DeliveryFilter): Promise<LoggedDelivery[]>;
  /** Lists deliveries of an app's webhooks in the same way, whichever user they are about. */
  listOfApp(appId: string, filter: DeliveryFilter): Promise<LoggedDelivery[]>;
  /** Lists attempts by number. */
  attempts(userId: string, deliveryId: string): Promise<DeliveryAttempt[]>;
  /** Lists pending deliveries of a target that are due, by `nextAt`, ties by id. */
  due(targetId: string, now: number, limit: number): Promise<Delivery[]>;
  /** Returns when the next pending delivery of a target is due; null: there is none. */
  nextAt(targetId: string): Promise<number | null>;
  /** Stores attempts and the states of their deliveries; if a delivery is no longer pending, only the attempt. */
  record(outcomes: readonly DeliveryOutcome[]): Promise<void>;
  /** Marks all pending deliveries of a target as failed. */
  giveUp(targetId: string, now: number): Promise<void>;
  /** Erases deliveries about a deleted subject: their bodies are removed, and pending ones fail. */
  forget(userId: string, subject: string, now: number): Promise<void>;
  /** Deletes at most `limit` finished deliveries that were created before, with their attempts. Resolves to their number. */
  prune(before: number, limit: number): Promise<number>;
  /** The same for one user. */
  pruneOf(userId: string, before: number, limit: number): Promise<number>;
  /** Counts finished deliveries of a user that were created before. */
  countBefore(userId: string, before: number): Promise<number>;
}

export interface NotificationFilter {
  unread?: boolean | undefined;
  appId?: string | undefined;
  beforeId?: string | undefined;
  limit: number;
}

export interface NotificationStore {
  insert(notification: Notification): Promise<void>;
  get(userId: string, id: string): Promise<Notification | null>;
  /** Newest first (by id, which grows with time). */
  list(userId: string, filter: NotificationFilter): Promise<Notification[]>;
  countUnread(userId: string): Promise<number>;
  /** Marks unread notifications as read, by id or all. Resolves to their number. */
  markRead(userId: string, ids: readonly string[] | 'all', at: number): Promise<number>;
  /** Lists notifications that are held back until then or earlier, oldest first. */
  held(userId: string, until: number, limit: number): Promise<Notification[]>;
  update(
    userId: string,
    id: string,
    patch: Partial<Pick<Notification, 'silence' | 'heldUntil'>>,
  ): Promise<boolean>;
  settings(userId: string): Promise<NotificationSettings | null>;
  putSettings(settings: NotificationSettings): Promise<void>;
  /** Deletes at most `limit` notifications that were created before. Resolves to their number. */
  prune(before: number, limit: number): Promise<number>;
}

export interface ChannelAddressStore {
  insert(address: ChannelAddress): Promise<void>;
  get(userId: string, id: string): Promise<ChannelAddress | null>;
  /** Finds an address of any user, for deliveries. */
  target(id: string): Promise<ChannelAddress | null>;
  /** Lists enabled addresses of this channel, of all users, oldest first. */
  targets(channel: string, limit: number): Promise<ChannelAddress[]>;
  /** By `createdAt`, ties by id. */
  list(userId: string): Promise<ChannelAddress[]>;
  update(
    userId: string,
    id: string,
    patch: Partial<Pick<ChannelAddress, 'label' | 'address' | 'enabled' | 'offReason' | 'failingSince'>>,
  ): Promise<boolean>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
}

export interface PluginStateStore {
  get(plugin: string, key: string): Promise<{ value: unknown; version: number } | null>;
  compareAndSet(plugin: string, key: string, version: number, value: unknown): Promise<boolean>;
  list(plugin: string, prefix: string): Promise<string[]>;
  delete(plugin: string, key: string): Promise<void>;
}
