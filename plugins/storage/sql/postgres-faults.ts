import type { Fault } from './dialect.ts';

/** By SQLSTATE, longest prefix first; codes with letters come from the socket. */
const FAULTS: readonly (readonly [prefix: string, fault: Fault])[] = [
  ['23505', 'duplicate'],
  ['23503', 'orphan'],
  ['40', 'busy'], // serialization failure, deadlock: a retry helps
  ['55P03', 'busy'], // waited too long for a lock
  ['57P', 'unreachable'], // server shutting down, crashed, or starting
  ['53300', 'unreachable'], // too many connections
  ['08', 'unreachable'],
  ['53100', 'full'],
  ['42P01', 'no_schema'],
  ['28', 'refused'],
  ['3D000', 'refused'],
  ['42501', 'refused'],
  ['25006', 'refused'],
];

/** In our own words, because the server's may quote the data. */
const REASONS: readonly (readonly [prefix: string, reason: string])[] = [
  [
    '28P01',
    'user or password is wrong. Correct plugins.sql.user and plugins.sql.password, or plugins.sql.url',
  ],
  ['28', 'its pg_hba.conf does not let this user in. Correct it, or plugins.sql.user and plugins.sql.tls'],
  ['3D000', 'there is no such database. Make it with createdb, or correct plugins.sql.database'],
  ['42501', 'the user may not do that. Make it the owner of the database: alter database … owner to …'],
  ['25006', 'it takes no writes. Name the primary server, not a standby'],
  ['53300', 'it has no connection left. Raise its max_connections, or lower plugins.sql.writers and readers'],
  ['57P03', 'it is starting up'],
  ['57P', 'it was shut down'],
  ['LOST', 'the connection was lost, or not made in time'],
  ['NO_TLS', 'it has no TLS. Set it up there, or switch off plugins.sql.tls'],
  ['ENOTFOUND', 'there is no such host'],
  ['EAI_AGAIN', 'its host could not be looked up'],
  [
    'ECONNREFUSED',
    'nothing listens there. Start Postgres, or correct plugins.sql.host and plugins.sql.port, or plugins.sql.url',
  ],
];

/** Errors without a code, recognised by the start of their message. */
const CODELESS: readonly (readonly [beginning: RegExp, code: string])[] = [
  [/^SASL/, '28P01'],
  [/^The server does not support SSL/, 'NO_TLS'],
  [/^(Connection terminated|Connection ended|Client has encountered|timeout expired)/, 'LOST'],
];

const TLS = /CERT|TLS|SELF_SIGNED|UNABLE_TO/;

/** Classifies an error of pg, of its socket, or of the pool. */
export function fault(thrown: unknown): Fault {
  if (!(thrown instanceof Error)) return null;
  if (thrown.name === 'KnexTimeoutError') return 'busy';
  const code = codeOf(thrown);
  if (code === undefined) return null;
  if (TLS.test(code)) return 'refused';
  if (code === 'LOST' || /^E[A-Z]+(_[A-Z]+)?$/.test(code)) return 'unreachable';
  if (!/^[0-9A-Z]{5}$/.test(code)) return null;
  return FAULTS.find(([prefix]) => code.startsWith(prefix))?.[1] ?? 'other';
}

/** Explains why the server cannot be reached or refuses. */
export function explain(thrown: unknown): string {
  const code = codeOf(thrown) ?? 'for an unknown reason';
  const reason = REASONS.find(([prefix]) => code.startsWith(prefix))?.[1];
  if (reason !== undefined) return reason;
  return TLS.test(code) ? `its certificate is not trusted (${code}). See NODE_EXTRA_CA_CERTS` : code;
}

/** Removes pg's `detail`, which holds the row, and `where`, which holds parts of the statement. */
export function withoutValues(thrown: unknown): unknown {
  if (thrown instanceof Error) Object.assign(thrown, { detail: undefined, where: undefined });
  return thrown;
}

function codeOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return undefined;
  if ('nativeError' in thrown) return codeOf(thrown.nativeError); // as objection wraps it
  if ('code' in thrown && typeof thrown.code === 'string') return thrown.code;
  const message = thrown.message.split(' - ').pop() ?? '';
  return CODELESS.find(([beginning]) => beginning.test(message))?.[1];
}
