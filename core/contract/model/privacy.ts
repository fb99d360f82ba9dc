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

/** Kinds of things that the operator can lock. */
export type Lockable = 'memory' | 'conversation' | 'action-item';
