/** The external calendar into which tasks and appointments are written. */
import { useState } from 'preact/hooks';
import { Show, sayError, useLoaded } from '../components.tsx';
import type { CalendarAccount as Account } from '../data.ts';
import { dateTime } from '../format.ts';
import { messageOf } from '../notices.tsx';
import { api } from '../session.ts';
import { t } from '../texts.ts';

const PATH = '/v1/calendar/account';

export function CalendarAccount() {
  const [problem, setProblem] = useState('');
  // wrapped in an object, because null means not loaded yet
  const loaded = useLoaded('calendar account', async () => ({
    account: await api<Account | null>('GET', PATH),
  }));
  async function connect(event: SubmitEvent) {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const filled = [...form].filter(([, value]) => value !== '');
    setProblem('');
    try {
      loaded.set({ account: await api<Account>('PUT', PATH, { address: Object.fromEntries(filled) }) });
    } catch (error) {
      setProblem(messageOf(error));
    }
  }
  return (
    <Show loaded={loaded}>
      {({ account }) =>
        account === null ? (
          <details class="card note">
            <summary>{t.value.calendarConnect}</summary>
            <form onSubmit={connect}>
              <p class="hint">{t.value.calendarConnectHint}</p>
              <label>
                {t.value.calendarServer}
                <input name="url" type="url" required maxLength={2000} autocomplete="off" />
              </label>
              <label>
                {t.value.calendarUser}
                <input name="username" required maxLength={200} autocomplete="off" autocapitalize="none" />
              </label>
              <label>
                {t.value.password}
                <input name="password" type="password" required maxLength={200} autocomplete="off" />
              </label>
              <label>
                {`${t.value.calendarName} (${t.value.optional})`}
                <input name="calendar" maxLength={200} autocomplete="off" />
              </label>
              <p class="problem" role="alert">
                {problem}
              </p>
              <button type="submit" class="primary">
                {t.value.calendarConnect}
              </button>
            </form>
          </details>
        ) : (
          <div class="card note fields">
            <p>{t.value.calendarConnected(account.name)}</p>
            <p class="faint break">
              {[account.address.url, account.synced_at && t.value.calendarSynced(dateTime(account.synced_at))]
                .filter(Boolean)
                .join(' · ')}
            </p>
            {account.failure && <p class="problem">{account.failure}</p>}
            <button
              type="button"
              onClick={() => void api('DELETE', PATH).then(() => loaded.set({ account: null }), sayError)}
            >
              {t.value.calendarDisconnect}
            </button>
          </div>
        )
      }
    </Show>
  );
}
