import { useState } from 'preact/hooks';
import { Dialog, Page, Show, sayError, useLoaded } from '../components.tsx';
import type { Key } from '../data.ts';
import { shortDate } from '../format.ts';
import { api } from '../session.ts';
import { t } from '../texts.ts';
import { Apps } from './apps.tsx';
import { Deliveries } from './deliveries.tsx';
import { Devices } from './devices.tsx';
import { Webhooks } from './webhooks.tsx';

const SCOPES = [
  ...['conversations:read', 'conversations:write', 'memories:read', 'memories:write'],
  ...['action_items:read', 'action_items:write', 'goals:read', 'goals:write', 'listen'],
];

export function Connections() {
  return (
    <Page title={t.value.connections}>
      <Devices />
      <Keys />
      <Webhooks />
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
    const { key } = await api<{ key?: string }>(method, path, body);
    setAdding(false);
    setFresh(key ?? '');
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
                      onClick={() => void make('POST', `/v1/dev/keys/${id}/rotate`).catch(sayError)}
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
              const draft = { name: form.get('name'), scopes: form.getAll('scope') };
              make('POST', '/v1/dev/keys', draft).catch(sayError);
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
