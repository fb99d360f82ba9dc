import { useState } from 'preact/hooks';
import { Dialog, Show, say, sayError, useLoaded } from '../components.tsx';
import type { App, NewApp } from '../data.ts';
import { messageOf } from '../notices.tsx';
import { api } from '../session.ts';
import { t } from '../texts.ts';

const PATH = '/v1/apps';

/** Apps that receive events and may do what their users permit. */
export function Apps() {
  const apps = useLoaded('apps', () => api<App[]>('GET', PATH));
  const [isAdding, setAdding] = useState(false);
  const [installing, setInstalling] = useState<App | null>(null);
  const act = (work: Promise<unknown>) => work.then(apps.reload, sayError);
  return (
    <section>
      <header class="section-head">
        <h2 class="section">{t.value.apps}</h2>
        <button type="button" onClick={() => setAdding(true)}>
          {t.value.newApp}
        </button>
      </header>
      <p class="hint">{t.value.appsText}</p>
      <Show loaded={apps}>
        {found =>
          found.length === 0 ? (
            <p class="card note">{t.value.noApps}</p>
          ) : (
            <ul class="card plain">
              {found.map(app => (
                <li key={app.id}>
                  <strong>{app.name}</strong>
                  <span class="faint">{app.description}</span>
                  <span class="actions">
                    {app.enabled ? (
                      <button
                        type="button"
                        class="quiet"
                        aria-label={`${t.value.uninstall}: ${app.name}`}
                        onClick={() => act(api('POST', `${PATH}/disable?app_id=${app.id}`))}
                      >
                        {t.value.uninstall}
                      </button>
                    ) : (
                      <button
                        type="button"
                        class="quiet"
                        aria-label={`${t.value.install}: ${app.name}`}
                        onClick={() => setInstalling(app)}
                      >
                        {t.value.install}
                      </button>
                    )}
                    {app.owned && (
                      <button
                        type="button"
                        class="quiet danger"
                        aria-label={`${t.value.remove}: ${app.name}`}
                        onClick={() => act(api('DELETE', `${PATH}/${app.id}`))}
                      >
                        {t.value.remove}
                      </button>
                    )}
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Show>
      {isAdding && <NewAppDialog onClose={() => setAdding(false)} onDone={apps.reload} />}
      {installing && (
        <InstallDialog app={installing} onClose={() => setInstalling(null)} onDone={apps.reload} />
      )}
    </section>
  );
}

interface DialogGiven {
  onClose: () => void;
  onDone: () => void;
}

/** Permissions that the app requests; the user grants or denies each one. */
function InstallDialog({ app, onClose, onDone }: DialogGiven & { app: App }) {
  const scopes = app.proactive_notification?.scopes ?? [];
  const actions = app.external_integration?.actions.map(({ action }) => action) ?? [];
  async function submit(event: SubmitEvent) {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    try {
      await api('POST', `${PATH}/enable?app_id=${app.id}`, {
        scopes: form.getAll('scope'),
        actions: form.getAll('action'),
      });
      say(t.value.saved);
      onClose();
      onDone();
    } catch (error) {
      sayError(error);
    }
  }
  const box = (name: string) => (value: string) => (
    <label key={value} class="check">
      <input type="checkbox" name={name} value={value} defaultChecked />
      <code>{value}</code>
    </label>
  );
  return (
    <Dialog title={`${t.value.install}: ${app.name}`} onClose={onClose}>
      <form onSubmit={submit}>
        <p>{app.description}</p>
        {scopes.length + actions.length > 0 && (
          <fieldset class="scopes">
            <legend class="hint">{t.value.appMay}</legend>
            {scopes.map(box('scope'))}
            {actions.map(box('action'))}
          </fieldset>
        )}
        <button type="submit" class="primary">
          {t.value.install}
        </button>
      </form>
    </Dialog>
  );
}

function NewAppDialog({ onClose, onDone }: DialogGiven) {
  const [problem, setProblem] = useState('');
  const [made, setMade] = useState<{ secret: string; signing: string | null } | null>(null);
  async function submit(event: SubmitEvent) {
    event.preventDefault();
    const { name, description, url, type } = Object.fromEntries(
      new FormData(event.currentTarget as HTMLFormElement),
    );
    try {
      const app = await api<NewApp>('POST', PATH, {
        ...{ name, description },
        ...(url === '' ? {} : { external_integration: { webhook_url: url, triggers_on: type } }),
      });
      const { secret } = await api<{ secret: string }>('POST', `${PATH}/${app.id}/keys`);
      setMade({ secret, signing: app.signing_secret });
      onDone();
    } catch (error) {
      setProblem(messageOf(error));
    }
  }
  if (made)
    return (
      <Dialog title={t.value.newApp} onClose={onClose}>
        <p>{t.value.keyShown}</p>
        <p>
          {t.value.appSecret}
          <code class="secret">{made.secret}</code>
        </p>
        {made.signing !== null && (
          <p>
            {t.value.signingSecret}
            <code class="secret">{made.signing}</code>
          </p>
        )}
      </Dialog>
    );
  return (
    <Dialog title={t.value.newApp} onClose={onClose}>
      <form onSubmit={submit}>
        <label>
          {t.value.name}
          <input name="name" required maxLength={100} />
        </label>
        <label>
          {t.value.description}
          <textarea name="description" rows={2} maxLength={2000} />
        </label>
        <label>
          {`${t.value.webhookUrl} (${t.value.optional})`}
          <input name="url" type="url" placeholder="https://" />
        </label>
        <label>
          {t.value.webhookType}
          <select name="type">
            {Object.entries(t.value.hookTypes).map(([type, text]) => (
              <option key={type} value={type}>
                {text}
              </option>
            ))}
          </select>
        </label>
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
