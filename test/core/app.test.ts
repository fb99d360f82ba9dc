import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { ConfigSchema } from '../../config/schema.ts';
import { createHealth } from '../../core/control/readiness.ts';
import { renderStatus } from '../../core/control/status.ts';
import { say, startChatServer } from '../helpers/chat-server.ts';
import { temporaryDirectory } from '../helpers/domain.ts';
import { connectListen } from '../helpers/listen-client.ts';
import { startLocalServer } from '../helpers/local-server.ts';
import { countingStt, failingStt, openServer, type TestServer } from '../helpers/services.ts';

const ADVENTURE = 'Sailed alone around Iceland';
const JOB = 'Works as a nurse at the county hospital';

async function open(t: ExecutionContext, baseUrl: string): Promise<TestServer> {
  return openServer(t, {
    stt: [],
    llm: ['openai-llm'],
    plugins: { 'openai-llm': { baseUrl, model: 'mistral' } },
  });
}

async function languageModel({ app }: TestServer) {
  return (await app.commands.status({})).ready.find(({ part }) => part === 'language model');
}

/** Stores a memory without a category, and returns the one it gets. */
async function categoryOf({ app, url }: TestServer, content: string): Promise<unknown> {
  const [owner] = await app.commands['user.list']({});
  const { token } = await app.commands.token({ user: owner?.name ?? '' });
  const response = await fetch(new URL('/v1/dev/user/memories', url), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ content }),
  });
  const { category } = (await response.json()) as { category: unknown };
  return category;
}

test('a server with a language model reports it, and uses it to categorise memories', async t => {
  const server = await startChatServer();
  t.teardown(() => server.close());
  server.chat = (_, response) => say(response, '{"category":"interesting"}');
  const instance = await open(t, server.baseUrl);
  t.like(await languageModel(instance), { name: 'openai-llm', ok: true, detail: 'mistral' });
  t.is(await categoryOf(instance, JOB), 'interesting');
  t.is(server.asked[0]?.messages[1]?.content, JOB);
});

test('a server with an unreachable language model starts, reports it, and categorises by similarity', async t => {
  const server = await startChatServer();
  await server.close();
  const instance = await open(t, server.baseUrl);
  const shown = await languageModel(instance);
  t.false(shown?.ok);
  t.regex(shown?.detail ?? '', /cannot be reached, or broke off; start the server there/);
  t.is(await categoryOf(instance, JOB), 'system');
  t.is(await categoryOf(instance, ADVENTURE), 'interesting');
});

test('a server without a language model reports what it uses instead', async t => {
  const instance = await openServer(t, { stt: [] });
  t.like(await languageModel(instance), {
    name: 'none',
    ok: false,
    detail: 'none; plain rules make titles, tasks and memories',
  });
  const { ready } = await instance.app.commands.status({});
  t.deepEqual(
    ready.filter(({ part }) => part.startsWith('search')).map(({ part, name, ok }) => [part, name, ok]),
    [
      ['search by meaning', 'words', true],
      ['search index', 'sqlite-vectors', true],
    ],
  );
});

test('health: ok with the configured parts, degraded without a recogniser; an unused part is no failure', async t => {
  const get = async ({ url }: { url: string }) => {
    const response = await fetch(`${url}/healthz`);
    return [response.status, await response.json()];
  };
  t.deepEqual(await get(await openServer(t, countingStt())), [200, { status: 'ok', parts: [] }]);
  t.deepEqual(await get(await openServer(t, { stt: [] })), [200, { status: 'ok', parts: [] }]);
  const deaf = await openServer(t, { stt: ['pocketsphinx'], plugins: { pocketsphinx: { hmm: '/nowhere' } } });
  t.deepEqual(await get(deaf), [200, { status: 'degraded', parts: ['speech recognition'] }]);
  t.regex(renderStatus(await deaf.app.commands.status({})), /^✗ speech recognition: pocketsphinx: /m);
  const either = { stt: ['counting', 'pocketsphinx'] };
  const plugins = { ...countingStt().plugins, pocketsphinx: { hmm: '/nowhere' } };
  const spare = renderStatus(await (await openServer(t, { ...either, plugins })).app.commands.status({}));
  t.regex(spare, /^· speech recognition: pocketsphinx: /m);
  t.regex(spare, /^· language model: none; plain rules make titles, tasks and memories$/m);
  t.notRegex(spare, /✗/);
});

test('status lists available choices, and shows a plugin that no configuration names', async t => {
  const use = join(import.meta.dirname, '../fixtures/plugins/acme-channel.ts');
  const plugins = { 'acme-channel': { use } };
  const statusOf = async (notify?: string[]) => {
    const { app } = await openServer(t, { stt: [], plugins, ...(notify ? { notify } : {}) });
    return renderStatus(await app.commands.status({}));
  };
  const unnamed = await statusOf();
  t.regex(unnamed, /^· plugin: acme-channel: Acme pager \(notify\) is not offered to users$/m);
  t.regex(unnamed, /^ {4}to make it ready: name it in the configuration, notify: \[acme-channel, …\]$/m);
  t.regex(unnamed, /^✓ notifications: channels ntfy, gotify, apprise, web-push, webhook, log$/m);
  t.regex(
    unnamed,
    /^✓ webhooks: types .*audio_bytes, memory_created, day_summary, device_event/m,
    'every built-in type is loaded',
  );
  const named = await statusOf(['acme-channel']);
  t.regex(named, /^✓ notifications: channels acme-channel$/m);
  t.regex(named, /^✓ plugin: acme-channel: Acme pager \(notify\)$/m);
});

test('a degraded plugin is shown in status and in health, even if no configuration names it', async t => {
  const broken = await openServer(t, {
    ...countingStt(),
    plugins: { ...countingStt().plugins, ...(await waiting(t)) },
  });
  t.like(await (await fetch(`${broken.url}/healthz`)).json(), { status: 'degraded', parts: ['plugins'] });
  t.regex(
    renderStatus(await broken.app.commands.status({})),
    /^✗ plugin: waiter: its server is not up yet$/m,
  );
});

test('understanding by a language model is not ready if none is configured', async t => {
  const { app } = await openServer(t, { stt: [] });
  t.regex(
    renderStatus(await app.commands.status({})),
    /^· understanding: llm-understanding: asks a language model, and the configuration names none \(llm\)$/m,
  );
});

test('a recogniser that failed to open is reported by status and health until it opens', async t => {
  const outage = await failingStt(t);
  const server = await openServer(t, { stt: outage.stt, plugins: outage.plugins });
  const health = async () => (await (await fetch(`${server.url}/healthz`)).json()) as object;
  const listen = async () => {
    const client = await connectListen(server.url, server.key, { codec: 'pcm16', sample_rate: '16000' });
    const { status } = await client.until('service_status', event =>
      ['ready', 'stt_failed'].includes(String(event.status)),
    );
    client.socket.close();
    return status;
  };
  await outage.begin();
  t.is(await listen(), 'stt_failed');
  t.deepEqual(await health(), { status: 'degraded', parts: ['speech recognition'] });
  t.regex(
    renderStatus(await server.app.commands.status({})),
    /^✗ speech recognition: counting: did not open on \d{4}-.+Z: /m,
  );
  await outage.end();
  t.is(await listen(), 'ready');
  t.deepEqual(await health(), { status: 'ok', parts: [] });
});

test('health sends the database one query at a time, with a time limit', async t => {
  const asked: ((found: null) => void)[] = [];
  const state = { isReady: false };
  const late = Promise.withResolvers<void>();
  const health = createHealth({
    config: ConfigSchema.parse({ stt: [] }),
    host: { list: () => [], status: () => [] },
    openings: { failureOf: () => null },
    database: { users: { get: () => new Promise(resolve => asked.push(resolve)) } },
    clock: { sleep: () => late.promise },
    state,
  });
  t.deepEqual(await health(), { status: 'failing', parts: [] });
  state.isReady = true;
  const answers = [health(), health(), health()];
  t.is(asked.length, 1);
  late.resolve();
  for (const answer of answers) t.deepEqual(await answer, { status: 'failing', parts: ['database'] });
  const next = health();
  asked.at(-1)?.(null);
  t.is(asked.length, 2);
  await next;
});

/** A third party's plugin whose server is not running yet. */
async function waiting(t: ExecutionContext) {
  const use = join(await temporaryDirectory(t), 'waiter.mjs');
  await writeFile(
    use,
    `export default {
      name: 'waiter', api: 1, title: 'Waiter',
      setup({ error }) { throw error('upstream_error', 'its server is not up yet'); },
    };`,
  );
  return { waiter: { use } };
}

/** A plugin that requests a user's address when it starts. */
const CALLER = `export default {
  name: 'caller', api: 1, title: 'Caller',
  options: z => z.object({ url: z.string() }),
  async setup({ options, fetchUser, signal, error }) {
    const { status } = await fetchUser(options.url, { signal });
    if (status !== 204) throw error('upstream_error', String(status));
    return { vad: { windowSize: 512, open() {} } };
  },
};`;

for (const allowHosts of [[], ['127.0.0.1']]) {
  const isAllowed = allowHosts.length > 0;
  test(`a user's address in the local network is ${isAllowed ? 'contacted if the configuration allows it' : 'refused'}`, async t => {
    let asked = 0;
    const server = await startLocalServer(async (_, response) => {
      asked += 1;
      response.writeHead(204).end();
    });
    t.teardown(() => server.close());
    const dataDir = await mkdtemp(join(tmpdir(), 'earshot-caller-'));
    t.teardown(() => rm(dataDir, { recursive: true, force: true }));
    const use = join(dataDir, 'caller.mjs');
    await writeFile(use, CALLER);
    const instance = () =>
      openServer(t, {
        ...{ dataDir, stt: [], delivery: { allowHosts } },
        plugins: { caller: { use, url: server.url } },
      });
    if (isAllowed) await instance();
    else await t.throwsAsync(instance(), { message: /caller does not start: .*delivery\.allowHosts/ });
    t.is(asked, isAllowed ? 1 : 0);
  });
}
