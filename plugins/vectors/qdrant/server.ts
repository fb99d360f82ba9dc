/**
 * Qdrant's REST interface, as much of it as is used. Its npm client was tried: it has no way to abort a call, keeps
 * connections of its own that outlive the plugin, and brings a compiler of 31 MB along.
 */
import type { PluginContext } from '../../../core/plugin.ts';

export interface ServerSettings {
  url: string;
  apiKey?: string | undefined;
  timeoutMs: number;
}

type Context = Pick<PluginContext<never>, 'clock' | 'error' | 'fetch'>;
type Method = 'GET' | 'PUT' | 'POST' | 'DELETE';

export interface Server {
  /**
   * The `result` of its answer; null where it says 404, as there is no such collection, and on 409, as there is one.
   * Rejects with `timeout`, `upstream_error`, `config_error` where the key is refused, or the signal's reason.
   */
  ask(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<unknown>;
  /** Which Qdrant it is: `1.19.0`; empty when it is none. */
  version(): Promise<string>;
}

const MAX_BODY_BYTES = 16 * 1024 * 1024;
/** What is wrong, for the log. */
const MAX_REASON = 500;

export function connectServer(
  { url, apiKey, timeoutMs }: ServerSettings,
  { clock, error, fetch }: Context,
): Server {
  const base = url.replace(/\/+$/, '');
  const headers = { 'content-type': 'application/json', ...(apiKey ? { 'api-key': apiKey } : {}) };

  async function ask(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<unknown> {
    const { status, retryAfter, json } = await send(method, path, body, signal);
    if (status === 404 || status === 409) return null;
    if (status === 401 || status === 403) {
      const cure = 'set plugins.qdrant.apiKey to a key that may write';
      throw error('config_error', `qdrant: ${base} refuses the key (${status}); ${cure}`);
    }
    if (status === 200) return fieldOf(json, 'result') ?? {};
    const cause = JSON.stringify(fieldOf(json, 'status'))?.slice(0, MAX_REASON);
    throw error('upstream_error', `qdrant: ${base} answered ${status}`, { cause, ...retryAfter });
  }

  async function send(method: Method, path: string, body: unknown, signal?: AbortSignal) {
    signal?.throwIfAborted();
    const late = new AbortController();
    const done = new AbortController();
    clock.sleep(timeoutMs, done.signal).then(
      () => late.abort(),
      () => undefined,
    );
    const either = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    try {
      // A redirect is not followed: vectors go where the operator sent them, and nowhere else.
      const response = await fetch(base + path, {
        method,
        headers,
        redirect: 'manual',
        signal: either,
        ...init,
      });
      return { status: response.status, retryAfter: retryAfterOf(response), json: await readJson(response) };
    } catch (cause) {
      signal?.throwIfAborted();
      if (late.signal.aborted)
        throw error('timeout', `qdrant: ${base} did not answer within ${timeoutMs} ms`, { cause });
      const cure = 'start Qdrant there, or correct plugins.qdrant.url';
      throw error('upstream_error', `qdrant: ${base} cannot be reached, or broke off; ${cure}`, { cause });
    } finally {
      done.abort();
    }
  }

  return {
    ask,
    async version() {
      const version = fieldOf((await send('GET', '/', undefined)).json, 'version');
      return typeof version === 'string' ? version : '';
    },
  };
}

function retryAfterOf(response: Response): { retryAfter?: number } {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return seconds >= 0 ? { retryAfter: seconds } : {};
}

/** Undefined for what is no JSON. */
async function readJson(response: Response): Promise<unknown> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > MAX_BODY_BYTES) throw new Error(`the answer is longer than ${MAX_BODY_BYTES} bytes`);
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString('utf8'));
  } catch {
    return undefined;
  }
}

function fieldOf(json: unknown, name: string): unknown {
  return typeof json === 'object' && json !== null ? (json as Record<string, unknown>)[name] : undefined;
}
