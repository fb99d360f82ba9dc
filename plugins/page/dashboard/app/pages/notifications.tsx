import { useEffect, useState } from 'preact/hooks';
import { Dialog, Icon, Page, Show, say, sayError, useLoaded } from '../components.tsx';
import type { Address, Channel, Notification, NotificationSettings } from '../data.ts';
import { dateTime } from '../format.ts';
import { messageOf } from '../notices.tsx';
import { CHANNEL, isPushed, mayPush, startPush, stopPush } from '../push.ts';
import { SchemaFields, valuesOf } from '../schema-form.tsx';
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

const PATH = '/v1/notifications/addresses';

function Addresses() {
  const addresses = useLoaded('addresses', () => api<Address[]>('GET', PATH));
  const channels = useLoaded('channels', () => api<Channel[]>('GET', '/v1/notifications/channels'));
  const [isAdding, setAdding] = useState(false);
  async function test(id: string) {
    const path = `/v1/notifications/addresses/${id}/test`;
    await api<{ sent: boolean; error: string | null }>('POST', path).then(
      ({ error }) => say(error ?? t.value.testSent),
      sayError,
    );
  }
  return (
    <section>
      <header class="section-head">
        <h2 class="section">{t.value.addresses}</h2>
        <button type="button" disabled={!channels.value} onClick={() => setAdding(true)}>
          {t.value.addAddress}
        </button>
      </header>
      <Push channels={channels.value ?? []} reload={addresses.reload} />
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
                    <button
                      type="button"
                      class="quiet danger"
                      aria-label={`${t.value.remove}: ${label || channel}`}
                      onClick={() => api('DELETE', `${PATH}/${id}`).then(addresses.reload, sayError)}
                    >
                      {t.value.remove}
                    </button>
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Show>
      {isAdding && (
        <AddressDialog
          channels={channels.value?.filter(({ channel }) => channel !== CHANNEL) ?? []}
          onClose={() => setAdding(false)}
          onDone={addresses.reload}
        />
      )}
    </section>
  );
}

/** One button that turns on notifications on this device. */
function Push({ channels, reload }: { channels: readonly Channel[]; reload: () => void }) {
  const [isOn, setOn] = useState<boolean | null>(null);
  useEffect(() => void isPushed().then(setOn, () => setOn(false)), []);
  if (!mayPush()) return <p class="hint">{t.value.pushNeedsTls}</p>;
  async function change() {
    try {
      if (isOn) {
        await stopPush();
        setOn(false);
        return;
      }
      const isAllowed = await startPush(channels, navigator.platform || t.value.thisDevice);
      setOn(isAllowed);
      say(isAllowed ? t.value.saved : t.value.pushRefused);
      reload();
    } catch (error) {
      sayError(error);
    }
  }
  return (
    <button type="button" class="add" disabled={isOn === null || channels.length === 0} onClick={change}>
      <Icon name="notifications" />
      {isOn ? t.value.pushStop : t.value.pushStart}
    </button>
  );
}

/** A form generated from the JSON schema of the channel's addresses. */
function AddressDialog({
  channels,
  onClose,
  onDone,
}: {
  channels: readonly Channel[];
  onClose: () => void;
  onDone: () => void;
}) {
  const [chosen, setChosen] = useState(channels[0]?.channel ?? '');
  const [problem, setProblem] = useState('');
  const schema = channels.find(({ channel }) => channel === chosen)?.address ?? {};
  async function submit(event: SubmitEvent) {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    try {
      await api('POST', PATH, { channel: chosen, address: valuesOf(form, schema) });
      onClose();
      onDone();
    } catch (error) {
      setProblem(messageOf(error));
    }
  }
  return (
    <Dialog title={t.value.addAddress} onClose={onClose}>
      <form onSubmit={submit}>
        <label>
          {t.value.channel}
          <select value={chosen} onChange={event => setChosen(event.currentTarget.value)}>
            {channels.map(({ channel, title }) => (
              <option key={channel} value={channel}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <SchemaFields key={chosen} schema={schema} />
        <p class="problem" role="alert">
          {problem}
        </p>
        <button type="submit" class="primary">
          {t.value.add}
        </button>
      </form>
    </Dialog>
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
