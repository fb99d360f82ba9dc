import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import knex, { type Knex } from 'knex';
import type { PluginContext } from '../../../core/contract/plugin.ts';
import type { Dialect, Fault } from './dialect.ts';
import type { Value } from './models.ts';
import { backUp } from './sqlite-backup.ts';
import { createCheckpoints } from './sqlite-checkpoints.ts';
import { createCommits } from './sqlite-commits.ts';
import { copySqlite } from './sqlite-snapshot.ts';
import { createSyncs, UNSYNCED } from './sqlite-syncs.ts';
import { sqliteTables } from './sqlite-tables.ts';
import { createThread } from './sqlite-thread.ts';
import { clearDeleted, rewriteOnce } from './sqlite-upkeep.ts';
import type { Result, Runner } from './statements.ts';
import { type Ask, matchSqlite, type Searcher } from './word-index.ts';

/**
 * Number and length of statements that a connection keeps compiled; long ones, which insert many rows, rarely repeat.
 */
const MAX_KEPT = 200;
const MAX_KEPT_CHARS = 2000;
/** Time to wait for another process's lock. */
const DEFAULT_BUSY_MS = 5000;
const BUSY_PAUSE_MS = 10;

export type SqliteContext = Pick<PluginContext<never>, 'log' | 'error'>;

/** The part of better-sqlite3's connection that is used here. */
interface Connection {
  inTransaction: boolean;
  prepare(sql: string): Prepared;
  pragma(source: string, options?: { simple: true }): unknown;
  close(): void;
}
interface Prepared {
  reader: boolean;
  all(values: readonly unknown[]): Record<string, unknown>[];
  run(values: readonly unknown[]): { changes: number };
}
type Compiler = Pick<Connection, 'prepare'>;
interface Statement {
  sql: string;
}
interface BetterSqliteClient extends Knex.Client {
  _driver(): unknown;
  _query(connection: Compiler, statement: Statement): Promise<unknown>;
}
interface PatientClient extends BetterSqliteClient, Runner {
  acquireConnection(): Promise<Connection>;
  releaseConnection(connection: Connection): Promise<void>;
  executeOn(connection: Connection, sql: string, values?: readonly Value[]): Promise<Result>;
}
type BetterSqliteClientClass = Pick<typeof Knex.Client, keyof typeof Knex.Client> &
  (new (
    config: Knex.Config,
  ) => BetterSqliteClient);

const require = createRequire(import.meta.url);
const Database: new (file: string) => Connection = require('better-sqlite3');
const BetterSqlite: BetterSqliteClientClass = require('knex/lib/dialects/better-sqlite3/index.js');

/**
 * Opens the database at `file`, creating it if it is missing. It is connected to at first use.
 * @throws AppError `config_error`, naming the file, when it can be neither opened nor created
 */
export function openSqlite(file: string, context: SqliteContext, busyMs: number = DEFAULT_BUSY_MS): Dialect {
  refuseLost(file, context);
  createPrivate(file, context);
  const writer = connect(patientClient(busyMs), file, context, {
    min: 0,
    max: 1,
    idleTimeoutMillis: Number.MAX_SAFE_INTEGER,
    afterCreate: asPromised((connection: Connection) => setUp(connection, WRITING)),
  });
  const reading = openOnce(file);
  const reader = connect(patientClient(busyMs, reading.get), file, context, { max: 0 });
  const readClient = reader.client as PatientClient & Partial<Searcher>;
  const ask: Ask = async (sql, values) => (await readClient.execute(sql, values)).rows;
  const thread = createThread(file, context, (...args) => matchSqlite(ask, ...args));
  readClient.search = thread.search;
  let held: Connection | null = null;
  const inside = connect(
    patientClient(busyMs, () => held ?? refuseUnheld()),
    file,
    context,
    { max: 0 },
  );
  const { acquireConnection, releaseConnection, executeOn } = writer.client as PatientClient;
  const syncs = createSyncs(`${file}-wal`, context);
  const acquire = acquireConnection.bind(writer.client);
  const release = (connection: Connection) => void releaseConnection.call(writer.client, connection);
  const checkpoints = createCheckpoints({ copyLog: thread.copyLog, acquire, release }, context);
  const commits = createCommits<Connection>({
    async acquire() {
      held = await acquire();
      return held;
    },
    release(connection) {
      held = null;
      void checkpoints.look(connection);
      release(connection);
    },
    run: executeOn.bind(writer.client),
    isOpen: ({ inTransaction }) => inTransaction,
    tooLate: () => Object.assign(new Error('others had it for too long'), { code: 'SQLITE_BUSY' }),
  });
  const alone = inside.client as PatientClient;
  (writer.client as PatientClient).execute = (sql, values) => {
    writer.client.emit('query', { sql, bindings: values });
    return commits(() => alone.execute(sql, values));
  };
  const step = <T>(work: (connection: Connection) => T) => commits(async () => work(held ?? refuseUnheld()));

  async function emptyLog(): Promise<void> {
    await thread.copyLog(); // most of it, while others write
    const connection = await acquire();
    try {
      if (!(await thread.emptyLog())) connection.pragma('wal_checkpoint(truncate)');
    } finally {
      release(connection);
    }
  }

  return {
    place: `database ${file}`,
    writer,
    reader,
    write: work => syncs.lasting(() => work(writer)),
    transaction: work => syncs.lasting(() => commits(() => work(inside))),
    locksRows: false, // nobody else writes meanwhile
    fault,
    explain: reasonOf,
    backup: label => backUp(writer, file, label),
    snapshot: target => copySqlite(file, target),
    async identity() {
      const { dev, ino } = await stat(file, { bigint: true }); // the same through every link
      return `sqlite ${dev} ${ino}`;
    },
    tables: sqliteTables,
    async settle() {
      const connection = await acquire();
      try {
        await rewriteOnce(file, connection, context);
      } finally {
        release(connection);
      }
    },
    upkeep: () => clearDeleted({ step, emptyLog }),
    async close() {
      checkpoints.close();
      await thread.close();
      reading.close();
      await writer.destroy();
      await syncs.close();
    },
  };
}

/** SQLite itself neither syncs commits nor performs checkpoints, since both would block the thread. */
const WRITING = [
  'secure_delete = on',
  'journal_mode = wal',
  'synchronous = normal',
  'wal_autocheckpoint = 0',
  'foreign_keys = on',
];
const READING = ['query_only = on'];

function setUp(connection: Connection, pragmas: readonly string[]): Connection {
  try {
    // for a new database only: it writes, and so does the next one
    if (pragmas === WRITING && connection.pragma('page_count', { simple: true }) === 0)
      connection.pragma('auto_vacuum = incremental');
    for (const pragma of pragmas) connection.pragma(pragma);
    connection.pragma('busy_timeout = 0'); // the client waits instead, without blocking the thread
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * Opens the connection shared by all reads: each completes before the next starts, so there is no waiting for a
 * connection.
 */
function openOnce(file: string) {
  let connection: Connection | null = null;
  let isClosed = false;
  return {
    get(): Connection {
      if (isClosed) throw new Error('it was closed');
      connection ??= setUp(new Database(file), READING);
      return connection;
    },
    close() {
      isClosed = true;
      connection?.close();
    },
  };
}

function refuseUnheld(): never {
  throw new Error('no transaction is under way');
}

/** Refuses a log without its database: SQLite would overwrite the log and lose its content. */
function refuseLost(file: string, { error }: SqliteContext): void {
  const log = `${file}-wal`;
  if (sizeOf(file) > 0 || sizeOf(log) === 0) return;
  throw error(
    'config_error',
    `The database ${file} is missing or empty, but its write-ahead log ${log} is there; nothing was changed. Put back ` +
      `the file that belongs to it; or move ${log} away and put back a backup. To begin anew, move the data ` +
      `directory away: mv ${dirname(file)} ${dirname(file)}.old`,
  );
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Creates the file readable by this user only, as conversations are private. SQLite gives its log the same mode. */
function createPrivate(file: string, { error }: SqliteContext): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    closeSync(openSync(file, 'a', 0o600));
    chmodSync(file, 0o600);
  } catch (cause) {
    throw error('config_error', `Cannot open the database ${file}: ${reasonOf(cause)}`, { cause });
  }
}

function asPromised(setUp: (connection: Connection) => Connection) {
  return (connection: Connection, done: (error: unknown, connection: Connection) => void) => {
    try {
      done(null, setUp(connection));
    } catch (error) {
      done(error, connection);
    }
  };
}

function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

function connect(client: BetterSqliteClientClass, file: string, { log }: SqliteContext, pool: object): Knex {
  return knex({
    client,
    connection: { filename: file },
    useNullAsDefault: true,
    compileSqlOnError: false, // otherwise values, such as the text of transcripts, become part of error messages
    acquireConnectionTimeout: 30_000,
    log: {
      warn: message => log.warn(String(message)),
      error: message => log.error(String(message)),
      deprecate: message => log.debug(String(message)),
      debug: message => log.debug(String(message)),
    },
    pool,
  });
}

/**
 * knex's client with four differences. A transaction takes the write lock at its start, because one that wants to write
 * after reading would be refused instead of made to wait. Waiting for another process leaves the event loop free.
 * Statements are compiled once, since compiling takes longer than most take to run. SQL text is run unchanged.
 * @param held an existing connection to use, owned by the caller; absent: one of its own
 */
function patientClient(busyMs: number, held?: () => Connection): BetterSqliteClientClass {
  /** Retries while another process holds the lock, up to the limit. */
  async function patiently<T>(work: () => T | Promise<T>): Promise<T> {
    for (let waitedMs = 0; ; waitedMs += BUSY_PAUSE_MS) {
      try {
        return await work();
      } catch (error) {
        if (fault(error) !== 'busy' || waitedMs >= busyMs) throw error;
      }
      await sleep(BUSY_PAUSE_MS);
    }
  }

  return class extends BetterSqlite implements Runner {
    override _driver(): unknown {
      return require('better-sqlite3'); // found here wherever knex looks for a driver
    }

    override async acquireConnection(): Promise<Connection> {
      return held ? held() : super.acquireConnection();
    }

    override async releaseConnection(connection: Connection): Promise<void> {
      if (!held) await super.releaseConnection(connection);
    }

    override async _query(connection: Connection, statement: Statement): Promise<unknown> {
      try {
        return await patiently(() => super._query(compilerOf(connection), statement));
      } catch (error) {
        if (statement.sql === 'COMMIT;') await this.leaveTransaction(connection);
        throw error;
      }
    }

    async execute(sql: string, values: readonly Value[]): Promise<Result> {
      this.emit('query', { sql, bindings: values });
      const connection = await this.acquireConnection();
      try {
        return await this.executeOn(connection, sql, values);
      } finally {
        await this.releaseConnection(connection);
      }
    }

    async executeOn(connection: Connection, sql: string, values: readonly Value[] = []): Promise<Result> {
      const statement = compilerOf(connection).prepare(sql);
      const bound = values.map(value => (typeof value === 'boolean' ? Number(value) : value));
      return patiently(() =>
        statement.reader
          ? { rows: statement.all(bound), changes: 0 }
          : { rows: [], changes: statement.run(bound).changes },
      );
    }

    /** Rolls back after a failed COMMIT, so that the next write does not join that transaction. */
    async leaveTransaction(connection: Connection): Promise<void> {
      if (connection.inTransaction) await super._query(connection, { sql: 'ROLLBACK;' });
    }

    override transaction(container: unknown, config: unknown, outer: unknown): Knex.Transaction {
      const transaction = super.transaction(container, config, outer);
      return Object.assign(transaction, {
        begin(this: BeginnableTransaction, connection: Connection) {
          return this.query(connection, 'BEGIN IMMEDIATE;');
        },
      });
    }
  };
}

const compilers = new WeakMap<Connection, Compiler>();

function compilerOf(connection: Connection): Compiler {
  const compiler = compilers.get(connection) ?? keepCompiled(connection);
  compilers.set(connection, compiler);
  return compiler;
}

function keepCompiled(connection: Connection): Compiler {
  const kept = new Map<string, Prepared>();
  return {
    prepare(sql) {
      const statement = kept.get(sql) ?? connection.prepare(steady(sql));
      if (kept.size >= MAX_KEPT) kept.clear();
      if (sql.length <= MAX_KEPT_CHARS) kept.set(sql, statement);
      return statement;
    },
  };
}

/**
 * SQLite compiles statements that sort or join again at each run when a bound value is a limit or is compared with a
 * column, in case the value allows a better plan (seen with 3.54; for few rows that takes longer than everything else).
 * It does not look into expressions.
 */
function steady(sql: string): string {
  return /\b(order by|join)\b/i.test(sql) ? sql.replace(/ (=|limit|offset) \?/gi, ' $1 +?') : sql;
}

interface BeginnableTransaction {
  query(connection: Connection, sql: string): Promise<unknown>;
}

const FAULTS: readonly (readonly [prefix: string, fault: Fault])[] = [
  ['SQLITE_CONSTRAINT_UNIQUE', 'duplicate'],
  ['SQLITE_CONSTRAINT_PRIMARYKEY', 'duplicate'],
  ['SQLITE_CONSTRAINT_FOREIGNKEY', 'orphan'],
  ['SQLITE_BUSY', 'busy'],
  ['SQLITE_LOCKED', 'busy'],
  ['SQLITE_NOTADB', 'damaged'],
  ['SQLITE_CORRUPT', 'damaged'],
  ['SQLITE_FULL', 'full'],
  ['SQLITE_', 'other'],
  [UNSYNCED, 'unsynced'],
];

function fault(thrown: unknown): Fault {
  if (!(thrown instanceof Error)) return null;
  if (thrown.name === 'KnexTimeoutError') return 'busy';
  if (!('code' in thrown) || typeof thrown.code !== 'string') return null;
  const { code, message } = thrown;
  if (code === 'SQLITE_ERROR' && message.includes('no such table')) return 'no_schema';
  return FAULTS.find(([prefix]) => code.startsWith(prefix))?.[1] ?? null;
}
