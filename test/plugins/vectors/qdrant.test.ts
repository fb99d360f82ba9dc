import { once } from 'node:events';
import { cp, readFile, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Clock } from '../../../core/contract/model.ts';
import type { AppError } from '../../../core/runtime/errors.ts';
import { vectorsChecks } from '../../../plugins/kit/suites/vectors.ts';
import qdrant from '../../../plugins/vectors/qdrant/index.ts';
import { PACKAGE } from '../../../plugins/vectors/qdrant/server.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { manualClock } from '../../helpers/manual-clock.ts';
import { startQdrantServer } from '../../helpers/qdrant-server.ts';
import { unhurriedClock } from '../stt/context.ts';
import { startIndex } from './context.ts';

/** A local server, if there is one. */
const REAL = process.env.EARSHOT_TEST_QDRANT_URL;
const WHERE = REAL === undefined ? 'a server in memory that speaks its protocol' : 'a real one';

const ROOT = join(import.meta.dirname, '../../..');

async function server(t: ExecutionContext) {
  const started = await startQdrantServer();
  t.teardown(() => started.close());
  return started;
}

async function start(t: ExecutionContext, options: Record<string, unknown>, clock: Clock = unhurriedClock) {
  const running = await startIndex(qdrant, await temporaryDirectory(t), options, clock);
  t.teardown(() => running.stop());
  return running;
}

for (const check of vectorsChecks)
  test(`Qdrant, ${WHERE}: ${check.title}`, async t => {
    const url = REAL ?? (await server(t)).url;
    const open = async () => (await start(t, { url, prefix: 'earshot-test-' })).index;
    await t.notThrowsAsync(check.run({ index: await open(), restart: open }));
  });

const SPACE = { name: 'memories.words-en-1', dimensions: 2 };
const ITEM = { userId: 'anna', id: 'm1', vector: Float32Array.of(3, 4), updatedAt: 1 };
const SIGNAL = new AbortController().signal;

test('the collection is created for many users, with an index on the filtered field', async t => {
  const { url, describe, collections } = await server(t);
  const { index } = await start(t, { url });
  await index.upsert(SPACE, [ITEM]);
  t.deepEqual(collections(), ['earshot-memories.words-en-1']);
  t.like(describe('earshot-memories.words-en-1'), {
    points_count: 1,
    config: { params: { vectors: { size: 2, distance: 'Cosine' } }, hnsw_config: { m: 0, payload_m: 16 } },
    payload_schema: { user_id: { type: 'keyword', is_tenant: true }, updated_at: { type: 'integer' } },
  });
});

test('two machines that create a collection at once use the same one', async t => {
  const { url, collections } = await server(t);
  const machines = await Promise.all([start(t, { url }), start(t, { url })]);
  await Promise.all(machines.map(({ index }, at) => index.upsert(SPACE, [{ ...ITEM, id: `m${at}` }])));
  t.is(collections().length, 1);
  for (const { index } of machines)
    t.is((await index.search(SPACE, 'anna', ITEM.vector, 10, SIGNAL)).length, 2);
});

test('a dropped collection is created again, with another id', async t => {
  const { url, removeCollection } = await server(t);
  const { index } = await start(t, { url });
  await index.upsert(SPACE, [ITEM]);
  const [before] = await index.spaces();
  removeCollection('earshot-memories.words-en-1');
  t.deepEqual(await index.spaces(), []);
  t.deepEqual(await index.search(SPACE, 'anna', ITEM.vector, 10, SIGNAL), []);
  await index.upsert(SPACE, [ITEM]);
  const [after] = await index.spaces();
  t.is(after?.name, before?.name);
  t.not(after?.id, before?.id);
});

test('a write into a collection that was just dropped fails, and the next one creates it', async t => {
  const { url, removeCollection } = await server(t);
  const { index } = await start(t, { url });
  await index.upsert(SPACE, [ITEM]);
  removeCollection('earshot-memories.words-en-1');
  await t.throwsAsync(index.upsert(SPACE, [ITEM]), { code: 'upstream_error', message: /is gone/ });
  await index.upsert(SPACE, [ITEM]);
  t.is((await index.search(SPACE, 'anna', ITEM.vector, 10, SIGNAL)).length, 1);
});

test('a collection of another program is left alone', async t => {
  const { url, addCollection, requests } = await server(t);
  addCollection('earshot-memories.words-en-1');
  addCollection('theirs');
  const { index } = await start(t, { url });
  t.deepEqual(await index.spaces(), []);
  await t.throwsAsync(index.upsert(SPACE, [ITEM]), {
    code: 'config_error',
    message:
      /earshot-memories\.words-en-1 is not one that Earshot made; take another plugins\.qdrant\.prefix/,
  });
  t.false(requests.includes('GET /collections/theirs'));
});

test('a Qdrant that is too old, or another server, is refused with its version', async t => {
  const own = await server(t);
  own.version = '1.15.4';
  await t.throwsAsync(start(t, { url: own.url }), {
    code: 'config_error',
    message: /is Qdrant 1\.15\.4; it must be 1\.16/,
  });
  own.instead = response => response.end('<html>');
  await t.throwsAsync(start(t, { url: own.url }), { code: 'config_error', message: /is no Qdrant/ });
});

test('setup waits for a server that is not up yet', async t => {
  const gone = await startQdrantServer();
  await gone.close();
  await t.throwsAsync(start(t, { url: gone.url }), {
    code: 'upstream_error',
    message: /cannot be reached, or broke off; start Qdrant there, or correct plugins\.qdrant\.url/,
  });
});

test('a key is sent; a wrong one is reported at the start', async t => {
  const own = await server(t);
  own.apiKey = 'the-key';
  const { index } = await start(t, { url: own.url, apiKey: 'the-key' });
  await index.upsert(SPACE, [ITEM]);
  const error = await t.throwsAsync(start(t, { url: own.url, apiKey: 'another-key' }), {
    code: 'config_error',
    message: /refuses the key \(401\)/,
  });
  t.false(error.message.includes('another-key'));
});

test('a URL may have a path', async t => {
  const own = await server(t);
  own.instead = response => response.writeHead(503).end();
  const message = `qdrant: ${own.url}/behind/a/proxy answered 503`;
  await t.throwsAsync(start(t, { url: `${own.url}/behind/a/proxy/` }), { code: 'upstream_error', message });
  t.deepEqual(own.requests, ['GET /behind/a/proxy/']);
});

test('a server error is an upstream_error, with the retry time from the server', async t => {
  const own = await server(t);
  const { index } = await start(t, { url: own.url });
  await index.upsert(SPACE, [ITEM]);
  own.instead = response =>
    response.writeHead(429, { 'retry-after': '7' }).end('{"status":{"error":"Rate limiting exceeded"}}');
  const search = () => index.search(SPACE, 'anna', ITEM.vector, 10, SIGNAL);
  const busy = await t.throwsAsync(search(), { code: 'upstream_error', message: /answered 429/ });
  t.is((busy as AppError).retryAfter, 7);
  own.instead = response => response.destroy();
  await t.throwsAsync(search(), { code: 'upstream_error', message: /broke off/ });
});

test("the server's error text stays out of the message", async t => {
  const own = await server(t);
  const { index } = await start(t, { url: own.url });
  await index.upsert(SPACE, [ITEM]);
  const says = async (status: number, type: string, body: string, message: RegExp) => {
    own.instead = response => response.writeHead(status, { 'content-type': type }).end(body);
    const search = index.search(SPACE, 'anna', ITEM.vector, 10, SIGNAL);
    const error = await t.throwsAsync(search, { code: 'upstream_error', message });
    t.notRegex(error.message, /secret/);
  };
  await says(500, 'application/json', '{"status":{"error":"a secret"}}', /answered 500$/);
  await says(200, 'application/json', '{"a secret', /gave an answer that its client cannot read$/);
  await says(200, 'text/html', '<html>a secret', /not as Qdrant does$/);
});

test('a redirect is not followed', async t => {
  const [own, other] = [await server(t), await server(t)];
  const { index } = await start(t, { url: own.url });
  await index.upsert(SPACE, [ITEM]);
  own.instead = response => response.writeHead(307, { location: other.url }).end();
  await t.throwsAsync(index.upsert(SPACE, [ITEM]), { code: 'upstream_error', message: /answered 307$/ });
  t.deepEqual(other.requests, []);
});

test('a request without an answer is aborted after its time limit, and at once when its caller leaves', async t => {
  const own = await server(t);
  const clock = manualClock();
  const { index } = await start(t, { url: own.url, timeoutMs: 4000 }, clock);
  await index.upsert(SPACE, [ITEM]);
  let arrived = Promise.withResolvers<ServerResponse>();
  own.instead = response => arrived.resolve(response);
  const late = index.upsert(SPACE, [ITEM]);
  await arrived.promise;
  clock.advance(4000);
  await t.throwsAsync(late, { code: 'timeout', message: /did not answer within 4000 ms/ });
  arrived = Promise.withResolvers();
  const leaving = new AbortController();
  const asked = index.search(SPACE, 'anna', ITEM.vector, 10, leaving.signal);
  const hungUp = once(await arrived.promise, 'close');
  const reason = new Error('left');
  leaving.abort(reason);
  t.is(await t.throwsAsync(asked), reason);
  await hungUp;
});

test('without its package Qdrant names the command that installs it', async t => {
  const elsewhere = await temporaryDirectory(t);
  for (const part of ['plugins/vectors', 'plugins/kit', 'core/runtime'])
    await cp(join(ROOT, part), join(elsewhere, part), { recursive: true });
  await writeFile(join(elsewhere, 'package.json'), '{ "type": "module" }');
  const { default: alone } = await import(join(elsewhere, 'plugins/vectors/qdrant/index.ts'));
  await t.throwsAsync(startIndex(alone, elsewhere), {
    code: 'config_error',
    message: `qdrant: its package is not installed; install it with: npm install ${PACKAGE}`,
  });
});

test('the command installs the version that the project is tested with', async t => {
  const { peerDependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  t.is(`@qdrant/js-client-rest@${peerDependencies['@qdrant/js-client-rest']}`, PACKAGE);
});
