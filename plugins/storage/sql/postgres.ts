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

/** How to reach a server: by an address that says it all, or piece by piece. */
export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, with `sslmode` and the like behind a question mark. */
  url?: string | undefined;
  host: string;
  port: number;
  database: string;
  user: string;
  password?: string | undefined;
  /** Encrypted, and the server's certificate checked. */
  tls: boolean;
  /** Connections for writes and transactions. */
  writers: number;
  /** Connections for reads outside of them. */
  readers: number;
  /** Milliseconds that a statement waits for another's lock. */
  lockMs: number;
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
/** A process that sleeps within a transaction must not hold up all others for ever. */
const IDLE_TRANSACTION_MS = 60_000;
const INT8 = 20;

/** Held by one transaction of a database at a time. The number is Earshot's, and means nothing. */
const TRANSACTION_LOCK = 732_768_420;

/** The database that the options name; it must be there. Connected to at its first use. */
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
    async upkeep() {}, // autovacuum does it
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

/** For people: without user and password. */
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
  { url, host, port, database, user, password, tls }: PostgresOptions,
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
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      types: numberTypes(),
    } as Knex.PgConnectionConfig, // knex hands `types` on to pg, but has no type for it
    compileSqlOnError: false, // or values, such as a transcript's text, become part of error messages
    acquireConnectionTimeout: 30_000,
    log: {
      warn: message => log.debug(String(message)), // connections that failed: whoever waited for one is told
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

/** Counts and instants are numbers here, as they are on SQLite; for these connections alone. */
function numberTypes(): Pg['types'] {
  const { types }: Pg = require('pg');
  return {
    getTypeParser: (type, format) => (type === INT8 ? Number : types.getTypeParser(type, format)),
  };
}

/**
 * knex's client with four differences: transactions run one after the other, in all processes, as they do on SQLite
 * (what they read decides what they write, and often that a row is not there, which no lock on rows can hold), no
 * error repeats what was to be stored, text may hold any character, and what is written as SQL is run as it is.
 */
function serialClient(): PgClientClass {
  return class extends Postgres implements Runner {
    override _driver(): unknown {
      return require('pg'); // ours, wherever knex would look for one
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
      if (config?.isolationLevel) return transaction; // sees one state of the data, waits for nobody
      return Object.assign(transaction, {
        begin: (connection: Connection) => this.beginSerial(connection),
      });
    }

    /** Each statement sees what was committed before it: also what the one that held the lock has written. */
    async beginSerial(connection: Connection): Promise<void> {
      try {
        await super._query(connection, { sql: `BEGIN; SELECT pg_advisory_xact_lock(${TRANSACTION_LOCK})` });
      } catch (error) {
        // or the connection would go back to the pool with a transaction that has failed
        await super._query(connection, { sql: 'ROLLBACK' }).catch(() => {});
        throw error;
      }
    }
  };
}
