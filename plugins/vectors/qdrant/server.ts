/** Qdrant's client, with a way to leave, a time limit, and the errors that core understands. */
import type { QdrantClient } from '@qdrant/js-client-rest';
import type { PluginContext } from '../../../core/contract/plugin.ts';
import type { AppError } from '../../../core/runtime/errors.ts';
import { deadline, isAppError } from '../../kit/kit.ts';

/** Wants the TypeScript compiler (31 MB) beside it: whoever uses it installs it. The version is the one in package.json. */
export const PACKAGE = '@qdrant/js-client-rest@1.19.0';

export interface ServerSettings {
  url: string;
  apiKey?: string | undefined;
  timeoutMs: number;
}

type Context = Pick<PluginContext<never>, 'clock' | 'error' | 'signal'>;
/** One call of the client's generated interface: its named methods (`query`, `upsert`) take neither a signal nor `redirect`. */
type Call<Data> = (api: ReturnType<QdrantClient['api']>, init: RequestInit) => Promise<{ data: Data }>;

export interface Server {
  /**
   * The `result` of its answer; null where it says 404, as there is no such collection, and on 409, as there is one.
   * Rejects with `timeout`, `upstream_error`, `config_error` where the key is refused, or the signal's reason.
   */
  ask<Result>(call: Call<{ result?: Result }>, signal?: AbortSignal): Promise<Result | null>;
  /** Which Qdrant it is: `1.19.0`; empty when it is none. Rejects as `ask` does. */
  version(): Promise<string>;
}

/** Describes the failure for the log. */
const MAX_REASON = 500;

/** Rejects with `config_error` where the client is not installed. */
export async function connectServer(settings: ServerSettings, context: Context): Promise<Server> {
  const { url, timeoutMs } = settings;
  const { clock, error } = context;
  const base = url.replace(/(?<!\/)\/+$/, '');
  const api = (await openClient(settings, error)).api();

  async function send<Data>(call: Call<Data>, signal: AbortSignal = context.signal): Promise<Data | null> {
    const leaving = AbortSignal.any([signal, context.signal]);
    const late = () => error('timeout', `qdrant: ${base} did not answer within ${timeoutMs} ms`);
    try {
      // A redirect is not followed: vectors go where the operator sent them, and nowhere else.
      const ask = (ending: AbortSignal) => call(api, { redirect: 'manual', signal: ending });
      return (await deadline({ clock, limitMs: timeoutMs, late }, ask, leaving)).data;
    } catch (cause) {
      leaving.throwIfAborted();
      if (isRefusal(cause) && (cause.status === 404 || cause.status === 409)) return null;
      throw isAppError(cause) ? cause : failureOf(cause, base, error);
    }
  }

  return {
    async ask(call, signal) {
      const data = await send(call, signal);
      if (data === null) return null;
      if (data.result !== undefined) return data.result;
      throw error('upstream_error', `qdrant: ${base} answered, and not as Qdrant does`);
    },
    async version() {
      const { version } = (await send((api, init) => api.root({}, init))) ?? {}; // undefined where it is a page of HTML
      return typeof version === 'string' ? version : '';
    },
  };
}

async function openClient({ url, apiKey }: ServerSettings, error: Context['error']): Promise<QdrantClient> {
  const { QdrantClient } = await import('@qdrant/js-client-rest').catch(cause => {
    const message = `qdrant: its package is not installed; install it with: npm install ${PACKAGE}`;
    throw error('config_error', message, { cause });
  });
  const { origin, pathname } = new URL(url);
  return new QdrantClient({
    url: origin,
    prefix: pathname.replace(/(?<!\/)\/+$/, ''),
    // Or an address without a port, which means 80 or 443, would become 6333.
    port: null,
    // Named as an option, it would be complained of on the console wherever the address is http.
    headers: { 'api-key': apiKey },
    // Its own limit goes by its own clock, and puts its signal in the place of ours.
    timeout: Number.POSITIVE_INFINITY,
    checkCompatibility: false,
  });
}

/** Error that the client throws for an answer other than success; it does not export the class. */
interface Refusal extends Error {
  status: number;
  data: unknown;
}

function isRefusal(thrown: unknown): thrown is Refusal {
  return thrown instanceof Error && 'status' in thrown && typeof thrown.status === 'number';
}

/** Without what the server said, but in the cause. */
function failureOf(cause: unknown, base: string, error: Context['error']): AppError {
  if (isRefusal(cause)) return refused(cause, base, error);
  if (hasRetryAfter(cause))
    return error('upstream_error', `qdrant: ${base} answered 429`, { cause, retryAfter: cause.retry_after });
  // Node's fetch throws nothing else where there is no connection, or one that breaks.
  const cure = 'start Qdrant there, or correct plugins.qdrant.url';
  if (cause instanceof TypeError)
    return error('upstream_error', `qdrant: ${base} cannot be reached, or broke off; ${cure}`, { cause });
  return error('upstream_error', `qdrant: ${base} gave an answer that its client cannot read`, { cause });
}

function refused({ status, data }: Refusal, base: string, error: Context['error']): AppError {
  if (status === 401 || status === 403) {
    const cure = 'set plugins.qdrant.apiKey to a key that may write';
    return error('config_error', `qdrant: ${base} refuses the key (${status}); ${cure}`);
  }
  const cause = JSON.stringify(data)?.slice(0, MAX_REASON);
  return error('upstream_error', `qdrant: ${base} answered ${status}`, { cause });
}

/**
 * The client's error for a 429 that says when to come back. It takes the first digit alone (1.19.0): the time is never
 * too long, and who comes back too soon is told again.
 */
function hasRetryAfter(thrown: unknown): thrown is Error & { retry_after: number } {
  return thrown instanceof Error && 'retry_after' in thrown && typeof thrown.retry_after === 'number';
}
