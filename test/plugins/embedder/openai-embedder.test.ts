import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import { AppError, type ErrorCode } from '../../../core/runtime/errors.ts';
import openai from '../../../plugins/embedder/openai-embedder/index.ts';
import words from '../../../plugins/embedder/words/index.ts';
import { embedderChecks } from '../../../plugins/kit/suites/embedder.ts';
import { type EmbeddingsServer, send, startEmbeddingsServer } from '../../helpers/embeddings-server.ts';
import { contextOf } from '../stt/context.ts';

const never = new AbortController().signal;
const KEY = 'sk-not-to-be-seen';
const SECRET = 'the secret of the person';
const VENDOR = 'the words of the vendor';

async function start(t: ExecutionContext) {
  const { embedder } = words.setup({ ...contextOf().context, options: {} as never, dataDir: '' });
  const server = await startEmbeddingsServer(embedder);
  t.teardown(() => server.close());
  return server;
}

async function setUp(t: ExecutionContext, server: EmbeddingsServer, options: Record<string, unknown> = {}) {
  const { context, stop } = contextOf();
  t.teardown(stop);
  const parsed = openai.options(z).parse({ baseUrl: server.baseUrl, ...options });
  return (await openai.setup({ ...context, options: parsed, dataDir: '' })).embedder;
}

async function failure(t: ExecutionContext, doing: Promise<unknown>): Promise<AppError> {
  const error = await t.throwsAsync(doing, { instanceOf: AppError });
  const told = `${error?.message} ${error?.stack} ${error?.cause}`;
  for (const unwanted of [KEY, SECRET, VENDOR]) t.false(told.includes(unwanted), told);
  return error ?? new AppError('internal', 'nothing was thrown');
}

for (const check of embedderChecks) {
  test(`openai-embedder ${check.title}, over a real socket to a server that speaks the protocol`, async t => {
    const embedder = await setUp(t, await start(t));
    await t.notThrowsAsync(check.run({ embedder }));
  });
}

test('openai-embedder detects dimensions that are not configured, and names its vector space after everything that defines it', async t => {
  const server = await start(t);
  const asked = await setUp(t, server);
  t.is(asked.dimensions, 100);
  t.is(asked.id, 'nomic-embed-text.100');
  t.is(server.asked.length, 1);

  const told = await setUp(t, server, { model: 'text-3', dimensions: 100, revision: 'b' });
  t.is(told.id, 'text-3.100.b');
  t.is(server.asked.length, 1, 'there is nothing to ask for');

  const ids = new Set<string>();
  for (const model of [
    'bge:m3',
    'BGE:m3',
    'bge-m3',
    'bge/m3',
    `long-${'x'.repeat(200)}`,
    `long-${'x'.repeat(201)}`,
  ]) {
    ids.add((await setUp(t, server, { model, dimensions: 100, revision: '12345678901234567890' })).id);
  }
  t.is(ids.size, 6);
  for (const id of ids) t.regex(id, /^[a-z0-9._-]{1,100}$/);
});

test('openai-embedder sends batches with model, key and configured dimensions, and truncates texts to its limit', async t => {
  const server = await start(t);
  const embedder = await setUp(t, server, { apiKey: KEY, dimensions: 100, batchSize: 2, maxCharacters: 100 });
  await embedder.embed(['one', 'two', '', 'x'.repeat(101)], never);
  t.deepEqual(server.asked, [
    { model: 'nomic-embed-text', input: ['one', 'two'], encoding_format: 'float', dimensions: 100 },
    { model: 'nomic-embed-text', input: ['x'.repeat(100)], encoding_format: 'float', dimensions: 100 },
  ]);
  t.deepEqual(server.authorizations, [`Bearer ${KEY}`, `Bearer ${KEY}`]);
});

const FAILURES: Record<string, { embed: EmbeddingsServer['embed']; code: ErrorCode; retryAfter?: number }> = {
  'a server that never answers': { embed: () => undefined, code: 'timeout' },
  'a body that never ends': {
    embed: (_, response) => void response.writeHead(200).write('{'),
    code: 'timeout',
  },
  'a connection cut before the answer': {
    embed: (_, response) => void response.destroy(),
    code: 'upstream_error',
  },
  'a connection cut during the answer': {
    embed: (_, response) =>
      void response.writeHead(200, { 'content-length': 100 }).write('{"data":', () => response.destroy()),
    code: 'upstream_error',
  },
  'a body of more than 32 MiB': {
    embed: (_, response) => send(response, 200, ' '.repeat(32 * 1024 * 1024 + 1)),
    code: 'upstream_error',
  },
  'no JSON': { embed: (_, response) => send(response, 200, VENDOR), code: 'upstream_error' },
  'JSON without vectors': {
    embed: (_, response) => send(response, 200, { error: VENDOR }),
    code: 'upstream_error',
  },
  'too few vectors': { embed: (_, response) => send(response, 200, { data: [] }), code: 'upstream_error' },
  'a duplicate vector': {
    embed: ({ input }, response) =>
      send(response, 200, { data: input.map(() => ({ index: 0, embedding: Array(100).fill(1) })) }),
    code: 'upstream_error',
  },
  'an index out of range': {
    embed: ({ input }, response) =>
      send(response, 200, {
        data: input.map((_, at) => ({ index: at + 7e8, embedding: Array(100).fill(1) })),
      }),
    code: 'upstream_error',
  },
  'vectors of another type': {
    embed: ({ input }, response) =>
      send(response, 200, { data: input.map(() => ({ embedding: [1, null] })) }),
    code: 'upstream_error',
  },
  'vectors of other dimensions': {
    embed: ({ input }, response) => send(response, 200, { data: input.map(() => ({ embedding: [1, 2] })) }),
    code: 'config_error',
  },
  'a server error': { embed: refusal(500), code: 'upstream_error' },
  'too many requests': { embed: refusal(429, { 'retry-after': '7' }), code: 'upstream_error', retryAfter: 7 },
  'a retry date in the past': {
    embed: refusal(503, { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }),
    code: 'upstream_error',
    retryAfter: 0,
  },
  'an invalid key': { embed: refusal(401), code: 'config_error' },
  'a key without permission': { embed: refusal(403), code: 'config_error' },
  'an unknown model': { embed: refusal(404), code: 'config_error' },
  'a redirect': { embed: refusal(307, { location: 'http://127.0.0.1:1/' }), code: 'config_error' },
};

function refusal(status: number, headers: Record<string, string> = {}): EmbeddingsServer['embed'] {
  return (_, response) => send(response, status, { error: { message: VENDOR } }, headers);
}

for (const [what, { embed, code, retryAfter }] of Object.entries(FAILURES)) {
  test(`openai-embedder answers ${code} to ${what}, and works again afterwards`, async t => {
    const server = await start(t);
    const embedder = await setUp(t, server, { apiKey: KEY });
    const hasty = await setUp(t, server, { apiKey: KEY, timeoutMs: 300 });
    const usual = server.embed;
    server.embed = embed;
    const error = await failure(t, (code === 'timeout' ? hasty : embedder).embed([SECRET, 'more'], never));
    t.is(error.code, code, error.message);
    t.is(error.retryAfter, retryAfter);
    server.embed = usual;
    t.is((await embedder.embed([SECRET], never)).length, 1);
  });
}

test('openai-embedder aborts a request when nobody waits for it any more', async t => {
  const server = await start(t);
  const embedder = await setUp(t, server);
  const arrived = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  server.embed = (_, response) => {
    response.once('close', closed.resolve);
    arrived.resolve();
  };
  const leaving = new AbortController();
  const reason = new Error('left');
  const embedding = embedder.embed(['one'], leaving.signal);
  await arrived.promise;
  leaving.abort(reason);
  t.is(await t.throwsAsync(embedding), reason);
  await closed.promise; // the server notices, or the test does not end
});

test('openai-embedder names an unreachable URL, with instructions', async t => {
  const server = await start(t);
  await server.close();
  const { baseUrl } = server;
  server.close = async () => undefined;
  const error = await failure(t, setUp(t, server));
  t.is(error.code, 'upstream_error');
  t.is(
    error.message,
    `openai-embedder: ${baseUrl} cannot be reached, or broke off; start the server there, or correct plugins.openai-embedder.baseUrl`,
  );
});
