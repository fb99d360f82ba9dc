/** The file that holds all vectors: what is in memory comes from here, and is gone without harm. */
import { randomUUID } from 'node:crypto';
import { chmodSync, closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { VectorItem, VectorSpace } from '../../../core/contract/plugin.ts';
import { directionOf } from '../../kit/geometry/direction.ts';

/** The part of better-sqlite3 that is used here. */
interface Database {
  pragma(source: string, options?: { simple: true }): unknown;
  exec(sql: string): void;
  prepare(sql: string): Statement;
  transaction<Args extends unknown[], T>(work: (...args: Args) => T): (...args: Args) => T;
  close(): void;
}
interface Statement {
  run(...values: unknown[]): { lastInsertRowid: number };
  get(...values: unknown[]): unknown;
  all(...values: unknown[]): unknown[];
}

const SQLite: new (file: string, options: { timeout: number }) => Database = createRequire(import.meta.url)(
  'better-sqlite3',
);

/** How long to wait for another process's lock: one that just stops lets go of it. */
const BUSY_MS = 3000;
/** A file of another version is begun anew: whatever is in it can be made again. */
const VERSION = 1;
/** An owner is a user in a space. */
const SCHEMA = `
  create table spaces (
    key integer primary key autoincrement, name text not null unique, id text not null, dimensions integer not null
  ) strict;
  create table owners (
    key integer primary key autoincrement, space integer not null, user_id text not null, unique (space, user_id)
  ) strict;
  create table items (
    row integer primary key autoincrement, owner integer not null, id text not null, updated_at integer not null,
    vector blob not null, unique (owner, id)
  ) strict;
  create index items_by_owner on items (owner);
  pragma user_version = ${VERSION};
`;
/** What the kernel has room for. */
const MAX_DIMENSIONS = 4096;
/** Rows that one step of a clean-up takes: a search waits no longer than that. */
const SWEPT_AT_ONCE = 500;

export interface KnownSpace extends VectorSpace {
  key: number;
  id: string;
}

/** An item as it lies in the file; the length of its vector is 1, or it is all zeros. */
export interface Row {
  row: number;
  /** 32-bit floating point numbers, as this machine has them. */
  vector: Uint8Array;
}

export type VectorsFile = ReturnType<typeof openVectorsFile>;

/** @throws what SQLite says; `isDamage` tells whether the file is to blame */
export function openVectorsFile(path: string) {
  makePrivate(path);
  const database = new SQLite(path, { timeout: BUSY_MS });
  try {
    return vectorsIn(prepared(database));
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Nobody else on the machine may read the file, nor its log. */
function makePrivate(path: string): void {
  closeSync(openSync(path, 'a', 0o600));
  for (const part of ['', '-wal']) if (existsSync(path + part)) chmodSync(path + part, 0o600);
}

function prepared(database: Database): Database {
  // What is in memory follows this process alone: no other one may write.
  database.pragma('secure_delete = on');
  database.pragma('locking_mode = exclusive');
  database.pragma('journal_mode = wal');
  database.pragma('synchronous = full');
  const version = database.pragma('user_version', { simple: true });
  if (version === VERSION) return database;
  if (version !== 0) throw new Damage(`it is of version ${version}, not ${VERSION}`);
  database.transaction(() => database.exec(SCHEMA))();
  return database;
}

function vectorsIn(database: Database) {
  const statements = {
    spaces: database.prepare('select key, name, id, dimensions from spaces order by name'),
    space: database.prepare('select key, name, id, dimensions from spaces where name = ?'),
    addSpace: database.prepare('insert into spaces (name, id, dimensions) values (?, ?, ?)'),
    dropSpace: database.prepare('delete from spaces where name = ?'),
    owner: database.prepare('select key from owners where space = ? and user_id = ?'),
    addOwner: database.prepare('insert into owners (space, user_id) values (?, ?)'),
    put: database.prepare(
      `insert into items (owner, id, updated_at, vector) values (?, ?, ?, ?)
       on conflict (owner, id) do update set updated_at = excluded.updated_at, vector = excluded.vector
       where excluded.updated_at >= items.updated_at
       returning row`,
    ),
    remove: database.prepare('delete from items where owner = ? and id = ? returning row'),
    rows: database.prepare('select row, vector from items where owner = ? and row > ? order by row limit ?'),
    item: database.prepare('select id, vector from items where owner = ? and row = ?'),
    orphan: database.prepare('select key from owners where space not in (select key from spaces) limit 1'),
    sweep: database.prepare(
      'delete from items where row in (select row from items where owner = ? limit ?) returning row',
    ),
    dropOwner: database.prepare('delete from owners where key = ?'),
  };

  function space(name: string): KnownSpace | null {
    return (statements.space.get(name) as KnownSpace | undefined) ?? null;
  }

  function owner(spaceKey: number, userId: string): number | null {
    return (statements.owner.get(spaceKey, userId) as { key: number } | undefined)?.key ?? null;
  }

  function makeSpace({ name, dimensions }: VectorSpace): KnownSpace {
    if (dimensions < 1 || dimensions > MAX_DIMENSIONS)
      throw new RangeError(`${name} has ${dimensions} dimensions; there may be 1 to ${MAX_DIMENSIONS}`);
    const id = randomUUID();
    const { lastInsertRowid: key } = statements.addSpace.run(name, id, dimensions);
    return { key, name, id, dimensions };
  }

  function put(
    known: KnownSpace,
    { userId, id, updatedAt, vector }: VectorItem,
  ): (Row & { owner: number }) | null {
    const bytes = bytesOf(directionOf(vector, known));
    const key = owner(known.key, userId) ?? statements.addOwner.run(known.key, userId).lastInsertRowid;
    const written = statements.put.get(key, id, updatedAt, bytes) as { row: number } | undefined;
    return written ? { owner: key, row: written.row, vector: bytes } : null;
  }

  return {
    spaces: () => statements.spaces.all() as KnownSpace[],
    space,
    owner,
    /** Resolves to what was written: all but those that are older than what is held. */
    upsert: database.transaction((wanted: VectorSpace, items: readonly VectorItem[]) => {
      const known = space(wanted.name) ?? makeSpace(wanted);
      return items.map(item => put(known, item)).filter(written => written !== null);
    }),
    /** The rows that are gone. */
    remove: database.transaction((key: number, ids: readonly string[]): number[] =>
      ids.flatMap(id => (statements.remove.all(key, id) as { row: number }[]).map(({ row }) => row)),
    ),
    /** The next rows of an owner after this one, in order. */
    rows(key: number, dimensions: number, after: number, limit: number): Row[] {
      const rows = statements.rows.all(key, after, limit) as Row[];
      for (const { vector } of rows) checkSize(vector, dimensions);
      return rows;
    },
    item(key: number, dimensions: number, row: number): { id: string; vector: Float32Array } | null {
      const found = statements.item.get(key, row) as { id: string; vector: Uint8Array } | undefined;
      return found ? { id: found.id, vector: floatsOf(found.vector, dimensions) } : null;
    },
    /** What is in it stays until it is swept. */
    drop: (name: string) => void statements.dropSpace.run(name),
    /** Takes away some of what lies in no space any more; false when nothing did. */
    sweep: database.transaction((): boolean => {
      const orphan = statements.orphan.get() as { key: number } | undefined;
      if (orphan === undefined) return false;
      const swept = statements.sweep.all(orphan.key, SWEPT_AT_ONCE);
      if (swept.length < SWEPT_AT_ONCE) statements.dropOwner.run(orphan.key);
      return true;
    }),
    /** What was removed leaves the log, too. */
    emptyLog: () => void database.pragma('wal_checkpoint(truncate)'),
    close: () => database.close(),
  };
}

/** A file that cannot be used, though SQLite can read it. */
class Damage extends Error {}

const DAMAGED = /^SQLITE_(CORRUPT|NOTADB|IOERR_SHORT_READ)/;

export function isDamage(thrown: unknown): thrown is Error {
  if (thrown instanceof Damage) return true;
  return thrown instanceof Error && 'code' in thrown && DAMAGED.test(String(thrown.code));
}

/** Out of the way, for who wants to look at it. An earlier one makes room. */
export function setAside(path: string): string {
  const aside = `${path}.damaged`;
  for (const part of ['', '-wal']) {
    rmSync(aside + part, { force: true });
    if (existsSync(path + part)) renameSync(path + part, aside + part);
  }
  return aside;
}

export function bytesOf(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}

/** A copy: SQLite's bytes need not lie where numbers may. @throws {Damage} */
function floatsOf(bytes: Uint8Array, dimensions: number): Float32Array {
  checkSize(bytes, dimensions);
  return new Float32Array(Uint8Array.from(bytes).buffer);
}

function checkSize({ length }: Uint8Array, dimensions: number): void {
  const expected = dimensions * Float32Array.BYTES_PER_ELEMENT;
  if (length !== expected) throw new Damage(`a vector in it has ${length} bytes, not ${expected}`);
}
