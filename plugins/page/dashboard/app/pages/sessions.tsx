import { Show, say, sayError, useLoaded } from '../components.tsx';
import type { SignedIn } from '../data.ts';
import { dateTime } from '../format.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';

const PATH = '/v1/auth/sessions';

/** Browsers and programs that are signed in, each of which can be signed out from here. */
export function Sessions() {
  const sessions = useLoaded('sessions', () => api<SignedIn[]>('GET', PATH));
  const end = (path: string) =>
    void api('DELETE', path).then(() => {
      say(t.value.sessionEnded);
      sessions.reload();
    }, sayError);
  return (
    <Show loaded={sessions}>
      {all => (
        <div class="fields">
          <p class="hint">{t.value.sessionsAbout}</p>
          {all.length === 0 ? (
            <p class="card note">{t.value.noSessions}</p>
          ) : (
            <ul class="card plain">
              {all.map(({ id, kind, user_agent, created_at, last_used_at, current }) => {
                const name = agentName(user_agent);
                return (
                  <li key={id}>
                    <strong class="break">{name}</strong>
                    {current && <span class="chip live">{t.value.thisBrowser}</span>}
                    <span class="faint">
                      {[
                        kind === 'program' ? t.value.program : '',
                        t.value.signedInSince(dateTime(created_at)),
                        t.value.lastUsed(dateTime(last_used_at)),
                      ]
                        .filter(Boolean)
                        .join(' · ')}
                    </span>
                    {!current && (
                      <span class="actions">
                        <button
                          type="button"
                          class="quiet danger"
                          aria-label={`${t.value.signOut}: ${name}`}
                          onClick={() => end(`${PATH}/${id}`)}
                        >
                          {t.value.signOut}
                        </button>
                      </span>
                    )}
                  </li>
                );
              })}
            </ul>
          )}
          {all.some(({ current }) => current) && (
            <button type="button" onClick={() => end(PATH)}>
              {t.value.signOutOthers}
            </button>
          )}
        </div>
      )}
    </Show>
  );
}

/** The first match counts, because most browsers also name the ones that they are compatible with. */
const BROWSERS = [
  ['Edg', 'Edge'],
  ['OPR/', 'Opera'],
  ['SamsungBrowser', 'Samsung Internet'],
  ['Firefox', 'Firefox'],
  ['FxiOS', 'Firefox'],
  ['Chrome', 'Chrome'],
  ['CriOS', 'Chrome'],
  ['Safari', 'Safari'],
] as const;
const SYSTEMS = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const;

/** Returns `Firefox on Android`; an unknown user agent is returned unchanged. */
function agentName(userAgent: string): string {
  const find = (names: readonly (readonly [string, string])[]) =>
    names.find(([mark]) => userAgent.includes(mark))?.[1];
  const [browser, system] = [find(BROWSERS), find(SYSTEMS)];
  if (browser && system) return t.value.browserOn(browser, system);
  return userAgent === '' ? t.value.unknownBrowser : userAgent;
}
