/** Keeps the index in its own SQLite file and finds neighbours with sqlite-vec. Synchronous, for one thread. */
import { randomUUID } from 'node:crypto';
import { chmodSync, closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { getLoadablePath } from 'sqlite-vec';
import type { VectorItem, VectorSpace } from '../../../core/contract/plugin.ts';
import { directionOf, isZero } from '../../kit/geometry/direction.ts';
import type { Hit, Verbs } from './messages.ts';

/** The part of better-sqlite3 that is used here. */
interface Database {
  pragma(source: string, options?: { simple: true }): unknown;
  exec(sql: string): void;
  prepare(sql: string): Statement;
  transaction<Args extends unknown[], T>(work: (...args: Args) => T): (...args: Args) => T;
  loadExtension(path: string): void;
  close(): void;
}
interface Statement {
  run(...values: unknown[]): { lastInsertRowid: number; changes: number };
  get(...values: unknown[]): unknown;
  all(...values: unknown[]): unknown[];
}

const SQLite: new (file: string, options: { timeout: number }) => Database = createRequire(import.meta.url)(
  'better-sqlite3',
);

/** Waiting time for another process's lock; a stopping process releases it within that. */
const BUSY_MS = 3000;
/** A file of another version is emptied, and core fills it again from storage. */
const VERSION = 2;
/** An owner is one user within one space. Each space has a sqlite-vec table whose rows are the space's items. */
const SCHEMA = `
  create table spaces (
    key integer primary key autoincrement, name text not null unique, id text not null, dimensions integer not null
  ) strict;
  create table owners (
    key integer primary key autoincrement, space integer not null, user_id text not null, unique (space, user_id)
  ) strict;
  create table items (
    row integer primary key autoincrement, owner integer not null, id text not null, updated_at integer not null,
    unique (owner, id)
  ) strict;
  pragma user_version = ${VERSION};
`;
const MAX_DIMENSIONS = 4096;
/** sqlite-vec compares 16 numbers at once, and is slow for lengths that are not a multiple of it. */
const STEP = 16;
/** Rows by which an owner's partition grows; a multiple of 8. */
const CHUNK_ROWS = 256;

export type VectorsFile = Verbs & {
  /** Removes deleted vectors from the write-ahead log. */
  emptyLog(): void;
  close(): void;
};

interface KnownSpace extends VectorSpace {
  key: number;
  id: string;
}

/**
 * @param cacheBytes size of SQLite's page cache
 * @throws SQLite's error; `isDamage` tells whether the file is damaged
 */
export function openVectorsFile(path: string, cacheBytes: number): VectorsFile {
  makePrivate(path);
  const database = new SQLite(path, { timeout: BUSY_MS });
  try {
    loadSqliteVec(database);
    prepare(database, cacheBytes);
    return vectorsIn(database);
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Makes the file and its log readable by this user alone. */
function makePrivate(path: string): void {
  closeSync(openSync(path, 'a', 0o600));
  for (const part of ['', '-wal']) if (existsSync(path + part)) chmodSync(path + part, 0o600);
}

function loadSqliteVec(database: Database): void {
  try {
    database.loadExtension(getLoadablePath());
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`sqlite-vec does not work on this machine (${reason})`, { cause });
  }
}

function prepare(database: Database, cacheBytes: number): void {
  database.pragma('secure_delete = on');
  database.pragma('locking_mode = exclusive');
  database.pragma('journal_mode = wal');
  database.pragma('synchronous = full');
  database.pragma(`cache_size = -${Math.ceil(cacheBytes / 1024)}`);
  const version = Number(database.pragma('user_version', { simple: true }));
  if (version === VERSION) return;
  if (version > VERSION) throw new Damage(`it is of version ${version}, not ${VERSION}`);
  database.transaction(() => {
    for (const table of ['items', 'owners', 'spaces']) database.exec(`drop table if exists ${table}`);
    database.exec(SCHEMA);
  })();
  if (version > 0) database.exec('vacuum');
}

function vectorsIn(database: Database): VectorsFile {
  const statements = {
    spaces: database.prepare('select name, id from spaces order by name'),
    space: database.prepare('select key, name, id, dimensions from spaces where name = ?'),
    addSpace: database.prepare('insert into spaces (name, id, dimensions) values (?, ?, ?)'),
    dropSpace: database.prepare('delete from spaces where key = ?'),
    owner: database.prepare('select key from owners where space = ? and user_id = ?'),
    addOwner: database.prepare('insert into owners (space, user_id) values (?, ?)'),
    dropOwners: database.prepare('delete from owners where space = ?'),
    putItem: database.prepare(
      `insert into items (owner, id, updated_at) values (?, ?, ?)
       on conflict (owner, id) do update set updated_at = excluded.updated_at
       where excluded.updated_at >= items.updated_at
       returning row`,
    ),
    removeItem: database.prepare('delete from items where owner = ? and id = ? returning row'),
    dropItems: database.prepare('delete from items where owner in (select key from owners where space = ?)'),
  };
  /** By the key of the space. */
  const tables = new Map<number, ReturnType<typeof tableOf>>();

  function table({ key }: KnownSpace) {
    const known = tables.get(key) ?? tableOf(database, key);
    tables.set(key, known);
    return known;
  }

  function spaceOf(name: string): KnownSpace | null {
    return (statements.space.get(name) as KnownSpace | undefined) ?? null;
  }

  function ownerOf(space: KnownSpace, userId: string): number | null {
    return (statements.owner.get(space.key, userId) as { key: number } | undefined)?.key ?? null;
  }

  function createSpace({ name, dimensions }: VectorSpace): KnownSpace {
    if (dimensions < 1 || dimensions > MAX_DIMENSIONS)
      throw new RangeError(`${name} has ${dimensions} dimensions; there may be 1 to ${MAX_DIMENSIONS}`);
    const id = randomUUID();
    const { lastInsertRowid: key } = statements.addSpace.run(name, id, dimensions);
    database.exec(
      `create virtual table ${tableName(key)} using vec0(
         row integer primary key, owner integer partition key, vector float[${padded(dimensions)}],
         chunk_size=${CHUNK_ROWS}
       )`,
    );
    return { key, name, id, dimensions };
  }

  /** Ignores an item older than the stored one. */
  function put(space: KnownSpace, { userId, id, updatedAt, vector }: VectorItem): void {
    const direction = directionOf(vector, space);
    const owner = ownerOf(space, userId) ?? statements.addOwner.run(space.key, userId).lastInsertRowid;
    const written = statements.putItem.get(owner, id, updatedAt) as { row: number } | undefined;
    if (written === undefined) return;
    if (isZero(direction)) table(space).remove(written.row);
    else table(space).put(written.row, owner, direction);
  }

  return {
    upsert: database.transaction((wanted: VectorSpace, items: readonly VectorItem[]) => {
      const space = spaceOf(wanted.name) ?? createSpace(wanted);
      for (const item of items) put(space, item);
    }),
    search({ name }, userId, vector, limit) {
      const space = spaceOf(name);
      if (space === null) return [];
      const direction = directionOf(vector, space);
      const owner = ownerOf(space, userId);
      return owner === null || isZero(direction) ? [] : table(space).near(owner, direction, limit);
    },
    remove: database.transaction(({ name }: VectorSpace, userId: string, ids: readonly string[]) => {
      const space = spaceOf(name);
      const owner = space && ownerOf(space, userId);
      if (space === null || owner === null) return;
      for (const id of ids) {
        const removed = statements.removeItem.get(owner, id) as { row: number } | undefined;
        if (removed) table(space).remove(removed.row);
      }
    }),
    spaces: () => statements.spaces.all() as { name: string; id: string }[],
    drop: database.transaction((name: string) => {
      const space = spaceOf(name);
      if (space === null) return;
      tables.delete(space.key);
      statements.dropItems.run(space.key);
      statements.dropOwners.run(space.key);
      statements.dropSpace.run(space.key);
      database.exec(`drop table ${tableName(space.key)}`);
    }),
    emptyLog: () => void database.pragma('wal_checkpoint(truncate)'),
    close: () => database.close(),
  };
}

/** Statements for the vectors of one space, all of length 1. sqlite-vec accepts integers only as BigInt. */
function tableOf(database: Database, spaceKey: number) {
  const name = tableName(spaceKey);
  const statements = {
    insert: database.prepare(`insert into ${name} (row, owner, vector) values (?, ?, ?)`),
    update: database.prepare(`update ${name} set vector = ? where row = ?`),
    remove: database.prepare(`delete from ${name} where row = ?`),
    near: database.prepare(
      `select items.id, near.distance
       from (select row, distance from ${name} where owner = ? and vector match ? and k = ?) near
       join items on items.row = near.row
       order by near.distance`,
    ),
  };
  return {
    /** Overwrites in place where possible: a deleted row occupies space until its whole chunk is empty. */
    put(row: number, owner: number, direction: Float32Array): void {
      const bytes = bytesOf(direction);
      if (statements.update.run(bytes, BigInt(row)).changes > 0) return;
      statements.insert.run(BigInt(row), BigInt(owner), bytes);
    },
    remove: (row: number) => void statements.remove.run(BigInt(row)),
    near(owner: number, direction: Float32Array, limit: number): Hit[] {
      const found = statements.near.all(BigInt(owner), bytesOf(direction), BigInt(limit));
      return (found as { id: string; distance: number }[]).map(({ id, distance }) => ({
        id,
        score: cosineAt(distance),
      }));
    },
  };
}

function tableName(spaceKey: number): string {
  return `vectors_${Number(spaceKey)}`;
}

/** Cosine of two vectors of length 1 at this distance. */
function cosineAt(distance: number): number {
  return Math.max(-1, Math.min(1, 1 - distance ** 2 / 2));
}

function padded(dimensions: number): number {
  return Math.ceil(dimensions / STEP) * STEP;
}

/** Encodes 32-bit floats, padded with zeros, which change no distance. */
function bytesOf(direction: Float32Array): Uint8Array {
  const floats = new Float32Array(padded(direction.length));
  floats.set(direction);
  return new Uint8Array(floats.buffer);
}

/** The file is readable by SQLite but unusable. */
class Damage extends Error {}

/** sqlite-vec reports inconsistent tables as SQLITE_ERROR, which our statements cause in no other way. */
const DAMAGED = /^SQLITE_(CORRUPT|NOTADB|IOERR_SHORT_READ|ERROR$)/;

export function isDamage(thrown: unknown): thrown is Error {
  if (thrown instanceof Damage) return true;
  return thrown instanceof Error && 'code' in thrown && DAMAGED.test(String(thrown.code));
}

/** Renames the damaged file so that it can be examined, replacing one renamed earlier. Returns the new path. */
export function moveDamaged(path: string): string {
  const moved = `${path}.damaged`;
  for (const part of ['', '-wal']) {
    rmSync(moved + part, { force: true });
    if (existsSync(path + part)) renameSync(path + part, moved + part);
  }
  return moved;
}
