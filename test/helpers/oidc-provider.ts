import { type ChildProcess, fork } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { freePort } from './free-port.ts';

const REDIRECT = 'http://127.0.0.1/callback';
/** Lifetime of its ID tokens. */
const ID_TOKEN_S = 3600;

/** A real provider on a real socket, which can be restarted with other keys. */
export interface OidcProvider {
  issuer: string;
  /** Private keys; the first one signs. */
  keys: JWK[];
  start(keys?: JWK[]): Promise<void>;
  stop(): Promise<void>;
  /** Signs the person in to the app, as a browser does. */
  idToken(subject: string, client?: string): Promise<string>;
  /** Issues an access token by the same flow, for this resource (RFC 8707), with these scopes. */
  accessToken(subject: string, resource: string, scope: string): Promise<string>;
}

export async function signingKey(kid: string, alg = 'RS256'): Promise<JWK> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg, use: 'sig' };
}

/** Starts a provider with the apps `earshot` and `another`. */
export async function oidcProvider(t: ExecutionContext, firstKeys?: JWK[]): Promise<OidcProvider> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  let child: ChildProcess | null = null;

  async function stop(): Promise<void> {
    const ended = child && once(child, 'exit');
    child?.disconnect();
    child = null;
    await ended;
  }
  const provider: OidcProvider = {
    issuer,
    keys: firstKeys ?? [await signingKey('first')],
    async start(keys = provider.keys) {
      provider.keys = keys;
      const settings = { port, jwks: { keys }, clients: ['earshot', 'another'], idTokenS: ID_TOKEN_S };
      child = fork(join(import.meta.dirname, 'oidc-provider-main.mjs'), [JSON.stringify(settings)], {
        stdio: 'ignore',
        execArgv: [],
      });
      const failed = once(child, 'exit').then(() => Promise.reject(new Error(`no provider on port ${port}`)));
      await Promise.race([once(child, 'message'), failed]);
    },
    stop,
    idToken: async (subject, client = 'earshot') =>
      (await signIn(issuer, { subject, client, scope: 'openid email profile' })).id_token,
    accessToken: async (subject, resource, scope) =>
      (await signIn(issuer, { subject, client: 'earshot', scope: `openid ${scope}`, resource })).access_token,
  };
  t.teardown(stop);
  await provider.start();
  return provider;
}

/** Runs the authorization code flow with PKCE through the pages that people see. */
async function signIn(
  issuer: string,
  asked: { subject: string; client: string; scope: string; resource?: string },
): Promise<{ id_token: string; access_token: string }> {
  const { subject, client, scope, resource } = asked;
  const browser = createBrowser();
  const verifier = randomBytes(32).toString('base64url');
  const question = new URLSearchParams({
    client_id: client,
    response_type: 'code',
    scope,
    ...(resource ? { resource } : {}),
    redirect_uri: REDIRECT,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const loginPage = await browser.follow(`${issuer}/auth?${question}`);
  const consentPage = await browser.follow(loginPage, { prompt: 'login', login: subject, password: 'any' });
  const back = new URL(await browser.follow(consentPage, { prompt: 'consent' }));
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: client,
      code: back.searchParams.get('code') ?? '',
      redirect_uri: REDIRECT,
      code_verifier: verifier,
      ...(resource ? { resource } : {}),
    }),
  });
  const { id_token, access_token } = (await response.json()) as { id_token?: string; access_token?: string };
  if (!id_token || !access_token) throw new Error(`no tokens: ${response.status}`);
  return { id_token, access_token };
}

/** Keeps cookies, and follows redirects until a page or a foreign address is reached. */
function createBrowser() {
  const cookies = new Map<string, string>();

  async function visit(url: string, form?: Record<string, string>): Promise<Response> {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form ? { method: 'POST', body: new URLSearchParams(form) } : {}),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    await response.text();
    return response;
  }

  return {
    async follow(start: string, form?: Record<string, string>): Promise<string> {
      let url = start;
      let response = await visit(url, form);
      for (;;) {
        const location = response.headers.get('location');
        if (!location) {
          if (response.ok) return url;
          throw new Error(`${url} answers ${response.status}`);
        }
        url = new URL(location, url).href;
        if (url.startsWith(REDIRECT)) return url;
        response = await visit(url);
      }
    },
  };
}
