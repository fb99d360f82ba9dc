import { createRequire } from 'node:module';
import knex, { type Knex } from 'knex';
import type { PluginContext } from '../../../core/contract/plugin.ts';
import type { Dialect } from './dialect.ts';
import type { Value } from './models.ts';
import { explain, fault, withoutValues } from './postgres-faults.ts';
import { copyToSqlite } from './postgres-snapshot.ts';
import { postgresTables, storable } from './postgres-tables.ts';
import type { Result, Runner } from './statements.ts';
import type { StorageContext } from './storage.ts';

/** Address of a server, as one URL or in parts. */
export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, with `sslmode` and other parameters in its query. */
  url?: string | undefined;
  host: string;
  port: number;
  database: string;
  user: string;
  password?: string | undefined;
  /** Encrypts the connection and verifies the server's certificate. */
  tls: boolean;
  /** Connections for writes and transactions. */
  writers: number;
  /** Connections for reads outside of transactions. */
  readers: number;
  /** Milliseconds that a statement waits for a lock. */
  lockMs: number;
  /** Milliseconds that opening a connection may take; absent: 5000. */
  connectMs?: number;
}

export type PostgresContext = Pick<PluginContext<never>, 'log'>;

/** The part of pg's connection that is used here. */
interface Connection {
  query(sql: string, done: (error: Error | null) => void): void;
}
interface Pg {
  types: { getTypeParser(type: number, format?: string): (text: string) => unknown };
}
interface PgClient extends Knex.Client {
  _driver(): unknown;
  prepBindings(bindings: unknown): unknown;
  _query(connection: Connection, statement: unknown): Promise<unknown>;
}
type PgClientClass = Pick<typeof Knex.Client, keyof typeof Knex.Client> &
  (new (
    config: Knex.Config,
  ) => PgClient);

const require = createRequire(import.meta.url);
const Postgres: PgClientClass = require('knex/lib/dialects/postgres/index.js');

const CONNECT_MS = 5000;
/** Ends transactions of a stalled process, which would block all others. */
const IDLE_TRANSACTION_MS = 60_000;
const INT8 = 20;

/** Advisory lock held by one transaction of a database at a time; an arbitrary number of Earshot's own. */
const TRANSACTION_LOCK = 732_768_420;

/** Opens the existing database that the options name. It is connected to at first use. */
export function openPostgres(options: PostgresOptions, context: StorageContext): Dialect {
  const { log } = context;
  const place = placeOf(options);
  const locks = `set lock_timeout = ${options.lockMs}`;
  const writer = connect(options, log, options.writers, [
    locks,
    `set idle_in_transaction_session_timeout = ${IDLE_TRANSACTION_MS}`,
  ]);
  const reader = connect(options, log, options.readers, [
    locks,
    'set session characteristics as transaction read only',
  ]);
  return {
    place: `database ${place.database} on ${place.host}:${place.port}`,
    writer,
    reader,
    write: async work => await work(writer),
    transaction: work => writer.transaction(work),
    locksRows: true,
    fault,
    explain,
    async backup(label) {
      const { host, port, database } = place;
      log.warn(
        { dump: `pg_dump -Fc -h ${host} -p ${port} -f earshot-${label}.dump ${database}` },
        'the schema of a Postgres database changes: Earshot makes no backup of it, its operator does',
      );
      return null;
    },
    snapshot: target =>
      copyToSqlite(reader, { place: `database ${place.database}`, tables: postgresTables }, target, context),
    async identity() {
      const { rows } = await reader.raw(
        'select system_identifier::text as server, current_database() as database from pg_control_system()',
      );
      return `postgres ${rows[0].server} ${rows[0].database}`;
    },
    tables: postgresTables,
    async settle() {},
    async upkeep() {}, // left to autovacuum
    async close() {
      await reader.destroy();
      await writer.destroy();
    },
  };
}

interface Place {
  host: string;
  port: number;
  database: string;
}

/** Describes the server for messages, without user and password. */
function placeOf({ url, host, port, database }: PostgresOptions): Place {
  if (url === undefined) return { host, port, database };
  const { hostname, port: ownPort, pathname, searchParams } = new URL(url);
  return {
    host: searchParams.get('host') ?? (hostname || 'localhost'),
    port: Number(ownPort || 5432),
    database: decodeURIComponent(pathname.slice(1)),
  };
}

function connect(
  { url, host, port, database, user, password, tls, connectMs = CONNECT_MS }: PostgresOptions,
  log: PostgresContext['log'],
  connections: number,
  settings: string[],
): Knex {
  const address =
    url === undefined
      ? { host, port, database, user, ...(password !== undefined && { password }), ssl: tls }
      : { connectionString: url };
  return knex({
    client: serialClient(),
    connection: {
      ...address,
      application_name: 'earshot',
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      types: numberTypes(),
    } as Knex.PgConnectionConfig, // knex passes `types` on to pg, but does not declare it
    compileSqlOnError: false, // otherwise values, such as the text of transcripts, become part of error messages
    acquireConnectionTimeout: 30_000,
    log: {
      warn: message => log.debug(String(message)), // failed connections; whoever waited for one gets the error
      error: message => log.error(String(message)),
      deprecate: message => log.debug(String(message)),
      debug: message => log.debug(String(message)),
    },
    pool: {
      min: 0,
      max: connections,
      afterCreate(connection: Connection, done: (error: Error | null, connection: Connection) => void) {
        connection.query(settings.join(';'), error => done(error, connection));
      },
    },
  });
}

/** Parses counts and instants as numbers, as SQLite does, for these connections only. */
function numberTypes(): Pg['types'] {
  const { types }: Pg = require('pg');
  return {
    getTypeParser: (type, format) => (type === INT8 ? Number : types.getTypeParser(type, format)),
  };
}

/**
 * knex's client with four differences. Transactions run one after the other across all processes, as on SQLite: their
 * reads decide their writes, often by the absence of a row, which no row lock can guard. Errors never quote data. Text
 * may hold any character. SQL text is run unchanged.
 */
function serialClient(): PgClientClass {
  return class extends Postgres implements Runner {
    override _driver(): unknown {
      return require('pg'); // found here wherever knex looks for a driver
    }

    override prepBindings(bindings: unknown): unknown {
      const values: unknown = super.prepBindings(bindings);
      return Array.isArray(values)
        ? values.map(value => (typeof value === 'string' ? storable(value) : value))
        : values;
    }

    async execute(sql: string, values: readonly Value[]): Promise<Result> {
      const { rows, rowCount } = await this.raw(sql, values);
      return { rows, changes: rowCount ?? 0 };
    }

    override async _query(connection: Connection, statement: unknown): Promise<unknown> {
      try {
        return await super._query(connection, statement);
      } catch (error) {
        throw withoutValues(error);
      }
    }

    override transaction(
      container: unknown,
      config: Knex.TransactionConfig | undefined,
      outer: unknown,
    ): Knex.Transaction {
      const transaction = super.transaction(container, config, outer);
      if (config?.isolationLevel) return transaction; // reads one state of the data and takes no lock
      return Object.assign(transaction, {
        begin: (connection: Connection) => this.beginSerial(connection),
      });
    }

    /**
     * Read committed: each statement sees what was committed before it, including the writes of the previous lock
     * holder.
     */
    async beginSerial(connection: Connection): Promise<void> {
      try {
        await super._query(connection, { sql: `BEGIN; SELECT pg_advisory_xact_lock(${TRANSACTION_LOCK})` });
      } catch (error) {
        // otherwise the connection would return to the pool inside a failed transaction
        await super._query(connection, { sql: 'ROLLBACK' }).catch(() => {});
        throw error;
      }
    }
  };
}
