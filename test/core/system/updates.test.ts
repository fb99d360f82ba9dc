import { execFile } from 'node:child_process';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { createOutbound } from '../../../core/delivery/outbound.ts';
import { createServerNotices } from '../../../core/delivery/server-notices.ts';
import { version } from '../../../core/runtime/version.ts';
import { publicKeyOf, readSigned, signList, textOfPublicKey } from '../../../core/system/update-list.ts';
import { createUpdates } from '../../../core/system/updates.ts';
import { accountOf, operatorOf } from '../../helpers/accounts.ts';
import { openDomain, temporaryDirectory } from '../../helpers/domain.ts';
import { eventually } from '../../helpers/eventually.ts';
import type { Json } from '../../helpers/openapi.ts';
import { openServer } from '../../helpers/services.ts';

const run = promisify(execFile);
const DAY_MS = 24 * 3_600_000;
const ROOT = join(import.meta.dirname, '../../..');
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const KEY = textOfPublicKey(publicKey);

const release = (number: string, security = false) => ({
  ...{ version: number, released: '2026-11-01', security, note: `Reasons for ${number}` },
});

/** Publishes a list that the test supplies. */
async function publisher(t: ExecutionContext) {
  const state = { answer: (response: ServerResponse): void => void response.end('') };
  const requests: { url: string | undefined; headers: IncomingHttpHeaders }[] = [];
  const server = createServer(({ url, headers }, response) => {
    requests.push({ url, headers });
    state.answer(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const publish = (text: string) => {
    state.answer = response => void response.end(text);
  };
  return { state, publish, requests, url: `http://127.0.0.1:${port}/updates.json` };
}

async function setUp(t: ExecutionContext, { allowHosts = ['127.0.0.1'], key = KEY } = {}) {
  const domain = await openDomain(t);
  const { clock, storage, notifications, users, log } = domain;
  const site = await publisher(t);
  const dataDir = await temporaryDirectory(t);
  const outbound = createOutbound({ allowHosts, clock });
  t.teardown(outbound.close);
  const anna = await users.add('anna');
  const { update } = createServerNotices({
    ...{ storage, notifications, clock, dataDir, freeBytes: async () => 1e12, noticeBytes: 1, minBytes: 1 },
  });
  const create = (version = '0.1.0', settings: object = { url: site.url, publicKey: key }) =>
    createUpdates({ settings, dataDir, version, clock, log, fetchUser: outbound.fetchUser, tell: update });
  const told = async () => (await notifications.list(anna.id, { limit: 10 })).map(({ title }) => title);
  const sign = (releases: object[], ageMs = 0, by = privateKey) =>
    signList({ issued: new Date(clock.now() - ageMs).toISOString(), releases }, by);
  return { ...site, clock, create, told, sign, dataDir };
}

test('operators are told once of a newer version, and the request for the list identifies nobody', async t => {
  const { clock, create, told, sign, publish, requests } = await setUp(t);
  publish(sign([release('0.1.0'), release('0.3.0'), release('0.2.0', true), release('0.0.9', true)]));
  const updates = create();
  t.like(await updates.state(), { checkedAt: null, newer: null, error: null });
  await updates.check();
  t.like(await updates.state(), {
    newer: { version: '0.3.0', security: true, note: 'Reasons for 0.3.0' },
    error: null,
  });
  t.deepEqual(await told(), ['Update Earshot to 0.3.0: it closes a security hole']);
  t.deepEqual(
    requests.map(({ url, headers: { host: _, ...headers } }) => [url, headers]),
    [['/updates.json', { connection: 'keep-alive', 'user-agent': 'Earshot' }]],
  );
  await updates.check();
  t.is(requests.length, 1, 'once a day, also after a restart');
  clock.advance(DAY_MS);
  await create().check();
  t.is(requests.length, 2);
  t.is((await told()).length, 1, 'one notice for each version');
  t.is((await create('0.3.0').state())?.newer, null, 'after the update there is nothing newer');
  clock.advance(DAY_MS);
  publish(sign([release('0.10.0'), release('0.9.1')]));
  await create().check();
  t.like(await create().state(), { newer: { version: '0.10.0', security: false } });
  t.deepEqual((await told()).sort(), [
    'Earshot 0.10.0 is out',
    'Update Earshot to 0.3.0: it closes a security hole',
  ]);
});

test('a list that is forged, modified, old, or invalid is rejected, and the reason is reported', async t => {
  const { clock, create, told, sign, publish, state, dataDir } = await setUp(t);
  const updates = create();
  const stranger = generateKeyPairSync('ed25519').privateKey;
  const good = sign([release('9.0.0')]);
  const { list, signature }: { list: string; signature: string } = JSON.parse(good);
  const withSignature = (text: string) => JSON.stringify({ list, signature: text });
  const cases: [what: string, text: string, why: RegExp][] = [
    ['by another key', sign([release('9.0.0')], 0, stranger), /signature is wrong/],
    ['changed', JSON.stringify({ list: list.replace('9.0.0', '9.0.1'), signature }), /signature is wrong/],
    ['without a signature', JSON.stringify({ list }), /no signed list/],
    ['empty signature', withSignature(''), /signature is wrong/],
    ['short signature', withSignature(Buffer.alloc(63).toString('base64')), /signature is wrong/],
    ['zeros for a signature', withSignature(Buffer.alloc(64).toString('base64')), /signature is wrong/],
    ['a page', '<html>', /no signed list/],
    ['nothing', '', /no signed list/],
    ['a list in a list', `[${good}]`, /no signed list/],
    ['signed too long ago', sign([release('9.0.0')], 91 * DAY_MS), /signed 91 days ago/],
    ['signed in the future', sign([release('9.0.0')], -2 * DAY_MS), /in the future/],
    ['too large', good + ' '.repeat(2 ** 20), /sent too much/],
  ];
  for (const [what, text, why] of cases) {
    publish(text);
    await t.throwsAsync(updates.check(), { message: why }, what);
    const seen = await updates.state();
    t.regex(seen?.error ?? '', why, what);
    t.is(seen?.newer, null, what);
  }
  for (const [status, headers] of [
    [500, {}],
    [302, { Location: '/updates.json' }],
  ] as const) {
    state.answer = response => void response.writeHead(status, headers).end(good);
    await t.throwsAsync(updates.check(), { message: new RegExp(`HTTP ${status}`) });
  }
  publish(good);
  await updates.check();
  t.like(await updates.state(), { newer: { version: '9.0.0' }, error: null });
  clock.advance(DAY_MS);
  publish(sign([release('0.1.0')], 2 * DAY_MS));
  await t.throwsAsync(updates.check(), { message: /older than the one before/ });
  t.like(await updates.state(), { newer: { version: '9.0.0' } }, 'what is known stays');
  t.is((await told()).length, 1);
  await writeFile(join(dataDir, 'updates.json'), '{"checkedAt":');
  t.like(await updates.state(), { newer: null, error: null }, 'a truncated file is begun anew');
});

test('no request is made unless both settings are present, nor to a forbidden address', async t => {
  const { create, requests, url, sign, publish } = await setUp(t, { allowHosts: [] });
  publish(sign([release('9.0.0')]));
  for (const settings of [{}, { url }, { publicKey: KEY }]) {
    await create('0.1.0', settings).check();
    t.is(await create('0.1.0', settings).state(), null);
  }
  await t.throwsAsync(create().check(), { code: 'forbidden' } as object);
  t.is(requests.length, 0);
  t.throws(() => publicKeyOf('abc'), { message: /32 bytes/ });
});

test('a maintainer creates a key and signs a list with a command, and a server accepts it', async t => {
  const dir = await temporaryDirectory(t);
  const script = join(ROOT, 'core/system/sign-updates-main.ts');
  const [keyFile, listFile] = [join(dir, 'key.pem'), join(dir, 'list.json')];
  const made = await run(process.execPath, [script, 'key', keyFile]);
  t.is((await stat(keyFile)).mode & 0o777, 0o600);
  await t.throwsAsync(run(process.execPath, [script, 'key', keyFile]), { message: /EEXIST/ });
  t.is(createPrivateKey(await readFile(keyFile)).asymmetricKeyType, 'ed25519');
  await writeFile(listFile, JSON.stringify({ releases: [release('0.2.0', true)] }));
  const signed = await run(process.execPath, [script, 'sign', listFile, '--key', keyFile]);
  t.true(signed.stderr.includes(made.stdout.trim()));
  const list = readSigned(signed.stdout, publicKeyOf(made.stdout.trim()));
  t.deepEqual(list.releases, [release('0.2.0', true)]);
  t.true(Math.abs(Date.parse(list.issued) - Date.now()) < 60_000);
  await writeFile(listFile, JSON.stringify({ releases: [{ ...release('0.2.0'), version: 'newest' }] }));
  await t.throwsAsync(run(process.execPath, [script, 'sign', listFile, '--key', keyFile]), {
    message: /three numbers/,
  });
  await t.throwsAsync(run(process.execPath, [script]), { message: /Usage/ });
});

test('the running server reports a newer version in its state, to operators and in its log', async t => {
  const site = await publisher(t);
  const issued = new Date().toISOString();
  site.publish(signList({ issued, releases: [release('99.0.0', true)] }, privateKey));
  const server = await openServer(t, {
    stt: [],
    updates: { url: site.url, publicKey: KEY },
    delivery: { allowHosts: ['127.0.0.1'] },
  });
  await operatorOf(server);
  const olga = await accountOf(server, 'olga');
  const found = await eventually(
    async () => {
      const { parts } = await olga.get('/v1/system/readiness');
      return (parts as Json[]).find(({ part }) => part === 'updates') ?? {};
    },
    ({ ok }) => ok === false,
  );
  t.regex(String(found.detail), /^99\.0\.0 of 2026-11-01 is out, which closes a security hole: Reasons/);
  const { lines } = await olga.get('/v1/system/log?level=info&limit=500');
  t.true((lines as Json[]).some(({ message }) => message === 'a newer version of Earshot is out'));
  t.regex(version, /^\d+\.\d+\.\d+/);
});
