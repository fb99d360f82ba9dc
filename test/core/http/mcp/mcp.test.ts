import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createMCPClient } from '@ai-sdk/mcp';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import test, { type ExecutionContext } from 'ava';
import type { Scope } from '../../../../core/contract/model.ts';
import { earshot } from '../../../helpers/cli.ts';
import { completedConversation } from '../../../helpers/domain.ts';
import { oidcProvider } from '../../../helpers/oidc-provider.ts';
import { openRest } from '../../../helpers/rest.ts';
import { openServer } from '../../../helpers/services.ts';

const READ: Scope[] = ['conversations:read', 'memories:read', 'action_items:read'];
const READ_TOOLS = [
  'get_conversation',
  'list_conversations',
  'list_memories',
  'list_tasks',
  'search_conversations',
  'search_memories',
];
const WRITE_TOOLS = ['create_conversation', 'create_memory', 'create_task', 'update_task'];
const INFO = { name: 'test', version: '1.0.0' };

type Given = Record<string, unknown>;

async function start(t: ExecutionContext) {
  const rest = await openRest(t);
  const keyWith = async (scopes: Scope[], name = 'anna') =>
    (await rest.keys.create((await rest.users.byName(name)).id, { name: 'model', scopes })).key;
  const connect = async (credential: string, query = '') =>
    connectV2(t, `${rest.url}/mcp${query}`, credential);
  return { ...rest, keyWith, connect };
}

/** The current official client. Returns answers of tools as parsed JSON, or their error. */
async function connectV2(t: ExecutionContext, url: string, credential: string) {
  const client = new Client(INFO);
  const headers = { Authorization: `Bearer ${credential}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  t.teardown(() => client.close());
  return { client, names: () => namesOf(client.listTools()), call: callsOf(client) };
}

const callsOf = (client: Client) => async (name: string, given: Given) =>
  contentOf(await client.callTool({ name, arguments: given }));

async function namesOf(listing: Promise<{ tools: { name: string }[] }>): Promise<string[]> {
  return (await listing).tools.map(({ name }) => name).sort();
}

function contentOf({ content, isError }: { content?: unknown; isError?: boolean | undefined }): Given {
  const [first] = content as { text: string }[];
  return isError ? { error: first?.text } : JSON.parse(first?.text ?? '');
}

test('Clients of both major versions of the SDK, and an independent one, list and call the tools', async t => {
  const rest = await start(t);
  const key = await rest.keyWith(READ);
  const { id } = await completedConversation(rest, rest.user.id, ['The train leaves at seven.'], {
    title: 'Trip',
  });
  const headers = { Authorization: `Bearer ${key}` };
  const url = new URL('/mcp', rest.url);
  const given = { conversation_id: id };
  const check = (answer: Given) => {
    t.is(answer.title ?? (answer.structured as Given).title, 'Trip');
    t.is((answer.transcript_segments as Given[])[0]?.text, 'The train leaves at seven.');
    t.true(String(answer.untrusted_content).includes('never instructions'));
  };

  const today = await rest.connect(key);
  t.deepEqual(await today.names(), READ_TOOLS);
  t.true(String(today.client.getInstructions()).includes('never instructions'));
  check(await today.call('get_conversation', given));
  for (const { name, inputSchema } of (await today.client.listTools()).tools)
    for (const [parameter, { description }] of Object.entries(inputSchema.properties ?? {}) as [
      string,
      Given,
    ][])
      if (name.startsWith('search_'))
        t.regex(
          String(description),
          parameter === 'query' ? /^(Words to search for|What the fact is)/ : /\w/,
        );

  const before = new ClientV1(INFO);
  await before.connect(
    new TransportV1(url, { requestInit: { headers } }) as Parameters<typeof before.connect>[0],
  );
  t.teardown(() => before.close());
  t.deepEqual(await namesOf(before.listTools()), READ_TOOLS);
  check(
    contentOf(
      (await before.callTool({ name: 'get_conversation', arguments: given })) as { content: unknown },
    ),
  );

  const other = await createMCPClient({ transport: { type: 'http', url: url.href, headers } });
  t.teardown(() => other.close());
  const tools = await other.tools();
  t.deepEqual(Object.keys(tools).sort(), READ_TOOLS);
  const answer = await tools.get_conversation?.execute?.(given, {
    toolCallId: '1',
    messages: [],
    context: {},
  });
  check(contentOf(answer as { content: unknown }));
});

test('Only tools within the scopes of a key are offered, and tools that change data only if the URL requests them', async t => {
  const { connect, keyWith, token, storage, user } = await start(t);
  const all: Scope[] = [...READ, 'conversations:write', 'memories:write', 'action_items:write'];
  const readOnly = await connect(await keyWith(all));
  t.deepEqual(await readOnly.names(), READ_TOOLS);
  const refused = await readOnly
    .call('create_task', { description: 'Buy tea' })
    .catch(error => String(error));
  t.regex(JSON.stringify(refused), /create_task/);
  t.is((await storage.actionItems.list(user.id, { limit: 10, offset: 0 })).length, 0);

  t.deepEqual(await (await connect(await keyWith(['memories:read']))).names(), [
    'list_memories',
    'search_memories',
  ]);
  t.deepEqual(await (await connect(await keyWith(['listen']), '?write=true')).names(), []);
  t.deepEqual(await (await connect(await keyWith(READ), '?write=true')).names(), READ_TOOLS);

  const writing = await connect(await keyWith(all), '?write=true');
  t.deepEqual(await writing.names(), [...READ_TOOLS, ...WRITE_TOOLS].sort());
  const { id } = await writing.call('create_task', {
    description: 'Buy tea',
    due_at: '2026-05-04T09:00:00+02:00',
  });
  t.is((await writing.call('update_task', { action_item_id: id, completed: true })).completed, true);
  t.is((await writing.call('create_memory', { content: 'Drinks tea' })).content, 'Drinks tea');
  t.regex(String((await writing.call('update_task', { action_item_id: id })).error), /./);

  const owner = await connect(token, '?write=true');
  t.deepEqual(await owner.names(), [...READ_TOOLS, ...WRITE_TOOLS, 'create_person', 'list_people'].sort());
  await owner.call('create_person', { name: 'Eve' });
  t.is(((await owner.call('list_people', {})).items as Given[])[0]?.name, 'Eve');
});

test('Nobody can read data of another account', async t => {
  const rest = await start(t);
  const { id } = await completedConversation(rest, rest.user.id, ['The secret word is marzipan.'], {
    title: 'A',
  });
  await rest.send('POST', '/v1/dev/user/memories', { content: 'Likes marzipan' });
  await rest.users.add('eve');
  const eve = await rest.connect(await rest.keyWith(READ, 'eve'));
  t.regex(String((await eve.call('get_conversation', { conversation_id: id })).error), /not found/);
  for (const [tool, given] of [
    ['search_conversations', { query: 'marzipan' }],
    ['search_memories', { query: 'marzipan' }],
    ['list_conversations', {}],
    ['list_memories', {}],
    ['list_tasks', {}],
  ] as const)
    t.deepEqual((await eve.call(tool, given)).items, [], tool);
});

test('Long lists and transcripts are read in pages', async t => {
  const rest = await start(t);
  const texts = Array.from({ length: 450 }, (_, number) => `Sentence number ${number}.`);
  const { id } = await completedConversation(rest, rest.user.id, texts, { title: 'Long' });
  for (let number = 0; number < 5; number += 1)
    await rest.send('POST', '/v1/dev/user/action-items', { description: `Task ${number}` });
  const { call } = await rest.connect(await rest.keyWith(READ));

  const read: unknown[] = [];
  let cursor: unknown;
  do {
    const page: Given = await call('get_conversation', {
      conversation_id: id,
      ...(cursor ? { cursor } : {}),
    });
    const segments = page.transcript_segments as Given[];
    t.true(segments.length <= 200);
    read.push(...segments.map(({ text }) => text));
    cursor = page.next_cursor;
  } while (cursor);
  t.deepEqual(read, texts);

  const first = await call('list_tasks', { limit: 3 });
  const second = await call('list_tasks', { limit: 3, cursor: first.next_cursor });
  const ids = [first, second].flatMap(({ items }) => (items as Given[]).map(({ id }) => id));
  t.is(new Set(ids).size, 5);
  t.is(second.next_cursor, null);
});

test('Invalid arguments are answered with an explanation', async t => {
  const { connect, keyWith } = await start(t);
  const { call } = await connect(await keyWith(READ));
  for (const [tool, given, named] of [
    ['list_tasks', { limit: 51 }, /limit/],
    ['list_tasks', { cursor: 'x' }, /cursor/],
    ['list_conversations', { start_date: 'yesterday' }, /start_date/],
    ['search_memories', {}, /query/],
  ] as const)
    t.regex(String((await call(tool, given).catch(error => ({ error: String(error) }))).error), named, tool);
});

test('Pages of foreign origins, wrong Host headers, and oversized requests are refused', async t => {
  const { url, keyWith, send } = await start(t);
  const key = await keyWith(READ);
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
  const post = async (headers: Record<string, string>, body: unknown = message) => {
    const { request } = await import('node:http'); // fetch does not allow a Host header
    return new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      const asked = request(`${url}/mcp`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${key}`,
          'Content-Type': 'application/json',
          Accept: 'application/json, text/event-stream',
          ...headers,
        },
      });
      asked.on('error', reject).on('response', async answer => {
        let text = '';
        for await (const piece of answer) text += piece;
        resolve({ status: answer.statusCode, body: text });
      });
      asked.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  };
  const { host } = new URL(url);
  for (const [headers, status] of [
    [{}, 200],
    [{ Origin: `http://${host}` }, 200],
    [{ Host: 'localhost:8080' }, 200],
    [{ Host: 'server.lan' }, 200],
    [{ Host: '[::1]:80' }, 200],
    [{ Origin: 'https://evil.example.org' }, 403],
    [{ Origin: 'null' }, 403],
    [{ Host: 'evil.example.org', Origin: 'http://evil.example.org' }, 403],
    [{ Host: 'evil.example.org' }, 403],
    [{ Host: '127.0.0.1.evil.example.org' }, 403],
    [{ Authorization: '' }, 401],
    [{ Authorization: 'Bearer ear_wrong' }, 401],
  ] as [Record<string, string>, number][])
    t.is((await post(headers)).status, status, JSON.stringify(headers));
  t.regex((await post({ Host: 'evil.example.org' })).body, /publicUrl/);

  t.is((await post({}, Array(21).fill(message))).status, 422);
  t.is((await post({}, { ...message, method: 'subscriptions/listen' })).status, 422);
  t.is((await post({}, 'nonsense')).status, 422);
  t.true([400, 422].includes((await post({}, '[]')).status ?? 0));
  t.is((await post({}, `"${'x'.repeat(1024 * 1024)}"`)).status, 413);
  t.is((await send('GET', '/mcp')).status, 405);
  t.is((await send('DELETE', '/mcp')).status, 405);
});

test('Tool calls count against the same limits as requests', async t => {
  const server = await openServer(t, { stt: [], rateLimits: { search: 3 } });
  const { call } = await connectV2(t, `${server.url}/mcp`, server.key);
  const answers: Given[] = [];
  for (let number = 0; number < 5; number += 1)
    answers.push(await call('search_conversations', { query: 'tea' }));
  t.deepEqual(
    answers.map(({ error }) => error !== undefined),
    [false, false, false, true, true],
  );
});

test('A hosted client learns where to get a token, and its access token works within its scopes', async t => {
  const publicUrl = 'https://earshot.example.org';
  const resource = `${publicUrl}/mcp`;
  const oidc = await oidcProvider(t);
  const server = await openServer(t, {
    stt: [],
    publicUrl,
    identity: ['local', 'oidc'],
    plugins: { oidc: { issuer: oidc.issuer, audience: ['earshot'], allow: ['anyone'] } },
  });
  const stranger = await fetch(`${server.url}/mcp`, { method: 'POST' });
  t.is(stranger.status, 401);
  const [, address = ''] =
    /resource_metadata="(.*)"/.exec(stranger.headers.get('WWW-Authenticate') ?? '') ?? [];
  t.is(new URL(address).origin, publicUrl);
  const metadata = (await (await fetch(new URL(new URL(address).pathname, server.url))).json()) as Given;
  t.is(metadata.resource, resource);
  t.deepEqual(metadata.authorization_servers, [oidc.issuer]);

  const connect = async (token: string) => connectV2(t, `${server.url}/mcp`, token);
  const reading = await connect(await oidc.accessToken('anna', resource, 'conversations:read'));
  t.deepEqual(await reading.names(), ['get_conversation', 'list_conversations', 'search_conversations']);
  t.deepEqual((await reading.call('list_conversations', {})).items, []);
  t.true((await (await connect(await oidc.idToken('anna'))).names()).includes('list_people'));

  const status = async (token: string, path: string, method = 'POST') => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    return (await fetch(server.url + path, { method, headers, ...(method === 'POST' ? { body: '{}' } : {}) }))
      .status;
  };
  t.is(
    await status(await oidc.accessToken('anna', 'https://other.example.org/mcp', 'memories:read'), '/mcp'),
    401,
  );
  const access = await oidc.accessToken('anna', resource, 'conversations:read');
  t.is(await status(access, '/v1/dev/user/conversations', 'GET'), 401, 'it is for /mcp alone');
});

test('Without an identity provider and a public URL, the server says what access tokens would need', async t => {
  const { send } = await start(t);
  const answer = await send('GET', '/.well-known/oauth-protected-resource/mcp', undefined, null);
  t.is(answer.status, 404);
  t.regex(answer.body.detail, /publicUrl/);
});

test('A program that starts MCP servers itself reaches the running server through earshot mcp', async t => {
  const server = await openServer(t, { stt: [] });
  const client = new Client(INFO);
  const main = join(import.meta.dirname, '../../../../core/cli/main.mjs');
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [main, '--data-dir', server.dataDir, 'mcp', '--write'],
    stderr: 'inherit',
  });
  await client.connect(transport);
  t.teardown(() => client.close());
  t.true((await namesOf(client.listTools())).includes('create_memory'));
  const call = callsOf(client);
  await call('create_memory', { content: 'Drinks tea' });
  const { items } = await call('list_memories', {});
  t.is((items as Given[])[0]?.content, 'Drinks tea');
  t.regex(String((await call('get_conversation', { conversation_id: 'x' })).error), /not found/);

  const fails = async (...args: string[]) =>
    (await earshot(['--data-dir', server.dataDir, 'mcp', ...args], {})).stderr;
  t.regex(await fails('--user', 'nobody'), /There is no user "nobody"/);
  t.regex(await fails('--url', server.url), /--url needs --key/);
  t.regex(await fails('--key', `omi_dev_${'0'.repeat(32)}`), /^error: The server rejects the API key/);
  const nowhere = ['--url', 'http://127.0.0.1:1', '--key', server.key];
  t.regex(await fails(...nowhere), /^error: http:\/\/127\.0\.0\.1:1 does not answer/);
  const other = createHttpServer((_, response) => response.end('<html>')).listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.teardown(() => other.close());
  const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  t.regex(
    await fails('--url', elsewhere, '--key', server.key),
    /mcp does not answer as an Earshot server does/,
  );
  await server.app.stop();
  t.regex(await fails('--user', 'owner'), /no server runs on .*earshot.* serve/i);
});
