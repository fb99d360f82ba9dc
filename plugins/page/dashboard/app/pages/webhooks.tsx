import { useState } from 'preact/hooks';
import { Dialog, later, Show, say, sayError, useLoaded } from '../components.tsx';
import type { Hook, HookTest, NewHook } from '../data.ts';
import { dateTime } from '../format.ts';
import { messageOf } from '../notices.tsx';
import { api } from '../session.ts';
import { t } from '../texts.ts';

const PATH = '/v1/hooks';
const SECRET_PATH = '/v1/users/developer/webhooks/secret';

/** Webhooks: addresses to which the server sends events. */
export function Webhooks() {
  const hooks = useLoaded('hooks', () => api<Hook[]>('GET', PATH));
  const [editing, setEditing] = useState<Hook | 'new' | null>(null);
  const [secret, setSecret] = useState('');
  const hasOwn = hooks.value?.some(({ app_id }) => app_id === null) ?? false;
  return (
    <section>
      <header class="section-head">
        <h2 class="section">{t.value.webhooks}</h2>
        <button type="button" onClick={() => setEditing('new')}>
          {t.value.newWebhook}
        </button>
      </header>
      <p class="hint">{t.value.webhooksText}</p>
      <Show loaded={hooks}>
        {found =>
          found.length === 0 ? (
            <p class="card note">{t.value.noHooks}</p>
          ) : (
            <ul class="card plain">
              {found.map(hook => (
                <HookRow key={hook.id} hook={hook} reload={hooks.reload} onEdit={() => setEditing(hook)} />
              ))}
            </ul>
          )
        }
      </Show>
      {hasOwn && <SigningSecret onSecret={setSecret} />}
      {editing && (
        <HookDialog
          hook={editing === 'new' ? null : editing}
          used={hooks.value?.map(({ type }) => type) ?? []}
          onClose={() => setEditing(null)}
          onDone={made => {
            setEditing(null);
            setSecret(made.signing_secret ?? '');
            say(t.value.saved);
            hooks.reload();
          }}
        />
      )}
      {secret !== '' && (
        <Dialog title={t.value.signingSecret} onClose={() => setSecret('')}>
          <p>{t.value.keyShown}</p>
          <p>
            <code class="secret">{secret}</code>
          </p>
        </Dialog>
      )}
    </section>
  );
}

function HookRow({
  hook: { id, type, label, url, app_id, enabled, off_reason, failing_since },
  reload,
  onEdit,
}: {
  hook: Hook;
  reload: () => void;
  onEdit: () => void;
}) {
  const [isGone, setGone] = useState(false);
  const [isTesting, setTesting] = useState(false);
  const [tested, setTested] = useState<HookTest | null>(null);
  if (isGone) return null;
  const name = [t.value.hookTypes[type] ?? type, label].filter(Boolean).join(', ');
  async function test() {
    setTesting(true);
    await api<HookTest>('POST', `${PATH}/${id}/test`).then(setTested, sayError);
    setTesting(false);
  }
  function remove() {
    setGone(true);
    later(
      t.value.deleted,
      () => api('DELETE', `${PATH}/${id}`, undefined, { keepalive: true }),
      () => setGone(false),
    );
  }
  return (
    <li>
      <strong>{name}</strong>
      <span class="faint break">{url}</span>
      {app_id !== null && <span class="faint">{t.value.ofAnApp}</span>}
      {!enabled && <span class="late">{off_reason ?? t.value.paused}</span>}
      {enabled && failing_since && <span class="late">{t.value.failingSince(dateTime(failing_since))}</span>}
      <span role="status">
        {tested && (
          <span class={tested.error === null ? 'faint' : 'late'}>
            {tested.error ?? t.value.testAccepted(tested.status ?? 0, tested.took_ms)}
          </span>
        )}
      </span>
      <span class="actions">
        <button
          type="button"
          class="quiet"
          disabled={isTesting}
          aria-label={`${t.value.sendTest}: ${name}`}
          onClick={() => void test()}
        >
          {t.value.sendTest}
        </button>
        <button
          type="button"
          class="quiet"
          aria-label={`${enabled ? t.value.pause : t.value.resume}: ${name}`}
          onClick={() =>
            api('POST', `${PATH}/${id}/${enabled ? 'disable' : 'enable'}`).then(reload, sayError)
          }
        >
          {enabled ? t.value.pause : t.value.resume}
        </button>
        {app_id === null && (
          <>
            <button type="button" class="quiet" aria-label={`${t.value.edit}: ${name}`} onClick={onEdit}>
              {t.value.edit}
            </button>
            <button
              type="button"
              class="quiet danger"
              aria-label={`${t.value.remove}: ${name}`}
              onClick={remove}
            >
              {t.value.remove}
            </button>
          </>
        )}
      </span>
    </li>
  );
}

/** One secret signs all webhooks of the account. */
function SigningSecret({ onSecret }: { onSecret: (secret: string) => void }) {
  const signing = useLoaded('signing', () =>
    api<{ hint: string | null; old_until: string | null }>('GET', SECRET_PATH),
  );
  const [isAsking, setAsking] = useState(false);
  async function rotate() {
    setAsking(false);
    try {
      onSecret((await api<{ signing_secret: string }>('POST', `${SECRET_PATH}/rotate`)).signing_secret);
      signing.reload();
    } catch (error) {
      sayError(error);
    }
  }
  return (
    <div class="card note fields">
      <p>
        {t.value.signingSecret}: <code>{signing.value?.hint ?? '…'}</code>{' '}
        {signing.value?.old_until && t.value.oldSecretUntil(dateTime(signing.value.old_until))}
      </p>
      <button type="button" onClick={() => setAsking(true)}>
        {t.value.rotateSecret}
      </button>
      {isAsking && (
        <Dialog title={t.value.rotateSecret} onClose={() => setAsking(false)}>
          <p>{t.value.rotateSecretText}</p>
          <div class="buttons">
            <button type="button" class="quiet" onClick={() => setAsking(false)}>
              {t.value.cancel}
            </button>
            <button type="button" class="primary" onClick={() => void rotate()}>
              {t.value.rotateSecret}
            </button>
          </div>
        </Dialog>
      )}
    </div>
  );
}

/** Stays open until the webhook is stored. */
function HookDialog({
  hook,
  used,
  onClose,
  onDone,
}: {
  /** Null: a new one. */
  hook: Hook | null;
  /** Types of the existing webhooks. */
  used: readonly string[];
  onClose: () => void;
  onDone: (made: NewHook) => void;
}) {
  const [problem, setProblem] = useState('');
  const types = Object.entries(t.value.hookTypes);
  if (hook && !(hook.type in t.value.hookTypes)) types.push([hook.type, hook.type]);
  const first = hook?.type ?? types.find(([type]) => !used.includes(type))?.[0];
  async function submit(event: SubmitEvent) {
    event.preventDefault();
    const { type, url, label } = Object.fromEntries(new FormData(event.currentTarget as HTMLFormElement));
    try {
      onDone(
        await (hook
          ? api<NewHook>('PATCH', `${PATH}/${hook.id}`, { type, url })
          : api<NewHook>('POST', PATH, { type, url, label })),
      );
    } catch (error) {
      setProblem(messageOf(error));
    }
  }
  return (
    <Dialog title={hook ? t.value.edit : t.value.newWebhook} onClose={onClose}>
      <form onSubmit={submit}>
        <label>
          {t.value.webhookType}
          <select name="type">
            {types.map(([type, text]) => (
              <option key={type} value={type} selected={type === first}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <label>
          {t.value.webhookUrl}
          <input
            name="url"
            required
            maxLength={2000}
            placeholder="https://"
            defaultValue={hook ? addressOf(hook) : ''}
          />
        </label>
        {!hook && (
          <label>
            {t.value.webhookLabel}
            <input name="label" maxLength={100} />
          </label>
        )}
        <p class="hint">{t.value.webhookUrlHint}</p>
        <p class="problem" role="alert">
          {problem}
        </p>
        <div class="buttons">
          <button type="button" class="quiet" onClick={onClose}>
            {t.value.cancel}
          </button>
          <button type="submit" class="primary">
            {t.value.save}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Returns the address in the form in which it is entered: for audio with the seconds between two deliveries. */
function addressOf({ url, seconds }: Hook): string {
  return seconds === null ? url : `${url},${seconds}`;
}
