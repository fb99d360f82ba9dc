import { useState } from 'preact/hooks';
import { Page, Show, say, sayError, useLoaded } from '../components.tsx';
import type { CalendarLinkJson, NewCalendarLink, NotificationSettings } from '../data.ts';
import { messageOf } from '../notices.tsx';
import { account, api, signOut } from '../session.ts';
import { t } from '../texts.ts';
import { applyTheme, THEMES, theme } from '../theme.ts';
import { Accesses } from './accesses.tsx';
import { CalendarAccount } from './calendar-account.tsx';
import { ForeignImports } from './foreign-imports.tsx';
import { ListeningForms } from './listening.tsx';
import { OwnData } from './own-data.tsx';
import { RetentionForm } from './retention.tsx';
import { Sessions } from './sessions.tsx';
import { LanguageSelect, ZoneSelect } from './sign-in.tsx';
import { SpeechForm } from './speech-settings.tsx';
import { Vocabulary } from './vocabulary.tsx';

export function Settings() {
  const settings = useLoaded('settings', () =>
    api<NotificationSettings>('GET', '/v1/notifications/settings'),
  );
  return (
    <Page title={t.value.settings}>
      <section>
        <h2 class="section">{t.value.appearance}</h2>
        <div class="card note fields">
          <LanguageSelect />
          <label>
            {t.value.theme}
            <select
              value={theme.value}
              onChange={event =>
                applyTheme(THEMES.find(each => each === event.currentTarget.value) ?? 'system')
              }
            >
              {THEMES.map(each => (
                <option key={each} value={each}>
                  {t.value.themes[each]}
                </option>
              ))}
            </select>
          </label>
          <Show loaded={settings}>
            {({ time_zone }) => (
              <ZoneSelect
                name="zone"
                value={time_zone}
                onChange={zone =>
                  void api<NotificationSettings>('PATCH', '/v1/notifications/settings', {
                    time_zone: zone,
                  }).then(saved => {
                    settings.set(saved);
                    say(t.value.saved);
                  }, sayError)
                }
              />
            )}
          </Show>
        </div>
        {!window.isSecureContext && <p class="hint">{t.value.withoutTls}</p>}
      </section>
      <section>
        <h2 class="section">{t.value.accountSection}</h2>
        <div class="card note fields">
          <p>{t.value.signedInAs(account.value?.name ?? '')}</p>
          <Password />
          <button type="button" onClick={() => void signOut()}>
            {t.value.signOut}
          </button>
        </div>
      </section>
      <section>
        <h2 class="section">{t.value.sessions}</h2>
        <Sessions />
      </section>
      <section>
        <h2 class="section">{t.value.listeningSection}</h2>
        <ListeningForms />
      </section>
      <section>
        <h2 class="section">{t.value.speechSection}</h2>
        <SpeechForm />
      </section>
      <section>
        <h2 class="section">{t.value.vocabulary}</h2>
        <Vocabulary />
      </section>
      <section>
        <h2 class="section">{t.value.calendarSection}</h2>
        <CalendarLink />
        <CalendarAccount />
      </section>
      <section>
        <h2 class="section">{t.value.retentionSection}</h2>
        <RetentionForm />
      </section>
      <section>
        <h2 class="section">{t.value.ownData}</h2>
        <OwnData />
        <ForeignImports />
      </section>
      <section>
        <h2 class="section">{t.value.accesses}</h2>
        <Accesses />
      </section>
    </Page>
  );
}

/** The secret URL from which calendar programs read events and tasks: shown once, when it is created. */
function CalendarLink() {
  const [address, setAddress] = useState('');
  // wrapped in an object, because null means not loaded yet
  const link = useLoaded('calendar link', async () => ({
    present: await api<CalendarLinkJson | null>('GET', '/v1/calendar/link'),
  }));
  async function renew() {
    const { hint, created_at, path } = await api<NewCalendarLink>('POST', '/v1/calendar/link');
    setAddress(new URL(path, location.origin).href);
    link.set({ present: { hint, created_at } });
  }
  async function end() {
    await api('DELETE', '/v1/calendar/link');
    setAddress('');
    link.set({ present: null });
  }
  return (
    <Show loaded={link}>
      {({ present }) => (
        <div class="card note fields">
          <p>{present === null ? t.value.calendarAbout : t.value.calendarLinked(present.hint)}</p>
          {address !== '' && (
            <label>
              {t.value.calendarAddress}
              <input readOnly value={address} onFocus={event => event.currentTarget.select()} />
            </label>
          )}
          <button type="button" onClick={() => void renew().catch(sayError)}>
            {present === null ? t.value.calendarMake : t.value.calendarRenew}
          </button>
          {present !== null && (
            <button type="button" onClick={() => void end().catch(sayError)}>
              {t.value.calendarEnd}
            </button>
          )}
        </div>
      )}
    </Show>
  );
}

function Password() {
  const [problem, setProblem] = useState('');
  async function submit(event: SubmitEvent) {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setProblem('');
    try {
      await api('POST', '/v1/auth/password', {
        name: account.value?.name,
        password: form.get('password'),
        new_password: form.get('new_password'),
      });
      say(t.value.passwordChanged);
      await signOut();
    } catch (error) {
      setProblem(messageOf(error));
    }
  }
  return (
    <details>
      <summary>{t.value.changePassword}</summary>
      <form onSubmit={submit}>
        <input
          type="text"
          hidden
          readOnly
          name="username"
          autocomplete="username"
          value={account.value?.name ?? ''}
        />
        <label>
          {t.value.presentPassword}
          <input name="password" type="password" autocomplete="current-password" required />
        </label>
        <label>
          {t.value.newPassword}
          <input name="new_password" type="password" autocomplete="new-password" minLength={12} required />
        </label>
        <p class="hint">{t.value.passwordHint}</p>
        <p class="problem" role="alert">
          {problem}
        </p>
        <button type="submit" class="primary">
          {t.value.changePassword}
        </button>
      </form>
    </details>
  );
}
