import { useSignalEffect } from '@preact/signals';
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { ErrorBoundary, LocationProvider, lazy, Route, Router, useLocation } from 'preact-iso';
import { Empty, Failure, Icon, type IconName, Page, Skeleton, Toasts } from './components.tsx';
import { connection, follow } from './feed.ts';
import './live.ts';
import { signal } from '@preact/signals';
import { Conversations } from './pages/conversations.tsx';
import { Now } from './pages/now.tsx';
import { SignIn, Welcome } from './pages/sign-in.tsx';
import { ApiError, account, resume } from './session.ts';
import { language, t } from './texts.ts';
import { applyTheme } from './theme.ts';

const Conversation = lazy(() => import('./pages/conversation.tsx').then(module => module.Conversation));
const Tasks = lazy(() => import('./pages/tasks.tsx').then(module => module.Tasks));
const Memories = lazy(() => import('./pages/memories.tsx').then(module => module.Memories));
const People = lazy(() => import('./pages/people.tsx').then(module => module.People));
const Goals = lazy(() => import('./pages/goals.tsx').then(module => module.Goals));
const Statistics = lazy(() => import('./pages/statistics.tsx').then(module => module.Statistics));
const Ask = lazy(() => import('./pages/ask.tsx').then(module => module.Ask));
const Connections = lazy(() => import('./pages/connections.tsx').then(module => module.Connections));
const Notifications = lazy(() => import('./pages/notifications.tsx').then(module => module.Notifications));
const Settings = lazy(() => import('./pages/settings.tsx').then(module => module.Settings));
const System = lazy(() => import('./pages/system.tsx').then(module => module.System));

interface Place {
  path: string;
  name: IconName & keyof typeof t.value;
}

const PLACES: readonly Place[] = [
  { path: '/', name: 'now' },
  { path: '/conversations', name: 'conversations' },
  { path: '/tasks', name: 'tasks' },
  { path: '/memories', name: 'memories' },
  { path: '/ask', name: 'ask' },
];
const REST: readonly Place[] = [
  { path: '/people', name: 'people' },
  { path: '/goals', name: 'goals' },
  { path: '/statistics', name: 'statistics' },
  { path: '/connections', name: 'connections' },
  { path: '/notifications', name: 'notifications' },
  { path: '/settings', name: 'settings' },
  { path: '/system', name: 'system' },
];

declare global {
  interface Window {
    /** Browsers without them get the page's policy as far as they know it. */
    trustedTypes?: {
      createPolicy(
        name: string,
        rules: { createScriptURL(url: string): string },
      ): { createScriptURL(url: string): unknown };
    };
  }
}

const failure = signal<unknown>(null);

function start(): void {
  failure.value = null;
  resume().catch(error => {
    failure.value = error;
  });
}

function App() {
  const { path } = useLocation();
  useEffect(start, []);
  useSignalEffect(() => {
    document.documentElement.lang = language.value;
  });
  if (path === '/welcome') return <Welcome />;
  if (account.value === null) return <SignIn />;
  if (account.value === undefined)
    return (
      <main class="gate">
        {failure.value ? <Failure error={failure.value} retry={start} /> : <Skeleton rows={3} />}
      </main>
    );
  return <Signed key={account.value.id} path={path} />;
}

function Signed({ path }: { path: string }) {
  useEffect(() => {
    const leaving = new AbortController();
    void follow(leaving.signal);
    return () => leaving.abort();
  }, []);
  return (
    <div class="shell">
      <a class="skip" href="#main" target="_top">
        {t.value.skip}
      </a>
      <nav class="side" aria-label={t.value.navigation}>
        <a class="brand" href="/">
          <img src="/icon.svg" alt="" width="28" height="28" />
          Earshot
        </a>
        <Links places={PLACES} path={path} />
        <div class="rest">
          <Links places={REST} path={path} />
        </div>
        <div class="more">
          <Links places={[{ path: '/more', name: 'more' }]} path={path} />
        </div>
      </nav>
      <main id="main" tabIndex={-1}>
        {connection.value === 'lost' && (
          <p class="banner" role="status">
            {t.value.offline}
          </p>
        )}
        <ErrorBoundary onError={error => console.warn(error)}>
          <Router onRouteChange={() => document.getElementById('main')?.scrollTo(0, 0)}>
            <Route path="/" component={Now} />
            <Route path="/conversations" component={Conversations} />
            <Route path="/conversations/:id" component={Conversation} />
            <Route path="/tasks" component={Tasks} />
            <Route path="/memories" component={Memories} />
            <Route path="/people" component={People} />
            <Route path="/goals" component={Goals} />
            <Route path="/statistics" component={Statistics} />
            <Route path="/ask" component={Ask} />
            <Route path="/more" component={More} />
            <Route path="/connections" component={Connections} />
            <Route path="/notifications" component={Notifications} />
            <Route path="/settings" component={Settings} />
            <Route path="/system" component={System} />
            <Route default component={NotFound} />
          </Router>
        </ErrorBoundary>
      </main>
      <Toasts />
    </div>
  );
}

function Links({ places, path }: { places: readonly Place[]; path: string }) {
  return (
    <ul>
      {places.map(place => {
        const isHere = place.path === '/' ? path === '/' : path.startsWith(place.path);
        return (
          <li key={place.path}>
            <a href={place.path} {...(isHere ? { 'aria-current': 'page' as const } : {})}>
              <Icon name={place.name} />
              <span>{String(t.value[place.name])}</span>
            </a>
          </li>
        );
      })}
    </ul>
  );
}

/** On a phone the bar at the bottom has room for five. */
function More() {
  return (
    <Page title={t.value.more}>
      <nav class="menu" aria-label={t.value.more}>
        <Links places={[...PLACES.slice(4), ...REST]} path="" />
      </nav>
    </Page>
  );
}

function NotFound() {
  return (
    <Page title={t.value.notFound}>
      <Empty icon="ask" title={t.value.notFound} text={t.value.notFoundText} />
    </Page>
  );
}

applyTheme();
if ('serviceWorker' in navigator && window.trustedTypes) {
  // The policy of the page refuses any other address.
  const policy = window.trustedTypes.createPolicy('earshot', {
    createScriptURL(url: string) {
      if (url === '/sw.js') return url;
      throw new ApiError(0, url);
    },
  });
  navigator.serviceWorker.register(policy.createScriptURL('/sw.js') as unknown as string).catch(() => {});
}

const root = document.getElementById('app');
if (root)
  render(
    <LocationProvider>
      <App />
    </LocationProvider>,
    root,
  );
