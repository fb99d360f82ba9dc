/** Requests to a server that the operator configured, with limits of time and size, and core's errors. */
import type { PluginContext } from '../../core/contract/plugin.ts';
import { deadline } from '../../core/runtime/deadline.ts';
import { retryAfter } from '../../core/runtime/retry.ts';
import { parseJson } from './json.ts';

type Context = Pick<PluginContext<never>, 'clock' | 'error' | 'fetch'>;

const LIMIT_MS = 30_000;
const MIB = 1024 * 1024;

export interface Server {
  /** Name of the plugin: its errors begin with it. */
  plugin: string;
  /** Base address, to which paths are added. */
  url: string;
  headers?: Readonly<Record<string, string>>;
  /** Options that errors name for correction: `url` and `apiKey` when absent. */
  options?: { readonly url?: string; readonly apiKey?: string; readonly model?: string };
  /** Time limit of the whole request in ms; 30,000 when absent. */
  limitMs?: number;
  /** Maximum bytes of a response; 1 MiB when absent. */
  maxBytes?: number;
}

export interface Reply {
  status: number;
  /** Seconds after which the server accepts another request, if it says so. */
  retryAfter: number | undefined;
  /** Null where it is too long; the rest was not read. */
  body: string | null;
}

/**
 * Resolves to any answer, whatever its status. Redirects are not followed, so that users' words reach only the server
 * that the operator configured. Rejects with `timeout`, with `upstream_error` if the server cannot be reached or breaks
 * off, with `config_error` for an untrusted certificate, or with the signal's reason.
 */
export async function request(
  { clock, error, fetch }: Context,
  server: Server,
  path: string,
  init: Omit<RequestInit, 'redirect' | 'signal' | 'headers'> & { headers?: Readonly<Record<string, string>> },
  signal: AbortSignal,
): Promise<Reply> {
  const { limitMs = LIMIT_MS, maxBytes = MIB } = server;
  const name = nameOf(server);
  const late = () => error('timeout', `${name} did not answer within ${limitMs} ms`);
  const ask = async (ending: AbortSignal): Promise<Reply> => {
    const headers = { ...server.headers, ...init.headers };
    const response = await fetch(baseOf(server) + path, {
      ...init,
      headers,
      redirect: 'manual',
      signal: ending,
    });
    const header = response.headers.get('retry-after');
    const body = await readBody(response, maxBytes);
    return { status: response.status, retryAfter: retryAfter(header, clock.now()), body };
  };
  return deadline({ clock, limitMs, late }, ask, signal).catch(cause => {
    if (signal.aborted || isAppError(cause)) throw cause;
    const certificate = untrustedCertificate(cause, optionOf(server, 'url'));
    if (certificate !== null) throw error('config_error', `${name} ${certificate}`, { cause });
    const cure = `start the server there, or correct ${optionOf(server, 'url')}`;
    throw error('upstream_error', `${name} cannot be reached, or broke off; ${cure}`, { cause });
  });
}

/**
 * Posts JSON and resolves to the JSON of the response. Rejects as `request` does, as `refusal` describes for any
 * status but 200 to 299, and with `upstream_error` where the response is too long or not JSON.
 */
export async function postJson(
  context: Context,
  server: Server,
  path: string,
  body: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const { error } = context;
  const headers = { 'content-type': 'application/json' };
  const reply = await request(
    context,
    server,
    path,
    { method: 'POST', headers, body: JSON.stringify(body) },
    signal,
  );
  if (reply.status < 200 || reply.status > 299) throw refusal(context, server, reply);
  if (reply.body === null) {
    const size = `${(server.maxBytes ?? MIB) / MIB} MiB`;
    throw error('upstream_error', `${nameOf(server)} answered with more than ${size}`);
  }
  const json = parseJson(reply.body);
  if (json === undefined)
    throw error('upstream_error', `${nameOf(server)} answered with something other than JSON`);
  return json;
}

/**
 * Creates the error for an unsuccessful response: `config_error` where the address or the key must be corrected, else
 * `upstream_error`. The server's own text is left out, because it may quote what was said.
 */
export function refusal(
  { error }: Pick<Context, 'error'>,
  server: Server,
  { status, retryAfter: seconds }: Pick<Reply, 'status' | 'retryAfter'>,
  cause?: unknown,
): Error {
  const details = {
    ...(cause === undefined ? {} : { cause }),
    ...(seconds === undefined ? {} : { retryAfter: seconds }),
  };
  const slip = slipOf(server, status);
  if (slip !== null) {
    const [what, cure] = slip;
    return error('config_error', `${nameOf(server)} ${what} (${status}); ${cure}`, details);
  }
  const failure = status === 429 ? 'received too many requests' : 'failed';
  return error('upstream_error', `${nameOf(server)} ${failure} (${status})`, details);
}

/** Returns a failure that a retry cannot fix, and the remedy; null: it is another one. */
function slipOf(server: Server, status: number): [what: string, cure: string] | null {
  const url = optionOf(server, 'url');
  if (status >= 300 && status < 400) return ['redirects', `set ${url} to the address that it redirects to`];
  if (status === 401 || status === 403) return ['refuses the key', `correct ${optionOf(server, 'apiKey')}`];
  if (status === 404 && server.options?.model !== undefined) {
    const model = optionOf(server, 'model');
    return ['has no such endpoint or model', `fetch the model there, or correct ${url} or ${model}`];
  }
  return status === 404 || status === 405 ? ['has no such endpoint', `correct ${url}`] : null;
}

function optionOf({ plugin, options }: Server, option: 'url' | 'apiKey' | 'model'): string {
  return `plugins.${plugin}.${options?.[option] ?? option}`;
}

function nameOf(server: Server): string {
  return `${server.plugin}: ${baseOf(server)}`;
}

function baseOf({ url }: Server): string {
  return url.replace(/(?<!\/)\/+$/, '');
}

/** Node's error codes for certificates that it refuses. */
const CERTIFICATE = /CERT|SELF_SIGNED|ALTNAME|UNABLE_TO_VERIFY|ISSUER/;

/**
 * Describes what is wrong with a certificate, and what to do; null where the connection failed for another reason.
 */
export function untrustedCertificate(failure: unknown, option: string): string | null {
  for (let at = failure; at instanceof Error; at = at.cause) {
    const { code } = at as Error & { code?: unknown };
    if (typeof code === 'string' && CERTIFICATE.test(code))
      return `has an untrusted certificate (${code}); correct ${option}, or give Node the authority's certificate with NODE_EXTRA_CA_CERTS`;
  }
  return null;
}

/** Whether the error was created by `error()` of a plugin's context. */
export function isAppError(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === 'AppError';
}

async function readBody(response: Response, maxBytes: number): Promise<string | null> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > maxBytes) return null; // leaving the loop cancels the body
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
