import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { Overrides } from '../../../config/load.ts';
import type { Clock, Scope } from '../../../core/contract/model.ts';
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
import { openCaldavServer } from '../../helpers/caldav-server.ts';
import { serverOn } from '../../helpers/databases.ts';
import { eventually } from '../../helpers/eventually.ts';
import {
  bodyOf,
  documentOf,
  exampleOf,
  fileOf,
  type Json,
  type OpenApi,
  type Operation,
  operationsOf,
  resolve,
  textOf,
} from '../../helpers/openapi.ts';
import { buildServer, countingStt, type TestServer } from '../../helpers/services.ts';
import { isThorough } from '../../helpers/thorough.ts';
import { voiceModelOptions } from '../../helpers/voices.ts';

/** Resources that other accounts may see: apps are visible to everyone on the server. */
const SHARED: Readonly<Record<string, string>> = {
  getApp: 'app_id',
  installApp: 'app_id',
  uninstallApp: 'app_id',
};
/** Ends the account that the other operations are called with; `round-trip.test.ts` covers it. */
const FAREWELL = 'removeOwnAccount';
const OPEN = [
  'acceptWelcome',
  'changePassword',
  'createSession',
  'createToken',
  'endSession',
  'getCalendarFeed',
  'getDocs',
  'getHealth',
  'getMcpMetadata',
  'getMetrics',
  'getMutePage',
  'getOpenApi',
  'getPublicKeys',
  'renewSession',
];
/** They contact the internet, or start a process: only their refusals are tested here. */
const BEYOND = ['downloadModel', 'startExamination', 'startSimulation'];
/**
 * They start a task of the account, and answer 409 until it is done: the next credential has to wait for it.
 */
const ONE_AT_A_TIME = ['startImport'];
/** Fields whose values are compared with the caller's permissions, and never looked up. */
const COMPARED = 'expected';
/** Places where a request refers to something by its id. */
interface Place {
  in: 'path' | 'query' | 'body';
  name: string;
  /** In a body: the path to the field. */
  way: (string | number)[];
}

function placesOf(document: OpenApi, operation: Operation): Place[] {
  const parameters = (operation.parameters ?? []).flatMap(({ in: where, name }): Place[] =>
    where !== 'header' && isId(name) ? [{ in: where, name, way: [] }] : [],
  );
  const inBody = (schema: Json, way: Place['way']): Place[] => {
    const { properties = {}, items, anyOf = [] } = resolve(document, schema) as Record<string, object>;
    return [
      ...Object.entries(properties).flatMap(([name, inner]) =>
        name === COMPARED
          ? []
          : isId(name)
            ? [{ in: 'body' as const, name, way: [...way, name] }]
            : inBody(inner as Json, [...way, name]),
      ),
      ...(items ? inBody(items as Json, [...way, 0]) : []),
      ...(anyOf as Json[]).flatMap(inner => inBody(inner, way)),
    ];
  };
  const body = bodyOf(document, operation);
  return [...parameters, ...(body ? inBody(body, []) : [])];
}

interface Call {
  method: string;
  template: string;
  operation: Operation;
  places: Place[];
}

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}
type Ask = (call: Call, credential: string | null, ids: Ids) => Promise<Answer>;

/** Sends the example of the document with these ids. Fields without an id stay empty. */
function asker(url: string, document: OpenApi, examples: Record<string, object> = {}): Ask {
  return async ({ method, template, operation, places }, credential, ids) => {
    const body = structuredClone(examples[operation.operationId] ?? exampleOf(document, operation));
    const query = new URLSearchParams();
    const shown: Ids = {};
    for (const { name, schema, in: where, required } of operation.parameters ?? []) {
      if (where === 'path') shown[name] = String((schema.examples as unknown[] | undefined)?.[0] ?? '');
      if (where === 'query' && required)
        query.set(name, ids[name] ?? (schema.type === 'string' ? 'tea' : '1'));
    }
    for (const name of ['uid', 'aid']) {
      const id = ids[name];
      if (id !== undefined && typeof body === 'object' && body && name in body) put(body, [name], id);
    }
    for (const place of places) {
      const id = ids[place.name];
      if (id === undefined) continue;
      if (place.in === 'query') query.set(place.name, id);
      if (place.in === 'body') put(body, place.way, id);
    }
    const path = template.replace(/\{(\w+)\}/g, (_, name) =>
      encodeURIComponent(ids[name] ?? shown[name] ?? ''),
    );
    const response = await fetch(`${url}${path}?${query}`, {
      method: method.toUpperCase(),
      headers: {
        ...(credential === null ? {} : { Authorization: credential }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? { body: fileOf(operation) ?? null } : { body: JSON.stringify(body) }),
    });
    const { date, ...headers } = Object.fromEntries(response.headers);
    return { status: response.status, headers, body: await textOf(response) };
  };
}

function put(target: unknown, [step, ...way]: Place['way'], value: string): void {
  const inside = target as Record<string | number, unknown>;
  if (step === undefined) return;
  if (way.length === 0) {
    inside[step] = value;
    return;
  }
  inside[step] ??= typeof way[0] === 'number' ? [] : {};
  put(inside[step], way, value);
}

interface Cast {
  anna: Account;
  ben: Account;
  /** An ID token of an account that is an operator, which neither of the two is. */
  operator: string;
  /** Rejected credentials, by their fault. */
  refused: Record<string, string | null>;
  expired: string;
  keyOf(account: Account, scopes: readonly Scope[]): Promise<string>;
  /** An app of Ben's that Anna has installed, and other secrets. */
  app: { id: string; uid: string; strangerUid: string; secret: string; revoked: string; otherSecret: string };
}

/** Two accounts, and every kind of credential that is not accepted. */
async function castOf(server: TestServer, clock: { shiftMs: number }): Promise<Cast> {
  await server.app.commands['user.add']({ name: 'ben' });
  for (const user of ['owner', 'ben'])
    await server.app.commands['user.password']({ user, password: PASSWORD });
  const [anna, ben] = [await accountOf(server, 'owner'), await accountOf(server, 'ben')];
  const made = new Map<string, Promise<string>>();
  const keyOf = ({ name, post }: Account, scopes: readonly Scope[]) => {
    const what = [name, ...scopes].join(' ');
    const key = made.get(what) ?? post('/v1/dev/keys', { name: 'key', scopes }).then(it => String(it.key));
    made.set(what, key);
    return key;
  };
  const revoked = await anna.post('/v1/dev/keys', { name: 'gone', scopes: SCOPES });
  await server.app.commands['key.revoke']({ user: 'owner', id: String(revoked.id) });
  const rotated = await anna.post('/v1/dev/keys', { name: 'rotated', scopes: SCOPES });
  await anna.post(`/v1/dev/keys/${rotated.id}/rotate`);
  clock.shiftMs = -365 * 24 * 3600_000;
  const { token: expired } = await server.app.commands.token({ user: 'owner' });
  clock.shiftMs = 0;
  const right = await keyOf(anna, SCOPES);
  const app = await appOf(server, anna, ben);
  await hooksOf(anna, ben);
  const refused = {
    'no credential': null,
    'an empty one': 'Bearer ',
    'another scheme': `Basic ${Buffer.from(`owner:${right}`).toString('base64')}`,
    'no scheme': right,
    'two credentials': `Bearer ${right} ${right}`,
    'an unknown key': `Bearer omi_dev_${'0'.repeat(32)}`,
    'half a key': `Bearer ${right.slice(0, -1)}`,
    'a revoked key': `Bearer ${revoked.key}`,
    'a rotated key': `Bearer ${rotated.key}`,
    'an unknown app secret': `Bearer sk_${'0'.repeat(32)}`,
    'an app secret that was deleted': `Bearer ${app.revoked}`,
    'an expired ID token': `Bearer ${expired}`,
    'a changed ID token': `Bearer ${anna.token.slice(0, -6)}AAAAAA`,
  };
  return { anna, ben, operator: await operatorOf(server), refused, expired, keyOf, app };
}

async function appOf(server: TestServer, anna: Account, ben: Account): Promise<Cast['app']> {
  const id = String((await ben.post('/v1/apps', { name: 'Tea', ...APP })).id);
  const secretOf = async (app: unknown) => await ben.post(`/v1/apps/${app}/keys`);
  const revoked = await secretOf(id);
  await fetch(`${server.url}/v1/apps/${id}/keys/${revoked.id}`, {
    method: 'DELETE',
    headers: { Authorization: `Bearer ${ben.token}` },
  });
  const other = await ben.post('/v1/apps', { name: 'Coffee', ...APP });
  for (const app of [id, other.id]) await anna.post(`/v1/apps/enable?app_id=${app}`);
  const users = await server.app.commands['user.list']({});
  const uidOf = (name: string) => users.find(user => user.name === name)?.id ?? '';
  return {
    id,
    uid: uidOf(anna.name),
    strangerUid: uidOf(ben.name),
    secret: String((await secretOf(id)).secret),
    revoked: String(revoked.secret),
    otherSecret: String((await secretOf(other.id)).secret),
  };
}

/** Each account has webhooks, and so a secret that signs them. */
async function hooksOf(...accounts: Account[]): Promise<void> {
  const url = 'https://hooks.example.org/';
  for (const { post } of accounts) await post('/v1/users/developer/webhook/memory_created', { url });
}

/** Returns which of `credentials` an operation accepts. */
function takes({ security }: Operation) {
  const kinds = new Set(security.flatMap(Object.keys));
  return { key: kinds.has('apiKey'), token: kinds.has('idToken'), app: kinds.has('appSecret') };
}

/** The same for an operation of the app API: the secret, the user and the user's permissions. */
async function examineApp(call: Call, { anna, refused, keyOf, app }: Cast, ask: Ask): Promise<string[]> {
  const found: string[] = [];
  const { operationId: name, 'x-required-action': action } = call.operation;
  const expect = (holds: boolean, what: string) => {
    if (!holds) found.push(`${name}: ${what}`);
  };
  const bearer = (raw: string) => `Bearer ${raw}`;
  const idsOfApp = (id: string, uid: string): Ids => ({ app_id: id, aid: id, uid });
  const own = idsOfApp(app.id, app.uid);
  const wrong = Object.entries({
    ...refused,
    'a key': bearer(await keyOf(anna, SCOPES)),
    'an ID token': bearer(anna.token),
    'the secret of another app': bearer(app.otherSecret),
  });
  for (const [what, credential] of wrong) {
    const answers = [
      await ask(call, credential, own),
      await ask(call, credential, idsOfApp(app.id, randomUUID())),
      await ask(call, credential, idsOfApp(randomUUID(), app.uid)),
    ] as const;
    expect(answers[0].status === 401, `${what} gets ${answers[0].status}`);
    expect(
      answers.every(answer => isSame(answer, answers[0])),
      `${what} is told something about ids`,
    );
    expect(answers[0].headers['www-authenticate'] === 'Bearer', `${what} is not challenged`);
    expect(answers[0].body.includes('an app secret (sk_…)'), `${what} is not told what is expected`);
  }
  const right = bearer(app.secret);
  const missing = await ask(call, right, idsOfApp(app.id, randomUUID()));
  expect(missing.status === 404, `an unknown user gets ${missing.status}`);
  for (const uid of [app.strangerUid, app.uid.toUpperCase(), ...Object.values(NONSENSE)])
    expect(isSame(await ask(call, right, idsOfApp(app.id, uid)), missing), `${uid} is told apart`);
  const install = (body: object) => anna.post(`/v1/apps/enable?app_id=${app.id}`, body);
  await install({ actions: [] });
  const narrowed = await ask(call, right, own);
  expect(narrowed.status === (action ? 403 : 200), `an app without actions gets ${narrowed.status}`);
  if (action) expect(narrowed.body.includes(`Required action: ${action}`), 'an app is not told the action');
  await install({ actions: action ? [action] : [] });
  const answer = await ask(call, right, own);
  expect(answer.status === 200, `the app gets ${answer.status} ${answer.body}`);
  return found;
}

/** Describes every wrong access that an operation allows. */
async function examine(call: Call, cast: Cast, ask: Ask): Promise<string[]> {
  const { anna, ben, operator, refused, keyOf } = cast;
  const { operation, places } = call;
  const role = operation['x-required-role'];
  if (takes(operation).app) return examineApp(call, cast, ask);
  const scope = operation['x-required-scope'] as Scope | undefined;
  const { key: takesKey, token: takesToken } = takes(operation);
  const found: string[] = [];
  const name = operation.operationId;
  const expect = (holds: boolean, what: string) => {
    if (!holds) found.push(`${name}: ${what}`);
  };
  const own = await idsOf(places, anna);
  const unknown: Ids = Object.fromEntries(places.map(place => [place.name, randomUUID()]));
  const bearer = (raw: string) => `Bearer ${raw}`;

  // Access is denied before anything is looked up: the response does not depend on the ids.
  const others = SCOPES.filter(each => each !== scope);
  const wrong: [string, string | null, 401 | 403][] = [
    ...Object.entries(refused).map(([what, raw]) => [what, raw, 401] as [string, string | null, 401]),
    ...(takesKey ? [] : [['a key', bearer(await keyOf(anna, SCOPES)), 401] as [string, string, 401]]),
    ...(takesToken ? [] : [['an ID token', bearer(anna.token), 401] as [string, string, 401]]),
    ...(scope
      ? [['every other scope', bearer(await keyOf(anna, others)), 403] as [string, string, 403]]
      : []),
    ...(role ? [['no operator', bearer(anna.token), 403] as [string, string, 403]] : []),
  ];
  for (const [what, credential, status] of wrong) {
    const first = await ask(call, credential, own);
    const second = places.length > 0 ? await ask(call, credential, unknown) : first;
    expect(first.status === status, `${what} gets ${first.status}`);
    expect(isSame(first, second), `${what} is told something about ids`);
    if (status === 401) {
      expect(first.headers['www-authenticate'] === 'Bearer', `${what} is not challenged`);
      const kinds = [...(takesKey ? ['an API key (omi_dev_…)'] : []), ...(takesToken ? ['an ID token'] : [])];
      expect(first.body.includes(kinds.join(' or ')), `${what} is not told what is expected`);
    } else if (role) expect(first.body.includes(`Required role: ${role}`), `${what} is not told the role`);
    else expect(first.body.includes(`Required scope: ${scope}`), `${what} is not told the scope`);
  }
  if (role) {
    const { status } = BEYOND.includes(name) ? { status: 200 } : await ask(call, bearer(operator), {});
    expect(status === 200 || status === 404, `an operator gets ${status}`);
    return found;
  }

  const right = [
    ...(takesKey ? [['a key', (who: Account) => keyOf(who, scope ? [scope] : [...others])] as const] : []),
    ...(takesToken ? [['an ID token', async (who: Account) => who.token] as const] : []),
  ];
  for (const [index, [what, of]] of right.entries()) {
    const [annas, bens] = [bearer(await of(anna)), bearer(await of(ben))];
    // To Ben, each and all of Anna's resources look like missing ones; so do invalid ids.
    const mine = await idsOf(places, ben);
    for (const { name: place } of places) {
      const missing = await ask(call, bens, { ...mine, [place]: randomUUID() });
      expect(missing.status !== 401 && missing.status !== 403, `${what} gets ${missing.status}`);
      for (const [which, id] of Object.entries({
        ...(SHARED[name] === place ? {} : { foreign: own[place] ?? '' }),
        // Invalid ids take the same code path for every accepted credential.
        ...(index === 0 ? { ...NONSENSE, upper: mine[place]?.toUpperCase() ?? '' } : {}),
      })) {
        const answer = await ask(call, bens, { ...mine, [place]: id });
        expect(
          isSame(answer, missing),
          `${what} is told a ${which} ${place}: ${answer.status} ${answer.body}`,
        );
      }
    }
    if (places.length > 1)
      expect(
        isSame(await ask(call, bens, own), await ask(call, bens, unknown)),
        `${what} is told of all ids`,
      );
    const ids = await idsOf(places, anna);
    const asked = () => ask(call, annas, ids);
    const answer = ONE_AT_A_TIME.includes(name)
      ? await eventually(asked, ({ status }) => status !== 409)
      : await asked();
    const isRight = name === WITHOUT_ANY ? answer.status === 404 : [200, 204].includes(answer.status);
    expect(isRight, `${what} gets ${answer.status} ${answer.body}`);
  }
  return found;
}

/** Nobody here has such audio. `faulty-recognisers.test.ts` has one, its owner, and others. */
const WITHOUT_ANY = 'getKeptAudio';

const NONSENSE = {
  short: 'x',
  long: 'x'.repeat(150),
  odd: "💥'; --\\..",
  nil: '00000000-0000-0000-0000-000000000000',
};

const isSame = (a: Answer, b: Answer) => JSON.stringify(a) === JSON.stringify(b);

async function idsOf(places: Place[], account: Account): Promise<Ids> {
  const ids: Ids = {};
  for (const { name } of places) ids[name] ??= await idOf(name, account, ids);
  return ids;
}

function callsOf(document: OpenApi): Call[] {
  return operationsOf(document)
    .filter(({ operation }) => operation.operationId !== FAREWELL)
    .filter(({ operation }) => !OPEN.includes(operation.operationId))
    .map(each => ({ ...each, places: placesOf(document, each.operation) }));
}

async function open(overrides: Overrides, examples?: Record<string, object>) {
  const clock = { shiftMs: 0 };
  const shifted: Clock = {
    now: () => Date.now() + clock.shiftMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, ms);
        signal?.addEventListener('abort', () => {
          clearTimeout(timer);
          reject(signal.reason);
        });
      }),
  };
  const server = await buildServer(
    { ...countingStt(), rateLimits: { enabled: false }, ...overrides },
    { clock: shifted },
  );
  const document = await documentOf(server.url);
  return { server, document, cast: await castOf(server, clock), ask: asker(server.url, document, examples) };
}

/** Access is decided before any database query. */
const DATABASES = isThorough ? (['SQLite', 'Postgres'] as const) : (['SQLite'] as const);

for (const database of DATABASES)
  test.serial(
    `On ${database}, every operation admits only the documented callers, and shows nobody data of others`,
    async t => {
      const overrides = await serverOn(t, database);
      if (!overrides) return;
      const voices = { 'sherpa-speakers': await voiceModelOptions(t) };
      const caldav = await openCaldavServer();
      t.teardown(caldav.close);
      const address = { url: caldav.url, username: 'ada', password: 'secret' };
      const { server, document, cast, ask } = await open(
        {
          ...overrides,
          delivery: { ...overrides.delivery, allowHosts: ['127.0.0.1'] },
          speakers: ['sherpa-speakers'],
          plugins: { ...overrides.plugins, ...voices },
        },
        {
          connectCalendarAccount: { address },
          // The schedule in the document's example would pause the account's photos on some evenings.
          putListeningSchedule: { schedule: [] },
        },
      );
      t.teardown(server.stop);
      const calls = callsOf(document);
      t.deepEqual(
        operationsOf(document)
          .filter(
            ({ operation: { security } }) =>
              !security.some(({ apiKey, idToken, appSecret }) => apiKey || idToken || appSecret),
          )
          .map(({ operation }) => operation.operationId)
          .sort(),
        OPEN,
      );
      t.true(calls.length > 20);
      const complaints: string[] = [];
      for (const call of calls) complaints.push(...(await examine(call, cast, ask)));
      t.deepEqual(complaints, []);
    },
  );

test.serial(
  'The matrix detects missing access control, wrongly denied access, and leaks in denials',
  async t => {
    const { server, document, cast, ask } = await open({});
    t.teardown(server.stop);
    const calls = callsOf(document);
    const call = calls.find(({ operation }) => operation.operationId === 'getConversation') as Call;
    const annas = `Bearer ${cast.anna.token}`;
    const complaintsOf = async (doing: Ask, changes: Partial<Operation> = {}) =>
      (await examine({ ...call, operation: { ...call.operation, ...changes } }, cast, doing)).join('\n');

    t.is(await complaintsOf(ask), '');
    const open401: Ask = async (of, credential, ids) => ask(of, credential ?? annas, ids);
    t.regex(await complaintsOf(open401), /no credential gets 200/);
    const foreignTold: Ask = async (of, credential, ids) => {
      const answer = await ask(of, credential, ids);
      const isThere = answer.status === 404 && (await ask(of, annas, ids)).status === 200;
      return isThere ? { ...answer, body: '{"detail":"Not yours"}' } : answer;
    };
    t.regex(await complaintsOf(foreignTold), /an ID token is told a foreign conversation_id/);
    const early: Ask = async (of, credential, ids) => {
      const answer = await ask(of, credential, ids);
      return answer.status === 403 && (await ask(of, annas, ids)).status === 404
        ? { ...answer, status: 404 }
        : answer;
    };
    t.regex(await complaintsOf(early), /every other scope is told something about ids/);
    t.regex(await complaintsOf(ask, { security: [{ idToken: [] }] }), /a key gets 404|a key gets 200/);
    t.regex(
      await complaintsOf(ask, { 'x-required-scope': 'goals:read' }),
      /every other scope gets 200[\s\S]*a key gets 403/,
    );
    const forApps = calls.find(({ operation }) => operation.operationId === 'listUserTasks') as Call;
    const complaintsOfApps = async (doing: Ask) => (await examineApp(forApps, cast, doing)).join('\n');
    t.is(await complaintsOfApps(ask), '');
    const early404: Ask = async (of, credential, ids) => {
      const answer = await ask(of, credential, ids);
      return answer.status === 401 && ids.uid !== cast.app.uid ? { ...answer, status: 404 } : answer;
    };
    t.regex(await complaintsOfApps(early404), /the secret of another app is told something about ids/);
    const allowing: Ask = async (of, credential, ids) => {
      const answer = await ask(of, credential, ids);
      return answer.status === 403 ? { ...answer, status: 200 } : answer;
    };
    t.regex(await complaintsOfApps(allowing), /an app without actions gets 200/);
    const places = [{ in: 'path', name: 'gadget_id', way: [] }] as Place[];
    await t.throwsAsync(examine({ ...call, places }, cast, ask), {
      message: /an id called gadget_id: add one/,
    });
  },
);
