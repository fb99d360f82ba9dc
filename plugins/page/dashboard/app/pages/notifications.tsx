import { Page, Show, say, sayError, useLoaded } from '../components.tsx';
import type { Address, Notification, NotificationSettings } from '../data.ts';
import { dateTime } from '../format.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';

export function Notifications() {
  const inbox = useLoaded('inbox', () => api<Notification[]>('GET', '/v1/notifications?limit=50'), [
    'action_item',
    'conversation',
  ]);
  return (
    <Page title={t.value.notifications}>
      <Show loaded={inbox}>
        {found =>
          found.length === 0 ? (
            <p class="card note">{t.value.inboxEmpty}</p>
          ) : (
            <ul class="card plain stacked">
              {found.map(({ id, title, text, created_at }) => (
                <li key={id}>
                  <strong>{title}</strong>
                  <span>{text}</span>
                  <span class="faint">{dateTime(created_at)}</span>
                </li>
              ))}
            </ul>
          )
        }
      </Show>
      <Addresses />
      <QuietHours />
    </Page>
  );
}

function Addresses() {
  const addresses = useLoaded('addresses', () => api<Address[]>('GET', '/v1/notifications/addresses'));
  async function test(id: string) {
    const path = `/v1/notifications/addresses/${id}/test`;
    await api<{ sent: boolean; error: string | null }>('POST', path).then(
      ({ error }) => say(error ?? t.value.testSent),
      sayError,
    );
  }
  return (
    <section>
      <h2 class="section">{t.value.addresses}</h2>
      <Show loaded={addresses}>
        {found =>
          found.length === 0 ? (
            <p class="card note">{t.value.noAddresses}</p>
          ) : (
            <ul class="card plain">
              {found.map(({ id, channel, label, enabled, off_reason }) => (
                <li key={id}>
                  <strong>{label || channel}</strong>
                  <span class="faint">{channel}</span>
                  {!enabled && <span class="late">{off_reason ?? t.value.switchedOff}</span>}
                  <span class="actions">
                    <button type="button" class="quiet" onClick={() => test(id)}>
                      {t.value.test}
                    </button>
                    <button
                      type="button"
                      class="quiet"
                      onClick={() =>
                        api('PATCH', `/v1/notifications/addresses/${id}`, { enabled: !enabled }).then(
                          addresses.reload,
                          sayError,
                        )
                      }
                    >
                      {enabled ? t.value.disable : t.value.enable}
                    </button>
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Show>
    </section>
  );
}

function QuietHours() {
  const settings = useLoaded('settings', () =>
    api<NotificationSettings>('GET', '/v1/notifications/settings'),
  );
  const save = (quiet: NotificationSettings['quiet_hours']) =>
    api<NotificationSettings>('PATCH', '/v1/notifications/settings', { quiet_hours: quiet }).then(saved => {
      settings.set(saved);
      say(t.value.saved);
    }, sayError);
  return (
    <section>
      <h2 class="section">{t.value.quietHours}</h2>
      <Show loaded={settings}>
        {({ quiet_hours: quiet }) => (
          <form
            class="card note inline"
            onSubmit={event => {
              event.preventDefault();
              const form = new FormData(event.currentTarget);
              void save({ from: String(form.get('from')), to: String(form.get('to')) });
            }}
          >
            <label>
              {t.value.from}
              <input type="time" name="from" required defaultValue={quiet?.from ?? '22:00'} />
            </label>
            <label>
              {t.value.to}
              <input type="time" name="to" required defaultValue={quiet?.to ?? '07:00'} />
            </label>
            <button type="submit">{t.value.save}</button>
            {quiet && (
              <button type="button" class="quiet" onClick={() => save(null)}>
                {t.value.noQuietHours}
              </button>
            )}
          </form>
        )}
      </Show>
    </section>
  );
}
