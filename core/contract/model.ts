/**
 * Types of the domain. Instants are UTC epoch milliseconds (`…At`), lengths of audio are samples at
 * 16 kHz mono unless a name says otherwise, positions in a conversation are seconds. Ids are lower-case UUIDs.
 */

export interface Clock {
  /** UTC epoch milliseconds. */
  now(): number;
  /** Resolves after `ms`, rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface User {
  id: string;
  /** Name that people type on the command line. */
  name: string;
  /** The name in the form in which it is compared, without case: unique. */
  nameKey: string;
  /** Identity at the identity provider: `iss` and `sub` of its tokens. */
  issuer: string;
  subject: string;
  createdAt: number;
  /** Whether programs may read this user's memories; the operator switches it. */
  memoryAccess: boolean;
  /** ID tokens issued up to then are invalid. */
  signedOutAt: number | null;
  role: Role;
  /** When the account was disabled: all its credentials are refused since; null: it is enabled. */
  disabledAt: number | null;
}

/** `operator`: may manage the accounts of others, without access to their data. */
export type Role = 'owner' | 'operator';

export type Scope =
  | `${'conversations' | 'memories' | 'action_items' | 'goals'}:${'read' | 'write'}`
  /** Devices: `/v4/listen` and voice messages. */
  | 'listen';

export interface ApiKey {
  id: string;
  userId: string;
  name: string;
  /** SHA-256 of the raw key, hex. The raw key is shown once and never stored. */
  hash: string;
  /** `omi_dev_` + first 4 + `...` + last 4, for lists. */
  hint: string;
  scopes: Scope[];
  createdAt: number;
  /** Time of the last request with it, up to a minute late; null: never used. */
  lastUsedAt: number | null;
}

/** A browser or program that signed in with a password. Its tokens are valid as long as the row exists. */
export interface AccountSession {
  id: string;
  userId: string;
  kind: 'browser' | 'program';
  /** Header User-Agent of the sign-in, shortened; empty: none. */
  userAgent: string;
  createdAt: number;
  /** Time of the last request with it, up to a minute late. */
  lastUsedAt: number;
  /** When its last token expires. */
  expiresAt: number;
}

/** Permission that a user gave to a key beside its scopes. Rotation keeps it; deleting the key removes it. */
export interface Grant {
  userId: string;
  /** The key's id. */
  grantee: string;
  name: GrantName;
  createdAt: number;
}
export type GrantName = 'memories:read' | 'memories:write';

/** State of a token bucket that is not full. */
export interface RateLimit {
  userId: string;
  /** Owner of the bucket: a key's id, or the user's id with an ID token. */
  subject: string;
  policy: string;
  /** When it is full again. */
  fullAt: number;
}

export type ConversationStatus = 'in_progress' | 'processing' | 'completed' | 'failed';

export interface ActionItemDraft {
  description: string;
  completed: boolean;
  dueAt: number | null;
  /** Segment in which it was said; absent: not known. */
  segmentId?: string;
}
export interface CalendarEvent {
  title: string;
  description: string;
  startAt: number;
  /** Minutes. */
  duration: number;
  created: boolean;
  /** Segment in which it was said; absent: not known. */
  segmentId?: string;
}

/**
 * Result of an `understanding` plugin, as it is stored and shown. Texts are plain, and empty until the conversation has ended.
 */
export interface Structured {
  /** At most 200 characters. */
  title: string;
  /** True: the owner gave the title, and no later run replaces it. Absent: no. */
  titled?: boolean;
  /** A few sentences. */
  overview: string;
  /** One of the categories of the interface, such as `work`; `other` where none fits. */
  category: string;
  /** Shown beside the title: the emoji of the category. */
  emoji: string;
  /** As understood at the end of the conversation; the owner's tasks are stored apart, and may have changed since. */
  actionItems: ActionItemDraft[];
  events: CalendarEvent[];
  /** Ids of the memories that rest on the conversation, as they were stored. Absent: none. */
  memories?: string[];
  /** The plugin that made it. `provisional`: a better plugin, or a newer transcript, is still to be tried. Absent: unknown. */
  by?: { plugin: string; provisional: boolean };
  /** The summary template that its owner chose for it. Absent: by its category. */
  templateId?: string;
  /** Original texts of its tasks that the owner has deleted, changed or completed since. */
  settledTasks?: string[];
  /** The folder that the server chose, and the one in which it filed the conversation: in another one, its owner filed it. */
  folderId?: string | null;
  filedIn?: string | null;
}

/** The form that a user gives to overviews. */
export interface SummaryTemplate {
  id: string;
  userId: string;
  name: string;
  /** For a language model, in the user's words. */
  instructions: string;
  /** Categories of conversations that use this template, unless their owner chose another one. */
  categories: string[];
  createdAt: number;
  updatedAt: number;
}

export interface SummarySettings {
  userId: string;
  /** ISO 639-1; null: that of each conversation. */
  language: string | null;
}

/** Secret link by which a calendar program reads the tasks and appointments of an account, and nothing else. */
export interface CalendarLink {
  userId: string;
  /** SHA-256 of the secret, hex. The secret is shown once and never stored. */
  hash: string;
  /** `cal_` + first 4 + `...` + last 4, for people. */
  hint: string;
  createdAt: number;
}

/** One import of data from another product. */
export interface ForeignImport {
  id: string;
  userId: string;
  /** For people: `Omi`. */
  format: string;
  /** Name of the file, folder or server that it was read from. */
  name: string;
  /**
   * An import that is `undoing`, or `running` after a restart of the server, has to be undone. `checked`: a dry run, which
   * stored nothing.
   */
  state: 'running' | 'done' | 'undoing' | 'undone' | 'checked';
  /** Number of stored items by kind; of a dry run, of those that would be stored. */
  counts: Record<string, number>;
  startedAt: number;
  endedAt: number | null;
}

/** Item that an import stored. */
export interface ForeignItem {
  /** Id of the conversation, memory, task or person. */
  id: string;
  userId: string;
  importId: string;
  kind: 'conversation' | 'memory' | 'task' | 'person' | 'recording';
}

/** Chat of a user with the server about conversations. */
export interface ChatSession {
  id: string;
  userId: string;
  /** Beginning of its first question; empty until there is one. */
  title: string;
  createdAt: number;
  /** When its last message was written. */
  updatedAt: number;
}

export interface ChatMessage {
  /** Grows with time. */
  id: string;
  userId: string;
  sessionId: string;
  sender: 'human' | 'ai';
  text: string;
  /** The language model that wrote it; null: none did. */
  model: string | null;
  /** Sources of an answer, in the order of their numbers. Their text is read from where it is stored. */
  sources: ChatSource[];
  createdAt: number;
}

export interface ChatSource {
  type: string;
  id: string;
  /** Segment of a conversation that is cited. Null: none, or the whole conversation. */
  segmentId: string | null;
}

export interface Geolocation {
  latitude: number;
  longitude: number;
  address: string | null;
  googlePlaceId: string | null;
  locationType: string | null;
}

/** Place that its owner named. What was said within some metres of it was said there. */
export interface Place {
  id: string;
  userId: string;
  name: string;
  /** Degrees, as are those of `Geolocation`. */
  latitude: number;
  longitude: number;
  createdAt: number;
}

export interface Conversation {
  id: string;
  userId: string;
  status: ConversationStatus;
  createdAt: number;
  /** First audio sample; null until there is one. Segment times count from here. */
  startedAt: number | null;
  finishedAt: number | null;
  structured: Structured;
  language: string | null;
  source: string;
  /** The wearable or app it came from: a reconnect by the same source and device continues it. */
  deviceId: string | null;
  folderId: string | null;
  geolocation: Geolocation | null;
  discarded: boolean;
  starred: boolean;
  locked: boolean;
  /** Silence after which it ends. */
  timeoutMs: number;
  /** The last heard speech or stored segment, wall clock. */
  lastActivityAt: number;
}

export interface Segment {
  id: string;
  userId: string;
  conversationId: string;
  text: string;
  /** Seconds since the conversation's `startedAt`. */
  start: number;
  end: number;
  /** The label of a voice: `SPEAKER_00` and up, valid in this conversation. */
  speaker: string;
  /** The number in `speaker`, unless an import gave another. */
  speakerId: number;
  /** Whether the owner of the account said it. */
  isUser: boolean;
  /** Person who said it; null: the owner, or unknown. */
  personId: string | null;
  sttProvider: string | null;
  /** ISO 639-1, if the recogniser detected it; null: that of the conversation, or unknown. */
  language: string | null;
  /** Translations of exactly this text; null: none. */
  translations: readonly Translation[] | null;
  /** Whether its voice was compared with the owner's. */
  profileCompared: boolean;
}

/** Voice of a conversation: its label, and its person. The vector is personal data. */
export interface Voice {
  userId: string;
  conversationId: string;
  /** The number in its label. */
  speakerId: number;
  /** The `id` of the model that made the vector; null where there is none. */
  space: string | null;
  /** The mean of its pieces, of length 1. */
  vector: Float32Array | null;
  /** Seconds of speech that the vector is made from. */
  seconds: number;
  /** Whether it is the owner's. */
  isUser: boolean;
  personId: string | null;
  /** Whether the owner assigned it; false: it was recognised, or is unknown. */
  isChosen: boolean;
  updatedAt: number;
}

/** Voice print of a person, made only from the owner's assignments and recordings. Personal data. */
export interface VoiceSample {
  id: string;
  userId: string;
  /** Null: the owner's own voice. */
  personId: string | null;
  space: string;
  vector: Float32Array;
  seconds: number;
  /** Conversation in which it was heard; null: it was recorded for this purpose, or the conversation was deleted. */
  conversationId: string | null;
  /** The voice of that conversation; null as above. */
  speakerId: number | null;
  createdAt: number;
}

/** Assignment of a voice to a person by the owner. It can be undone for some days, and is then deleted. */
export interface VoiceAssignment {
  id: string;
  userId: string;
  /** Conversation and speaker of the assigned voice. */
  conversationId: string;
  speakerId: number;
  isUser: boolean;
  personId: string | null;
  /** Applies to this voice in all conversations from this instant on; null: in its own alone. */
  since: number | null;
  state: 'running' | 'done' | 'undone';
  /** Number of changed rows of each kind. */
  conversations: number;
  segments: number;
  createdAt: number;
}

/** A voice and what it said as they were before an assignment. */
export interface VoiceChange extends Pick<Voice, 'isUser' | 'personId' | 'isChosen'> {
  userId: string;
  assignmentId: string;
  conversationId: string;
  speakerId: number;
  segments: Pick<Segment, 'id' | 'isUser' | 'personId'>[];
}

/** An audio file that becomes conversations. */
export interface Recording {
  id: string;
  userId: string;
  /** Name of the owner's file. */
  name: string;
  bytes: number;
  state: 'waiting' | 'running' | 'done' | 'failed';
  /** Error message for its owner; of a finished one: the part that could not be read. */
  error: string | null;
  /** Time of its first sample; null: unknown until its length is measured. */
  startedAt: number | null;
  /** Time of its last sample, if the owner gave that instead. */
  endedAt: number | null;
  /** ISO 639-1, or `multi`. */
  language: string;
  source: string;
  /** Pause that starts another conversation. */
  silenceMs: number;
  /** Null: not measured yet. */
  durationMs: number | null;
  /** Length that has been transcribed, or is known to be silence. */
  heardMs: number;
  /** In the order in which they were spoken; some may have been deleted. */
  conversationIds: string[];
  createdAt: number;
  updatedAt: number;
}

export interface Translation {
  /** ISO 639-1 of `text`. */
  lang: string;
  text: string;
}

export type Weekday = 'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun';

/** Weekly pause of listening, in minutes after local midnight. */
export interface PauseSpan {
  /** Days on which it begins. */
  days: Weekday[];
  from: number;
  /** Exclusive; past midnight where it is not after `from`. */
  to: number;
}

/** Pause or resumption by hand, which overrides the schedule. */
export interface ListeningException {
  /** Epoch ms. */
  from: number;
  /** Epoch ms, exclusive; null: until changed. */
  until: number | null;
  isPaused: boolean;
}

/** Pauses of listening of a user. */
export interface ListeningSettings {
  userId: string;
  schedule: PauseSpan[];
  /** Oldest first; of several at one instant, the last counts. */
  exceptions: ListeningException[];
}

/** Kinds of data that retention deletes. `audio`: utterances that no recogniser could transcribe. */
export type RetainedData = 'conversations' | 'photos' | 'audio' | 'deliveries';

export interface RetentionRule {
  data: RetainedData;
  /** Folder of the rule; null: all others. */
  folderId: string | null;
  /** Age at which it is deleted; null: kept. */
  days: number | null;
}

/** Retention of a user's data. */
export interface RetentionSettings {
  userId: string;
  /** Whether starred conversations, and their photos, are never deleted. */
  keepStarred: boolean;
  rules: RetentionRule[];
}

/** Reads of a user's data within about a minute that differ only in their time. Without content. */
export interface AccessEntry {
  id: string;
  userId: string;
  /** Epoch ms. */
  firstAt: number;
  lastAt: number;
  count: number;
  /** `link`: a secret calendar address. `server`: a command on the machine, or the server by itself. */
  reader: 'key' | 'session' | 'app' | 'link' | 'server';
  /** Id of the key or the app; null: there is none. */
  readerId: string | null;
  via: 'rest' | 'mcp' | 'server';
  /** Id of the operation in the OpenAPI document, or name of what the server did. */
  operation: string;
  /** Kind of data, such as `conversations`. */
  data: string;
  /** Id of the conversation, memory, photo or task; null: several. */
  subject: string | null;
}

/** Settings that decide whether a user is listened to. */
export interface ListeningRules extends Pick<ListeningSettings, 'schedule' | 'exceptions'> {
  /** IANA name. */
  timeZone: string;
}

/** A user's settings for speech beyond its transcription. */
export interface SpeechSettings {
  userId: string;
  /** ISO 639-1 of the target language of translations; null: no translation. */
  translateTo: string | null;
  /** Whether voices are separated, if the operator has set that up. */
  labelVoices: boolean;
  /** Days for which audio is kept after it became text; null: it is deleted at once. */
  keepAudioDays: number | null;
}

/** Audio of one utterance, which its owner wants to keep. Its file is outside the database. */
export interface Clip {
  id: string;
  userId: string;
  conversationId: string;
  /** When its first sample was recorded, epoch ms. */
  startedAt: number;
  durationMs: number;
  /** Size of its file. */
  bytes: number;
  createdAt: number;
}

/** Moment of a conversation that its owner wants to remember. */
export interface Mark {
  id: string;
  userId: string;
  conversationId: string;
  /** Epoch ms. */
  at: number;
  createdAt: number;
}

/** Photo of a wearable. Its files are outside the database. */
export interface Photo {
  id: string;
  userId: string;
  conversationId: string;
  takenAt: number;
  createdAt: number;
  /** Pixels, upright. */
  width: number;
  height: number;
  /** Size of its files together. */
  bytes: number;
  /** Description by a vision model; null: none yet. */
  description: string | null;
  /** Whether it is too dark, blurred or empty: it is kept, but neither described nor searched. */
  discarded: boolean;
}

/** Progress of a stream. Written in the same transaction as its segments. */
export interface StreamProgress {
  /** Sample up to which everything is stored as segments or known to be silence. Replay starts here, nowhere else. */
  through: number;
  /** Number of client messages wholly below `through`, which need not be sent again. */
  received: number;
  /** Sample at which message number `received` begins (at most `through`). */
  receivedSample: number;
}

/** Parameters of a connection that are needed to process its audio after the connection has closed. */
export interface StreamSetup {
  sampleRate: number;
  channels: 1 | 2;
  /** ISO 639-1, or `multi`. */
  language: string;
  /** Silence that ends a conversation. */
  timeoutMs: number;
  /** Preferred recogniser. */
  sttService: string | null;
  /** The client brings its own text: the audio is never transcribed. */
  customStt: boolean;
  /** Whether the owner's voice is looked for; absent in old rows: true. */
  withProfile?: boolean;
  /** When its first sample was recorded (epoch ms), if before it was sent. */
  recordedAt: number | null;
}

/** One recording, as its client identifies it; a connection carries a part of it. One row per channel. */
export interface Stream extends StreamProgress {
  id: string;
  userId: string;
  /** The client's id of the stream (`stream=`); null for a connection that cannot resume. */
  clientStream: string | null;
  channel: number;
  conversationId: string;
  source: string;
  deviceId: string | null;
  codec: string;
  /** Parameters of the newest connection; null in rows from before they were stored. */
  setup: StreamSetup | null;
  /** Wall-clock time of sample 0; null until audio came. */
  anchorAt: number | null;
}

export interface Folder {
  id: string;
  userId: string;
  name: string;
  description: string | null;
  /** `#rrggbb`. */
  color: string;
  /** An emoji. */
  icon: string;
  /** Position among the folders of its user, from 0. */
  order: number;
  isDefault: boolean;
  /** Whether the server created it; names of system folders are unique. */
  isSystem: boolean;
  createdAt: number;
  updatedAt: number;
}

/** A task. */
export interface ActionItem {
  id: string;
  userId: string;
  description: string;
  completed: boolean;
  createdAt: number;
  updatedAt: number;
  dueAt: number | null;
  /** Null while it is open. */
  completedAt: number | null;
  /** Conversation in which it was said; null: it comes from none. */
  conversationId: string | null;
  /** Segment in which it was said; null: unknown. It may have been removed since. */
  segmentId: string | null;
  locked: boolean;
}

export type MemoryCategory =
  | 'interesting'
  | 'system'
  | 'manual'
  | 'workflow'
  | 'core'
  | 'hobbies'
  | 'lifestyle'
  | 'interests'
  | 'habits'
  | 'work'
  | 'skills'
  | 'learnings'
  | 'other';

/** Lasting fact about its user. */
export interface Memory {
  id: string;
  userId: string;
  content: string;
  category: MemoryCategory;
  visibility: 'public' | 'private';
  tags: string[];
  createdAt: number;
  /** Grows with every change of what is shown, also within a millisecond. */
  updatedAt: number;
  /** Whether a person or a program wrote it; otherwise it comes from a conversation. */
  manuallyAdded: boolean;
  /** Sort key of lists, descending. */
  scoring: string;
  reviewed: boolean;
  /** Verdict of its user; null: not asked yet. */
  userReview: boolean | null;
  edited: boolean;
  locked: boolean;
  /** Fact that only one memory of a user can state, such as `Nora: home`. */
  topic: string | null;
  /** When it was last said, written or confirmed. Earlier statements do not supersede it. */
  asOf: number;
  /** Conversations in which it was said, newest last; empty: it was written. */
  sources: MemorySource[];
  /** Earlier versions, by `asOf`. */
  history: MemoryVersion[];
}

/** Evidence in one conversation for a memory. */
export interface MemorySource {
  conversationId: string;
  segmentIds: string[];
  saidAt: number;
  /** Hash of the extracted text, by which another run over the conversation recognises it. */
  wording: string;
}

export interface MemoryVersion extends Pick<Memory, 'content' | 'asOf' | 'sources'> {
  id: string;
  /** When a newer version replaced it. */
  supersededAt: number;
}

/** Memory that its user deleted: kept in a form that can be recognised but not read. */
export interface ForgottenMemory {
  id: string;
  userId: string;
  /** Random salt, so that equal words of two memories cannot be recognised. */
  salt: string;
  /** Short hashes of its words, in hexadecimal: several words share each. */
  words: string[];
  forgottenAt: number;
}

/** Kinds of things that the operator can lock. */
export type Lockable = 'memory' | 'conversation' | 'action-item';

/** Change of a memory that its vectors may not reflect yet. */
export interface MemoryChange {
  userId: string;
  /** Id of the memory, which may be deleted by now. */
  id: string;
  changedAt: number;
}

/** State of the vectors of a user's memories. */
export interface Embedding {
  userId: string;
  /** Id of the vector space, which changes when it is created again. */
  space: string;
  /** While it is filled: id of the last memory in it, '' before the first. Null: it is complete. */
  cursor: string | null;
}

export type GoalType = 'boolean' | 'scale' | 'numeric';

export interface Goal {
  id: string;
  userId: string;
  title: string;
  desiredOutcome: string | null;
  whyItMatters: string | null;
  successCriteria: string[];
  /** Deadline. */
  horizonAt: number | null;
  goalType: GoalType;
  /** The current value at first: beyond the target, the goal is reached from above. */
  startValue: number;
  currentValue: number;
  targetValue: number | null;
  minValue: number | null;
  maxValue: number | null;
  unit: string | null;
  /** Hidden by its owner. */
  paused: boolean;
  /** Its current value has reached its target. */
  reached: boolean;
  createdAt: number;
  updatedAt: number;
}

/** The last value of a goal on one day. */
export interface GoalProgress {
  userId: string;
  goalId: string;
  /** Days of UTC since 1970-01-01. */
  day: number;
  value: number;
  recordedAt: number;
}

export type GoalSuggestionState = 'open' | 'accepted' | 'refused';

/** Change of a goal that its owner mentioned in a conversation, to be accepted or refused. */
export interface GoalSuggestion {
  id: string;
  userId: string;
  goalId: string;
  conversationId: string;
  /** Where it was said. */
  segmentIds: string[];
  /** The sentence. */
  text: string;
  value: number;
  /** Whether the value is added to the goal's; otherwise it replaces it. */
  adds: boolean;
  state: GoalSuggestionState;
  createdAt: number;
}

export interface Person {
  id: string;
  userId: string;
  name: string;
  createdAt: number;
}

/** A piece of durable work. `key` is unique among the unfinished jobs of its kind. */
export interface Job {
  id: string;
  kind: string;
  key: string;
  payload: Record<string, unknown>;
  runAt: number;
  /** Number of runs since the last one without a failure, including this one. */
  attempts: number;
  /** Proves possession of the lease; changes with every claim. */
  lease: string;
}

export interface JobCount {
  kind: string;
  /** `failed` waits for its next attempt, `waiting` for its time; `running` holds a lease; `dead` was given up. */
  state: 'waiting' | 'due' | 'running' | 'failed' | 'dead';
  count: number;
}

/** Data about its users that an app requests for the prompts of its proactive notifications. */
export type UserScope = 'user_name' | 'user_facts' | 'user_context' | 'user_chat';

/** Action that an app may take on the data of a user who installed it. */
export type AppAction =
  | 'create_conversation'
  | 'create_facts'
  | 'read_conversations'
  | 'read_memories'
  | 'read_tasks';

export type AppCapability = 'external_integration' | 'proactive_notification';

/** Program of a user: it receives events of the users who installed it, and may send them notifications. */
export interface App {
  id: string;
  /** Owner of the app. Everyone on this server may install it. */
  userId: string;
  name: string;
  description: string;
  capabilities: AppCapability[];
  /** Types of webhooks, by their wire names. */
  triggersOn: string[];
  webhookUrl: string | null;
  /** Requested with `?uid=` before an installation: must respond `{is_setup_completed: true}`. */
  setupCompletedUrl: string | null;
  actions: AppAction[];
  notificationScopes: UserScope[];
  createdAt: number;
  updatedAt: number;
}

/** A secret of an app: `sk_` + 32 hex. */
export interface AppKey {
  id: string;
  appId: string;
  /** Owner of the app. */
  userId: string;
  /** SHA-256 of the raw secret, hex. */
  hash: string;
  /** `sk_` + first 4 + `...` + last 4, for lists. */
  hint: string;
  createdAt: number;
}

/** Installation of an app by a user, with the permissions granted. */
export interface Installation {
  userId: string;
  appId: string;
  scopes: UserScope[];
  actions: AppAction[];
  installedAt: number;
}

/** A wearable that a bridge carries. */
export interface Device {
  userId: string;
  /** As `client_device_id` names it, and conversations by `deviceId`. */
  id: string;
  /** Name that its owner chose; null: none. */
  name: string | null;
  advertisedName: string;
  source: string;
  /** Driver that the bridge uses; empty: unknown. */
  driver: string;
  model: string | null;
  firmware: string | null;
  state: DeviceState;
  /** Reason for its state, if it needs an explanation. */
  reason: string | null;
  codec: string | null;
  /** Percent. */
  battery: number | null;
  /** Whether it was reported and the battery not charged since. */
  lowBattery: boolean;
  /** dBm. */
  rssi: number | null;
  storageFreeBytes: number | null;
  /** Frames since its bridge started: received, and known to be missing. */
  frames: number;
  lost: number;
  /** Assumptions that its driver makes, in words. */
  notes: string[];
  bridgeId: string;
  bridgeName: string;
  bridgeVersion: string | null;
  /** Null: it is not connected. */
  connectedAt: number | null;
  /** When it was last known to be connected. */
  lastSeenAt: number;
  /** When its bridge last reported it. */
  reportedAt: number;
  /** Latest reported press of its button; null: none. */
  buttonAt: number | null;
  createdAt: number;
}

/** `quiet`: connected, and it sends nothing. `muted`: its microphone is switched off. */
export type DeviceState = 'streaming' | 'quiet' | 'muted' | 'disconnected';

export type DeviceButton = 'single' | 'double' | 'triple' | 'long' | 'press' | 'release';

/** `changed`: any shown field except signal and counts. `removed`: its owner deleted it. */
export interface DeviceHappening {
  kind: 'connected' | 'disconnected' | 'battery_low' | 'button' | 'changed' | 'removed';
  at: number;
  button: DeviceButton | null;
}

/** Webhook of a user, or of an app for one of its types. */
export interface Hook {
  id: string;
  /** User who created it, sees its state, and is notified when it is switched off. */
  userId: string;
  /** Null: the user's own. */
  appId: string | null;
  /** Distinguishes webhooks of one type: '' is the default, and the only one of an app. */
  label: string;
  /** By its wire name. */
  type: string;
  url: string;
  /** Interval between two pieces of audio; null: it gets no audio. */
  seconds: number | null;
  enabled: boolean;
  /** Reason why the server switched it off; null: it did not. */
  offReason: string | null;
  /** Since when all deliveries have failed; null: the last one succeeded. */
  failingSince: number | null;
  /** `whsec_` + base64; what it signs with. */
  secret: string;
  /** Signs as well until `oldSecretUntil`. */
  oldSecret: string | null;
  oldSecretUntil: number | null;
  createdAt: number;
  updatedAt: number;
}

/** `hook`: a webhook. `channel`: a notification to one address. */
export type TargetKind = 'hook' | 'channel';

/** Message to one target. Every attempt sends the same. */
export interface Delivery {
  /** Also its `webhook-id`. */
  id: string;
  /** User whom the delivery is about. */
  userId: string;
  targetKind: TargetKind;
  /** Id of the webhook or address, which may be deleted by now. */
  targetId: string;
  /** Id of the receiving app, or null. */
  appId: string | null;
  /** Type of the webhook, or event of the notification. */
  type: string;
  /** Subject: the id of a conversation or a notification, or a day. */
  subject: string;
  /** `pending` is retried at `nextAt`; `dropped`: a live one that was too old, or one too many. */
  state: 'pending' | 'delivered' | 'failed' | 'dropped';
  /** Appended to the address of a hook; '' for none. */
  query: string;
  contentType: string;
  /** Null: it is not kept (audio). */
  body: string | null;
  attempts: number;
  /** Null unless it is pending. */
  nextAt: number | null;
  createdAt: number;
  endedAt: number | null;
  /** Delivery that it repeats on request. */
  replayOf: string | null;
}

/** Delivery in lists of the log. */
export type LoggedDelivery = Omit<Delivery, 'body'>;

/** Attempt of a delivery. */
export interface DeliveryAttempt {
  deliveryId: string;
  userId: string;
  /** From 1. */
  number: number;
  at: number;
  tookMs: number;
  /** Status of the HTTP response; null: there was none. */
  status: number | null;
  /** Error message; null: no error. */
  error: string | null;
  /** The first KiB of the answer. */
  answer: string | null;
}

/** Notification of a user. It stays in the inbox, whatever channels it was sent to. */
export interface Notification {
  id: string;
  userId: string;
  /** App that sent it; null: the server itself. */
  appId: string | null;
  /**
   * Event that caused it: `action_item_update`, `action_item_reminder`, `app_message`, `proactive`, `hook_off`,
   * `day_summary`.
   */
  event: string;
  /** Reason and rule for sending it, for people. */
  rule: string;
  title: string;
  text: string;
  /** Ids and instants for programs. */
  data: Record<string, unknown>;
  createdAt: number;
  readAt: number | null;
  /** Reason why it was sent to no channel; null: it was, or will be at `heldUntil`. */
  silence: 'muted' | 'budget' | 'no_channel' | null;
  /** Quiet hours, or the digest, keep it back until then. */
  heldUntil: number | null;
}

/** Address of a user for notifications. */
export interface ChannelAddress {
  id: string;
  userId: string;
  /** The plugin's name. */
  channel: string;
  /** The user's name for it. */
  label: string;
  /** Fields of the channel's schema; may contain secrets. */
  address: Record<string, unknown>;
  enabled: boolean;
  offReason: string | null;
  failingSince: number | null;
  createdAt: number;
}

/** A user's choice of notifications and when they arrive. */
export interface NotificationSettings {
  userId: string;
  /** IANA name. */
  timeZone: string;
  /** Minutes after local midnight, from inclusive to exclusive, may go past midnight; null: never quiet. */
  quietHours: { from: number; to: number } | null;
  /** Time of the daily digest, in minutes after local midnight; null: no digest. */
  digestAt: number | null;
  /** Muted app ids and events: their notifications stay in the inbox and are not sent. */
  muted: string[];
  /** Notifications of one app in an hour, by app id; absent: the operator's default. */
  budgets: Record<string, number>;
  /** Time of the day summary, in minutes after local midnight; null: never. */
  daySummaryAt: number | null;
}

/** Health as `/healthz` reports it. */
export interface Health {
  /** `degraded`: it serves, but something that is configured does not work. `failing`: it cannot serve. */
  status: 'ok' | 'degraded' | 'failing';
  /** Names of failing parts; empty while the server starts or stops. */
  parts: string[];
}
