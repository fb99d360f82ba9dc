/** One request to the server: within its time, its answer bounded, its failures named. */
import type { PluginContext } from '../../../core/plugin.ts';

/** 256 vectors of 4096 numbers are 24 MB as text. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

type Context = Pick<PluginContext<never>, 'clock' | 'error' | 'fetch'>;

export interface Server {
  baseUrl: string;
  apiKey?: string | undefined;
}

/**
 * Resolves to the body, which may be anything.
 * Rejects with `timeout`, `upstream_error` or `config_error`, or with the signal's reason.
 */
export type Post = (body: object, limitMs: number, signal: AbortSignal) => Promise<unknown>;

export function createPost({ baseUrl, apiKey }: Server, { clock, error, fetch }: Context): Post {
  const base = baseUrl.replace(/\/+$/, '');
  const server = `openai-embedder: ${base}`;
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (apiKey !== undefined) headers.authorization = `Bearer ${apiKey}`;

  async function post(body: object, limitMs: number, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), limitMs);
    try {
      const response = await fetch(`${base}/embeddings`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
        redirect: 'manual', // what was said goes where the operator sent it, and nowhere else
        signal: AbortSignal.any([signal, late.signal]),
      });
      if (response.status !== 200) throw await refusal(response);
      return parse(await readBody(response));
    } catch (cause) {
      signal.throwIfAborted();
      if (late.signal.aborted)
        throw error('timeout', `${server} did not answer within ${limitMs} ms`, { cause });
      if (cause instanceof Error && cause.name === 'AppError') throw cause;
      const remedy = 'start the server there, or correct plugins.openai-embedder.baseUrl';
      throw error('upstream_error', `${server} cannot be reached, or broke off; ${remedy}`, { cause });
    } finally {
      clearTimeout(timer);
    }
  }

  async function refusal(response: Response): Promise<Error> {
    const { status } = response;
    await response.body?.cancel(); // it may quote what was said
    const slip = SLIPS[status] ?? (status >= 300 && status < 400 ? REDIRECT : undefined);
    if (slip !== undefined) return error('config_error', `${server} ${slip} (${status})`);
    const retryAfter = retryAfterOf(response);
    const details = retryAfter === undefined ? {} : { retryAfter };
    if (status === 429) return error('upstream_error', `${server} is asked too often (429)`, details);
    return error('upstream_error', `${server} failed (${status})`, details);
  }

  /** `Retry-After`, which is a number of seconds or a date. */
  function retryAfterOf(response: Response): number | undefined {
    const text = response.headers.get('retry-after')?.trim() ?? '';
    if (/^\d{1,9}$/.test(text)) return Number(text);
    const seconds = Math.ceil((Date.parse(text) - clock.now()) / 1000);
    return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
  }

  async function readBody(response: Response): Promise<string> {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const part of response.body ?? []) {
      bytes += part.byteLength;
      if (bytes > MAX_BODY_BYTES) throw error('upstream_error', `${server} answered with more than 32 MiB`);
      parts.push(part);
    }
    return Buffer.concat(parts).toString('utf8');
  }

  return post;
}

/** What no other try can mend, and where to mend it. */
const SLIPS: Readonly<Record<number, string>> = {
  401: 'refuses the key; correct plugins.openai-embedder.apiKey',
  403: 'refuses the key; correct plugins.openai-embedder.apiKey',
  404: 'has no such endpoint or model; fetch the model there, or correct plugins.openai-embedder.baseUrl or plugins.openai-embedder.model',
  405: 'has no such endpoint; correct plugins.openai-embedder.baseUrl',
};
const REDIRECT = 'sends us elsewhere; put the address that it leads to in plugins.openai-embedder.baseUrl';

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined; // the parser's own words would quote the body
  }
}
