import { signal } from '@preact/signals';
import type { Account } from './data.ts';
import { forgetKept, keep, recall } from './offline.ts';

/** The account that is signed in; null: none; undefined: not known yet. */
export const account = signal<Account | null | undefined>(undefined);

/**
 * The session ended while the page was in use. The user signs in again above the page, which keeps unsaved
 * input.
 */
export const isExpired = signal(false);

/** Whether the server takes long to store a change. */
export const isSlow = signal(false);

/**
 * Kept in memory only, where it ends with the page and other scripts cannot read it. A cookie in the browser
 * gets new ones.
 */
let token: string | null = null;
let renewing: Promise<boolean> | null = null;
/** Requests that wait until the user has signed in again. */
const held = new Set<{ goOn(): void; giveUp(error: unknown): void }>();

export interface Session {
  token: string;
  account: Account;
}

/** Values of fields, by their names. */
export type Version = Readonly<Record<string, string | number | null>>;

/** A request that the server refused or did not answer. */
export class ApiError extends Error {
  /** 0: the server could not be reached. */
  readonly status: number;
  /** The current values, if somebody else has changed them meanwhile. */
  readonly current: Version | undefined;
  constructor(status: number, message: string, current?: Version) {
    super(message);
    this.status = status;
    this.current = current;
  }
}

/** Set while somebody is signed in. At the start, the form is then shown only if the cookie is refused. */
const SIGNED_IN = 'earshot.signed-in';

export function wasSignedIn(): boolean {
  return localStorage.getItem(SIGNED_IN) !== null;
}

/** Key of the cached account; not a path of the server. */
const ACCOUNT = '/kept/account';

export function begin(session: Session): void {
  const isSame = account.value?.id === session.account.id;
  token = session.token;
  account.value = session.account;
  isExpired.value = false;
  localStorage.setItem(SIGNED_IN, '');
  release(isSame);
  void keep(ACCOUNT, session.account).catch(() => {}); // a full disk: continue without a copy
}

/** Signs in by the cookie; if the server is unreachable, shows the cached data of the last account. */
export async function resume(): Promise<void> {
  try {
    await renew();
  } catch (error) {
    const kept = await recall<Account>(ACCOUNT);
    if (kept === null) throw error;
    account.value = kept;
  }
}

/** Gets a new token by the cookie. Resolves to whether the user is signed in. */
function renew(): Promise<boolean> {
  const before = token;
  renewing ??= send('POST', '/v1/auth/session/token')
    .then(async answer => {
      if (answer.ok) begin(await answer.json());
      // The user may have signed in meanwhile: the refusal is of the cookie that was sent, not of the new one.
      else if (token !== before) return true;
      else if (answer.status === 401) expire();
      return answer.ok;
    })
    .finally(() => {
      renewing = null;
    });
  return renewing;
}

/** Leaves the page as it is while it is in use, because it may hold unsaved input. */
function expire(): void {
  if (account.value) {
    token = null;
    isExpired.value = true;
    void forgetKept();
  } else forget();
}

/** Resolves at once, or after the same account has signed in again. */
function signedIn(signal?: AbortSignal | null): Promise<void> {
  if (!isExpired.value) return Promise.resolve();
  return new Promise((goOn, giveUp) => {
    const each = { goOn, giveUp };
    held.add(each);
    const leave = () => {
      held.delete(each);
      giveUp(signal?.reason);
    };
    signal?.addEventListener('abort', leave, { once: true });
  });
}

function release(isSame: boolean): void {
  for (const { goOn, giveUp } of held)
    if (isSame) goOn();
    else giveUp(new ApiError(401, ''));
  held.clear();
}

/** A short-lived token for requests that cannot send a header. @throws {ApiError} if nobody is signed in */
export async function freshToken(): Promise<string> {
  await signedIn();
  if (!(await renew())) await signedIn();
  if (token === null) throw new ApiError(401, '');
  return token;
}

/** The account was signed out or deleted. */
export function forget(): void {
  token = null;
  account.value = null;
  isExpired.value = false;
  localStorage.removeItem(SIGNED_IN);
  release(false);
  void forgetKept();
}

export async function signIn(name: string, password: string): Promise<void> {
  await renewing?.catch(() => {}); // its refusal would end the new session
  begin(await api<Session>('POST', '/v1/auth/session', { name, password }));
}

export async function signOut(): Promise<void> {
  await send('DELETE', '/v1/auth/session').catch(() => {});
  forget();
}

/** Paths of requests that need no token and renew none. */
const SIGNING_IN = /^\/v1\/auth\/(?!sessions)/;

/**
 * Sends a request, with the token if there is one, and renews an expired token once. If the session has
 * ended, the request waits until the same account has signed in again.
 */
export async function request(
  method: string,
  path: string,
  body?: unknown,
  init: RequestInit = {},
): Promise<Response> {
  if (SIGNING_IN.test(path)) return send(method, path, body, init);
  await signedIn(init.signal);
  const answer = await send(method, path, body, init);
  const isSignedIn = token !== null || account.value !== null;
  if (answer.status !== 401 || !isSignedIn) return answer;
  if (!(await renew())) {
    if (!isExpired.value) return answer;
    await signedIn(init.signal);
  }
  return send(method, path, body, init);
}

/** Changes in flight. */
const underWay = new Map<string, Promise<unknown>>();
let slowTimer: ReturnType<typeof setTimeout> | undefined;
const SLOW_MS = 700;

/**
 * Sends a request and returns its JSON. A change that is already in flight is not sent twice, however often its button is
 * pressed.
 * @throws {ApiError} with the server's message
 */
export function api<T>(method: string, path: string, body?: unknown, init?: RequestInit): Promise<T> {
  if (method === 'GET') return json<T>(method, path, body, init);
  const key = keyOf(method, path, body);
  const same = underWay.get(key);
  if (same) return same as Promise<T>; // same path and method
  if (underWay.size === 0)
    slowTimer = setTimeout(() => {
      isSlow.value = true;
    }, SLOW_MS);
  const sent = json<T>(method, path, body, method === 'POST' ? repeatable(key, init) : init).finally(() => {
    underWay.delete(key);
    if (underWay.size > 0) return;
    clearTimeout(slowTimer);
    isSlow.value = false;
  });
  underWay.set(key, sent);
  return sent;
}

function keyOf(method: string, path: string, body: unknown): string {
  return `${method} ${path} ${JSON.stringify(body)}`;
}

/** Idempotency keys of requests without an answer, which the server may have processed. */
const unanswered = new Map<string, string>();
const MOST_UNANSWERED = 100;
const KEY_BYTES = 16;

/** Adds an idempotency key: the same one if the request is sent again after its answer was lost. */
function repeatable(asked: string, init: RequestInit = {}): RequestInit {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES)); // `randomUUID` needs TLS
  const key = unanswered.get(asked) ?? Array.from(bytes, byte => byte.toString(36)).join('-');
  unanswered.set(asked, key);
  const [oldest] = unanswered.keys();
  if (unanswered.size > MOST_UNANSWERED && oldest !== undefined) unanswered.delete(oldest);
  return { ...init, headers: { 'Idempotency-Key': key } };
}

async function json<T>(method: string, path: string, body?: unknown, init?: RequestInit): Promise<T> {
  const answer = await request(method, path, body, init);
  unanswered.delete(keyOf(method, path, body));
  if (!answer.ok) throw await refusalOf(answer);
  return answer.status === 204 ? (undefined as T) : answer.json();
}

/** How long a read may wait for an answer: a network that drops packets reports no error. */
const SILENT_MS = 60_000;

async function send(method: string, path: string, body?: unknown, init: RequestInit = {}): Promise<Response> {
  const silent = new AbortController();
  const timer = method === 'GET' ? setTimeout(() => silent.abort(), SILENT_MS) : undefined;
  try {
    return await fetch(path, {
      ...init,
      method,
      signal: AbortSignal.any([silent.signal, ...(init.signal ? [init.signal] : [])]),
      headers: {
        ...init.headers,
        ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, '');
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Uploads files and reports progress from 0 to 1, which `fetch` cannot do.
 * @throws {ApiError} as `api` does
 */
export async function upload<T>(
  path: string,
  files: readonly File[],
  progress: (share: number) => void,
  field = 'files',
): Promise<T> {
  const form = new FormData();
  for (const file of files) form.append(field, file);
  const bearer = await freshToken(); // a long upload is not sent twice
  const asked = new XMLHttpRequest();
  asked.open('POST', path);
  asked.setRequestHeader('Authorization', `Bearer ${bearer}`);
  asked.upload.onprogress = ({ loaded, total }) => progress(total > 0 ? loaded / total : 0);
  await new Promise<void>((resolve, reject) => {
    asked.onload = () => resolve();
    asked.onerror = () => reject(new ApiError(0, ''));
    asked.send(form);
  });
  const answer = new Response(asked.responseText, { status: asked.status, statusText: asked.statusText });
  if (!answer.ok) throw await refusalOf(answer);
  return answer.json();
}

/** A GET request; its last response is shown while the server is unreachable. */
export async function read<T>(path: string): Promise<T> {
  try {
    const value = await api<T>('GET', path);
    void keep(path, value).catch(() => {});
    return value;
  } catch (error) {
    const isAway = error instanceof ApiError && error.status === 0;
    const kept = isAway ? await recall<T>(path) : null;
    if (kept === null) throw error;
    return kept;
  }
}

type Detail = string | { msg: string }[] | { message?: string; current?: Version };

async function refusalOf(answer: Response): Promise<ApiError> {
  const { status, statusText } = answer;
  const { detail = {} } = (await answer.json().catch(() => ({}))) as { detail?: Detail };
  if (typeof detail === 'string') return new ApiError(status, detail);
  if (Array.isArray(detail)) return new ApiError(status, detail.map(({ msg }) => msg).join('; '));
  return new ApiError(status, detail.message ?? `${status} ${statusText}`, detail.current);
}
