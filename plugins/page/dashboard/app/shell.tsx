/** Everything behind the sign-in, loaded as a separate script so that the form appears sooner. */
import { useSignalEffect } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { ErrorBoundary, lazy, Route, Router } from 'preact-iso';
import { Empty, Icon, type IconName, Page, Toasts } from './components.tsx';
import { connection, follow } from './feed.ts';
import { Failure } from './notices.tsx';
import './live.ts';
import { Conversations } from './pages/conversations.tsx';
import { Now } from './pages/now.tsx';
import { ApiError } from './session.ts';
import { t } from './texts.ts';

/** Returns a page whose script is loaded when it is first opened. */
function later(load: () => Promise<ComponentType>): ComponentType {
  return lazy(() => load().catch(() => Unloaded));
}

/** Pages by path. */
const PAGES: Readonly<Record<string, ComponentType & { preload?: () => Promise<unknown> }>> = {
  '/': Now,
  '/conversations': Conversations,
  '/conversations/:id': later(() => import('./pages/conversation.tsx').then(module => module.Conversation)),
  '/tasks': later(() => import('./pages/tasks.tsx').then(module => module.Tasks)),
  '/memories': later(() => import('./pages/memories.tsx').then(module => module.Memories)),
  '/people': later(() => import('./pages/people.tsx').then(module => module.People)),
  '/places': later(() => import('./pages/places.tsx').then(module => module.Places)),
  '/goals': later(() => import('./pages/goals.tsx').then(module => module.Goals)),
  '/statistics': later(() => import('./pages/statistics.tsx').then(module => module.Statistics)),
  '/ask': later(() => import('./pages/ask.tsx').then(module => module.Ask)),
  '/more': More,
  '/connections': later(() => import('./pages/connections.tsx').then(module => module.Connections)),
  '/notifications': later(() => import('./pages/notifications.tsx').then(module => module.Notifications)),
  '/settings': later(() => import('./pages/settings.tsx').then(module => module.Settings)),
  '/system': later(() => import('./pages/system.tsx').then(module => module.System)),
};

/** Loads the script of the first page while the server identifies the account. */
void PAGES[location.pathname.replace(/^\/conversations\/.+/, '/conversations/:id')]?.preload?.();

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
  { path: '/places', name: 'places' },
  { path: '/goals', name: 'goals' },
  { path: '/statistics', name: 'statistics' },
  { path: '/connections', name: 'connections' },
  { path: '/notifications', name: 'notifications' },
  { path: '/settings', name: 'settings' },
  { path: '/system', name: 'system' },
];

/** On a phone the bar at the bottom has room for five links: these are on a page of their own. */
const MORE: readonly Place[] = [...PLACES.slice(4), ...REST];

export function Shell({ path }: { path: string }) {
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
          <Links places={[{ path: '/more', name: 'more' }]} path={isUnderMore(path) ? '/more' : path} />
        </div>
      </nav>
      <main id="main" tabIndex={-1}>
        {connection.value === 'lost' && (
          <p class="banner" role="status">
            {t.value.offline}
          </p>
        )}
        <ErrorBoundary onError={error => console.warn(error)}>
          <Router onRouteChange={beginPage}>
            {Object.entries(PAGES).map(([path, component]) => (
              <Route key={path} path={path} component={component} />
            ))}
            <Route default component={NotFound} />
          </Router>
        </ErrorBoundary>
      </main>
      <Toasts />
    </div>
  );
}

/** Scrolls to the top, and moves the focus from the link that was followed into the page. */
function beginPage(): void {
  const main = document.getElementById('main');
  main?.scrollTo(0, 0);
  main?.focus({ preventScroll: true });
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

/** Whether a phone has no link to the page beside `More`. */
function isUnderMore(path: string): boolean {
  return MORE.some(place => path.startsWith(place.path));
}

/** Lists the other pages on a phone, whose bar at the bottom has room for five. */
function More() {
  return (
    <Page title={t.value.more}>
      <nav class="menu" aria-label={t.value.more}>
        <Links places={MORE} path="" />
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

/** Shown if the script of a page cannot be loaded. Browsers cache that failure, so the whole page has to be reloaded. */
function Unloaded() {
  const wasLost = useRef(false);
  useSignalEffect(() => {
    if (connection.value === 'lost') wasLost.current = true;
    if (connection.value === 'open' && wasLost.current) location.reload();
  });
  const reload = () => location.reload();
  const retry = () => void fetch('/healthz').then(reload, () => {});
  return (
    <Page title="Earshot">
      <Failure error={new ApiError(0, '')} retry={retry} />
    </Page>
  );
}
