import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

/** JavaScript that the first view loads, compressed, may be this large: a phone has it in a second. */
const MAX_FIRST_LOAD_KIB = 120;

export default defineConfig({
  root: `${import.meta.dirname}/app`,
  base: '/',
  logLevel: 'warn',
  // Vite treats NODE_ENV=test as development, whose output contains file paths of this machine.
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
  plugins: [budget(), serviceWorker()],
  build: {
    outDir: `${import.meta.dirname}/built`,
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0, // the page's policy forbids inlined scripts and fonts
    modulePreload: { polyfill: false },
  },
});

/** Prints what the sign-in loads, and the first view behind it, and fails the build where that is too much. */
function budget(): Plugin {
  return {
    name: 'budget',
    generateBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter(each => each.type === 'chunk');
      const kibOf = (isRoot: (chunk: (typeof chunks)[number]) => boolean) => {
        const loaded = new Set(chunks.filter(isRoot).map(({ fileName }) => fileName));
        for (const name of loaded)
          for (const { fileName, imports } of chunks)
            if (fileName === name) for (const imported of imports) loaded.add(imported);
        const files = chunks.filter(({ fileName }) => loaded.has(fileName));
        return files.reduce((sum, { code }) => sum + gzipSync(code, { level: 9 }).length, 0) / 1024;
      };
      const first = kibOf(({ isEntry }) => isEntry);
      const behind = kibOf(({ isEntry, name }) => isEntry || name === 'shell');
      console.error(
        `Dashboard: ${first.toFixed(1)} KiB of JavaScript for the sign-in, ${behind.toFixed(1)} with the first view, compressed`,
      );
      if (behind > MAX_FIRST_LOAD_KIB) this.error(`more than ${MAX_FIRST_LOAD_KIB} KiB at first load`);
    },
  };
}

/** Writes `sw.js` with the list of built files, so that the page opens without a connection. */
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
