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

export interface Translation {
  /** ISO 639-1 of `text`. */
  lang: string;
  text: string;
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
