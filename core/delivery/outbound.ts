import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector, type Dispatcher, Pool, request } from 'undici';
import type { Clock } from '../contract/model.ts';
import type { FetchUser } from '../contract/plugin.ts';
import { AppError } from '../runtime/errors.ts';
import { retryAfter } from '../runtime/retry.ts';
import { type AllowList, createAllowList, hostOf, isPublic, portOf } from './addresses.ts';
import { type Resolve, resolveByDns, resolveBySystem } from './names.ts';

/** Sends requests to addresses that users have entered. */
export interface Outbound {
  fetchUser: FetchUser;
  /**
   * Posts once. Any HTTP status is a result, not an error; redirects are not followed. Rejects only with the signal's
   * reason, when that is aborted.
   */
  post(url: string, message: Message): Promise<Posted>;
  /**
   * Checks an address without connecting.
   * @throws {AppError} `forbidden`, with what to do
   */
  check(url: string): void;
  /** Ends the requests in progress. */
  close(): Promise<void>;
}

interface Message {
  headers: Record<string, string>;
  body: string | Uint8Array;
  signal: AbortSignal;
}

/** Result of a post: the response, or the error if there is none. */
export type Posted = Answered | { status: null; error: AppError };

interface Answered {
  status: number;
  headers: Headers;
  /** Seconds after which the receiver accepts another request. */
  retryAfter: number | undefined;
  /** Response body, at most 64 KiB. */
  body: Uint8Array;
  /** False: the body is longer, or was cut off. */
  isWhole: boolean;
}

interface OutboundOptions {
  /** Hosts that the operator trusts; see `createAllowList`. */
  allowHosts: readonly string[];
  clock: Pick<Clock, 'now'>;
  /** Resolves names that users entered. */
  resolve?: Resolve;
  /** Resolves names on the allow-list. */
  resolveAllowed?: Resolve;
  /** Time limit from the name's resolution to the last byte of the response. */
  limitMs?: number;
}

const KiB = 1024;
const MAX_FETCHED_BYTES = 1024 * KiB;
const MAX_POSTED_BYTES = 64 * KiB;

/** Connections per origin; further requests wait. */
const CONNECTIONS = 64;
/** Time to connect to each of several addresses except the last. */
const ADDRESS_MS = 2500;

/** Headers that delimit or route a request, which users must not set. */
const OWN_HEADERS =
  /^(host|connection|content-length|transfer-encoding|keep-alive|upgrade|expect|te|trailer)$/i;

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

const WAY_OUT = 'the operator of this server can allow it in its configuration (delivery.allowHosts)';

export function createOutbound({
  allowHosts,
  clock,
  resolve = resolveByDns(),
  resolveAllowed = resolveBySystem,
  limitMs = 15_000,
}: OutboundOptions): Outbound {
  const allowed = createAllowList(allowHosts);
  /**
   * Keeps a pool of connections for each origin. Every connection goes to an address that was resolved and checked
   * for it, so DNS cannot change the target between check and use.
   */
  const agent = new Agent({
    factory: (origin, options) =>
      new Pool(origin, {
        ...options,
        connections: CONNECTIONS,
        connect: buildConnector({
          timeout: limitMs,
          lookup: lookupFor(new URL(origin)),
          autoSelectFamilyAttemptTimeout: ADDRESS_MS,
        }),
      }),
  });

  function lookupFor(url: URL): LookupFunction {
    return (_name, options, done) => {
      addressesOf(url).then(
        addresses => {
          const [first] = addresses;
          if (options.all || !first) done(null, addresses);
          else done(null, first.address, first.family);
        },
        error => done(error, []),
      );
    };
  }

  /**
   * Returns the addresses to connect to. Rejects where one of them is refused, since the caller may control them all.
   */
  async function addressesOf(url: URL) {
    const host = hostOf(url);
    const isNamed = allowed.hasName(host, portOf(url));
    const found = await (isNamed ? resolveAllowed : resolve)(host);
    if (!isNamed) for (const address of found) refuseAddress(url, address, allowed);
    return found.map(address => ({ address, family: isIP(address) }));
  }

  async function send(
    url: string,
    { method, headers = {}, body, signal, maxBytes }: Sending,
  ): Promise<Omit<Answered, 'retryAfter'>> {
    const target = checkedUrl(url, allowed);
    refuseHeaders(headers);
    const limit = startLimit(signal, limitMs);
    try {
      const answer = await request(target, {
        dispatcher: agent,
        method,
        headers: { 'user-agent': 'Earshot', ...headers },
        body: body ?? null,
        signal: limit.signal,
        headersTimeout: 0, // the limit covers all attempts
        bodyTimeout: 0,
      });
      const read = await readAtMost(maxBytes, answer.body);
      signal.throwIfAborted();
      return { status: answer.statusCode, headers: headersOf(answer), ...read };
    } catch (thrown) {
      signal.throwIfAborted();
      throw limit.signal.aborted ? tooLate(target, limitMs) : unreachable(target, thrown);
    } finally {
      limit.end();
    }
  }

  return {
    async fetchUser(url, { method = 'GET', ...rest }) {
      const { status, headers, body, isWhole } = await send(url, {
        ...rest,
        method,
        maxBytes: MAX_FETCHED_BYTES,
      });
      if (isWhole) return { status, headers, body };
      throw new AppError(
        'upstream_error',
        `${new URL(url).host} did not complete its response, or sent too much`,
      );
    },
    async post(url, message) {
      try {
        const answer = await send(url, { ...message, method: 'POST', maxBytes: MAX_POSTED_BYTES });
        return { ...answer, retryAfter: retryAfter(answer.headers.get('retry-after'), clock.now()) };
      } catch (error) {
        message.signal.throwIfAborted();
        if (error instanceof AppError) return { status: null, error };
        throw error;
      }
    },
    check: url => void checkedUrl(url, allowed),
    close: () => agent.destroy(),
  };
}

interface Sending {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PROPFIND' | 'REPORT';
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  signal: AbortSignal;
  maxBytes: number;
}

/** Written out, because `AbortSignal.any` and `AbortSignal.timeout` would cost as much as the rest of a request. */
function startLimit(signal: AbortSignal, limitMs: number): { signal: AbortSignal; end(): void } {
  signal.throwIfAborted();
  const stopper = new AbortController();
  const stop = () => stopper.abort();
  const timer = setTimeout(stop, limitMs);
  signal.addEventListener('abort', stop, { once: true });
  return {
    signal: stopper.signal,
    end() {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    },
  };
}

/**
 * Refuses what can be refused before a name is resolved: an address that is not allowed, and `http` to a name that is
 * not on the allow-list. An allowed address or network is not enough for `http` to a name: where the name leads is not
 * known when the address is set, and can change later.
 */
function checkedUrl(text: string, allowed: AllowList): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    throw new AppError('forbidden', 'An address must begin with https:// and contain a host');
  }
  if (url.username !== '' || url.password !== '') {
    throw new AppError('forbidden', `The address of ${url.host} must not contain a user name or password`);
  }
  const host = hostOf(url);
  if (host === '' || host.split('.').includes('')) {
    throw new AppError('forbidden', `${url.host} is not a valid host name`);
  }
  if (isIP(host) === 0) url.hostname = host;
  if (allowed.hasName(host, portOf(url))) return url;
  if (isIP(host) !== 0) refuseAddress(url, host, allowed);
  if (/(^|\.)localhost$/.test(host)) for (const own of ['127.0.0.1', '::1']) refuseAddress(url, own, allowed);
  const isAllowed = isIP(host) !== 0 && allowed.hasAddress(host, portOf(url));
  if (url.protocol === 'http:' && !isAllowed) {
    throw new AppError('forbidden', `${url.host} must be reached over https, not http; ${WAY_OUT}`);
  }
  return url;
}

/** @throws {AppError} `forbidden`. Only the log shows the address that a name resolved to. */
function refuseAddress(url: URL, address: string, allowed: AllowList): void {
  if (isPublic(address) || allowed.hasAddress(address, portOf(url))) return;
  const cause = new Error(`it is at ${address}`);
  throw new AppError('forbidden', `${url.host} does not have a public address; ${WAY_OUT}`, { cause });
}

function refuseHeaders(headers: Record<string, string>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (OWN_HEADERS.test(name)) throw new AppError('forbidden', `The header ${name} cannot be set`);
    if (!HEADER_NAME.test(name)) throw new AppError('forbidden', 'A header name is not valid');
    if (HEADER_VALUE.test(value)) continue;
    throw new AppError('forbidden', `The header ${name} contains invalid characters`);
  }
}

function tooLate({ host }: URL, limitMs: number): AppError {
  return new AppError('timeout', `${host} did not answer within ${limitMs} ms`);
}

function unreachable({ host }: URL, thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const { code } = Object(thrown);
  const message = `${host} cannot be reached: ${typeof code === 'string' ? code : 'it broke off'}`;
  return new AppError('upstream_error', message, { cause: thrown });
}

async function readAtMost(
  maxBytes: number,
  body: AsyncIterable<Uint8Array>,
): Promise<{ body: Uint8Array; isWhole: boolean }> {
  const pieces: Uint8Array[] = [];
  let left = maxBytes;
  let isWhole = true;
  try {
    for await (const piece of body) {
      pieces.push(piece.subarray(0, left));
      left -= piece.length;
      if (left < 0) break; // destroying it ends the connection
    }
  } catch {
    isWhole = false;
  }
  return { body: Buffer.concat(pieces), isWhole: isWhole && left >= 0 };
}

/** Returns the headers, without values that are not valid UTF-8. */
function headersOf({ headers }: Dispatcher.ResponseData): Headers {
  const all = new Headers();
  for (const [name, values] of Object.entries(headers)) {
    for (const value of [values ?? []].flat()) if (HEADER_VALUE.test(value)) all.append(name, value);
  }
  return all;
}
