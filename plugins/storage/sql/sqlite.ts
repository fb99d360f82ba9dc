import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import knex, { type Knex } from 'knex';
import type { PluginContext } from '../../../core/plugin.ts';
import type { Dialect, Fault } from './dialect.ts';
import { backUp } from './sqlite-backup.ts';
import { sqliteTables } from './sqlite-tables.ts';

/** Statements that a connection keeps compiled, at most, and the longest: what inserts many rows is seldom alike. */
const MAX_KEPT = 200;
const MAX_KEPT_CHARS = 2000;
/** How long to wait for another process's lock. */
const DEFAULT_BUSY_MS = 5000;
const BUSY_PAUSE_MS = 10;

export type SqliteContext = Pick<PluginContext<never>, 'log' | 'error'>;

/** The part of better-sqlite3's connection that is used here. */
interface Connection {
  inTransaction: boolean;
  prepare(sql: string): unknown;
  pragma(source: string): unknown;
  close(): void;
}
interface Statement {
  sql: string;
}
interface BetterSqliteClient extends Knex.Client {
  _driver(): unknown;
  _query(connection: Pick<Connection, 'prepare'>, statement: Statement): Promise<unknown>;
}
type BetterSqliteClientClass = Pick<typeof Knex.Client, keyof typeof Knex.Client> &
  (new (
    config: Knex.Config,
  ) => BetterSqliteClient);

const require = createRequire(import.meta.url);
const BetterSqlite: BetterSqliteClientClass = require('knex/lib/dialects/better-sqlite3/index.js');

/**
 * The database at `file`, made when it is not there; connected to at its first use.
 * @throws AppError `config_error`, naming the file, when it can be neither opened nor made
 */
export function openSqlite(file: string, context: SqliteContext, busyMs: number = DEFAULT_BUSY_MS): Dialect {
  createPrivate(file, context);
  const client = patientClient(busyMs);
  const writer = connect(client, file, context, [
    'journal_mode = wal',
    'synchronous = full',
    'foreign_keys = on',
  ]);
  const reader = connect(client, file, context, ['query_only = on']);
  return {
    place: `database ${file}`,
    writer,
    reader,
    locksRows: false, // nobody else writes meanwhile
    fault,
    explain: reasonOf,
    backup: label => backUp(writer, file, label),
    async identity() {
      const { dev, ino } = await stat(file, { bigint: true }); // whatever links lead to it
      return `sqlite ${dev} ${ino}`;
    },
    tables: sqliteTables,
    async close() {
      await reader.destroy();
      await writer.destroy();
    },
  };
}

/** Conversations are private: nobody else on the machine may read the file. SQLite gives its log the same mode. */
function createPrivate(file: string, { error }: SqliteContext): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    closeSync(openSync(file, 'a', 0o600));
    chmodSync(file, 0o600);
  } catch (cause) {
    throw error('config_error', `Cannot open the database ${file}: ${reasonOf(cause)}`, { cause });
  }
}

function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

function connect(
  client: BetterSqliteClientClass,
  file: string,
  { log }: SqliteContext,
  pragmas: string[],
): Knex {
  return knex({
    client,
    connection: { filename: file },
    useNullAsDefault: true,
    compileSqlOnError: false, // or values, such as a transcript's text, become part of error messages
    acquireConnectionTimeout: 30_000,
    log: {
      warn: message => log.warn(String(message)),
      error: message => log.error(String(message)),
      deprecate: message => log.debug(String(message)),
      debug: message => log.debug(String(message)),
    },
    pool: {
      min: 0,
      max: 1,
      idleTimeoutMillis: Number.MAX_SAFE_INTEGER,
      afterCreate(connection: Connection, done: (error: unknown, connection: Connection) => void) {
        try {
          for (const pragma of pragmas) connection.pragma(pragma);
          connection.pragma('busy_timeout = 0'); // the client waits instead, without holding the thread
          done(null, connection);
        } catch (error) {
          connection.close();
          done(error, connection);
        }
      },
    },
  });
}

/**
 * knex's client with three differences: a transaction takes the write lock when it begins (one that has read before it
 * wants to write would be refused, not made to wait), waiting for another process leaves the event loop free, and
 * statements are compiled once: that takes longer than most take to run.
 */
function patientClient(busyMs: number): BetterSqliteClientClass {
  const compilers = new WeakMap<Connection, Pick<Connection, 'prepare'>>();

  function compilerOf(connection: Connection): Pick<Connection, 'prepare'> {
    const compiler = compilers.get(connection) ?? keepCompiled(connection);
    compilers.set(connection, compiler);
    return compiler;
  }

  return class extends BetterSqlite {
    override _driver(): unknown {
      return require('better-sqlite3'); // ours, wherever knex would look for one
    }

    override async _query(connection: Connection, statement: Statement): Promise<unknown> {
      for (let waitedMs = 0; ; waitedMs += BUSY_PAUSE_MS) {
        try {
          return await super._query(compilerOf(connection), statement);
        } catch (error) {
          if (fault(error) !== 'busy' || waitedMs >= busyMs) {
            if (statement.sql === 'COMMIT;') await this.leaveTransaction(connection);
            throw error;
          }
        }
        await sleep(BUSY_PAUSE_MS);
      }
    }

    /** After a COMMIT that failed; or the next write would join what could not be committed. */
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

function keepCompiled(connection: Connection): Pick<Connection, 'prepare'> {
  const kept = new Map<string, unknown>();
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
 * SQLite plans a sorted statement anew at each run where a bound value is a limit, or is compared with a column, lest
 * the value allow a better plan (seen with 3.54; for a few rows that takes longer than all else). It does not look into
 * an expression.
 */
function steady(sql: string): string {
  return /\border by\b/i.test(sql) ? sql.replace(/ (=|limit|offset) \?/gi, ' $1 +?') : sql;
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
];

function fault(thrown: unknown): Fault {
  if (!(thrown instanceof Error)) return null;
  if (thrown.name === 'KnexTimeoutError') return 'busy';
  if (!('code' in thrown) || typeof thrown.code !== 'string') return null;
  const { code, message } = thrown;
  if (code === 'SQLITE_ERROR' && message.includes('no such table')) return 'no_schema';
  if (!code.startsWith('SQLITE_')) return null;
  return FAULTS.find(([prefix]) => code.startsWith(prefix))?.[1] ?? 'other';
}
