import { execFile, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, globSync } from 'node:fs';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { keysOf } from '../config/keys.ts';
import { ConfigSchema } from '../config/schema.ts';
import { SERVICE_DIRECTORY } from '../core/cli/data-directory.ts';
import { createOutbound } from '../core/delivery/outbound.ts';
import { signatureHeaders } from '../core/delivery/signature.ts';
import { accountOf } from './helpers/accounts.ts';
import { command, earshot } from './helpers/cli.ts';
import { helpOf } from './helpers/command-help.ts';
import { freePort } from './helpers/free-port.ts';
import { countingStt, openServer } from './helpers/services.ts';

const ROOT = join(import.meta.dirname, '..');
/** The documentation for users, by path. */
const pages = new Map<string, string>();
for (const path of [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...globSync('docs/*.md', { cwd: ROOT }).sort(),
])
  pages.set(path, await readFile(join(ROOT, path), 'utf8'));
const manual = [...pages.values()].join('\n');
const page = (path: string) => pages.get(path) ?? '';
const { scripts, version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));

/** Lines in code blocks for the shell. */
const examplesOf = (text: string) =>
  [...text.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block = '']) => block.trim().split('\n'));
const commands = [...manual.matchAll(/npx earshot ([^`\n|]*)/g)].map(([, args = '']) =>
  args.trim().split(/\s+/),
);
const GROUPS = new Map([
  ...['user', 'models', 'app', 'hook', 'notify', 'calendar', 'system', 'plugin'].map(
    group => [group, /./] as const,
  ),
  ['key', /^(list|rotate|revoke)$/],
  ['backup', /^(list|key)$/],
  ['bridge', /^(pair|board|doctor)$/],
]);

test('every script that the documentation names exists', t => {
  const named = [...manual.matchAll(/npm (?:run )?(start|test|(?<=run )[\w:-]+)/g)].map(
    ([, name = '']) => name,
  );
  t.true(named.length >= 5);
  for (const name of named) t.true(Object.hasOwn(scripts, name), name);
});

test('every command and option that the documentation names exists', t => {
  t.true(commands.length >= 50);
  const named = new Map<string, Set<string>>();
  for (const args of commands.filter(([name]) => name !== '<command>')) {
    const [name = '', second = ''] = args.map(arg => arg.replace(/[.,;:)]+$/, ''));
    const isCommand = /^\w/.test(name); // otherwise an option of the program itself
    const words = GROUPS.get(name)?.test(second) ? `${name} ${second}` : isCommand ? name : '';
    const options = named.get(words) ?? new Set();
    for (const option of args.filter(arg => arg.startsWith('--'))) options.add(option);
    named.set(words, options);
  }
  const forAll = helpOf([]);
  for (const [words, options] of named) {
    const help = helpOf(words.split(' ').filter(word => word !== ''));
    t.true(help.startsWith(`Usage: earshot ${words}`.trimEnd()), words);
    for (const option of options) t.true((help + forAll).includes(option), `${words} ${option}`);
  }
  t.throws(() => helpOf(['key', 'lend']), { message: /no command key lend/ });
});

test('every page and heading that the documentation links to exists', async t => {
  let links = 0;
  for (const [path, text] of [...pages, ...(await manualsOf('plugins', 'bridge'))]) {
    for (const [, target = '', heading] of text.matchAll(/\]\(([^)#]*)(?:#([^)]+))?\)/g)) {
      if (target.startsWith('http')) continue;
      const file = target === '' ? join(ROOT, path) : join(ROOT, dirname(path), target);
      t.true(existsSync(file), `${path}: ${target}`);
      if (heading) t.true(headingsOf(await readFile(file, 'utf8')).includes(heading), `${path}: #${heading}`);
      links += 1;
    }
  }
  t.true(links > 60, `${links} links`);
});

/** The README files next to the sources. */
function manualsOf(...folders: string[]) {
  const paths = folders.map(folder => `${folder}/README.md`);
  return Promise.all(paths.map(async path => [path, await readFile(join(ROOT, path), 'utf8')] as const));
}

/** Anchors as GitHub generates them from headings. */
function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test('README.md lists every page', t => {
  for (const path of pages.keys())
    if (path !== 'README.md') t.true(page('README.md').includes(`](${path})`), path);
});

test('every setting that the documentation names exists', t => {
  const known = keysOf(ConfigSchema).map(({ path }) => path.join('.'));
  const named = [
    ...manual.matchAll(/`((?:listen|bridge|log|metrics|rateLimits|delivery|notifications)\.\w+)`/g),
  ].map(([, name = '']) => name);
  t.true(named.length >= 60, `${named.length} settings`);
  for (const name of named)
    t.true(known.some(key => key === name || key.startsWith(`${name}.`)) || name === 'bridge.keyFile', name);
});

const PROGRAMS = [
  {
    language: 'js',
    file: 'program.mjs',
    runtime: process.execPath,
    refusal: /401: "Unknown or revoked API key/,
  },
  { language: 'python', file: 'program.py', runtime: 'python3', refusal: /HTTP Error 401/ },
];

for (const { language, file, runtime, refusal } of PROGRAMS)
  test(`the documented ${language} program runs unchanged, wherever the server is`, async t => {
    const started = await promisify(execFile)(runtime, ['--version']).catch(() => null);
    if (!started) return t.log(`SKIPPED: there is no ${runtime}`);
    const instance = await openServer(t, countingStt());
    const owner = await accountOf(instance, 'owner');
    await owner.post('/v1/dev/user/conversations', { text: 'Tea with Eve.' });
    const apps = page('docs/apps.md');
    const [, text = ''] = /`API_KEY` from `npx earshot ([^`]+)`/.exec(apps) ?? [];
    const [, program = ''] = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(apps) ?? [];
    const { stdout: key } = await earshot(text.split(' '), { EARSHOT_DATA_DIR: instance.dataDir });
    const path = join(instance.dataDir, file);
    await writeFile(path, program);
    const run = async (apiKey: string) => {
      const env = { PATH: process.env.PATH, HOME: process.env.HOME, BASE_URL: instance.url, API_KEY: apiKey };
      return promisify(execFile)(runtime, [path], { env });
    };
    const { stdout } = await run(key.trim());
    t.regex(stdout, /^\S+Z \S[^\n]*\nTo do: Call Eve back\n$/);
    t.deepEqual(
      (await owner.get('/v1/dev/user/action-items')).map(({ description }) => description),
      ['Call Eve back'],
    );
    await t.throwsAsync(run('omi_dev_0'), { message: refusal });
  });

test('the documentation names the version, and the directory of the service', t => {
  const named = [...manual.matchAll(/\.\/earshot(?:-bridge)?-(\d+\.\d+\.\d+)\.tgz/g)].map(([, each]) => each);
  t.true(named.length > 5);
  t.deepEqual(
    named.filter(each => each !== version && each !== '0.2.0'),
    [],
    '0.2.0 stands for the next version in the page on updates',
  );
  const [, unit = ''] = /^```ini\n(.*?)^```$/ms.exec(page('docs/systemd.md')) ?? [];
  t.true(unit.includes(`serve --data-dir ${SERVICE_DIRECTORY}\n`));
});

/** Runs a documented receiver with a secret; resolves to a function that sends to it. */
async function startReceiver(t: ExecutionContext, program: string, secret: string) {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-receiver-'));
  t.teardown(() => rm(dir, { recursive: true }));
  await symlink(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
  await writeFile(join(dir, 'receiver.mjs'), program);
  const port = await freePort();
  const env = { WEBHOOK_SECRET: secret, PORT: String(port) };
  const stdio = ['inherit', 'pipe', 'inherit'] as const;
  const receiver = spawn(process.execPath, [join(dir, 'receiver.mjs')], { env, stdio: [...stdio] });
  t.teardown(() => receiver.kill());
  const outbound = createOutbound({ allowHosts: ['127.0.0.1'], clock: { now: Date.now } });
  t.teardown(() => outbound.close());

  async function send(body: string | Uint8Array, secretOfSender = secret, at = Date.now()) {
    const message = { id: randomUUID(), body };
    const hook = { secret: secretOfSender, oldSecret: newSecret(), oldSecretUntil: at + 1 };
    const headers = signatureHeaders(hook, message, at);
    const request = { headers, body: message.body, signal: new AbortController().signal };
    for (;;) {
      const posted = await outbound.post(`http://127.0.0.1:${port}/?sample_rate=16000`, request);
      if (posted.status !== null) return `${posted.status} ${Buffer.from(posted.body)}`;
      await sleep(20); // it is starting, and does not report when it is ready
    }
  }
  return { send, stdout: receiver.stdout };
}

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;

test('the documented webhook receiver accepts our requests, and no others', async t => {
  const program =
    /^```js\n(import [^`]*'standardwebhooks'.*?)^```$/ms.exec(page('docs/webhooks.md'))?.[1] ?? '';
  const { send } = await startReceiver(t, program, newSecret());
  const said = (text: string) => JSON.stringify({ session_id: 'c1', segments: [{ text }] });
  t.is(await send(said('The plants look sad')), '200 {"message":"They want water"}');
  t.is(await send(said('Good morning')), '200 {}');
  t.is(await send(said('The plants look sad'), newSecret()), '401 ');
});

test('the documented audio receiver accepts our requests byte for byte, and no others', async t => {
  const program = /^```js\n(\/\/ audio-receiver\.mjs\n.*?)^```$/ms.exec(page('docs/webhooks.md'))?.[1] ?? '';
  const secret = newSecret();
  const { send, stdout } = await startReceiver(t, program, secret);
  const sound = randomBytes(16_000); // almost certainly not text
  t.is(await send(sound), '200 ');
  t.is(String((await once(stdout as Readable, 'data'))[0]), '0.5 s of sound\n');
  t.is(await send(sound, newSecret()), '401 ');
  t.is(await send(sound, secret, Date.now() - 301_000), '401 ', 'an old one is refused');
});

for (const [path, text] of pages) {
  const examples = examplesOf(text);
  if (examples.length === 0) continue;
  test(`the examples of ${path} run unchanged`, async t => {
    const instance = await openServer(t, countingStt());
    const writes = examples.some(example => example.includes('owner.zip'));
    if (writes) t.teardown(() => rm(join(process.cwd(), 'owner.zip'), { force: true }));
    let key = '';
    for (const example of examples) {
      const [, args] = /^npx earshot (.*)$/.exec(example) ?? [];
      if (args && !args.startsWith('bridge')) {
        const { code, stdout, stderr } = await command(args.split(' '), {
          EARSHOT_DATA_DIR: instance.dataDir,
        });
        t.is(code, 0, `${example}: ${stderr}`);
        if (args.startsWith('key ')) key = stdout.trim();
      }
      const [, url] = /^curl -H "Authorization: Bearer \$KEY" '([^']+)'$/.exec(example) ?? [];
      if (url) {
        const target = instance.url + url.replace('http://127.0.0.1:8420', '');
        const response = await fetch(target, { headers: { authorization: `Bearer ${key}` } });
        t.is(response.status, 200, example);
      }
      t.true(
        Boolean(args ?? url) || /^npm (run demo|start|test)$/.test(example),
        `${example} is tried by no test`,
      );
    }
  });
}
