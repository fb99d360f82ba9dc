import type { Knex } from 'knex';
import type { Row } from '../../../core/contract/plugin.ts';

/** Meaning of a driver's error; null for any other error. */
export type Fault =
  | 'duplicate'
  | 'orphan'
  | 'busy'
  | 'unreachable'
  | 'refused'
  | 'damaged'
  | 'full'
  | 'unsynced'
  | 'no_schema'
  | 'other'
  | null;

/** A table as the database describes it, without computed columns. */
export interface TableShape {
  name: string;
  columns: { name: string; type: string }[];
  /** Columns of the primary key, in order. */
  key: string[];
  /** Tables that its foreign keys point to. */
  parents: string[];
}

/** Runs one statement of an open transaction. */
export type Run = <T>(query: (db: Knex) => PromiseLike<T>) => Promise<T>;

/** Operations on whole tables. */
export interface TableDialect {
  shapes(run: Run): Promise<TableShape[]>;
  /** Locks these tables against other writers until the end of the transaction. */
  hold(run: Run, names: string[]): Promise<void>;
  /** Yields all rows by key, texts ordered by their UTF-8 bytes, at most `size` at a time. */
  pages(run: Run, shape: TableShape, size: number): AsyncIterable<Record<string, unknown>[]>;
  insert(run: Run, shape: TableShape, rows: readonly Row[]): Promise<void>;
  /** Returns the text as it will be read back. */
  storable(text: string): string;
}

/**
 * Everything that differs between databases. All other code in this folder is written once, in SQL that SQLite and
 * Postgres share.
 */
export interface Dialect {
  /** Location of the data, for messages. */
  place: string;
  /** Write through `write`; otherwise the data may not be on disk when the call resolves. */
  writer: Knex;
  /** Reads outside of transactions, and so never waits for one. */
  reader: Knex;
  /** Runs one statement on the given writer. The data is on disk when this resolves. */
  write<T>(work: (db: Knex) => PromiseLike<T>): Promise<T>;
  /**
   * Runs several statements on the given writer, which succeed or fail together and are on disk when this resolves.
   * Transactions run one after the other.
   */
  transaction<T>(work: (db: Knex) => Promise<T>): Promise<T>;
  /** Whether queries can lock rows and skip those locked by others. */
  locksRows: boolean;
  fault(thrown: unknown): Fault;
  /** Explains to a person why the database is `unreachable` or has `refused`, and what to do. */
  explain(thrown: unknown): string;
  /** Copies all data before a migration. Resolves to the copy's place; null where backups are up to the operator. */
  backup(label: string): Promise<string | null>;
  /** Writes all data of one moment into a new SQLite file, while others read and write. */
  snapshot(target: string): Promise<void>;
  /** Equal for two dialects exactly when they use the same data. */
  identity(): Promise<string>;
  tables: TableDialect;
  /** Runs once the schema is current, before anything is served. */
  settle(): Promise<void>;
  /** Runs each night and removes deleted data from the files, as far as the server controls them. */
  upkeep(): Promise<void>;
  close(): Promise<void>;
}
