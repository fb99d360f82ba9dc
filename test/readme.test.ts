import { execFile, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import test from 'ava';
import { keysOf } from '../config/keys.ts';
import { ConfigSchema } from '../config/schema.ts';
import { createOutbound } from '../core/delivery/outbound.ts';
import { signatureHeaders } from '../core/delivery/signature.ts';
import { accountOf } from './helpers/accounts.ts';
import { earshot } from './helpers/cli.ts';
import { freePort } from './helpers/free-port.ts';
import { countingStt, openHouse } from './helpers/house.ts';

const ROOT = join(import.meta.dirname, '..');
const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));

/** Lines in fences for the shell. */
const examples = [...readme.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block = '']) =>
  block.trim().split('\n'),
);
const commands = [...readme.matchAll(/npx earshot ([^`\n|]*)/g)].map(([, args = '']) =>
  args.trim().split(/\s+/),
);

test('every script that the README names exists', t => {
  const named = [...readme.matchAll(/npm (?:run )?(start|test|(?<=run )\w+)/g)].map(([, name = '']) => name);
  t.true(named.length >= 5);
  for (const name of named) t.true(Object.hasOwn(scripts, name), name);
});

test('every command and option that the README names exists', async t => {
  t.true(commands.length >= 10);
  const named = new Map<string, Set<string>>();
  for (const args of commands.filter(([name]) => name !== '<command>')) {
    const words = args.slice(0, ['user', 'models', 'app'].includes(args[0] ?? '') ? 2 : 1).join(' ');
    const options = named.get(words) ?? new Set();
    for (const option of args.filter(arg => arg.startsWith('--'))) options.add(option);
    named.set(words, options);
  }
  for (const [words, options] of named) {
    const { code, stdout } = await earshot([...words.split(' '), '--help']);
    t.is(code, 0, words);
    t.true(stdout.startsWith(`Usage: earshot ${words}`), words);
    for (const option of options) t.true(stdout.includes(option), `${words} ${option}`);
  }
});

test('everything that the README links to is there', t => {
  const targets = [...readme.matchAll(/\]\(([^)#]+)\)/g)].map(([, target = '']) => target);
  t.true(targets.length > 10);
  for (const target of targets.filter(target => !target.startsWith('http'))) {
    t.true(existsSync(join(ROOT, target)), target);
  }
});

test('every setting that the README names exists', t => {
  const known = keysOf(ConfigSchema).map(({ path }) => path.join('.'));
  const named = [...readme.matchAll(/`((?:listen|bridge|log|metrics|rateLimits|delivery)\.\w+)`/g)].map(
    ([, name = '']) => name,
  );
  t.true(named.length >= 8);
  for (const name of named) t.true(known.includes(name), name);
});

test("the README's program runs as it stands, wherever the server is", async t => {
  const house = await openHouse(t, countingStt());
  const owner = await accountOf(house, 'owner');
  await owner.post('/v1/dev/user/conversations', { text: 'Tea with Eve.' });
  const [, text = '', program = ''] =
    /`API_KEY` from `npx earshot ([^`]+)`.*?^```js\n(.*?)^```$/ms.exec(readme) ?? [];
  const { stdout: key } = await earshot(text.split(' '), { EARSHOT_DATA_DIR: house.dataDir });
  const file = join(house.dataDir, 'program.mjs');
  await writeFile(file, program);
  const run = async (apiKey: string) => {
    const env = { BASE_URL: house.url, API_KEY: apiKey };
    return promisify(execFile)(process.execPath, [file], { env });
  };
  const { stdout } = await run(key.trim());
  t.regex(stdout, /^\S+Z \S[^\n]*\nTo do: Call Eve back\n$/);
  t.deepEqual(
    (await owner.get('/v1/dev/user/action-items')).map(({ description }) => description),
    ['Call Eve back'],
  );
  await t.throwsAsync(run('omi_dev_0'), { message: /401: "Unknown or revoked API key/ });
});

test("the README's receiver of webhooks knows ours, and no other", async t => {
  const program = /^```js\n(import [^`]*'standardwebhooks'.*?)^```$/ms.exec(readme)?.[1] ?? '';
  const dir = await mkdtemp(join(tmpdir(), 'earshot-receiver-'));
  t.teardown(() => rm(dir, { recursive: true }));
  await symlink(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
  await writeFile(join(dir, 'receiver.mjs'), program);
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const port = await freePort();
  const env = { WEBHOOK_SECRET: secret, PORT: String(port) };
  const receiver = spawn(process.execPath, [join(dir, 'receiver.mjs')], { env, stdio: 'inherit' });
  t.teardown(() => receiver.kill());
  const outbound = createOutbound({ allowHosts: ['127.0.0.1'], clock: { now: Date.now } });
  t.teardown(() => outbound.close());

  async function send(text: string, secretOfSender: string) {
    const message = { id: randomUUID(), body: JSON.stringify({ session_id: 'c1', segments: [{ text }] }) };
    const hook = { secret: secretOfSender, oldSecret: null, oldSecretUntil: null };
    const headers = signatureHeaders(hook, message, Date.now());
    const request = { headers, body: message.body, signal: new AbortController().signal };
    for (;;) {
      const posted = await outbound.post(`http://127.0.0.1:${port}/`, request);
      if (posted.status !== null) return `${posted.status} ${Buffer.from(posted.body)}`;
      await sleep(20); // it is starting, and does not say when it is done
    }
  }
  t.is(await send('The plants look sad', secret), '200 {"message":"They want water"}');
  t.is(await send('Good morning', secret), '200 {}');
  t.is(await send('The plants look sad', `whsec_${randomBytes(32).toString('base64')}`), '401 ');
});

test("the README's examples run as they stand", async t => {
  const house = await openHouse(t, countingStt());
  let key = '';
  for (const example of examples) {
    const [, args] = /^npx earshot (.*)$/.exec(example) ?? [];
    if (args && !args.startsWith('bridge')) {
      const { code, stdout, stderr } = await earshot(args.split(' '), { EARSHOT_DATA_DIR: house.dataDir });
      t.is(code, 0, `${example}: ${stderr}`);
      if (args.startsWith('key ')) key = stdout.trim();
    }
    const [, url] = /^curl -H "Authorization: Bearer \$KEY" '([^']+)'$/.exec(example) ?? [];
    if (url) {
      const path = url.replace('http://127.0.0.1:8420', '');
      const response = await fetch(house.url + path, { headers: { authorization: `Bearer ${key}` } });
      t.is(response.status, 200, example);
    }
    t.true(
      Boolean(args ?? url) || /^npm (run demo|start|test)$/.test(example),
      `${example} is tried by no test`,
    );
  }
});
