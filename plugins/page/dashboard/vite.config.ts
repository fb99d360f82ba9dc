import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

/** JavaScript that the first view loads, compressed, may be this large: a phone has it in a second. */
const MAX_FIRST_LOAD_BYTES = 120 * 1024;

export default defineConfig({
  root: `${import.meta.dirname}/app`,
  base: '/',
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [budget(), serviceWorker()],
  build: {
    outDir: `${import.meta.dirname}/built`,
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0, // the page's policy allows no inlined scripts or fonts
    modulePreload: { polyfill: false },
  },
});

/** Prints what the first view loads, and fails the build where that is too much. */
function budget(): Plugin {
  return {
    name: 'budget',
    generateBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter(each => each.type === 'chunk');
      const first = new Set(chunks.filter(({ isEntry }) => isEntry).map(({ fileName }) => fileName));
      for (const name of first)
        for (const { fileName, imports } of chunks)
          if (fileName === name) for (const imported of imports) first.add(imported);
      const bytes = chunks
        .filter(({ fileName }) => first.has(fileName))
        .reduce((sum, { code }) => sum + gzipSync(code, { level: 9 }).length, 0);
      console.error(`Dashboard: ${(bytes / 1024).toFixed(1)} KiB of JavaScript at first load, compressed`);
      if (bytes > MAX_FIRST_LOAD_BYTES)
        this.error(`more than ${MAX_FIRST_LOAD_BYTES / 1024} KiB at first load`);
    },
  };
}

/** Writes `sw.js` with the list of built files: the page then opens without a connection. */
function serviceWorker(): Plugin {
  return {
    name: 'service-worker',
    apply: 'build',
    enforce: 'post',
    generateBundle(_options, bundle) {
      const names = Object.keys(bundle).filter(name => name.startsWith('assets/'));
      const files = ['/', ...names.map(name => `/${name}`)].sort();
      const version = createHash('sha256').update(files.join()).digest('hex').slice(0, 12);
      this.emitFile({ type: 'asset', fileName: 'sw.js', source: workerOf(version, files) });
    },
  };
}

function workerOf(version: string, files: string[]): string {
  return `const NAME = 'earshot-${version}';
const FILES = ${JSON.stringify(files)};
self.addEventListener('install', event => {
  event.waitUntil(caches.open(NAME).then(cache => cache.addAll(FILES)).then(() => self.skipWaiting()));
});
self.addEventListener('activate', event => {
  const old = names => Promise.all(names.filter(name => name !== NAME && name !== 'earshot-data').map(name => caches.delete(name)));
  event.waitUntil(caches.keys().then(old).then(() => self.clients.claim()));
});
self.addEventListener('push', event => {
  const { title, text, id } = event.data.json();
  event.waitUntil(self.registration.showNotification(title, { body: text, tag: id, icon: '/icon.svg' }));
});
self.addEventListener('notificationclick', event => {
  event.notification.close();
  const show = open => (open.length > 0 ? open[0].focus() : self.clients.openWindow('/notifications'));
  event.waitUntil(self.clients.matchAll({ type: 'window' }).then(show));
});
self.addEventListener('fetch', event => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || url.origin !== location.origin) return;
  if (request.mode === 'navigate' && !/^\\/(v\\d|docs|openapi|metrics|healthz)/.test(url.pathname))
    event.respondWith(fetch(request).catch(() => caches.match('/')));
  else if (FILES.includes(url.pathname))
    event.respondWith(caches.match(request).then(found => found ?? fetch(request)));
});
`;
}
