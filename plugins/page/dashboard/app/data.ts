/** Responses of the REST API; only the fields that the page reads. */
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
  /** Seconds since the start of the conversation. */
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
    events: { title: string; start: string; duration: number; segment_id?: string }[];
  };
  folder_id: string | null;
  folder_name: string | null;
  source: string | null;
  geolocation: { latitude: number; longitude: number; address: string | null } | null;
  status: 'in_progress' | 'processing' | 'completed' | 'failed';
  starred: boolean;
  transcript_segments?: Segment[];
  /** Excerpt around a search hit. */
  snippet?: string;
}

export interface Task {
  id: string;
  description: string;
  completed: boolean;
  created_at: string;
  due_at: string | null;
  conversation_id: string | null;
  /** Where it was said; null: not known. */
  segment_id: string | null;
}

export interface Memory {
  id: string;
  content: string;
  category: string;
  created_at: string;
  manually_added: boolean;
  reviewed: boolean;
  /** Where it was said last; null: it was written. */
  said_in: { conversation_id: string; segment_id: string | null } | null;
}

/** Current or earlier text of a memory. */
export interface MemoryVersion {
  /** Null: still current. */
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
    /** Empty: all unknown people together. */
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

/** Bookmarked moment of a conversation. */
export interface Mark {
  id: string;
  conversation_id: string;
  at: string;
}

/** Whether Earshot records from the wearables of the account. */
export interface Listening {
  paused: boolean;
  /** When the state changes next; null: unknown. */
  until: string | null;
  /** Weekly pauses. */
  schedule: { days: string[]; from: string; to: string }[];
  time_zone: string;
}

/** Ages after which data is deleted. */
export interface Retention {
  keep_starred: boolean;
  rules: {
    data: 'conversations' | 'photos' | 'audio' | 'deliveries';
    folder_id: string | null;
    /** Null: kept for ever. */
    days: number | null;
  }[];
}

/** Data that these rules would delete now. */
export interface RetentionPreview {
  conversations: number;
  photos: number;
  audio_files: number;
  deliveries: number;
  oldest: { id: string; title: string; started_at: string | null }[];
}

/** Reads of the account's data by one key, session or app. */
export interface Access {
  id: string;
  last_at: string;
  count: number;
  reader: 'key' | 'session' | 'app' | 'link' | 'server';
  reader_name: string | null;
  via: 'rest' | 'mcp' | 'server';
  operation: string;
  data: string;
  subject_id: string | null;
}

/** The template of a summary. */
export interface Template {
  id: string;
  name: string;
}

export interface Person {
  id: string;
  name: string;
  created_at: string;
}

/** Place where conversations happened, or that has a name. */
export interface Place {
  /** Null: it has no name. */
  id: string | null;
  name: string | null;
  address: string | null;
  latitude: number;
  longitude: number;
  /** Metres. */
  radius_m: number;
  conversation_count: number;
  last_at: string | null;
}

export interface VoiceSample {
  id: string;
  /** Null: it was recorded for this purpose. */
  conversation_id: string | null;
  speaker_id: number | null;
  is_usable: boolean;
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

/** Browser or program that is signed in. */
export interface SignedIn {
  id: string;
  kind: 'browser' | 'program';
  user_agent: string;
  created_at: string;
  last_used_at: string;
  current: boolean;
}

export interface Hook {
  id: string;
  type: string;
  label: string;
  url: string;
  seconds: number | null;
  app_id: string | null;
  enabled: boolean;
  off_reason: string | null;
  failing_since: string | null;
}

/** `signing_secret` is shown this once, with the account's first webhook. */
export interface NewHook extends Hook {
  signing_secret?: string | null;
}

/** How the receiver of a webhook answered a sample. */
export interface HookTest {
  status: number | null;
  /** Null: it accepted it. */
  error: string | null;
  took_ms: number;
}

/** A wearable, as its bridge reports it. */
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

/** A notification channel. */
export interface Channel {
  channel: string;
  title: string;
  /** JSON schema of the channel's address. */
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

/** `path` contains the secret and is shown only once. */
export interface NewCalendarLink extends CalendarLinkJson {
  path: string;
}

export interface Health {
  status: 'ok' | 'degraded' | 'failing';
  parts: string[];
}

/** A part of the server, as shown to operators. */
export interface ReadyPart {
  part: string;
  name: string;
  ok: boolean;
  optional: boolean;
  detail: string;
  cure: string | null;
  /** The missing model. */
  download: { model: string; bytes: number } | null;
}

export interface Model {
  name: string;
  plugin: string;
  about: string;
  languages: string[];
  licence: string;
  bytes: number;
  installed: boolean;
  download: { running: boolean; bytes: number; error: string | null } | null;
}

/** Simulated pendant. */
export interface Simulation {
  running: boolean;
  error: string | null;
}

export interface Examination {
  running: boolean;
  started_at: string | null;
  error: string | null;
  findings: {
    group: string;
    what: string;
    level: 'good' | 'note' | 'doubt' | 'bad';
    detail: string;
    cure: string | null;
  }[];
}

export interface BackupState {
  running: boolean;
  error: string | null;
  directory: string;
  enabled: boolean;
  newest: { created_at: string; bytes: number } | null;
}

export interface PluginState {
  name: string;
  title: string;
  state: 'off' | 'starting' | 'ready' | 'degraded';
  reason: string | null;
  options: PluginOption[];
  /** Problems of options that were set on the page. */
  ignored: string[];
}

export interface PluginOption {
  name: string;
  description: string | null;
  secret: boolean;
  /** Null: not set, or secret. */
  value: unknown;
  from: 'default' | 'file' | 'page' | 'environment' | 'command';
  place: string | null;
  changeable: boolean;
  schema: Schema;
}

export interface DiskUsage {
  free_bytes: number;
  parts: { name: string; bytes: number }[];
  accounts: {
    id: string;
    name: string;
    photos_bytes: number;
    recordings_bytes: number;
    clips_bytes: number;
  }[];
}

/** The latest measurements, in ms; a percentile is null where there are too few. */
export interface Latency {
  count: number;
  oldest_s: number | null;
  p50_ms: number | null;
  p90_ms: number | null;
  p99_ms: number | null;
  max_ms: number | null;
}

export interface Job {
  kind: string;
  state: 'waiting' | 'due' | 'running' | 'failed' | 'dead';
  count: number;
}

export interface LogLine {
  time: string | null;
  level: string;
  part: string | null;
  message: string;
  details: string | null;
}

/** An uploaded file that becomes conversations. */
export interface Recording {
  id: string;
  name: string;
  state: 'waiting' | 'running' | 'done' | 'failed';
  /** 0 to 1. */
  progress: number;
  error: string | null;
  started_at: string | null;
  conversation_ids: string[];
  created_at: string;
}

/** Progress and result of an import of another product's data. */
export interface ImportProgress {
  work: 'import' | 'dry_run' | 'undo' | null;
  running: boolean;
  done: number;
  format: string | null;
  /** By kind. */
  counts: Record<string, number>;
  known: number;
  left_out: { what: string; why: string; count: number }[];
  error: string | null;
}

export interface ForeignImport {
  id: string;
  format: string;
  name: string;
  state: 'running' | 'done' | 'failed' | 'undoing' | 'undone' | 'checked';
  counts: Record<string, number>;
  started_at: string;
}

/** Speech that no recogniser could transcribe. */
export interface KeptAudio {
  id: string;
  started_at: string;
  seconds: number;
  has_text: boolean;
}

export interface SpeechSettings {
  translate_to: string | null;
  label_voices: boolean;
  keep_audio_days: number | null;
}

export interface SpeechProfile {
  has_profile: boolean;
  seconds: number;
}

export interface VoiceAssignment {
  id: string;
  conversation_id: string;
  /** `user`: the owner; null: unknown. */
  person_id: string | null;
  state: 'running' | 'done' | 'undone';
  segments: number;
  created_at: string;
}

export interface CalendarAccount {
  name: string;
  address: { url?: string };
  synced_at: string | null;
  failure: string | null;
}

/** Progress on a goal, found in a conversation. */
export interface GoalSuggestion {
  id: string;
  goal_id: string;
  conversation_id: string;
  segment_ids: string[];
  text: string;
  current_value: number;
  suggested_value: number;
}
