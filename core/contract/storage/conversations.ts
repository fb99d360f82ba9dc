import type {
  Conversation,
  ConversationStatus,
  Folder,
  Geolocation,
  Mark,
  Photo,
  Place,
  Segment,
  SummarySettings,
  SummaryTemplate,
  Translation,
} from '../model.ts';

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

export interface TranscriptSize {
  segments: number;
  textBytes: number;
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
