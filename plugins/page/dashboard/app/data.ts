/** Responses of the REST interface, as far as the page reads them. */
import type { Schema } from './schema-form.tsx';

export interface Account {
  id: string;
  name: string;
  role: 'owner' | 'operator';
}

export interface Segment {
  id: string;
  text: string;
  speaker: string;
  speaker_id: number;
  speaker_name: string;
  is_user: boolean;
  person_id: string | null;
  /** Seconds since the conversation began. */
  start: number;
  end: number;
}

export interface Conversation {
  id: string;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  structured: {
    title: string;
    overview: string;
    category: string;
    emoji: string;
    events: { title: string; start: string; duration: number }[];
  };
  folder_id: string | null;
  folder_name: string | null;
  source: string | null;
  status: 'in_progress' | 'processing' | 'completed' | 'failed';
  starred: boolean;
  transcript_segments?: Segment[];
  /** Excerpt that a search found. */
  snippet?: string;
}

export interface Task {
  id: string;
  description: string;
  completed: boolean;
  created_at: string;
  due_at: string | null;
  conversation_id: string | null;
}

export interface Memory {
  id: string;
  content: string;
  category: string;
  created_at: string;
  manually_added: boolean;
  reviewed: boolean;
}

/** Present or earlier text of a memory. */
export interface MemoryVersion {
  /** Null: it says so now. */
  id: string | null;
  content: string;
  as_of: string;
  sources: { conversation_id: string; segment_ids: string[]; said_at: string }[];
}

export interface Goal {
  id: string;
  title: string;
  desired_outcome: string;
  goal_type: 'boolean' | 'scale' | 'numeric';
  target_value: number | null;
  current_value: number;
  unit: string | null;
  horizon_at: string | null;
  is_active: boolean;
  status: 'active' | 'paused' | 'completed';
}

/** The last value of a day. */
export interface GoalDay {
  date: string;
  value: number;
}

export interface Statistics {
  days: { date: string; words: number; conversations: number }[];
  /** Words by the hour of the day. */
  hours: number[];
  people: {
    person_id: string | null;
    /** Empty: those who are not known. */
    name: string;
    is_user: boolean;
    words: number;
    conversations: number;
  }[];
}

export interface Photo {
  id: string;
  created_at: string;
  width: number;
  height: number;
  description: string | null;
  discarded: boolean;
}

/** The form of a summary. */
export interface Template {
  id: string;
  name: string;
}

export interface Person {
  id: string;
  name: string;
  created_at: string;
}

export interface VoiceSample {
  id: string;
  seconds: number;
  created_at: string;
}

export interface Folder {
  id: string;
  name: string;
  icon: string;
}

export interface Key {
  id: string;
  name: string;
  key_prefix: string;
  scopes: string[];
  last_used_at: string | null;
}

export interface Hook {
  id: string;
  type: string;
  url: string;
  app_id: string | null;
  enabled: boolean;
  off_reason: string | null;
}

/** A wearable, as its bridge tells of it. */
export interface Wearable {
  id: string;
  name: string;
  model: string | null;
  firmware: string | null;
  state: 'streaming' | 'quiet' | 'muted' | 'disconnected';
  reason: string | null;
  connected: boolean;
  battery: number | null;
  low_battery: boolean;
  signal_dbm: number | null;
  loss_percent: number | null;
  notes: string[];
  last_seen_at: string;
}

export interface App {
  id: string;
  name: string;
  description: string;
  owned: boolean;
  enabled: boolean;
  external_integration: { actions: { action: string }[] } | null;
  proactive_notification: { scopes: string[] } | null;
}

export interface NewApp extends App {
  signing_secret: string | null;
}

/** An outlet of notifications. */
export interface Channel {
  channel: string;
  title: string;
  /** JSON schema of an address. */
  address: Schema;
  public_info: Record<string, string>;
}

export interface WholeDelivery extends Delivery {
  next_at: string | null;
  body: string | null;
  tries: {
    number: number;
    at: string;
    took_ms: number;
    status: number | null;
    error: string | null;
    answer: string | null;
  }[];
}

export interface Delivery {
  id: string;
  type: string;
  state: string;
  created_at: string;
  attempts: number;
}

export interface Notification {
  id: string;
  title: string;
  text: string;
  created_at: string;
}

export interface Address {
  id: string;
  channel: string;
  label: string;
  enabled: boolean;
  off_reason: string | null;
}

export interface NotificationSettings {
  time_zone: string;
  quiet_hours: { from: string; to: string } | null;
}

export interface CalendarLinkJson {
  hint: string;
  created_at: string;
}

/** `path` is shown this once. */
export interface NewCalendarLink extends CalendarLinkJson {
  path: string;
}

export interface Health {
  status: 'ok' | 'degraded' | 'failing';
  parts: string[];
}
