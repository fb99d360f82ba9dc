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

/** A table as the database itself tells it, without columns that are computed. */
export interface TableShape {
  name: string;
  columns: { name: string; type: string }[];
  /** Columns of the primary key, in its order. */
  key: string[];
  /** Tables that its rows belong to. */
  parents: string[];
}

/** One statement of a transaction that is under way. */
export type Run = <T>(query: (db: Knex) => PromiseLike<T>) => Promise<T>;

/** Whole tables. */
export interface TableDialect {
  shapes(run: Run): Promise<TableShape[]>;
  /** From now to the end of the transaction nobody else writes to these. */
  hold(run: Run, names: string[]): Promise<void>;
  /** All rows by key, texts in the order of their UTF-8 bytes, at most `size` at a time. */
  pages(run: Run, shape: TableShape, size: number): AsyncIterable<Record<string, unknown>[]>;
  insert(run: Run, shape: TableShape, rows: readonly Row[]): Promise<void>;
  /** The text as it will be read back. */
  storable(text: string): string;
}

/**
 * All that differs from one database to another. Everything else in this folder is written once, in SQL that SQLite
 * and Postgres share.
 */
export interface Dialect {
  /** For messages: where the data is. */
  place: string;
  /** To be written on by `write`, or it may not be on the disk yet. */
  writer: Knex;
  /** Reads outside a transaction, so that they never wait for one. */
  reader: Knex;
  /** One statement, by what it is given: the writer. It is on the disk when this resolves. */
  write<T>(work: (db: Knex) => PromiseLike<T>): Promise<T>;
  /**
   * Several statements, by what it is given, which hold or fall together, and are on the disk when this resolves. One
   * runs after the other.
   */
  transaction<T>(work: (db: Knex) => Promise<T>): Promise<T>;
  /** Whether a query can lock rows, and pass over those that others have locked. */
  locksRows: boolean;
  fault(thrown: unknown): Fault;
  /** For people: why it is `unreachable`, or has `refused`, and the way out. */
  explain(thrown: unknown): string;
  /** A copy of all data, made before a migration. Resolves to where it is; null where that is the operator's. */
  backup(label: string): Promise<string | null>;
  /** Writes all data, as it is at one moment, into a new SQLite file. Others read and write meanwhile. */
  snapshot(target: string): Promise<void>;
  /** The same for two dialects exactly when they are on the same data. */
  identity(): Promise<string>;
  tables: TableDialect;
  /** Once the schema is of this version, before anything is served. */
  settle(): Promise<void>;
  /** Each night: what was deleted leaves the files, as far as that is not up to others. */
  upkeep(): Promise<void>;
  close(): Promise<void>;
}
