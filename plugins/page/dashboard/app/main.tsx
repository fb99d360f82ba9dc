import { signal, useSignalEffect } from '@preact/signals';
import { type ComponentType, render } from 'preact';
import { LocationProvider, useLocation } from 'preact-iso';
import { Failure, Skeleton } from './notices.tsx';
import { SignIn, SignInAgain, Welcome } from './pages/sign-in.tsx';
import { ApiError, account, isExpired, resume, wasSignedIn } from './session.ts';
import { language } from './texts.ts';
import { applyTheme } from './theme.ts';

declare global {
  interface Window {
    /** Browsers without Trusted Types enforce the parts of the page's policy that they support. */
    trustedTypes?: {
      createPolicy(
        name: string,
        rules: { createScriptURL(url: string): string },
      ): { createScriptURL(url: string): unknown };
    };
  }
}

const failure = signal<unknown>(null);
const shell = signal<ComponentType<{ path: string }> | null>(null);
/** Read once at the start: a sign-in form that is shown stays until the session is known to be valid. */
const isReturning = wasSignedIn();

function fail(error: unknown): void {
  failure.value = error;
}

function loadShell(): void {
  import('./shell.tsx').then(
    ({ Shell }) => {
      shell.value = Shell;
    },
    () => fail(new ApiError(0, '')),
  );
}

/** Browsers cache the failure of a dynamic import, so the whole page has to be reloaded. */
function again(): void {
  const reload = () => location.reload();
  fetch('/healthz').then(reload, () => {});
}

function App() {
  const { path } = useLocation();
  useSignalEffect(() => {
    document.documentElement.lang = language.value;
  });
  useSignalEffect(() => {
    if (account.value && !shell.value) loadShell();
  });
  if (path === '/welcome') return <Welcome />;
  if (account.value === null || (account.value === undefined && !isReturning)) return <SignIn />;
  const Signed = shell.value;
  if (account.value === undefined || Signed === null)
    return (
      <main class="gate">
        {failure.value ? <Failure error={failure.value} retry={again} /> : <Skeleton rows={3} />}
      </main>
    );
  return (
    <>
      <Signed key={account.value.id} path={path} />
      {isExpired.value && <SignInAgain name={account.value.name} />}
    </>
  );
}

/** Lets the page open offline. Runs after the first page is shown, because the worker fetches every file. */
function registerWorker(): void {
  if (!('serviceWorker' in navigator && window.trustedTypes)) return;
  // The policy of the page refuses any other address.
  const policy = window.trustedTypes.createPolicy('earshot', {
    createScriptURL(url: string) {
      if (url === '/sw.js') return url;
      throw new ApiError(0, url);
    },
  });
  navigator.serviceWorker.register(policy.createScriptURL('/sw.js') as unknown as string).catch(() => {});
}

applyTheme();
resume().catch(fail);
if (isReturning) loadShell();
const root = document.getElementById('app');
if (root)
  render(
    <LocationProvider>
      <App />
    </LocationProvider>,
    root,
  );
/** Safari has no `requestIdleCallback`. */
const whenIdle = window.requestIdleCallback ?? ((work: () => void) => setTimeout(work, 1000));
whenIdle(() => {
  registerWorker();
  if (!shell.value) loadShell();
});
