import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { isRecord, parseJson, postJson, request, retryAfter, shorten } from '../../../plugins/kit/kit.ts';
import { contextOf } from '../stt/context.ts';

const { context } = contextOf();
const never = new AbortController().signal;
const NOW = Date.UTC(2026, 10, 2, 12);

/** A server, as a plugin for one describes it. */
async function serve(t: ExecutionContext, listener: RequestListener) {
  const http = createServer(listener).listen(0, '127.0.0.1');
  await once(http, 'listening');
  t.teardown(() => {
    http.closeAllConnections();
    http.close();
  });
  const { port } = http.address() as AddressInfo;
  return { plugin: 'acme', url: `http://127.0.0.1:${port}/v1/`, headers: { authorization: 'Bearer key' } };
}

test('JSON is posted with the headers of the server, and the answer is read', async t => {
  const server = await serve(t, async (incoming, response) => {
    const { method, url, headers } = incoming;
    const body = JSON.parse(Buffer.concat(await incoming.toArray()).toString());
    const { authorization, 'content-type': type } = headers;
    response.end(JSON.stringify({ method, url, authorization, type, body }));
  });
  t.deepEqual(await postJson(context, server, '/say', { words: ['tea'] }, never), {
    method: 'POST',
    url: '/v1/say',
    authorization: 'Bearer key',
    type: 'application/json',
    body: { words: ['tea'] },
  });
});

const REFUSED: [status: number, headers: Record<string, string>, code: string, words: RegExp][] = [
  [401, {}, 'config_error', /refuses the key \(401\); correct plugins\.acme\.apiKey$/],
  [404, {}, 'config_error', /no such endpoint \(404\); correct plugins\.acme\.url$/],
  [302, { location: '/' }, 'config_error', /redirects \(302\); set plugins\.acme\.url to/],
  [429, { 'retry-after': '7' }, 'upstream_error', /too many requests \(429\)$/],
  [503, {}, 'upstream_error', /failed \(503\)$/],
];

for (const [status, headers, code, words] of REFUSED)
  test(`the status ${status} becomes an error that says what to do, and quotes nothing`, async t => {
    const server = await serve(t, (_incoming, response) => {
      response.writeHead(status, headers).end('what was said');
    });
    const error = await t.throwsAsync(postJson(context, server, '/say', {}, never), { code, message: words });
    t.is(Object(error).retryAfter, status === 429 ? 7 : undefined);
    t.false(error.message.includes('said'));
  });

test('errors name the options of the plugin', async t => {
  const server = await serve(t, (_incoming, response) => response.writeHead(404).end());
  const options = { url: 'baseUrl', model: 'model' };
  await t.throwsAsync(postJson(context, { ...server, options }, '/say', {}, never), {
    message: /or model \(404\); .* plugins\.acme\.baseUrl or plugins\.acme\.model$/,
  });
});

test('an answer that is too long, or is not JSON, is an error', async t => {
  const server = await serve(t, (_incoming, response) => response.end('x'.repeat(2000)));
  const short = { ...server, maxBytes: 1024 };
  await t.throwsAsync(postJson(context, short, '/say', {}, never), { message: /answered with more than/ });
  await t.throwsAsync(postJson(context, server, '/say', {}, never), { message: /other than JSON/ });
  t.is((await request(context, short, '/say', {}, never)).body, null);
});

test('a server that does not answer, or is not there, is given up in time', async t => {
  const server = await serve(t, () => {});
  await t.throwsAsync(request(context, { ...server, limitMs: 20 }, '/', {}, never), { code: 'timeout' });
  const leaving = new AbortController();
  const asked = request(context, server, '/', {}, leaving.signal);
  leaving.abort(new Error('left'));
  await t.throwsAsync(asked, { message: 'left' });
  const absent = { plugin: 'acme', url: 'http://127.0.0.1:1' };
  await t.throwsAsync(request(context, absent, '/', {}, never), {
    code: 'upstream_error',
    message: /^acme: http:\/\/127\.0\.0\.1:1 cannot be reached, .* plugins\.acme\.url$/,
  });
});

test('Retry-After is read as seconds or as a date, and never as less than nothing', t => {
  t.is(retryAfter('120', NOW), 120);
  t.is(retryAfter(' 0 ', NOW), 0);
  t.is(retryAfter('Mon, 02 Nov 2026 12:00:30 GMT', NOW), 30);
  t.is(retryAfter('Mon, 02 Nov 2026 11:00:00 GMT', NOW), 0);
  for (const nothing of [null, undefined, '', 'soon', '-5x', '99999999999'])
    t.is(retryAfter(nothing, NOW), undefined, String(nothing));
});

test('a text is shortened at a character, and a short one stays', t => {
  t.is(shorten('tea at four', 11), 'tea at four');
  t.is(shorten('tea at four', 7), 'tea at…');
  t.is(shorten('🫖🫖🫖', 2), '🫖…');
});

test('records are told from other JSON, and what is no JSON is undefined', t => {
  t.deepEqual([{}, [], null, 'a', undefined].map(isRecord), [true, false, false, false, false]);
  t.deepEqual(parseJson('{"a":1}'), { a: 1 });
  t.is(parseJson('{'), undefined);
});
