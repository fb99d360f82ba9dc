import { signal } from '@preact/signals';
import type { Account } from './data.ts';
import { forgetKept, keep, recall } from './offline.ts';

/** Whoever is signed in; null: nobody; undefined: it is not known yet. */
export const account = signal<Account | null | undefined>(undefined);

/** In memory alone: what other scripts could read would outlive the page. The browser keeps a cookie that gets new ones. */
let token: string | null = null;
let renewing: Promise<boolean> | null = null;

export interface Session {
  token: string;
  account: Account;
}

/** A request that was refused, or that nobody answered. */
export class ApiError extends Error {
  /** 0: the server was not reached. */
  readonly status: number;
  /** The values that are there instead, where somebody else has changed them meanwhile. */
  readonly current: Readonly<Record<string, unknown>> | undefined;
  constructor(status: number, message: string, current?: Readonly<Record<string, unknown>>) {
    super(message);
    this.status = status;
    this.current = current;
  }
}

/** Name of the kept account: no path of the server. */
const ACCOUNT = '/kept/account';

export function begin(session: Session): void {
  token = session.token;
  account.value = session.account;
  void keep(ACCOUNT, session.account).catch(() => {}); // a full disk: then not
}

/** Signs in by the cookie; while the server is away, shows what was kept of the account that was here last. */
export async function resume(): Promise<void> {
  try {
    await renew();
  } catch (error) {
    const kept = await recall<Account>(ACCOUNT);
    if (kept === null) throw error;
    account.value = kept;
  }
}

/** Gets a new token by the cookie. Resolves to whether somebody is signed in. */
function renew(): Promise<boolean> {
  renewing ??= send('POST', '/v1/auth/session/token')
    .then(async answer => {
      if (answer.ok) begin(await answer.json());
      else if (answer.status === 401) forget();
      return answer.ok;
    })
    .finally(() => {
      renewing = null;
    });
  return renewing;
}

/** A token that is good for a while: for what cannot send a header. @throws {ApiError} where nobody is signed in */
export async function freshToken(): Promise<string> {
  await renew();
  if (token === null) throw new ApiError(401, '');
  return token;
}

/** The account is signed out, or gone. */
export function forget(): void {
  token = null;
  account.value = null;
  void forgetKept();
}

export async function signIn(name: string, password: string): Promise<void> {
  begin(await api<Session>('POST', '/v1/auth/session', { name, password }));
}

export async function signOut(): Promise<void> {
  await send('DELETE', '/v1/auth/session').catch(() => {});
  forget();
}

/** Asks the server, with the token where there is one; renews it once where it has expired. */
export async function request(
  method: string,
  path: string,
  body?: unknown,
  init: RequestInit = {},
): Promise<Response> {
  const answer = await send(method, path, body, init);
  const isSignedIn = token !== null || account.value !== null;
  if (answer.status !== 401 || path.startsWith('/v1/auth/') || !isSignedIn) return answer;
  return (await renew()) ? send(method, path, body, init) : answer;
}

/** The same, as JSON. @throws {ApiError} with the server's own words */
export async function api<T>(method: string, path: string, body?: unknown, init?: RequestInit): Promise<T> {
  const answer = await request(method, path, body, init);
  if (!answer.ok) throw await refusalOf(answer);
  return answer.status === 204 ? (undefined as T) : answer.json();
}

async function send(method: string, path: string, body?: unknown, init: RequestInit = {}): Promise<Response> {
  try {
    return await fetch(path, {
      ...init,
      method,
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
  }
}

/** A GET whose last answer is shown while the server is away. */
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

type Detail = string | { msg: string }[] | { message?: string; current?: Record<string, unknown> };

async function refusalOf(answer: Response): Promise<ApiError> {
  const { status, statusText } = answer;
  const { detail = {} } = (await answer.json().catch(() => ({}))) as { detail?: Detail };
  if (typeof detail === 'string') return new ApiError(status, detail);
  if (Array.isArray(detail)) return new ApiError(status, detail.map(({ msg }) => msg).join('; '));
  return new ApiError(status, detail.message ?? `${status} ${statusText}`, detail.current);
}
