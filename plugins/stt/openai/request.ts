/** One request to the server: within its time, its answer bounded, its failures named. */
import type { PluginContext } from '../../../core/plugin.ts';

const MAX_BODY_BYTES = 1024 * 1024;

type Context = Pick<PluginContext<never>, 'clock' | 'error' | 'fetch'>;

export interface Reply {
  status: number;
  /** Seconds, where the server named a time to come again. */
  retryAfter: number | undefined;
  /** Null when it was longer than 1 MiB, and left unread. */
  body: string | null;
}

export interface Requester {
  /** Rejects with `timeout` or `upstream_error`, or with the signal's reason. */
  send(path: string, init: RequestInit, signal: AbortSignal): Promise<Reply>;
}

export function createRequester(
  server: { baseUrl: string; apiKey?: string | undefined; timeoutMs: number },
  { clock, error, fetch }: Context,
): Requester {
  const base = server.baseUrl.replace(/\/+$/, '');
  const headers: Record<string, string> = server.apiKey ? { authorization: `Bearer ${server.apiKey}` } : {};

  async function send(path: string, init: RequestInit, signal: AbortSignal): Promise<Reply> {
    signal.throwIfAborted();
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), server.timeoutMs);
    const either = AbortSignal.any([signal, late.signal]);
    try {
      // A redirect is not followed: what was said goes where the operator sent it, and nowhere else.
      const response = await fetch(base + path, { ...init, headers, redirect: 'manual', signal: either });
      const body = await readBody(response);
      return { status: response.status, retryAfter: retryAfterOf(response), body };
    } catch (cause) {
      signal.throwIfAborted();
      if (late.signal.aborted) {
        throw error('timeout', `openai: ${base} did not answer within ${server.timeoutMs} ms`, { cause });
      }
      const remedy = 'start the server there, or correct plugins.openai.baseUrl';
      throw error('upstream_error', `openai: ${base} cannot be reached, or broke off; ${remedy}`, { cause });
    } finally {
      clearTimeout(timer);
    }
  }

  /** `Retry-After`, which is a number of seconds or a date. */
  function retryAfterOf(response: Response): number | undefined {
    const text = response.headers.get('retry-after')?.trim() ?? '';
    if (/^\d{1,9}$/.test(text)) return Number(text);
    const seconds = Math.ceil((Date.parse(text) - clock.now()) / 1000);
    return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
  }

  return { send };
}

/** Null when it is too long; the rest is not fetched then. */
async function readBody(response: Response): Promise<string | null> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > MAX_BODY_BYTES) return null; // leaving the loop cancels the body
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
