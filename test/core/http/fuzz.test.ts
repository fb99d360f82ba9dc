import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import test from 'ava';
import fc from 'fast-check';
import { pino } from 'pino';
import { SCOPES } from '../../../core/domain/accounts/keys.ts';
import {
  type Account,
  APP,
  accountOf,
  type Ids,
  idOf,
  isId,
  operatorOf,
  PASSWORD,
} from '../../helpers/accounts.ts';
import { serverOn } from '../../helpers/databases.ts';
import { type OddRequest, oddRequests } from '../../helpers/odd-requests.ts';
import { checker, documentOf, find, type OpenApi, operationsOf, resolve } from '../../helpers/openapi.ts';
import { countingStt, openServer, type TestServer } from '../../helpers/services.ts';
import { amount } from '../../helpers/thorough.ts';
import { voiceModelOptions } from '../../helpers/voices.ts';

const REQUESTS = { SQLite: amount(400, 16_000), Postgres: amount(128, 4000) };
const SIDE_BY_SIDE = 16;
const COPIES = amount(4, 20);
/** Ids of which one must do: each import and each recording starts a process, one after the other. */
const COSTLY = ['import_id', 'recording_id'];
const SEED = Number(process.env.EARSHOT_TEST_SEED ?? 20_261_121);

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** Sent unchanged: no library normalises the path or the headers. */
function send(url: string, agent: Agent, { method, path, headers, body }: OddRequest): Promise<Answer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        hostname,
        port,
        method,
        path,
        agent,
        headers: { ...headers, ...(body ? { 'Content-Length': body.length } : {}) },
      },
      answer => {
        const chunks: Buffer[] = [];
        const isEndless = answer.headers['content-type']?.startsWith('text/event-stream');
        const done = () => {
          const { statusCode: status = 0, headers } = answer;
          resolve({ status, headers, text: Buffer.concat(chunks).toString() });
          if (isEndless) answer.destroy();
        };
        answer.on('data', chunk => {
          chunks.push(chunk);
          if (isEndless) done();
        });
        answer.on('error', reject);
        answer.on('end', done);
      },
    );
    asked.on('error', reject);
    asked.end(body ?? undefined);
  });
}

/** Checks a response against the OpenAPI document. */
function judge(document: OpenApi) {
  const check = checker(document);
  return ({ operation }: OddRequest, { status, headers, text }: Answer): string[] => {
    if (status >= 500) return [`${status} ${text.slice(0, 200)}`];
    const declared = find(document, operation).operation.responses[status];
    if (!declared) return [`${status} is not declared: ${text.slice(0, 200)}`];
    const { content } = resolve(document, declared);
    if (!content) return text === '' ? [] : [`${status} has a body`];
    const type = headers['content-type']?.split(';')[0] ?? '';
    const schema = content[type]?.schema;
    if (!schema) return [`${status} is of the undeclared type ${type}`];
    return check(schema, type === 'application/json' ? JSON.parse(text) : text);
  };
}

/** Operations that contact the internet or another process. They are called without valid credentials. */
const BEYOND = ['downloadModel', 'startBackup', 'startExamination', 'startSimulation'];

/** Existing ids for every parameter, until one of the requests deletes them. */
async function idsOf(document: OpenApi, account: Account): Promise<Record<string, string[]>> {
  const parameters = operationsOf(document).flatMap(({ operation }) => operation.parameters ?? []);
  const names = new Set(
    parameters.flatMap(({ in: where, name }) => (where === 'path' && isId(name) ? [name] : [])),
  );
  const shared: Ids = {};
  for (const name of COSTLY) if (names.has(name)) shared[name] = await idOf(name, account, {});
  const made = Array.from({ length: COPIES }, async () => {
    const ids: Ids = { ...shared };
    for (const name of names) ids[name] ??= await idOf(name, account, ids);
    return ids;
  });
  const all = await Promise.all(made);
  return Object.fromEntries([...names].map(name => [name, all.map(ids => ids[name] ?? '')]));
}

/** An app of another user, which `owner` can install but not delete. */
async function installedApp(server: TestServer, owner: Account): Promise<{ id: string; secret: string }> {
  await server.app.commands['user.add']({ name: 'ben' });
  const { post } = await accountOf(server, 'ben');
  const id = String((await post('/v1/apps', { name: 'Tea', ...APP })).id);
  const { secret } = await post(`/v1/apps/${id}/keys`);
  await owner.post(`/v1/apps/enable?app_id=${id}`);
  return { id, secret: String(secret) };
}

for (const [database, count] of Object.entries(REQUESTS) as [keyof typeof REQUESTS, number][])
  test.serial(`On ${database}, ${count} random requests get responses as documented, and no 500`, async t => {
    const overrides = await serverOn(t, database);
    if (!overrides) return;
    const failures: unknown[] = [];
    const log = pino({ level: 'error' }, { write: (line: string) => failures.push(JSON.parse(line)) });
    const voices = { 'sherpa-speakers': await voiceModelOptions(t) };
    const plugins = { ...overrides.plugins, ...voices };
    const changes = { speakers: ['sherpa-speakers'], plugins, rateLimits: { enabled: false } };
    const server = await openServer(t, { ...overrides, ...changes }, { log });
    const document = await documentOf(server.url);
    await server.app.commands['user.password']({ user: 'owner', password: PASSWORD }); // for its sessions
    const owner = await accountOf(server, 'owner');
    const { key } = await server.app.commands.key({ user: 'owner', scopes: [...SCOPES] });
    const operator = await operatorOf(server);
    const agent = new Agent({ keepAlive: true, maxSockets: SIDE_BY_SIDE });
    t.teardown(() => agent.destroy());
    const complaintsOf = judge(document);
    const seen = new Map<string, number>();

    const ids = await idsOf(document, owner);
    const app = await installedApp(server, owner);
    ids.app_id?.push(...Array.from({ length: COPIES }, () => app.id)); // as often as all others together
    ids.uid = [server.userId];

    const property = fc.asyncProperty(
      oddRequests(document, ids, ({ security, operationId, 'x-required-role': role }) =>
        role && !BEYOND.includes(operationId)
          ? operator
          : security.some(({ idToken }) => idToken)
            ? owner.token
            : security.some(({ apiKey }) => apiKey)
              ? key
              : security.some(({ appSecret }) => appSecret)
                ? app.secret
                : null,
      ),
      async asked => {
        const answer = await send(server.url, agent, asked);
        const name = `${asked.operation} ${answer.status}`;
        seen.set(name, (seen.get(name) ?? 0) + 1);
        const complaints = complaintsOf(asked, answer);
        if (complaints.length > 0) throw new Error(complaints.join('; '));
      },
    );
    const runs = Array.from({ length: SIDE_BY_SIDE }, (_, index) =>
      fc.check(property, {
        seed: SEED + index,
        numRuns: Math.ceil(count / SIDE_BY_SIDE), // a fraction would never be reached
      }),
    );
    for (const { seed, counterexamplePath, errorInstance, counterexample } of await Promise.all(runs))
      t.is(counterexample, null, `seed ${seed}, path ${counterexamplePath}: ${errorInstance}`);
    t.deepEqual(failures, []);
    t.log(
      `seed ${SEED}; ${[...seen]
        .map(([name, count]) => `${name}: ${count}`)
        .sort()
        .join(', ')}`,
    );
  });

test('An undocumented response is detected', async t => {
  const server = await openServer(t, countingStt());
  const document = await documentOf(server.url);
  const asked = {
    operation: 'listFolders',
    method: 'GET',
    path: '/v1/dev/user/folders',
    headers: {},
    body: null,
  };
  const { token } = await accountOf(server, 'owner');
  const answer = await send(server.url, new Agent(), {
    ...asked,
    headers: { Authorization: `Bearer ${token}` },
  });
  const complaintsOf = judge(document);
  t.deepEqual(complaintsOf(asked, answer), []);
  const wrong: [Partial<Answer>, RegExp][] = [
    [{ status: 500 }, /^500/],
    [{ status: 418 }, /^418 is not declared/],
    [{ headers: { 'content-type': 'text/html' } }, /undeclared type text\/html/],
    [{ text: '{}' }, /must be array/],
    [{ text: '[{"id":"x"}]' }, /must have required property/],
    [{ status: 401, text: '{"detail":"no","hint":"x"}' }, /must NOT have additional properties/],
  ];
  for (const [changes, complaint] of wrong)
    t.regex(complaintsOf(asked, { ...answer, ...changes }).join('; '), complaint);
});
