import { Model, type Pojo, snakeCaseMappers } from 'objection';
import type { ApiKey, Conversation, Folder, Person, Segment, Stream, User } from '../../../core/model.ts';

/**
 * The tables as objection models: the one place that maps rows to what core knows. Columns are the properties in
 * snake case, instants are epoch milliseconds, JSON is text.
 */
type RowClass<Row extends object> = Pick<typeof Model, keyof typeof Model> & (new () => Model & Row);

interface Shape {
  name: string;
  id: string[];
  /** Properties stored as JSON text. */
  json?: string[];
  /** Properties that come back as 0 and 1 where the database has no booleans. */
  booleans?: string[];
  /** Properties that are numbers with a fraction. All others are whole, instants too, and are rounded. */
  fractions?: string[];
  /** Columns made from the row for queries only: never read back. */
  derived?: (row: Pojo) => Pojo;
}

function table<Row extends object>(shape: Shape) {
  const { name, id, json = [], booleans = [], fractions = [], derived = () => ({}) } = shape;

  class Table extends Model {
    static override tableName = name;
    static override idColumn = id;
    static override jsonAttributes = json;
    static override useLimitInFirst = true; // or `first` reads every row and drops the rest
    static override columnNameMappers = snakeCaseMappers();

    override $parseDatabaseJson(columns: Pojo): Pojo {
      const row = super.$parseDatabaseJson(columns);
      for (const property of booleans)
        if (row[property] === 0 || row[property] === 1) row[property] = row[property] === 1;
      for (const property of Object.keys(derived(row))) delete row[property];
      return row;
    }

    override $formatDatabaseJson(row: Pojo): Pojo {
      const columns: Pojo = { ...row, ...derived(row) };
      for (const [property, value] of Object.entries(columns))
        if (typeof value === 'number' && !fractions.includes(property)) columns[property] = Math.round(value);
      return super.$formatDatabaseJson(columns);
    }
  }
  return Table as Pick<typeof Model, keyof typeof Model> as RowClass<Row>; // objection fills the columns in
}

export const Users = table<User>({ name: 'users', id: ['id'] });

export const Keys = table<ApiKey>({ name: 'keys', id: ['user_id', 'id'], json: ['scopes'] });

export const Conversations = table<Conversation>({
  name: 'conversations',
  id: ['user_id', 'id'],
  json: ['structured', 'geolocation'],
  booleans: ['discarded', 'starred', 'locked'],
  derived: row => ('structured' in row ? { category: row.structured.category } : {}),
});

export const Segments = table<Segment>({
  name: 'segments',
  id: ['user_id', 'id'],
  booleans: ['isUser'],
  fractions: ['start', 'end'],
});

export const Streams = table<Stream>({ name: 'streams', id: ['user_id', 'id'], json: ['setup'] });

export const Folders = table<Folder>({
  name: 'folders',
  id: ['user_id', 'id'],
  booleans: ['isDefault', 'isSystem'],
});

export const People = table<Person>({ name: 'people', id: ['user_id', 'id'] });

export interface JobRow {
  id: string;
  kind: string;
  key: string;
  payload: Record<string, unknown>;
  /** A finished job has no row. */
  state: 'open' | 'dead';
  /** When it was asked to run. */
  runAt: number;
  /** When it can be claimed: at `runAt`, or, while it is leased, when the lease runs out. */
  dueAt: number;
  /** Asked for again while it was running: when to run it next. */
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
  /** JSON, mapped by its store: objection would leave a bare string or number as it is. */
  value: string;
  version: number;
}
export const PluginStates = table<PluginStateRow>({ name: 'plugin_state', id: ['plugin', 'key'] });

/** A row as plain data, or null. */
export async function one<Row extends object>(
  query: PromiseLike<(Model & Row) | undefined>,
): Promise<Row | null> {
  const row = await query;
  return row ? { ...row } : null;
}

/** Rows as plain data. */
export async function all<Row extends object>(query: PromiseLike<(Model & Row)[]>): Promise<Row[]> {
  return (await query).map(row => ({ ...row }));
}
