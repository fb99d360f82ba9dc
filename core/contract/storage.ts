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
 * Everything durable. Its contract holds within a minor version. Every query on a user's data takes the user's id;
 * another user's row is a row that is not there.
 */
export interface Storage extends Stores {
  /**
   * Runs `work` in one transaction. Inside, only `tx` is used and nothing but storage is awaited; a store outside
   * `tx` used from within throws at once. Rolls back when `work` throws, and also when a store did and `work` caught
   * that: to go on after a `conflict`, look first, or try in a transaction of its own.
   * @param name for the log: a transaction over 50 ms is logged with it
   */
  transaction<T>(name: string, work: (tx: Stores) => Promise<T>): Promise<T>;
  /**
   * Calls `listener` whenever jobs that were enqueued through this storage have been committed, on their own or in a
   * transaction, with the earliest `runAt` of each kind; never after a rollback. That wakes the runner of jobs. The
   * listener must not throw. Returns what removes it.
   */
  onEnqueued(listener: (jobs: ReadonlyMap<string, number>) => void): () => void;
  /** Brings the schema to this version; backs the data up first when it has any. Never goes backwards. */
  migrate(): Promise<{ from: number; to: number; backup: string | null }>;
  /**
   * Called each night, and when the server starts: what was deleted leaves the disk, as far as that is the storage's
   * to do. Others read and write meanwhile.
   */
  upkeep(): Promise<void>;
  /**
   * Writes all data, as it is at one moment, into a new SQLite file for a backup, checks that file and counts its rows.
   * Others read and write meanwhile. Rejects where the copy is not sound.
   * @param target path of a file that is not there yet
   * @returns the number of rows by table
   */
  snapshot(target: string): Promise<Record<string, number>>;
  /** Which data this is, and in what state; changes nothing. */
  describe(): Promise<StorageState>;
  /**
   * Hands every table over as it is, parents before what belongs to them, for a move to another storage: in one
   * transaction, while nobody else writes. Rolls back when `work` throws. Needs a schema of this version.
   */
  tables<T>(work: (tables: Table[]) => Promise<T>): Promise<T>;
  /**
   * Every table that holds rows of users, parents before what belongs to them, for the export or import of one account.
   * Others read and write meanwhile: a row that is changed while it is read comes as it was, or as it is.
   */
  owned(): Promise<OwnedTable[]>;
}

export interface OwnedTable extends Pick<Table, 'name' | 'storable' | 'unfit'> {
  /** In batches that fit into memory. */
  rows(userId: string): AsyncIterable<Row[]>;
  /** Inserts rows in a transaction of their own. */
  write(rows: Row[]): Promise<void>;
  /** Removes all rows of a user, and what belongs to them, in transactions of at most 250 rows. */
  clear(userId: string): Promise<void>;
}

export interface StorageState {
  /** For people: `database /var/lib/earshot/earshot.db`. No secrets. */
  title: string;
  /** The same for two storages exactly when they share their data. */
  id: string;
  /** Migrations that have not run yet. */
  due: number;
  isEmpty: boolean;
}

/** A table with all rows of all users. Its name and its columns are those of the `sql` plugin, in every storage. */
export interface Table {
  name: string;
  /** The columns that tell its rows apart. */
  key: readonly string[];
  count(): Promise<number>;
  /** All rows, ordered by key (texts by their UTF-8 bytes), in batches that fit into memory. */
  read(): AsyncIterable<Row[]>;
  write(rows: Row[]): Promise<void>;
  /** The row as it will be read back: what this storage cannot hold is replaced. The same object when all stays. */
  storable(row: Row): Row;
  /** The first column that a row lacks, has too much, or has with a value of the wrong type; null: it can be written. */
  unfit(row: Record<string, unknown>): string | null;
}

/** Column → value, the same whatever the database. JSON is text. */
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
  /** With everything that is the user's, apps with their installations included. Resolves to whether there was one. */
  remove(id: string): Promise<boolean>;
}

/** Counts that end: how often something was tried. */
export interface AttemptStore {
  /**
   * Adds to the count of this key, in one step also where several processes do it; one that has ended begins anew, and
   * ends at `until`. Resolves to what it is now, and when it ends.
   * @param now epoch ms
   */
  add(key: string, by: number, now: number, until: number): Promise<AttemptCount>;
  /** Null: there is none, or it has ended. */
  get(key: string, now: number): Promise<AttemptCount | null>;
  remove(key: string): Promise<void>;
  /** Deletes all that have ended. */
  prune(now: number): Promise<void>;
}

export interface AttemptCount {
  count: number;
  /** Epoch ms; from then on there is none. */
  until: number;
}

export interface KeyStore {
  insert(key: ApiKey): Promise<void>;
  get(userId: string, id: string): Promise<ApiKey | null>;
  /**
   * A key, and whose it is: each request asks for both. One that was replaced or removed, by whichever process, is not
   * found any more.
   */
  byHash(hash: string): Promise<{ key: ApiKey; user: User } | null>;
  /** Newest first, ties by id. */
  list(userId: string): Promise<ApiKey[]>;
  /** Another secret for the same key. Resolves to whether there was one. */
  replace(userId: string, id: string, secret: Pick<ApiKey, 'hash' | 'hint'>): Promise<boolean>;
  /** Notes when keys were last used; an earlier time than the stored one is ignored. */
  used(uses: { userId: string; id: string; at: number }[]): Promise<void>;
  /** Resolves to whether there was one. */
  remove(userId: string, id: string): Promise<boolean>;
}

/** Sign-ins of browsers and programs. */
export interface SessionStore {
  insert(session: AccountSession): Promise<void>;
  /** Each request with a session's token asks for it. */
  get(userId: string, id: string): Promise<AccountSession | null>;
  /** The last used first, ties by id. */
  list(userId: string): Promise<AccountSession[]>;
  /** Resolves to whether there was one. */
  update(
    userId: string,
    id: string,
    patch: Partial<Pick<AccountSession, 'lastUsedAt' | 'expiresAt'>>,
  ): Promise<boolean>;
  /** Resolves to whether there was one. */
  remove(userId: string, id: string): Promise<boolean>;
}

export interface GrantStore {
  /** Leaves alone what is there. */
  give(grants: Grant[]): Promise<void>;
  has(userId: string, grantee: string, name: GrantName): Promise<boolean>;
  /** All that it has. */
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
  /** A person who says something in it. */
  personId?: string;
  /** Inclusive bounds of `createdAt`. */
  createdFrom?: number;
  createdTo?: number;
  /** Inclusive bounds of `startedAt`: what has none is left out. */
  startedFrom?: number;
  startedTo?: number;
  limit: number;
  offset: number;
}

/** Conversations that are over and not locked, or what belongs to them. */
export interface ExpiryFilter {
  /** Conversations that ended, or photos that were taken, before this instant. */
  before: number;
  /** In this folder; null: in none of `otherThan`. */
  folderId: string | null;
  otherThan: string[];
  keepStarred: boolean;
}

/** Every field that may change after the row was made. */
export type ConversationPatch = Partial<Omit<Conversation, 'id' | 'userId' | 'createdAt'>>;

export interface ConversationStore {
  insert(conversation: Conversation): Promise<void>;
  get(userId: string, id: string): Promise<Conversation | null>;
  /** `createdAt` descending, ties by id. */
  list(userId: string, filter: ConversationFilter): Promise<Conversation[]>;
  /** The newest `in_progress` one of this source and device (null matches null). */
  findOpen(userId: string, source: string, deviceId: string | null): Promise<Conversation | null>;
  /**
   * Changes the row if it is there, and, with `ifStatus`, still has that status. Resolves to whether it did:
   * that is how one of two racers wins.
   */
  update(
    userId: string,
    id: string,
    patch: ConversationPatch,
    ifStatus?: ConversationStatus,
  ): Promise<boolean>;
  /** With its segments. Its streams stay, and name a conversation that is not there. */
  remove(userId: string, id: string): Promise<boolean>;
  /** Oldest first. */
  expired(userId: string, filter: ExpiryFilter, limit: number): Promise<Conversation[]>;
  countExpired(userId: string, filter: ExpiryFilter): Promise<number>;
  /** All that are in one folder are in another one from now on. */
  refile(userId: string, fromFolder: string, toFolder: string | null): Promise<void>;
}

export interface SegmentStore {
  /** Inserts, or replaces by id, all or nothing. Rejects with `not_found` when a conversation is not there (any more). */
  upsert(segments: Segment[]): Promise<void>;
  /**
   * All of a conversation, or those from `since` on, are those of another one (or stay), so many seconds later; less than
   * 0: earlier, where none begins or ends before 0. Times are whole milliseconds.
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
  /** How many there are, and the length of their texts in bytes (UTF-8). */
  size(userId: string, conversationId: string): Promise<TranscriptSize>;
  /** The one with the largest `end`, or null: what the next piece may join. */
  last(userId: string, conversationId: string): Promise<Segment | null>;
  count(userId: string, conversationId: string): Promise<number>;
  /** Nothing was said by this person any more; it was by another one, where that is given. */
  forgetPerson(userId: string, personId: string, other?: string): Promise<void>;
  /** Lists segments of one speaker of a conversation by `start`, ties by id. */
  ofSpeaker(userId: string, conversationId: string, speakerId: number): Promise<Segment[]>;
  /** Where its text still is this one. Resolves to whether it is. */
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
  /** Inserts, or replaces by conversation and speaker. Rejects with `not_found` when the conversation is not there. */
  put(voice: Voice): Promise<void>;
  /** Nobody is known for the voices of this person any more. */
  forgetPerson(userId: string, personId: string): Promise<void>;
  /** Voices and samples of a person are another one's. */
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
  /** Leaves alone what is there. Rejects with `not_found` when its assignment or conversation is not. */
  putChange(change: VoiceChange): Promise<void>;
  /** Lists the changes of one assignment, by conversation and speaker. */
  changes(userId: string, assignmentId: string): Promise<VoiceChange[]>;
  /** Deletes assignments that were made before this instant (epoch ms), with their changes. */
  pruneAssignments(before: number): Promise<void>;
  /**
   * Lists samples of all people of this user, oldest first, of one model or of any. Deleting a person deletes their
   * samples.
   */
  samples(userId: string, space?: string): Promise<VoiceSample[]>;
  /** Inserts, or replaces by id. Rejects with `not_found` when its person is not there. */
  putSample(sample: VoiceSample): Promise<void>;
  /** Resolves to whether there was one. */
  removeSample(userId: string, id: string): Promise<boolean>;
  /** All that is kept of voices, samples too. */
  forget(userId: string): Promise<void>;
}

export interface SpeechStore {
  /** Null: the user has chosen nothing. */
  settings(userId: string): Promise<SpeechSettings | null>;
  putSettings(settings: SpeechSettings): Promise<void>;
}

export interface PrivacyStore {
  /** Null: the user has chosen nothing. */
  listening(userId: string): Promise<ListeningSettings | null>;
  putListening(settings: ListeningSettings): Promise<void>;
  /** Null: the user has chosen nothing. */
  retention(userId: string): Promise<RetentionSettings | null>;
  putRetention(settings: RetentionSettings): Promise<void>;
  /** Entries of users that are gone are left out. */
  addAccesses(entries: readonly AccessEntry[]): Promise<void>;
  /** Newest first (by id, which grows with time). */
  accesses(userId: string, page: { beforeId?: string | undefined; limit: number }): Promise<AccessEntry[]>;
  /** At most `limit` whose last access was before. Resolves to how many. */
  pruneAccesses(before: number, limit: number): Promise<number>;
  /** At most `limit` of the oldest, of users who have more than `keep`. Resolves to how many. */
  trimAccesses(keep: number, limit: number): Promise<number>;
  /** Ids of users with retention settings, in order, beginning behind `afterId` (null: at the first). */
  withRetention(afterId: string | null, limit: number): Promise<string[]>;
}

export interface TranscriptSize {
  segments: number;
  textBytes: number;
}

export interface RecordingStore {
  /** Rejects with `conflict` when it is there. */
  insert(recording: Recording): Promise<void>;
  get(userId: string, id: string): Promise<Recording | null>;
  /** Newest first, ties by id. */
  list(userId: string, page: { limit: number; offset: number }): Promise<Recording[]>;
  /** How many are not over yet, and their bytes. */
  waiting(userId: string): Promise<{ recordings: number; bytes: number }>;
  /** Resolves to whether it is there. */
  update(
    userId: string,
    id: string,
    patch: Partial<Omit<Recording, 'id' | 'userId' | 'name' | 'bytes' | 'createdAt'>>,
  ): Promise<boolean>;
  /** Resolves to whether there was one. */
  remove(userId: string, id: string): Promise<boolean>;
  /** Deletes those that were over before this instant (epoch ms). */
  prune(before: number): Promise<void>;
}

export interface PhotoStore {
  /** Rejects with `not_found` when the conversation is not there (any more). */
  insert(photo: Photo): Promise<void>;
  get(userId: string, id: string): Promise<Photo | null>;
  /** Lists photos of one conversation by `takenAt`, ties by id. Deleting the conversation deletes them. */
  list(userId: string, conversationId: string, limit: number): Promise<Photo[]>;
  /** Finds photos by id, in no particular order. At most 1000 ids. */
  some(userId: string, ids: string[]): Promise<Photo[]>;
  count(userId: string, conversationId: string): Promise<number>;
  /** Sums the bytes of all files of a user. */
  bytes(userId: string): Promise<number>;
  /** Resolves to whether it is there. */
  update(userId: string, id: string, patch: Pick<Photo, 'description' | 'discarded'>): Promise<boolean>;
  /** Oldest first. */
  expired(userId: string, filter: ExpiryFilter, limit: number): Promise<Photo[]>;
  countExpired(userId: string, filter: ExpiryFilter): Promise<number>;
  /** All of one conversation, or those from `since` on (`takenAt`), are another one's from now on. */
  moveAll(userId: string, fromConversation: string, toConversation: string, since?: number): Promise<void>;
  /** Resolves to whether there was one. */
  remove(userId: string, id: string): Promise<boolean>;
}

/** They go with their conversation. */
export interface MarkStore {
  /** Rejects with `conflict` when this user has one of this id, with `not_found` when the conversation is not there. */
  insert(mark: Mark): Promise<void>;
  get(userId: string, id: string): Promise<Mark | null>;
  /** Lists marks of one conversation by `at`, ties by id. */
  list(userId: string, conversationId: string, limit: number): Promise<Mark[]>;
  count(userId: string, conversationId: string): Promise<number>;
  /** All of one conversation, or those from `since` on (`at`), are another one's from now on. */
  moveAll(userId: string, fromConversation: string, toConversation: string, since?: number): Promise<void>;
  /** Resolves to whether there was one. */
  remove(userId: string, id: string): Promise<boolean>;
}

/** They go with their conversation. */
export interface ClipStore {
  /** Rejects with `not_found` when the conversation is not there (any more). */
  insert(clip: Clip): Promise<void>;
  get(userId: string, id: string): Promise<Clip | null>;
  /** Lists clips of one conversation from an instant on, by `startedAt`, ties by id. */
  list(userId: string, conversationId: string, page: { since: number; limit: number }): Promise<Clip[]>;
  /** Finds clips by id, in no particular order. At most 1000 ids. */
  some(userId: string, ids: string[]): Promise<Clip[]>;
  /** All of one conversation, or those from `since` on (`startedAt`), are another one's from now on. */
  moveAll(userId: string, fromConversation: string, toConversation: string, since?: number): Promise<void>;
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
  /** All that this user has. */
  ids(userId: string): Promise<string[]>;
  /** Moves it on; a `through` below the stored one is ignored (resolves false). */
  advance(userId: string, id: string, progress: StreamProgress): Promise<boolean>;
  /** Updates fields that a later connection, or its first sample, sets anew. */
  update(
    userId: string,
    id: string,
    patch: Partial<Pick<Stream, 'conversationId' | 'anchorAt' | 'codec' | 'setup'>>,
  ): Promise<void>;
  /** All of one conversation go on in another one. */
  moveAll(userId: string, fromConversation: string, toConversation: string): Promise<void>;
}

/** Ids that are derived from what a client calls its own. One that was taken stays so: what it stood for may be gone. */
export interface ClaimStore {
  /**
   * Resolves to whether it was free. Of racers, one wins; the others go on when what it stored with it can be read.
   * @param at epoch ms
   */
  take(userId: string, id: string, at: number): Promise<boolean>;
}

export interface FolderStore {
  /** Leaves alone what is there: a folder of that id, or a system folder of that name where it is to be one. */
  insertMissing(folders: Folder[]): Promise<void>;
  get(userId: string, id: string): Promise<Folder | null>;
  /** By `order`, ties by id. */
  list(userId: string): Promise<Folder[]>;
  /** How many conversations that are not discarded are in each; one with none may be absent. */
  counts(userId: string): Promise<Map<string, number>>;
  /** Resolves to whether it is there. */
  update(
    userId: string,
    id: string,
    patch: Partial<Pick<Folder, 'name' | 'description' | 'color' | 'icon' | 'updatedAt'>>,
  ): Promise<boolean>;
  /** Resolves to whether it was there. Its conversations stay, and name a folder that is not there. */
  remove(userId: string, id: string): Promise<boolean>;
}

export interface PersonStore {
  insert(person: Person): Promise<void>;
  get(userId: string, id: string): Promise<Person | null>;
  /** `createdAt` ascending, ties by id. */
  list(userId: string): Promise<Person[]>;
  /** Resolves to whether there is one. */
  rename(userId: string, id: string, name: string): Promise<boolean>;
  /** Resolves to whether there was one. */
  remove(userId: string, id: string): Promise<boolean>;
  /** Removes those of these ids whom no segment and no voice names. At most 1000 ids. */
  removeUnnamed(userId: string, ids: string[]): Promise<void>;
}

/** Runs that took in what users had elsewhere, and what each of them stored. */
export interface ForeignImportStore {
  insert(run: ForeignImport): Promise<void>;
  get(userId: string, id: string): Promise<ForeignImport | null>;
  /** The newest first. */
  list(userId: string, limit: number): Promise<ForeignImport[]>;
  /** Resolves to whether it is there. */
  update(
    userId: string,
    id: string,
    patch: Partial<Pick<ForeignImport, 'state' | 'counts' | 'endedAt'>>,
  ): Promise<boolean>;
  /** Assigns items that an earlier run stored to this one. Rejects with `not_found` when the run is not there. */
  note(items: ForeignItem[]): Promise<void>;
  /** Whether an import has stored this, and was not undone. */
  has(userId: string, id: string): Promise<boolean>;
  /** By id, in no other order. */
  items(userId: string, importId: string, limit: number): Promise<ForeignItem[]>;
  /** Ids that are not there are no error. At most 1000. */
  forget(userId: string, ids: string[]): Promise<void>;
}

export interface ActionItemFilter {
  completed?: boolean | undefined;
  locked?: boolean | undefined;
  conversationId?: string | undefined;
  /** Inclusive bounds of `createdAt`. */
  createdFrom?: number | undefined;
  createdTo?: number | undefined;
  /** Likewise of `dueAt`: what has none is left out. */
  dueFrom?: number | undefined;
  dueTo?: number | undefined;
  limit: number;
  offset: number;
}

/** Every field that may change after the row was made. */
export type ActionItemPatch = Partial<Omit<ActionItem, 'id' | 'userId' | 'createdAt'>>;

export interface ActionItemStore {
  /** All or nothing. */
  insert(items: ActionItem[]): Promise<void>;
  get(userId: string, id: string): Promise<ActionItem | null>;
  /**
   * Open before done; inside each first those with a due date, by it; then the newest first, ties by id. Asked for
   * with `locked`, the rows come from an index in this order: nothing is sorted.
   */
  list(userId: string, filter: ActionItemFilter): Promise<ActionItem[]>;
  /** Changes these fields and no other. Resolves to whether it is there. */
  update(userId: string, id: string, patch: ActionItemPatch): Promise<boolean>;
  /** Resolves to whether there was one. */
  remove(userId: string, id: string): Promise<boolean>;
  /** All of one conversation belong to another one from now on, or to none. */
  moveAll(userId: string, fromConversation: string, toConversation: string | null): Promise<void>;
}

export interface MemoryFilter {
  categories?: MemoryCategory[];
  reviewed?: boolean;
  limit: number;
  offset: number;
}

/** Every field that may change after the row was made. */
export type MemoryPatch = Partial<Omit<Memory, 'id' | 'userId' | 'createdAt' | 'manuallyAdded'>>;

export interface MemoryStore {
  /** All or nothing. Rejects with `conflict` when an id is taken. */
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
  /** Changes these fields alone. Resolves to whether it is there. */
  update(userId: string, id: string, patch: MemoryPatch): Promise<boolean>;
  /** Resolves to whether it was there. */
  remove(userId: string, id: string): Promise<boolean>;
  /**
   * Ids of memories that share words with the text, best first (BM25, or what comes close to it), without locked ones.
   * The text may be anything; words that say nothing may be left out. Upper and lower case are one, and so are letters with and without accents.
   */
  match(userId: string, text: string, limit: number): Promise<string[]>;
}

export interface ForgottenMemoryStore {
  insert(forgotten: ForgottenMemory): Promise<void>;
  /** The newest first. */
  list(userId: string, limit: number): Promise<ForgottenMemory[]>;
  /** Ids that are not there are no error. */
  remove(userId: string, ids: string[]): Promise<void>;
}

/** Queue of memories whose vectors are missing or outdated. */
export interface EmbeddingStore {
  /** Notes changes; a later one of the same memory takes the place of an earlier one. */
  note(changes: MemoryChange[]): Promise<void>;
  /** In no order. */
  changes(userId: string, limit: number): Promise<MemoryChange[]>;
  /** Forgets changes, but for those of memories that have changed again. */
  settle(changes: MemoryChange[]): Promise<void>;
  get(userId: string): Promise<Embedding | null>;
  put(embedding: Embedding): Promise<void>;
  /** At most `limit` users that have changes, or memories and not all of them in this space; by id, after `afterId`. */
  behind(space: string, afterId: string | null, limit: number): Promise<string[]>;
}

export interface GoalStore {
  insert(goal: Goal): Promise<void>;
  get(userId: string, id: string): Promise<Goal | null>;
  /** `createdAt` descending, ties by id. `active`: neither paused nor reached. */
  list(userId: string, filter: { active: boolean; limit: number; offset?: number }): Promise<Goal[]>;
  /** Changes these fields and no other. Resolves to whether it is there. */
  update(
    userId: string,
    id: string,
    patch: Partial<Omit<Goal, 'id' | 'userId' | 'createdAt'>>,
  ): Promise<boolean>;
  /** With its progress and its suggestions. Resolves to whether there was one. */
  remove(userId: string, id: string): Promise<boolean>;
  /** Stores the value of a day, over what that day has. Rejects with `not_found` when the goal is not there. */
  record(progress: GoalProgress): Promise<void>;
  /** Lists progress from `fromDay` on, by day. */
  progress(userId: string, goalId: string, fromDay: number): Promise<GoalProgress[]>;
  /** Forgets what is from before this day. */
  forgetProgress(userId: string, goalId: string, beforeDay: number): Promise<void>;
}

/** They go with their goal, and with their conversation. */
export interface GoalSuggestionStore {
  /** Rejects with `conflict` when this user has one of this id, with `not_found` without its goal or conversation. */
  insert(suggestion: GoalSuggestion): Promise<void>;
  get(userId: string, id: string): Promise<GoalSuggestion | null>;
  /** Unanswered ones, `createdAt` descending, ties by id. */
  open(userId: string, limit: number): Promise<GoalSuggestion[]>;
  /** Whatever their state, by id. */
  ofConversation(userId: string, conversationId: string, limit: number): Promise<GoalSuggestion[]>;
  /**
   * Changes these fields and no other. Resolves to whether it is there.
   * @param from only while it is in this state
   */
  update(
    userId: string,
    id: string,
    patch: Partial<
      Pick<GoalSuggestion, 'conversationId' | 'segmentIds' | 'text' | 'value' | 'adds' | 'state'>
    >,
    from?: GoalSuggestionState,
  ): Promise<boolean>;
  /** Resolves to whether there was one. */
  remove(userId: string, id: string): Promise<boolean>;
}

/** The forms of summaries, and the language of them. */
export interface SummaryStore {
  /** Rejects with `conflict` when this user has one of this id. */
  insert(template: SummaryTemplate): Promise<void>;
  get(userId: string, id: string): Promise<SummaryTemplate | null>;
  /** Oldest first, ties by id. */
  list(userId: string): Promise<SummaryTemplate[]>;
  /** Resolves to whether it is there. */
  update(
    userId: string,
    id: string,
    patch: Partial<Omit<SummaryTemplate, 'id' | 'userId' | 'createdAt'>>,
  ): Promise<boolean>;
  /** Resolves to whether there was one. */
  remove(userId: string, id: string): Promise<boolean>;
  /** Null: this user has chosen nothing yet. */
  settings(userId: string): Promise<SummarySettings | null>;
  putSettings(settings: SummarySettings): Promise<void>;
}

/** At most one for each user. */
export interface CalendarLinkStore {
  /** Inserts, or takes the place of the one that the user has. */
  put(link: CalendarLink): Promise<void>;
  get(userId: string): Promise<CalendarLink | null>;
  /** A link, and whose it is. One that was replaced or removed is not found any more. */
  byHash(hash: string): Promise<{ link: CalendarLink; user: User } | null>;
  /** Resolves to whether there was one. */
  remove(userId: string): Promise<boolean>;
}

export interface DeviceStore {
  /** Inserts, or takes the place of the one of this id. */
  put(device: Device): Promise<void>;
  get(userId: string, id: string): Promise<Device | null>;
  /** Oldest first, ties by id. */
  list(userId: string): Promise<Device[]>;
  /** Lists at most `limit` devices of all users that appear connected and were not reported since `before`. */
  silent(before: number, limit: number): Promise<Device[]>;
  /** Resolves to whether there was one. */
  remove(userId: string, id: string): Promise<boolean>;
}

/** The texts of conversations, in pieces of a few sentences, found by their words. */
export interface PassageStore {
  /**
   * Instead of all that the conversation had; none: it is not found. They go with it. Many texts take seconds: outside a
   * transaction they are written in pieces, between which others write; a call that failed is repeated as a whole.
   */
  put(userId: string, conversationId: string, texts: readonly string[]): Promise<void>;
  /**
   * The first of the texts that were put is `to`, and no longer `from`. Resolves to whether that was possible: otherwise
   * nothing is changed, and all of them are to be put again.
   */
  retitle(userId: string, conversationId: string, from: string, to: string): Promise<boolean>;
  /**
   * Passages that share words with the text, best first, of conversations that are completed, not locked and, unless
   * they are wanted, not discarded. The text may be anything. At most `limit` (1 to 1000).
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
  /** Rejects with `conflict` when this user has one of this id. */
  insertSession(session: ChatSession): Promise<void>;
  session(userId: string, id: string): Promise<ChatSession | null>;
  /** `updatedAt` descending, ties by id, descending too. */
  sessions(userId: string, page: { limit: number; offset: number }): Promise<ChatSession[]>;
  /** Resolves to whether it is there. */
  updateSession(
    userId: string,
    id: string,
    patch: Partial<Pick<ChatSession, 'title' | 'updatedAt'>>,
  ): Promise<boolean>;
  /** With its messages. Resolves to whether there was one. */
  removeSession(userId: string, id: string): Promise<boolean>;
  /** Rejects with `not_found` when the session is not there (any more). */
  insertMessage(message: ChatMessage): Promise<void>;
  /** Newest first: by id, which grows with time. */
  messages(
    userId: string,
    sessionId: string,
    page: { limit: number; offset: number },
  ): Promise<ChatMessage[]>;
  /** Deletes those of a session that are older than this one. */
  forgetMessages(userId: string, sessionId: string, beforeId: string): Promise<void>;
}

export interface JobStore {
  /**
   * Adds a job. Where an unfinished one of this kind and key exists, that one stays and gets the earlier `runAt`
   * of the two and the new payload. One that is running by then runs once more afterwards: nothing asked for is lost.
   */
  enqueue(job: { kind: string; key: string; runAt: number; payload: Record<string, unknown> }): Promise<void>;
  /**
   * Takes the unfinished job of this kind and key back; resolves to whether one was still waiting. One that is running
   * goes on, and is not run again: whoever runs it looks first at what is true by then.
   */
  cancel(kind: string, key: string): Promise<boolean>;
  /**
   * Takes at most `limit` due jobs of these kinds, oldest `runAt` first, each for `leaseMs`.
   * @param holder of the leases, a UUID
   * @param except jobs of these users, as `userId` in their payload says, are left for now
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
   * The process that leased for this holder has ended: its jobs are due now. One that was begun more than twice stays
   * leased until its time is up, as it may be what ended the process. Resolves to how many are due.
   */
  release(holder: string, now: number): Promise<number>;
  /** All of these resolve to false when the lease is no longer ours. */
  extend(job: Job, until: number): Promise<boolean>;
  done(job: Job): Promise<boolean>;
  /** Sets it free for `runAt`. Without an error it was no failure, and `attempts` counts from 0 again. */
  retryAt(job: Job, runAt: number, error: string | null): Promise<boolean>;
  /** Given up: kept for people to see, never claimed again. */
  dead(job: Job, error: string): Promise<boolean>;
  /** When the next one is due, or null; without those of some users. */
  nextRunAt(kinds: string[], except?: readonly string[]): Promise<number | null>;
  /** How many there are of every kind and standing; none that are 0. */
  counts(now: number): Promise<JobCount[]>;
}

export interface AppStore {
  insert(app: App): Promise<void>;
  /** Whoever's it is: everyone on this server may install it. */
  get(id: string): Promise<App | null>;
  /** Newest first, ties by id; of this owner, or all. */
  list(userId?: string): Promise<App[]>;
  /** Resolves to whether this user has such an app. */
  update(
    userId: string,
    id: string,
    patch: Partial<Omit<App, 'id' | 'userId' | 'createdAt'>>,
  ): Promise<boolean>;
  /** With its keys, hooks and installations. Resolves to whether there was one. */
  remove(userId: string, id: string): Promise<boolean>;
  insertKey(key: AppKey): Promise<void>;
  keyByHash(hash: string): Promise<AppKey | null>;
  /** Newest first. */
  keys(userId: string, appId: string): Promise<AppKey[]>;
  /** Resolves to whether there was one. */
  removeKey(userId: string, appId: string, id: string): Promise<boolean>;
}

export interface InstallationStore {
  /** Inserts or replaces. Rejects with `not_found` when the app is not there. */
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
  /** Whoever's it is, for who delivers to it. */
  target(id: string): Promise<Hook | null>;
  /** The user's own, and those of their apps; by `createdAt`, ties by id. */
  list(userId: string): Promise<Hook[]>;
  /** Lists webhooks that receive events of this user: enabled ones, their own or of apps that they installed. */
  targets(userId: string, types: readonly string[]): Promise<Hook[]>;
  update(
    userId: string,
    id: string,
    patch: Partial<Omit<Hook, 'id' | 'userId' | 'appId' | 'createdAt'>>,
  ): Promise<boolean>;
  /** Resolves to whether there was one. Its deliveries stay. */
  remove(userId: string, id: string): Promise<boolean>;
}

export interface DeliveryFilter {
  targetId?: string | undefined;
  state?: Delivery['state'] | undefined;
  /** Only those before this one, in the order of the list. */
  beforeId?: string | undefined;
  limit: number;
}

/** Outcome of one attempt and, with it, of its delivery. */
export interface DeliveryOutcome {
  attempt: DeliveryAttempt;
  state: Delivery['state'];
  nextAt: number | null;
}

export interface DeliveryStore {
  insert(deliveries: readonly Delivery[]): Promise<void>;
  get(userId: string, id: string): Promise<Delivery | null>;
  /** Newest first (by id, which grows with time). From an index, whatever the filter. */
  list(userId: string, filter: DeliveryFilter): Promise<LoggedDelivery[]>;
  /** Lists deliveries of an app's webhooks in the same way, whichever user they are about. */
  listOfApp(appId: string, filter: DeliveryFilter): Promise<LoggedDelivery[]>;
  /** By number. */
  attempts(userId: string, deliveryId: string): Promise<DeliveryAttempt[]>;
  /** Pending ones of a target that are due, by `nextAt`, ties by id. */
  due(targetId: string, now: number, limit: number): Promise<Delivery[]>;
  /** When the next pending one of a target is due, or null. */
  nextAt(targetId: string): Promise<number | null>;
  /** Writes attempts down, and what became of their deliveries; of one that is not pending any more, the attempt alone. */
  record(outcomes: readonly DeliveryOutcome[]): Promise<void>;
  /** All that a target has pending have failed. */
  giveUp(targetId: string, now: number): Promise<void>;
  /** Erases deliveries about a deleted subject: their bodies are removed, and pending ones fail. */
  forget(userId: string, subject: string, now: number): Promise<void>;
  /** At most `limit` that are over and were made before; with their attempts. Resolves to how many. */
  prune(before: number, limit: number): Promise<number>;
  /** The same of one user. */
  pruneOf(userId: string, before: number, limit: number): Promise<number>;
  /** How many of a user are over and were made before. */
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
  /** Held back until then or earlier; oldest first. */
  held(userId: string, until: number, limit: number): Promise<Notification[]>;
  update(
    userId: string,
    id: string,
    patch: Partial<Pick<Notification, 'silence' | 'heldUntil'>>,
  ): Promise<boolean>;
  settings(userId: string): Promise<NotificationSettings | null>;
  putSettings(settings: NotificationSettings): Promise<void>;
  /** At most `limit` from before. Resolves to how many. */
  prune(before: number, limit: number): Promise<number>;
}

export interface ChannelAddressStore {
  insert(address: ChannelAddress): Promise<void>;
  get(userId: string, id: string): Promise<ChannelAddress | null>;
  /** Whoever's it is, for who delivers to it. */
  target(id: string): Promise<ChannelAddress | null>;
  /** The enabled ones of this channel, whoever's they are, the oldest first. */
  targets(channel: string, limit: number): Promise<ChannelAddress[]>;
  /** By `createdAt`, ties by id. */
  list(userId: string): Promise<ChannelAddress[]>;
  update(
    userId: string,
    id: string,
    patch: Partial<Pick<ChannelAddress, 'label' | 'address' | 'enabled' | 'offReason' | 'failingSince'>>,
  ): Promise<boolean>;
  /** Resolves to whether there was one. */
  remove(userId: string, id: string): Promise<boolean>;
}

export interface PluginStateStore {
  get(plugin: string, key: string): Promise<{ value: unknown; version: number } | null>;
  compareAndSet(plugin: string, key: string, version: number, value: unknown): Promise<boolean>;
  list(plugin: string, prefix: string): Promise<string[]>;
  delete(plugin: string, key: string): Promise<void>;
}
