import type { Knex } from 'knex';

/** What a driver's error means to us; null for an error that is none of the driver's. */
export type Fault =
  | 'duplicate'
  | 'orphan'
  | 'busy'
  | 'unreachable'
  | 'refused'
  | 'damaged'
  | 'full'
  | 'no_schema'
  | 'other'
  | null;

/**
 * All that differs from one database to another. Everything else in this folder is written once, in SQL that SQLite
 * and Postgres share.
 */
export interface Dialect {
  /** For messages: where the data is. */
  place: string;
  /** Writes, and all of a transaction. Transactions run one after the other. */
  writer: Knex;
  /** Reads outside a transaction, so that they never wait for one. */
  reader: Knex;
  /** Whether a query can lock rows, and pass over those that others have locked. */
  locksRows: boolean;
  fault(thrown: unknown): Fault;
  /** For people: why it is `unreachable`, or has `refused`, and the way out. */
  explain(thrown: unknown): string;
  /** A copy of all data, made before a migration. Resolves to where it is; null where that is the operator's. */
  backup(label: string): Promise<string | null>;
  close(): Promise<void>;
}
