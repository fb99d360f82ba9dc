import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { messageOf } from '../notices.tsx';
import { api, begin, type Session, signIn } from '../session.ts';
import { type Language, language, setLanguage, t } from '../texts.ts';

export function SignIn() {
  return (
    <main class="gate">
      <Opening title="Earshot" text={t.value.tagline} />
      <SignInForm name="" />
    </main>
  );
}

/** Covers the page until the same account has signed in again; unsaved input stays underneath. */
export function SignInAgain({ name }: { name: string }) {
  const ref = useRef<HTMLDialogElement>(null);
  const open = () => ref.current?.showModal();
  useEffect(open, []);
  return (
    <dialog
      ref={ref}
      class="cover"
      aria-label={t.value.sessionOver}
      onCancel={event => event.preventDefault()}
      onClose={open}
    >
      <div class="gate">
        <Opening title={t.value.sessionOver} text={t.value.sessionOverText} />
        <SignInForm name={name} />
      </div>
    </dialog>
  );
}

function SignInForm({ name }: { name: string }) {
  const [error, setError] = useState('');
  const [isBusy, setBusy] = useState(false);
  async function submit(event: SubmitEvent) {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    setError('');
    await signIn(String(form.get('name')), String(form.get('password'))).catch(failed =>
      setError(messageOf(failed)),
    );
    setBusy(false);
  }
  return (
    <form onSubmit={submit}>
      <label>
        {t.value.name}
        <input
          name="name"
          autocomplete="username"
          autocapitalize="none"
          required
          defaultValue={name}
          autofocus={name === ''}
        />
      </label>
      <label>
        {t.value.password}
        <input
          name="password"
          type="password"
          autocomplete="current-password"
          required
          autofocus={name !== ''}
        />
      </label>
      <Problem text={error} />
      <button type="submit" class="primary" disabled={isBusy}>
        {t.value.signIn}
      </button>
      <p class="hint">{t.value.noPassword}</p>
    </form>
  );
}

/** One-time link of the first start: the code follows the #, which browsers never send to a server. */
export function Welcome() {
  const { route } = useLocation();
  const [code] = useState(location.hash.slice(1));
  const [error, setError] = useState(code === '' ? t.value.welcomeMissing : '');
  const [isBusy, setBusy] = useState(false);
  async function submit(event: SubmitEvent) {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    setError('');
    try {
      begin(await api<Session>('POST', '/v1/auth/welcome', { code, password: String(form.get('password')) }));
      await api('PATCH', '/v1/notifications/settings', { time_zone: String(form.get('zone')) });
      route('/', true);
    } catch (failed) {
      setError(messageOf(failed));
    }
    setBusy(false);
  }
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <main class="gate">
      <Opening title={t.value.welcome} text={t.value.welcomeText} />
      <form onSubmit={submit}>
        <input type="hidden" name="username" autocomplete="username" value="owner" />
        <label>
          {t.value.password}
          <input
            name="password"
            type="password"
            autocomplete="new-password"
            minLength={12}
            required
            aria-describedby="password-hint"
          />
        </label>
        <p class="hint" id="password-hint">
          {t.value.passwordHint}
        </p>
        <ZoneSelect name="zone" value={own} />
        <LanguageSelect />
        <Problem text={error} />
        <button type="submit" class="primary" disabled={isBusy || code === ''}>
          {t.value.begin}
        </button>
      </form>
    </main>
  );
}

export function ZoneSelect({
  name,
  value,
  onChange,
}: {
  name: string;
  value: string;
  onChange?: (zone: string) => void;
}) {
  const zones = [...new Set([value, 'UTC', ...Intl.supportedValuesOf('timeZone')])].sort();
  return (
    <label>
      {t.value.timeZone}
      <select name={name} value={value} onChange={event => onChange?.(event.currentTarget.value)}>
        {zones.map(zone => (
          <option key={zone} value={zone}>
            {zone.replaceAll('_', ' ')}
          </option>
        ))}
      </select>
    </label>
  );
}

export function LanguageSelect() {
  return (
    <label>
      {t.value.language}
      <select
        value={language.value}
        onChange={event => setLanguage(event.currentTarget.value === 'de' ? 'de' : ('en' satisfies Language))}
      >
        <option value="en">English</option>
        <option value="de">Deutsch</option>
      </select>
    </label>
  );
}

function Problem({ text }: { text: string }) {
  return (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}

function Opening({ title, text }: { title: string; text: string }) {
  return (
    <>
      <img src="/icon.svg" alt="" width="56" height="56" />
      <h1>{title}</h1>
      <p class="lead">{text}</p>
    </>
  );
}
