import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import type { Page } from '../../../core/contract/plugin.ts';
import { createServer } from '../../../core/http/server.ts';
import { openDomain } from '../../helpers/domain.ts';

const SCRIPT = `export const words = ${JSON.stringify('tea '.repeat(1000))};`;

async function openPages(t: ExecutionContext, files: Record<string, string>, rest: Partial<Page> = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-pages-'));
  t.teardown(() => rm(directory, { recursive: true }));
  await mkdir(join(directory, 'assets'));
  for (const [name, content] of Object.entries(files)) await writeFile(join(directory, name), content);
  const page: Page = { path: '/', directory, ...rest };
  const domain = await openDomain(t);
  const server = createServer({
    ...domain,
    pages: () => [page],
    listen: { paths: [], refusal: () => null, authorize: async () => null, accept: async () => {} },
    config: { listen: { maxConnections: 100 } as never, trustedProxies: ['loopback'] },
    health: async () => ({ status: 'ok', parts: [] }),
  });
  const { port } = await server.listen('127.0.0.1', 0);
  t.teardown(() => server.close());
  /** The raw path, which fetch would normalise. */
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    new Promise<{ status: number | undefined; headers: NodeJS.Dict<string | string[]>; body: string }>(
      (resolve, reject) => {
        request({ port, path, headers, method }, async answer => {
          resolve({ status: answer.statusCode, headers: answer.headers, body: await text(answer) });
        })
          .on('error', reject)
          .end();
      },
    );
  return { get, directory };
}

test('a page is served with a strict policy, and its views return its index', async t => {
  const { get } = await openPages(t, { 'index.html': '<h1>Tea</h1>' }, { views: ['talks'] });
  for (const path of ['/', '/talks', '/talks/1/2', '/talks?x=1']) {
    const { status, headers, body } = await get(path);
    t.is(status, 200, path);
    t.is(body, '<h1>Tea</h1>');
    t.is(headers['content-type'], 'text/html; charset=utf-8');
    t.is(headers['x-content-type-options'], 'nosniff');
    t.is(headers['cache-control'], 'no-cache');
    t.regex(String(headers['content-security-policy']), /^default-src 'none'; script-src 'self'; /);
    t.regex(String(headers['content-security-policy']), /require-trusted-types-for 'script'/);
    t.notRegex(String(headers['content-security-policy']), /unsafe/);
  }
  t.is((await get('/talksy')).status, 404);
});

test('API routes take precedence, and unknown paths stay a 404 in JSON', async t => {
  const { get } = await openPages(t, { 'index.html': 'x' }, { views: ['healthz'] });
  t.deepEqual(JSON.parse((await get('/healthz')).body), { status: 'ok', parts: [] });
  t.is((await get('/v1/dev/user/conversations')).status, 401);
  t.deepEqual(JSON.parse((await get('/v1/nothing', { accept: 'text/html' })).body), { detail: 'Not Found' });
  t.is((await get('/', {}, 'POST')).status, 404);
  t.is((await get('/', {}, 'HEAD')).body, '');
});

test('files with a hash in their names are cached for ever, others are revalidated', async t => {
  const { get } = await openPages(
    t,
    { 'index.html': 'x', 'assets/a-1.js': SCRIPT, 'b.js': 'b' },
    { immutable: 'assets' },
  );
  const asset = await get('/assets/a-1.js');
  t.is(asset.headers['cache-control'], 'public, max-age=31536000, immutable');
  t.is(asset.headers['content-type'], 'text/javascript; charset=utf-8');
  t.is(asset.body, SCRIPT);
  const plain = await get('/b.js');
  t.is(plain.headers['cache-control'], 'no-cache');
  const again = await get('/b.js', { 'if-none-match': String(plain.headers.etag) });
  t.is(again.status, 304);
  t.is(again.body, '');
});

test('large texts are compressed for clients that accept it', async t => {
  const { get } = await openPages(t, { 'index.html': 'x', 'a.js': SCRIPT });
  const gzipped = await get('/a.js', { 'accept-encoding': 'gzip, br' });
  t.is(gzipped.headers['content-encoding'], 'gzip');
  t.true(Number(gzipped.headers['content-length']) < SCRIPT.length / 10);
  t.is(gzipped.headers.vary, 'Accept-Encoding');
  const plain = await get('/a.js');
  t.is(plain.headers['content-encoding'], undefined);
  t.not(plain.headers.etag, gzipped.headers.etag);
});

test('no path leads out of the directory, nor does a symbolic link in it', async t => {
  const { get, directory } = await openPages(t, { 'index.html': 'x' });
  await symlink('/etc/hostname', join(directory, 'link.txt'));
  for (const path of [
    '/../../../../etc/hostname',
    '/..%2f..%2fetc%2fhostname',
    '/assets/../../etc/hostname',
    '/%2e%2e/etc/hostname',
    '//etc/hostname',
    '/link.txt',
    '/__proto__',
    '/assets',
    '/assets/',
    '/%00',
  ])
    t.is((await get(path)).status, 404, path);
});

test('a page that cannot be served logs the reason, and the API keeps working', async t => {
  const { get } = await openPages(t, { 'index.html': 'x', 'run.exe': 'x' });
  const { status, body } = await get('/');
  t.is(status, 503);
  t.regex(body, /run\.exe is of an unknown type/);
  t.is((await get('/healthz')).status, 200);
});
