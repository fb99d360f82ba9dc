import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { answerWithRanges, breakHalfway, serveFiles } from '../helpers/file-server.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MODEL = 'test-model';
const BYTES = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * 7919) % 251));
const TOKENS = Buffer.from('<blk> 0\n');

interface Checkout {
  directory: string;
  /** Returns the calls of the stand-in for the system's package manager. */
  aptCalls(): Promise<string[]>;
  model(name: string): string;
  setup(env?: Record<string, string>, args?: string[]): Promise<{ code: number; said: string; out: string }>;
}

/** Creates a checkout with the real setup script, whose only model is at `origin`. */
async function checkout(
  t: ExecutionContext,
  origin: string,
  options: { apt?: string } = {},
): Promise<Checkout> {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-setup-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  await cp(join(ROOT, 'config/setup.mjs'), join(directory, 'config/setup.mjs'));
  await cp(join(ROOT, 'config/setup'), join(directory, 'config/setup'), { recursive: true });
  await writeFile(join(directory, 'config/models.json'), JSON.stringify(catalogue(origin)));
  await writeFile(
    join(directory, 'package.json'),
    '{ "name": "checkout", "version": "1.0.0", "type": "module" }',
  );
  await writeFile(join(directory, 'package-lock.json'), '{ "lockfileVersion": 3, "packages": {} }');
  await mkdir(join(directory, 'node_modules'));
  await writeFile(join(directory, 'node_modules/.package-lock.json'), '{ "packages": {} }');
  const bin = join(directory, 'bin');
  const aptLog = join(directory, 'apt.log');
  await writeProgram(
    join(bin, 'apt-get'),
    `echo "$@" >> "${aptLog}"\n${options.apt ?? 'echo "E: no such package" >&2; exit 1'}`,
  );

  return {
    directory,
    aptCalls: async () => (existsSync(aptLog) ? (await readFile(aptLog, 'utf8')).trim().split('\n') : []),
    model: name => join(directory, 'data/plugins/sherpa-onnx', MODEL, name),
    setup: (env = {}, args = []) =>
      execute(process.execPath, [join(directory, 'config/setup.mjs'), ...args], directory, {
        PATH: `${bin}:${process.env.PATH}`,
        HOME: directory,
        npm_config_cache: join(directory, '.npm'),
        npm_lifecycle_event: 'prestart',
        EARSHOT_PLUGINS__POCKETSPHINX__HMM: join(directory, 'no-such-model'),
        ...env,
      }),
  };
}

function catalogue(origin: string) {
  const file = (name: string, bytes: Buffer) => ({
    name,
    url: `${origin}/${name}`,
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  });
  const files = { model: file('model.onnx', BYTES), tokens: file('tokens.txt', TOKENS) };
  const model = { plugin: 'sherpa-onnx', kind: 'nemo-ctc', languages: ['en'], licence: 'MIT', files };
  return { defaults: { 'sherpa-onnx': MODEL }, models: { [MODEL]: model } };
}

async function writeProgram(path: string, script: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
}

function execute(command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv) {
  return new Promise<{ code: number; said: string; out: string }>(resolve => {
    execFile(command, args, { cwd, env }, (error, out, said) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, out, said });
    });
  });
}

const FILES = { '/model.onnx': BYTES, '/tokens.txt': TOKENS };

test('fetches the model, and prints nothing once everything exists', async t => {
  const { origin, asked } = await serveFiles(t, FILES);
  const { model, setup } = await checkout(t, origin);
  const first = await setup();
  t.is(first.code, 0);
  t.is(first.out, '');
  t.regex(
    first.said,
    /^Fetching the speech model test-model .* from 127\.0\.0\.1:\d+ …\nThe speech model test-model is ready\n$/,
  );
  t.true(BYTES.equals(await readFile(model('model.onnx'))));
  t.deepEqual(await readFile(model('tokens.txt')), TOKENS);
  t.deepEqual(await setup(), { code: 0, out: '', said: '' });
  t.deepEqual(asked, ['/model.onnx all', '/tokens.txt all']);
});

test('resumes after a broken connection, within a run and in the next one', async t => {
  let broken = true;
  const { origin, asked } = await serveFiles(t, FILES, (...request) =>
    (broken ? breakHalfway : answerWithRanges)(...request),
  );
  const { model, setup } = await checkout(t, origin);
  const first = await setup();
  t.is(first.code, 0);
  t.regex(first.said, /could not be fetched: /);
  t.false(existsSync(model('model.onnx')));
  t.regex(first.said, /The next start goes on from there/);
  broken = false;
  const second = await setup();
  t.is(second.code, 0);
  t.true(BYTES.equals(await readFile(model('model.onnx'))));
  t.false(existsSync(`${model('model.onnx')}.part`));
  t.is(asked[0], '/model.onnx all');
  t.is(asked.at(-1), '/tokens.txt all');
  const rest = asked.slice(1, -1);
  t.true(rest.length >= 2);
  t.true(
    rest.every(line => /^\/model\.onnx bytes=[1-9]\d*-$/.test(line)),
    asked.join(', '),
  );
});

test('starts again if the server does not support partial downloads', async t => {
  const { origin } = await serveFiles(t, FILES, (_request, response, body) => response.end(body));
  const { directory, model, setup } = await checkout(t, origin);
  await mkdir(join(directory, 'data/plugins/sherpa-onnx', MODEL), { recursive: true });
  await writeFile(`${model('model.onnx')}.part`, 'something else');
  t.is((await setup()).code, 0);
  t.true(BYTES.equals(await readFile(model('model.onnx'))));
});

test('discards a download with a wrong checksum, and does not retry the same day', async t => {
  const { origin, asked } = await serveFiles(t, FILES, (_request, response, body) =>
    response.end(Buffer.alloc(body.length)),
  );
  const { model, setup } = await checkout(t, origin);
  const first = await setup();
  t.is(first.code, 0);
  t.regex(
    first.said,
    /model\.onnx has the SHA-256 [0-9a-f]{64} instead of [0-9a-f]{64}\. The next try is in a day/,
  );
  t.false(existsSync(model('model.onnx')));
  t.false(existsSync(`${model('model.onnx')}.part`));
  const second = await setup();
  t.is(second.code, 0);
  t.notRegex(second.said, /Fetching/);
  t.is(asked.length, 1);
});

test('stops reading a file that is longer than expected', async t => {
  const { origin } = await serveFiles(t, FILES, (_request, response) => response.end(Buffer.alloc(300_000)));
  const { setup } = await checkout(t, origin);
  t.regex((await setup()).said, /model\.onnx has more than 200000 bytes/);
});

test("reports the server's response, and how to download manually", async t => {
  const { origin } = await serveFiles(t, FILES, (_request, response) => response.writeHead(404).end());
  const { setup } = await checkout(t, origin);
  const { code, said } = await setup();
  t.is(code, 0);
  t.regex(said, /model\.onnx answered with 404.*npx earshot models pull test-model\n/);
});

test('starts without a model if the server is unreachable', async t => {
  const { setup } = await checkout(t, 'http://127.0.0.1:1');
  const { code, said } = await setup();
  t.is(code, 0);
  t.regex(said, /127\.0\.0\.1:1 cannot be reached: /);
  t.regex(
    said,
    /No speech recogniser is ready on this machine; make one ready with: npx earshot models pull/,
  );
});

test('gives up after three seconds on a server that accepts the connection and stays silent', async t => {
  const silent = createTcpServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.teardown(() => silent.close());
  const { setup } = await checkout(t, `https://127.0.0.1:${(silent.address() as AddressInfo).port}`);
  const { code, said } = await setup();
  t.is(code, 0);
  t.regex(said, /did not answer within 3 s/);
});

test('fetches nothing in CI or when configured as offline', async t => {
  const { origin, asked } = await serveFiles(t, FILES);
  const { aptCalls, setup } = await checkout(t, origin);
  t.is((await setup({ EARSHOT_OFFLINE: '1' })).code, 0);
  t.deepEqual(await aptCalls(), []);
  t.is((await setup({ CI: 'true' })).code, 0);
  t.deepEqual(asked, []);
});

test('leaves pocketsphinx alone before tests and the demo, and looks for a better recogniser before a start', async t => {
  const { origin, asked } = await serveFiles(t, FILES);
  const { directory, setup } = await checkout(t, origin);
  const names = ['library', 'hmm', 'lm', 'dict'];
  for (const name of names) await writeFile(join(directory, name), '');
  const env = Object.fromEntries(
    names.map(name => [`EARSHOT_PLUGINS__POCKETSPHINX__${name.toUpperCase()}`, join(directory, name)]),
  );
  t.deepEqual(await setup({ ...env, npm_lifecycle_event: 'pretest' }), { code: 0, out: '', said: '' });
  t.deepEqual(await setup({ ...env, npm_lifecycle_event: 'predemo' }), { code: 0, out: '', said: '' });
  t.deepEqual(asked, []);
  t.is((await setup(env)).code, 0);
  t.is(asked.length, 2);
});

test('retries a failed download when a recogniser is requested, and its status tells whether one exists', async t => {
  let isUp = false;
  const { origin } = await serveFiles(t, FILES, (request, response, body) =>
    isUp ? answerWithRanges(request, response, body) : void response.writeHead(503).end(),
  );
  const { directory, setup } = await checkout(t, origin);
  await rm(join(directory, 'package-lock.json')); // as in an installed package
  const failed = await setup({}, ['--recogniser']);
  t.is(failed.code, 1);
  t.regex(failed.said, /answered with 503\. Once more: npx earshot models pull test-model/);
  isUp = true;
  const ready = await setup({}, ['--recogniser']);
  t.is(ready.code, 0, ready.said);
  t.regex(ready.said, /The speech model test-model is ready\nNothing is left to make ready\n$/);
});

test('if the model cannot be fetched and pocketsphinx exists, reports which one is used, and no success', async t => {
  const { origin } = await serveFiles(t, FILES, (_request, response) => void response.writeHead(503).end());
  const { directory, setup } = await checkout(t, origin);
  const names = ['library', 'hmm', 'lm', 'dict'];
  for (const name of names) await writeFile(join(directory, name), '');
  const env = Object.fromEntries(
    names.map(name => [`EARSHOT_PLUGINS__POCKETSPHINX__${name.toUpperCase()}`, join(directory, name)]),
  );
  const { code, said } = await setup(env, ['--recogniser']);
  t.is(code, 0);
  t.regex(
    said,
    /could not be fetched: .*\. Once more: npx earshot models pull test-model\nUntil the speech model/,
  );
  t.notRegex(said, /Nothing is left/);
  const elsewhere = await setup({ ...env, EARSHOT_DATA_DIR: 'state' }, ['--recogniser']);
  t.regex(elsewhere.said, /models pull test-model --data-dir \/.*\/state\n/);
});

test('reads from the configuration file where the model goes, and whether one is wanted', async t => {
  const { origin, asked } = await serveFiles(t, FILES);
  const { directory, setup } = await checkout(t, origin);
  await symlink(join(ROOT, 'node_modules/yaml'), join(directory, 'node_modules/yaml'));
  await writeFile(join(directory, 'earshot.yaml'), 'dataDir: ./state\n');
  t.is((await setup()).code, 0);
  t.true(existsSync(join(directory, 'state/plugins/sherpa-onnx', MODEL, 'tokens.txt')));
  await writeFile(join(directory, 'other.yaml'), 'dataDir: ./none\nstt: [someone-elses]\n');
  t.deepEqual(await setup({ EARSHOT_CONFIG: 'other.yaml' }), { code: 0, out: '', said: '' });
  t.is(asked.length, 2);
  const others = await setup({ EARSHOT_CONFIG: 'other.yaml' }, ['--recogniser']);
  t.is(others.code, 0);
  t.regex(
    others.said,
    /^The configured speech recognisers \(someone-elses\) are not made ready by this command; npx earshot status/,
  );
  const none = await setup({ EARSHOT_STT: '[]' }, ['--recogniser']);
  t.is(none.code, 0);
  t.regex(
    none.said,
    /^No speech recogniser is configured: nothing will be transcribed\. .*stt: \[sherpa-onnx/,
  );
});

const isRootOnDebian = process.getuid?.() === 0 && existsSync('/etc/debian_version');
const testAsRoot = isRootOnDebian ? test : test.skip;

testAsRoot(
  'as root on Debian installs pocketsphinx when no model is available, after an update of the package lists',
  async t => {
    const apt = `case "$*" in
    *update*) touch lists ;;
    *install*) [ -f lists ] && touch no-such-model ;;
  esac`;
    const { aptCalls, directory, setup } = await checkout(t, 'http://127.0.0.1:1', {
      apt: `cd "$HOME"; ${apt}`,
    });
    for (const name of ['library', 'lm', 'dict']) await writeFile(join(directory, name), '');
    const { code, said } = await setup({
      EARSHOT_PLUGINS__POCKETSPHINX__LIBRARY: join(directory, 'library'),
      EARSHOT_PLUGINS__POCKETSPHINX__LM: join(directory, 'lm'),
      EARSHOT_PLUGINS__POCKETSPHINX__DICT: join(directory, 'dict'),
    });
    t.is(code, 0);
    t.regex(said, /pocketsphinx is installed\n$/);
    const calls = await aptCalls();
    t.is(calls.length, 3);
    t.regex(calls[0] ?? '', / install -y --no-install-recommends libpocketsphinx3 pocketsphinx-en-us$/);
    t.regex(calls[1] ?? '', / update$/);
  },
);

testAsRoot('does not retry a failed installation on the same day', async t => {
  const { aptCalls, setup } = await checkout(t, 'http://127.0.0.1:1');
  t.regex(
    (await setup()).said,
    /pocketsphinx could not be installed: E: no such package\. The next try is in a day/,
  );
  const calls = (await aptCalls()).length;
  t.regex((await setup()).said, /^No speech recogniser is ready/);
  t.is((await aptCalls()).length, calls);
});

test('installs the packages of the lockfile only when they differ', async t => {
  const { directory, setup } = await checkout(t, 'http://127.0.0.1:1');
  const env = { EARSHOT_STT: '[]' };
  await rm(join(directory, 'node_modules'), { recursive: true });
  await lock(directory, '1.0.0');
  const first = await setup(env);
  t.is(first.code, 0, first.said);
  t.is(first.out, '');
  t.regex(
    first.said,
    /^Installing packages \(npm ci\), as none are installed …\nInstalled packages in \d+ s\n$/,
  );
  t.deepEqual(await setup(env), { code: 0, out: '', said: '' });

  await lock(directory, '2.0.0');
  t.regex(
    (await setup(env)).said,
    /^Installing packages \(npm ci\), as tiny is not as in package-lock\.json/,
  );
  const tiny = JSON.parse(await readFile(join(directory, 'node_modules/tiny/package.json'), 'utf8'));
  t.is(tiny.version, '2.0.0');

  await lock(directory, '3.0.0');
  await execute('npm', ['ci', '--offline'], directory, {
    ...process.env,
    npm_config_cache: join(directory, '.npm'),
  });
  t.deepEqual(await setup(env), { code: 0, out: '', said: '' });
});

test('stops with the reason when the packages cannot be installed', async t => {
  const { directory, setup } = await checkout(t, 'http://127.0.0.1:1');
  await lock(directory, '1.0.0', 'sha512-AAAA');
  const { code, out, said } = await setup();
  t.is(code, 1);
  t.is(out, '');
  t.regex(said, /npm ci failed:\n.*EINTEGRITY/s);
});

/** Creates a package of that version, and a lockfile that requires it. */
async function lock(directory: string, version: string, wrong?: string): Promise<void> {
  const source = join(directory, `tiny-${version}`);
  await mkdir(source, { recursive: true });
  await writeFile(join(source, 'package.json'), JSON.stringify({ name: 'tiny', version }));
  const archive = `tiny-${version}.tgz`;
  await execute(
    'tar',
    ['czf', archive, '--transform', 's,^[^/]*,package,', `tiny-${version}`],
    directory,
    process.env,
  );
  const digest = createHash('sha512').update(await readFile(join(directory, archive)));
  const root = { name: 'checkout', version: '1.0.0', dependencies: { tiny: `file:${archive}` } };
  const entry = {
    version,
    resolved: `file:${archive}`,
    integrity: wrong ?? `sha512-${digest.digest('base64')}`,
  };
  await writeFile(join(directory, 'package.json'), JSON.stringify({ ...root, type: 'module' }));
  await writeFile(
    join(directory, 'package-lock.json'),
    JSON.stringify({ ...root, lockfileVersion: 3, packages: { '': root, 'node_modules/tiny': entry } }),
  );
}
