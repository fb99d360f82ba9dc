/** Wraps Qdrant's client with cancellation, a time limit, and core's error codes. */
import type { QdrantClient } from '@qdrant/js-client-rest';
import type { PluginContext } from '../../../core/contract/plugin.ts';
import type { AppError } from '../../../core/runtime/errors.ts';
import { deadline, isAppError } from '../../kit/kit.ts';

/** An optional dependency, because it brings the TypeScript compiler (31 MB). The same version as in package.json. */
export const PACKAGE = '@qdrant/js-client-rest@1.19.0';

export interface ServerSettings {
  url: string;
  apiKey?: string | undefined;
  timeoutMs: number;
}

type Context = Pick<PluginContext<never>, 'clock' | 'error' | 'signal'>;
/**
 * A call of the client's generated interface: its named methods (`query`, `upsert`) accept neither a signal nor
 * `redirect`.
 */
type Call<Data> = (api: ReturnType<QdrantClient['api']>, init: RequestInit) => Promise<{ data: Data }>;

export interface Server {
  /**
   * Resolves to the `result` of the answer; null for 404 (no such collection) and 409 (it exists). Rejects with
   * `timeout`, `upstream_error`, `config_error` for a refused key, or the signal's reason.
   */
  ask<Result>(call: Call<{ result?: Result }>, signal?: AbortSignal): Promise<Result | null>;
  /** Qdrant's version, such as `1.19.0`; empty when the server is not Qdrant. Rejects as `ask` does. */
  version(): Promise<string>;
}

/** Characters of the reason that are logged. */
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
      // Redirects are refused: vectors go only to the address that the operator configured.
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
      const { version } = (await send((api, init) => api.root({}, init))) ?? {}; // undefined for a page of HTML
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
    // Given explicitly, because the client would replace a missing port (80 or 443) with 6333.
    port: null,
    // Sent as a header, because the client prints a warning for its `apiKey` option with an http address.
    headers: { 'api-key': apiKey },
    // The client's own timeout uses the system clock and replaces our signal.
    timeout: Number.POSITIVE_INFINITY,
    checkCompatibility: false,
  });
}

/** The error that the client throws for an unsuccessful answer; its class is not exported. */
interface Refusal extends Error {
  status: number;
  data: unknown;
}

function isRefusal(thrown: unknown): thrown is Refusal {
  return thrown instanceof Error && 'status' in thrown && typeof thrown.status === 'number';
}

/** Leaves the server's words out of the message; they stay in the cause. */
function failureOf(cause: unknown, base: string, error: Context['error']): AppError {
  if (isRefusal(cause)) return refused(cause, base, error);
  if (hasRetryAfter(cause))
    return error('upstream_error', `qdrant: ${base} answered 429`, { cause, retryAfter: cause.retry_after });
  // Node's fetch throws a TypeError only when a connection fails or breaks.
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
 * Recognises the client's error for a 429 with Retry-After. The client (1.19.0) reads only the first digit, so the time
 * may be too short, never too long; an early retry is told to wait again.
 */
function hasRetryAfter(thrown: unknown): thrown is Error & { retry_after: number } {
  return thrown instanceof Error && 'retry_after' in thrown && typeof thrown.retry_after === 'number';
}
