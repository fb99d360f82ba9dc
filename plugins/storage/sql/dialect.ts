import type { Knex } from 'knex';

/** What a driver's error means to us; null for an error that is none of the driver's. */
export type Fault = 'duplicate' | 'orphan' | 'busy' | 'damaged' | 'full' | 'no_schema' | 'other' | null;

/**
 * All that differs from one database to another. Everything else in this folder is written once, in SQL that SQLite
 * and Postgres share.
 */
export interface Dialect {
  /** For messages: where the data is. */
  place: string;
  /** Writes, and all of a transaction. */
  writer: Knex;
  /** Reads outside a transaction, so that they never wait for one. */
  reader: Knex;
  fault(thrown: unknown): Fault;
  /** A copy of all data, made before a migration. Resolves to where it is. */
  backup(label: string): Promise<string>;
  close(): Promise<void>;
}
