import { useState } from 'preact/hooks';
import { Dialog, Page, Show, say, sayError, useLoaded } from '../components.tsx';
import type { Hook, Key } from '../data.ts';
import { shortDate } from '../format.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';
import { Apps } from './apps.tsx';
import { Deliveries } from './deliveries.tsx';
import { Devices } from './devices.tsx';

const SCOPES = [
  ...['conversations:read', 'conversations:write', 'memories:read', 'memories:write'],
  ...['action_items:read', 'action_items:write', 'goals:read', 'goals:write', 'listen'],
];

export function Connections() {
  return (
    <Page title={t.value.connections}>
      <Devices />
      <Keys />
      <Hooks />
      <Apps />
      <Deliveries />
    </Page>
  );
}

function Keys() {
  const keys = useLoaded('keys', () => api<Key[]>('GET', '/v1/dev/keys'));
  const [isAdding, setAdding] = useState(false);
  const [fresh, setFresh] = useState('');
  const make = async (method: string, path: string, body?: object) => {
    await api<{ key?: string }>(method, path, body).then(({ key }) => setFresh(key ?? ''), sayError);
    keys.reload();
  };
  return (
    <section>
      <header class="section-head">
        <h2 class="section">{t.value.keys}</h2>
        <button type="button" onClick={() => setAdding(true)}>
          {t.value.newKey}
        </button>
      </header>
      <p class="hint">{t.value.keysText}</p>
      <Show loaded={keys}>
        {found =>
          found.length === 0 ? (
            <p class="card note">{t.value.noKeys}</p>
          ) : (
            <ul class="card plain">
              {found.map(({ id, name, key_prefix, scopes, last_used_at }) => (
                <li key={id}>
                  <strong>{name}</strong> <code>{key_prefix}</code>
                  <span class="faint">
                    {`${scopes.join(', ')} · ${last_used_at ? t.value.lastUsed(shortDate(last_used_at)) : t.value.neverUsed}`}
                  </span>
                  <span class="actions">
                    <button
                      type="button"
                      class="quiet"
                      aria-label={`${t.value.rotate}: ${name}`}
                      onClick={() => make('POST', `/v1/dev/keys/${id}/rotate`)}
                    >
                      {t.value.rotate}
                    </button>
                    <button
                      type="button"
                      class="quiet danger"
                      aria-label={`${t.value.revoke}: ${name}`}
                      onClick={() => api('DELETE', `/v1/dev/keys/${id}`).then(keys.reload, sayError)}
                    >
                      {t.value.revoke}
                    </button>
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Show>
      {isAdding && (
        <Dialog title={t.value.newKey} onClose={() => setAdding(false)}>
          <form
            onSubmit={event => {
              event.preventDefault();
              const form = new FormData(event.currentTarget);
              setAdding(false);
              void make('POST', '/v1/dev/keys', { name: form.get('name'), scopes: form.getAll('scope') });
            }}
          >
            <label>
              {t.value.keyName}
              <input name="name" required maxLength={100} />
            </label>
            <fieldset class="scopes">
              {SCOPES.map(scope => (
                <label key={scope} class="check">
                  <input
                    type="checkbox"
                    name="scope"
                    value={scope}
                    defaultChecked={scope === 'conversations:read'}
                  />
                  <code>{scope}</code>
                </label>
              ))}
            </fieldset>
            <button type="submit" class="primary">
              {t.value.add}
            </button>
          </form>
        </Dialog>
      )}
      {fresh !== '' && (
        <Dialog title={t.value.newKey} onClose={() => setFresh('')}>
          <p>{t.value.keyShown}</p>
          <p>
            <code class="secret">{fresh}</code>
          </p>
        </Dialog>
      )}
    </section>
  );
}

function Hooks() {
  const hooks = useLoaded('hooks', () => api<Hook[]>('GET', '/v1/hooks'));
  const types = Object.entries(t.value.hookTypes);
  async function add(event: SubmitEvent) {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const { type, url } = Object.fromEntries(new FormData(form));
    try {
      await api('POST', `/v1/users/developer/webhook/${type}`, { url });
      say(t.value.saved);
      form.reset();
      hooks.reload();
    } catch (error) {
      sayError(error);
    }
  }
  return (
    <section>
      <h2 class="section">{t.value.webhooks}</h2>
      <p class="hint">{t.value.webhooksText}</p>
      <Show loaded={hooks}>
        {found =>
          found.length === 0 ? (
            <p class="card note">{t.value.noHooks}</p>
          ) : (
            <ul class="card plain">
              {found.map(({ id, type, url, enabled, off_reason }) => (
                <li key={id}>
                  <strong>{types.find(([name]) => name === type)?.[1] ?? type}</strong>
                  <span class="faint break">{url}</span>
                  {!enabled && <span class="late">{off_reason ?? t.value.switchedOff}</span>}
                  <span class="actions">
                    <button
                      type="button"
                      class="quiet"
                      onClick={() =>
                        api('POST', `/v1/hooks/${id}/${enabled ? 'disable' : 'enable'}`).then(
                          hooks.reload,
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
      <form class="inline add" onSubmit={add}>
        <select name="type" aria-label={t.value.webhookType}>
          {types.map(([type, text]) => (
            <option key={type} value={type}>
              {text}
            </option>
          ))}
        </select>
        <input name="url" type="url" required placeholder="https://" aria-label={t.value.webhookUrl} />
        <button type="submit">{t.value.add}</button>
      </form>
    </section>
  );
}
