import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose';
import type { PluginContext } from '../../../core/contract/plugin.ts';

type Context = Pick<PluginContext<never>, 'fetch' | 'clock' | 'log' | 'error'>;

/** Time limit of each of the two requests of `setup`, which has 10 seconds. */
const ANSWER_MS = 4000;
/** Age at which keys are fetched again in the background. */
const FRESH_MS = 10 * 60_000;
/** Minimum time between fetches for unknown keys, because anyone can invent a key id. */
const COOL_DOWN_MS = 30_000;

/**
 * Returns the address of a provider's keys from its discovery document (OpenID Connect Discovery 1.0). Rejects with
 * `upstream_error` for an unusable answer and with `config_error` for another issuer.
 */
export async function discover(issuer: string, { fetch, error }: Context): Promise<URL> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = await readJson(url, fetch).catch(cause => {
    throw error('upstream_error', `oidc: ${url} does not answer as it should; ${REMEDY}`, { cause });
  });
  if (document.issuer !== issuer)
    throw error(
      'config_error',
      `oidc: the provider at ${issuer} calls itself ${JSON.stringify(document.issuer)}; set plugins.oidc.issuer to that, letter for letter`,
    );
  const keys = URL.parse(String(document.jwks_uri));
  if (keys && (keys.protocol === 'https:' || keys.protocol === new URL(issuer).protocol)) return keys;
  throw error('upstream_error', `oidc: ${url} names no safe jwks_uri; correct the provider`);
}
const REMEDY = 'start the provider, or correct plugins.oidc.issuer';

/**
 * Opens a provider's keys, for jose. Once fetched, they stay in use while the provider is unreachable. An unknown key
 * id triggers a fetch; if that fails, the error is `unavailable`, since the key may be new.
 */
export async function openKeys(url: URL, { fetch, clock, log, error }: Context): Promise<JWTVerifyGetKey> {
  const remote = createRemoteJWKSet(url, {
    [customFetch]: fetch,
    timeoutDuration: ANSWER_MS,
    // jose's own cache uses the system clock, so fetching is decided here, by the injected one.
    cooldownDuration: Number.POSITIVE_INFINITY,
    cacheMaxAge: Number.POSITIVE_INFINITY,
  });
  let askedAt = Number.NEGATIVE_INFINITY;
  let failure: unknown = null;

  async function reload(): Promise<void> {
    askedAt = clock.now();
    failure = await remote.reload().then(
      () => null,
      cause => cause,
    );
  }

  await reload();
  if (failure) throw error('upstream_error', `oidc: ${url} gives no keys; ${REMEDY}`, { cause: failure });

  async function refresh(): Promise<void> {
    await reload();
    if (failure)
      log.warn(
        { err: failure },
        'the keys of the provider could not be fetched again; those from before serve',
      );
  }

  return async (header, token) => {
    if (clock.now() >= askedAt + FRESH_MS) void refresh();
    try {
      return await remote(header, token);
    } catch (unknown) {
      if (!(unknown instanceof errors.JWKSNoMatchingKey)) throw unknown;
      if (remote.reloading || clock.now() >= askedAt + COOL_DOWN_MS) await reload();
      if (failure)
        throw error('unavailable', 'The identity provider does not answer: try again later', {
          cause: failure,
          retryAfter: COOL_DOWN_MS / 1000,
        });
      return remote(header, token);
    }
  };
}

async function readJson(url: string, fetch: Context['fetch']): Promise<Record<string, unknown>> {
  const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(ANSWER_MS) });
  if (!response.ok) throw new Error(`it answers ${response.status}`);
  return Object(await response.json());
}
