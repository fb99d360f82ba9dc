import type { Knex } from 'knex';
import { Model, type Pojo, type QueryBuilder, snakeCaseMappers } from 'objection';
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
  Grant,
  Hook,
  Installation,
  ListeningSettings as ListeningSettingsRow,
  Mark,
  Memory,
  MemoryChange,
  Notification,
  NotificationSettings,
  Person,
  Photo,
  Place,
  RateLimit,
  Recording,
  RetentionSettings as RetentionSettingsRow,
  Segment,
  SpeechSettings as SpeechSettingsRow,
  Stream,
  SummarySettings as SummarySettingsRow,
  SummaryTemplate,
  User,
  VoiceAssignment,
  VoiceChange,
} from '../../../core/contract/model.ts';
import type { VoiceRow, VoiceSampleRow } from './voices.ts';
import { wordsOf } from './words.ts';

/**
 * The tables as objection models: the one place that maps rows to core's types. Columns are properties in snake case,
 * instants are epoch milliseconds, JSON is text.
 */
type RowClass<Row extends object> = Pick<typeof Model, keyof typeof Model> & (new () => Model & Row);

interface Shape<Row> {
  name: string;
  id: string[];
  /** Properties stored as JSON text. */
  json?: string[];
  /** Properties that a database without booleans returns as 0 and 1. */
  booleans?: string[];
  /** Properties that are fractions. All other numbers, instants included, are rounded. */
  fractions?: string[];
  /** Properties that are read. Absent: all columns. */
  read?: (keyof Row & string)[];
  /** Columns computed from the row for queries only, by name; never read back. Undefined: the column is not written. */
  derived?: Record<string, (row: Pojo) => unknown>;
}

const mappers = snakeCaseMappers();

function table<Row extends object>(shape: Shape<Row>) {
  const { name, id, json = [] } = shape;
  const plain = createReader(shape);
  const columns = createWriter(shape);

  class Table extends Model {
    static plain = plain;
    static columns = columns;
    static names = shape.read?.map(columnOf) ?? [];
    static wanted = shape.read?.map(columnOf).join(', ') ?? '*';
    static override tableName = name;
    static override idColumn = id;
    static override jsonAttributes = json;
    static override columnNameMappers = mappers;

    override $parseDatabaseJson(row: Pojo): Pojo {
      return plain(row);
    }

    override $formatDatabaseJson(row: Pojo): Pojo {
      return columns(row);
    }
  }
  return Table as Pick<typeof Model, keyof typeof Model> as RowClass<Row>; // objection fills in the columns
}

/** Inserts or replaces the single row that a user has in a table. */
export async function putOfUser<Row extends object>(db: Knex, rows: RowClass<Row>, row: Row): Promise<void> {
  await db(rows.tableName).insert(rows.fromJson(row).$toDatabaseJson()).onConflict('user_id').merge();
}

/** Mapping of a table for plain SQL, in addition to objection's. */
export interface Mapping<Row> {
  tableName: string;
  /** Column list of a SELECT. */
  wanted: string;
  /** Names of the columns read, if they are listed. */
  names: readonly string[];
  plain(columns: Pojo): Row;
  columns(row: Partial<Row>): Record<string, Value>;
}

export function mappingOf<Row extends object>(
  table: Pick<typeof Model, 'tableName'> & (new () => Model & Row),
) {
  return table as unknown as Mapping<Row>; // every table has it
}

export type Value = string | number | boolean | null;

function columnOf(property: string): string {
  return Object.keys(mappers.format({ [property]: null }))[0] ?? property;
}

/** Maps properties to columns: the given ones and the derived ones. */
function createWriter({ json = [], fractions = [], derived = {} }: Shape<never>): (row: Pojo) => Pojo {
  const fields = new Map<string, [column: string, write: (value: unknown) => unknown]>();
  const makers = Object.entries(derived);

  function field(property: string) {
    const write = json.includes(property) ? toJson : fractions.includes(property) ? unchanged : toWhole;
    const made: [string, typeof write] = [columnOf(property), write];
    fields.set(property, made);
    return made;
  }

  return row => {
    const columns: Pojo = {};
    for (const property in row) {
      const value = row[property];
      if (value === undefined) continue;
      const [column, write] = fields.get(property) ?? field(property);
      columns[column] = write(value);
    }
    for (const [column, of] of makers) {
      const value = of(row);
      if (value !== undefined) columns[column] = value;
    }
    return columns;
  };
}

const toJson = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
const toWhole = (value: unknown): unknown => (typeof value === 'number' ? Math.round(value) : value);

/** Maps columns to properties. The conversion of a column is determined once, not per row. */
function createReader({ json = [], booleans = [], derived = {} }: Shape<never>): (columns: Pojo) => Pojo {
  const fields = new Map<string, [property: string, read: (value: unknown) => unknown]>();

  function field(column: string) {
    const property = Object.keys(mappers.parse({ [column]: null }))[0] ?? column;
    const read = json.includes(property) ? fromJson : booleans.includes(property) ? fromFlag : unchanged;
    const made: [string, typeof read] = [property, read];
    fields.set(column, made);
    return made;
  }

  return columns => {
    const row: Pojo = {};
    for (const column in columns) {
      if (column in derived) continue;
      const [property, read] = fields.get(column) ?? field(column);
      row[property] = read(columns[column]);
    }
    return row;
  };
}

const fromJson = (value: unknown): unknown => (typeof value === 'string' ? JSON.parse(value) : value);
const fromFlag = (value: unknown): unknown => (value === 0 || value === 1 ? value === 1 : value);
const unchanged = (value: unknown): unknown => value;

export const Users = table<User>({
  name: 'users',
  id: ['id'],
  booleans: ['memoryAccess'],
  read: [
    'id',
    'name',
    'issuer',
    'subject',
    'createdAt',
    'memoryAccess',
    'signedOutAt',
    'nameKey',
    'role',
    'disabledAt',
  ],
});

export const Keys = table<ApiKey>({
  name: 'keys',
  id: ['user_id', 'id'],
  json: ['scopes'],
  read: ['id', 'userId', 'name', 'hash', 'hint', 'scopes', 'createdAt', 'lastUsedAt'],
});

export const Sessions = table<AccountSession>({ name: 'sessions', id: ['user_id', 'id'] });

export const Grants = table<Grant>({ name: 'grants', id: ['user_id', 'grantee', 'name'] });

export const RateLimits = table<RateLimit>({ name: 'rate_limits', id: ['user_id', 'subject', 'policy'] });

export const Conversations = table<Conversation>({
  name: 'conversations',
  id: ['user_id', 'id'],
  json: ['structured', 'geolocation'],
  booleans: ['discarded', 'starred', 'locked'],
  derived: {
    category: row => row.structured?.category,
    latitude: row => positionOf(row, 'latitude'),
    longitude: row => positionOf(row, 'longitude'),
  },
});

const positionOf = ({ geolocation }: Pojo, part: 'latitude' | 'longitude'): number | null | undefined =>
  geolocation === null ? null : geolocation?.[part];

export const Segments = table<Segment>({
  name: 'segments',
  id: ['user_id', 'id'],
  json: ['translations'],
  booleans: ['isUser', 'profileCompared'],
  fractions: ['start', 'end'],
});

export const Marks = table<Mark>({ name: 'marks', id: ['user_id', 'id'] });
export const Clips = table<Clip>({ name: 'clips', id: ['user_id', 'id'] });
export const Photos = table<Photo>({ name: 'photos', id: ['user_id', 'id'], booleans: ['discarded'] });

export const Recordings = table<Recording>({
  name: 'recordings',
  id: ['user_id', 'id'],
  json: ['conversationIds'],
});

export const Streams = table<Stream>({ name: 'streams', id: ['user_id', 'id'], json: ['setup'] });

export const Folders = table<Folder>({
  name: 'folders',
  id: ['user_id', 'id'],
  booleans: ['isDefault', 'isSystem'],
});

export const Places = table<Place>({
  name: 'places',
  id: ['user_id', 'id'],
  fractions: ['latitude', 'longitude'],
});

export const Memories = table<Memory>({
  name: 'memories',
  id: ['user_id', 'id'],
  json: ['tags', 'sources', 'history'],
  booleans: ['manuallyAdded', 'reviewed', 'userReview', 'edited', 'locked'],
  read: [
    ...(['id', 'userId', 'content', 'category', 'visibility', 'tags', 'createdAt', 'updatedAt'] as const),
    ...(['manuallyAdded', 'scoring', 'reviewed', 'userReview', 'edited', 'locked'] as const),
    ...(['topic', 'asOf', 'sources', 'history'] as const),
  ],
  derived: {
    words: ({ content }) => (typeof content === 'string' ? wordsOf(content).join(' ') : undefined),
    lexemes: () => undefined, // Postgres computes it from the words
  },
});

export const ForgottenMemories = table<ForgottenMemory>({
  name: 'forgotten_memories',
  id: ['user_id', 'id'],
  json: ['words'],
});

export const MemoryChanges = table<MemoryChange>({ name: 'memory_changes', id: ['user_id', 'id'] });

export const Embeddings = table<Embedding>({ name: 'embeddings', id: ['user_id'] });

export const People = table<Person>({ name: 'people', id: ['user_id', 'id'] });

export const ActionItems = table<ActionItem>({
  name: 'action_items',
  id: ['user_id', 'id'],
  booleans: ['completed', 'locked'],
});

export const Goals = table<Goal>({
  name: 'goals',
  id: ['user_id', 'id'],
  json: ['successCriteria'],
  booleans: ['paused', 'reached'],
  fractions: ['startValue', 'currentValue', 'targetValue', 'minValue', 'maxValue'],
});

export const Progress = table<GoalProgress>({
  name: 'goal_progress',
  id: ['user_id', 'goal_id', 'day'],
  fractions: ['value'],
});

export const GoalSuggestions = table<GoalSuggestion>({
  name: 'goal_suggestions',
  id: ['user_id', 'id'],
  json: ['segmentIds'],
  booleans: ['adds'],
  fractions: ['value'],
});

export const SummaryTemplates = table<SummaryTemplate>({
  name: 'summary_templates',
  id: ['user_id', 'id'],
  json: ['categories'],
});

export const SummarySettings = table<SummarySettingsRow>({ name: 'summary_settings', id: ['user_id'] });

export const CalendarLinks = table<CalendarLink>({
  name: 'calendar_links',
  id: ['user_id'],
  read: ['userId', 'hash', 'hint', 'createdAt'],
});

export const Devices = table<Device>({
  name: 'devices',
  id: ['user_id', 'id'],
  json: ['notes'],
  booleans: ['lowBattery'],
});

export const ForeignImports = table<ForeignImport>({
  name: 'foreign_imports',
  id: ['user_id', 'id'],
  json: ['counts'],
});

export const ForeignItems = table<ForeignItem>({ name: 'foreign_items', id: ['user_id', 'id'] });

export const ChatSessions = table<ChatSession>({ name: 'chat_sessions', id: ['user_id', 'id'] });

export const ChatMessages = table<ChatMessage>({
  name: 'chat_messages',
  id: ['user_id', 'id'],
  json: ['sources'],
});

export const SpeechSettings = table<SpeechSettingsRow>({
  name: 'speech_settings',
  id: ['user_id'],
  booleans: ['labelVoices'],
});

export const ListeningSettings = table<ListeningSettingsRow>({
  name: 'listening_settings',
  id: ['user_id'],
  json: ['schedule', 'exceptions'],
});

export const RetentionSettings = table<RetentionSettingsRow>({
  name: 'retention_settings',
  id: ['user_id'],
  json: ['rules'],
  booleans: ['keepStarred'],
});

export const Accesses = table<AccessEntry>({ name: 'accesses', id: ['user_id', 'id'] });

export const Voices = table<VoiceRow>({
  name: 'voices',
  id: ['user_id', 'conversation_id', 'speaker_id'],
  booleans: ['isUser', 'isChosen'],
  fractions: ['seconds'],
});

export const VoiceAssignments = table<VoiceAssignment>({
  name: 'voice_assignments',
  id: ['user_id', 'id'],
  booleans: ['isUser'],
});

export const VoiceChanges = table<VoiceChange>({
  name: 'voice_changes',
  id: ['user_id', 'assignment_id', 'conversation_id', 'speaker_id'],
  json: ['segments'],
  booleans: ['isUser', 'isChosen'],
});

export const VoiceSamples = table<VoiceSampleRow>({
  name: 'voice_samples',
  id: ['user_id', 'id'],
  fractions: ['seconds'],
});

export const Apps = table<App>({
  name: 'apps',
  id: ['id'],
  json: ['capabilities', 'triggersOn', 'actions', 'notificationScopes'],
});

export const AppKeys = table<AppKey>({ name: 'app_keys', id: ['app_id', 'id'] });

export const Installations = table<Installation>({
  name: 'installations',
  id: ['user_id', 'app_id'],
  json: ['scopes', 'actions'],
});

export const Hooks = table<Hook>({
  name: 'hooks',
  id: ['id'],
  booleans: ['enabled'],
  fractions: ['seconds'],
});

export const Deliveries = table<Delivery>({ name: 'deliveries', id: ['user_id', 'id'] });

export const DeliveryAttempts = table<DeliveryAttempt>({
  name: 'delivery_attempts',
  id: ['user_id', 'delivery_id', 'number'],
});

export const Notifications = table<Notification>({
  name: 'notifications',
  id: ['user_id', 'id'],
  json: ['data'],
});

export const NotificationSettingsRows = table<NotificationSettings>({
  name: 'notification_settings',
  id: ['user_id'],
  json: ['quietHours', 'muted', 'budgets'],
});

export const ChannelAddresses = table<ChannelAddress>({
  name: 'channel_addresses',
  id: ['id'],
  json: ['address'],
  booleans: ['enabled'],
});

export interface JobRow {
  id: string;
  kind: string;
  key: string;
  payload: Record<string, unknown>;
  /** A finished job has no row. */
  state: 'open' | 'dead';
  /** Requested time to run. */
  runAt: number;
  /** Earliest time to be claimed: `runAt`, or the end of the lease. */
  dueAt: number;
  /** Next time to run, if the job was enqueued again while it was running. */
  againAt: number | null;
  attempts: number;
  lease: string | null;
  error: string | null;
  createdAt: number;
}
export const Jobs = table<JobRow>({ name: 'jobs', id: ['id'], json: ['payload'] });

export interface PluginStateRow {
  plugin: string;
  key: string;
  /** JSON, mapped by its store, because objection would not encode a bare string or number. */
  value: string;
  version: number;
}
export const PluginStates = table<PluginStateRow>({ name: 'plugin_state', id: ['plugin', 'key'] });

/** Returns the first row as plain data, or null. The query itself must limit the rows. */
export async function one<Row extends object>(query: QueryBuilder<Model & Row>): Promise<Row | null> {
  return (await all<Row>(query))[0] ?? null;
}

/**
 * Returns rows as plain data: objection builds the query and knex runs it. Creating a model for each row only to copy
 * it would cost more than the query.
 */
export async function all<Row extends object>(query: QueryBuilder<Model & Row>): Promise<Row[]> {
  const { plain } = mappingOf<Row>(query.modelClass() as never);
  const rows: Pojo[] = await query.toKnexQuery();
  return rows.map(plain);
}
