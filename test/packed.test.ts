import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import {
  execute,
  installTarball,
  openWorkplace,
  ROOT,
  type Workplace,
  whyNoPackages,
} from './helpers/packed.ts';
import { isThorough } from './helpers/thorough.ts';

interface Tarball {
  filename: string;
  version: string;
  size: number;
  files: { path: string }[];
}

const obstacle = await whyNoPackages();
const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
const workplace = await openWorkplace();
const outside = join(workplace.dir, '..');
test.after.always(() => workplace.remove());

/** `npm pack` of this checkout. */
async function pack(...more: string[]): Promise<Tarball> {
  const args = ['pack', '--json', '--loglevel', 'silent', '--pack-destination', outside, ...more];
  const { code, stdout, stderr } = await execute('npm', args, { cwd: ROOT });
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout)[0];
}

const packed = pack();
let installation: Promise<Workplace> | null = null;

/** The package in an empty folder, for all tests together. */
function installed(t: ExecutionContext): Promise<Workplace> {
  installation ??= packed.then(async ({ filename }) => {
    const tarball = join(outside, filename);
    t.is(await installTarball(workplace, tarball), null);
    return workplace;
  });
  return installation;
}

const testInstalled = obstacle === null ? test : test.skip;

test('packages can be installed, or this is not CI and the tests of an installed one are skipped', t => {
  if (obstacle !== null) t.log(`SKIPPED: all tests of an installed Earshot. ${obstacle}`);
  t.falsy(obstacle !== null && process.env.CI, obstacle ?? '');
});

test(`npm pack contains JavaScript, models and notices${isThorough ? ', repeatedly' : ''}, and leaves nothing behind`, async t => {
  const { files, version, size } = await packed;
  t.log(`${Math.round(size / 1000)} kB`);
  const paths = files.map(({ path }) => path);
  if (isThorough)
    t.deepEqual(
      (await pack('--dry-run')).files.map(({ path }) => path),
      paths,
    );
  t.false(existsSync(join(ROOT, 'build')));
  t.is(version, manifest.version);
  t.deepEqual(
    paths.filter(path => /(?<!\.d)\.tsx?$|\.d\.mts$|^test|^build\/test|^earshot\.yaml/.test(path)),
    [],
  );
  for (const path of [
    'LICENSE',
    'config/example.yaml',
    'plugins/README.md',
    'docs/install.md',
    'build/bridge/simulator/recording.wav',
    'build/bridge/vendor/noble/LICENSE',
    'build/config/models.json',
    'build/config/setup.mjs',
    'build/plugins/page/dashboard/built/index.html',
    'build/plugins/storage/sql/migrations/0001-first.js',
    'build/plugins/vad/silero/LICENSE',
  ])
    t.true(paths.includes(path), path);
});

testInstalled('an installed Earshot is complete without the checkout', async t => {
  const { dir, run } = await installed(t);
  const home = await realpath(join(dir, 'node_modules/earshot'));
  t.true(home.startsWith(dir));
  for (const entry of await readdir(home, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    t.false((await readFile(file, 'latin1')).includes(ROOT), file);
  }
  const help = await run('npx', ['earshot', '--help']);
  t.is(help.code, 0, help.stderr);
  t.regex(help.stdout, /^Usage: earshot .* serve .* demo /s);
  t.is((await run('npx', ['earshot', '--version'])).stdout.trim(), manifest.version);
  const setup = await run('npx', ['earshot', 'setup'], { EARSHOT_STT: '[]' });
  t.is(setup.code, 0, setup.stderr);
  t.regex(setup.stderr, /^No speech recogniser is configured: nothing will be transcribed/m);
});

/** `demo.test.ts` plays the demo of a checkout. */
async function playDemo(t: ExecutionContext): Promise<void> {
  const { run } = await installed(t);
  const { code, stdout, stderr } = await run('npx', [
    'earshot',
    'demo',
    '--exit',
    '--json',
    '--limit',
    '240',
  ]);
  t.is(code, 0, stderr);
  const events = stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line));
  const { event, conversation } = events.at(-1);
  t.is(event, 'conversation');
  t.is(conversation.status, 'completed');
  const text = conversation.transcript_segments.map((segment: { text: string }) => segment.text).join(' ');
  t.regex(text, /Good morning.*doctor tomorrow.*bread and milk/);
}

if (isThorough) testInstalled('its demo runs completely', playDemo);

testInstalled('its server serves, keeps its data where it was started, and exits cleanly', async t => {
  const { dir, run, start } = await installed(t);
  const command = join(dir, 'node_modules/.bin/earshot');
  const server = start(command, ['serve'], { EARSHOT_PORT: '0' });
  t.teardown(() => server.kill('SIGKILL'));
  const ended = once(server, 'exit');
  const url = await untilListening(() => run(command, ['status', '--json']));
  for (const path of ['/healthz', '/openapi.json', '/docs', '/docs/swagger-ui-bundle.js'])
    t.is((await fetch(url + path)).status, 200, path);
  t.true(existsSync(join(dir, 'data/earshot.db')));
  server.kill('SIGTERM');
  t.deepEqual(await ended, [0, null]);
});

async function untilListening(status: () => Promise<{ stdout: string }>): Promise<string> {
  for (;;) {
    const { stdout } = await status();
    const url = /"url":"([^"]+)"/.exec(stdout)?.[1];
    if (url) return url;
    await sleep(100);
  }
}

testInstalled('its types serve authors of plugins and drivers', async t => {
  const { dir } = await installed(t);
  await mkdir(join(dir, 'types'));
  const manual = await readFile(join(ROOT, 'plugins/README.md'), 'utf8');
  const [, documented = ''] = /`npx tsc (--noEmit [^`]+) acme-stt\.mts`/.exec(manual) ?? [];
  const options = documented.split(/\s+/);
  t.true(options.includes('--erasableSyntaxOnly'));
  const check = async (sources: Record<string, string>) => {
    const files = Object.keys(sources).map(name => join(dir, 'types', name));
    for (const [name, source] of Object.entries(sources)) await writeFile(join(dir, 'types', name), source);
    const typeRoots = ['--typeRoots', join(ROOT, 'node_modules/@types')];
    return execute(join(ROOT, 'node_modules/.bin/tsc'), [...options, ...typeRoots, ...files], { cwd: dir });
  };
  const plugin = (title: string) => `
    import type { Plugin } from 'earshot/plugin';
    import type { Driver } from 'earshot/driver';
    export const minMtu: NonNullable<Driver['stream']>['minMtu'] = 100;
    export default {
      name: 'acme', api: 1, title: ${title},
      options: z => z.object({ words: z.string() }),
      setup({ options, log }) {
        log.info(options.words);
        return {};
      },
    } satisfies Plugin<{ words: string }>;`;
  const suites = [...manual.matchAll(/\| `(\w+Checks)` \| `([\w-]+)` \|$/gm)];
  t.true(suites.length >= 15);
  const imports = suites.map(
    ([, checks, name]) => `export { ${checks} } from 'earshot/conformance/${name}';`,
  );
  const [useOfKit = ''] = manual.match(/^import \{.*\} from 'earshot\/kit';$/m) ?? [];
  t.regex(useOfKit, /postJson/);
  const [, sample = ''] = /^```ts\n(.*?)^```$/ms.exec(manual) ?? [];
  t.regex(sample, /^import type .* from 'earshot\/plugin';$/m);
  const ofBridge = await readFile(join(ROOT, 'bridge/README.md'), 'utf8');
  const [, recorder = ''] = /^```ts\n(.*?)^```$/ms.exec(ofBridge) ?? [];
  t.regex(recorder, /^import type .* from 'earshot\/driver';$/m);
  const useOfSuite = `
    import { type DriverSubject, driverChecks, parseTrace } from 'earshot/conformance/driver';
    export const check = (driver: DriverSubject['driver'], text: string) =>
      Promise.all(driverChecks.map(({ run }) => run({ driver, trace: parseTrace(text) })));`;
  const { stdout } = await check({
    'acme-stt.mts': sample,
    'right.mts': [...imports, useOfKit, plugin("'Acme'")].join('\n'),
    'recorder.mts': `${recorder}${useOfSuite}`,
    'wrong.mts': plugin('7'),
  });
  const errors = stdout.split('\n').filter(line => line.includes(': error '));
  t.is(errors.length, 1, stdout);
  t.regex(errors[0] ?? '', /wrong\.mts\(\d+,\d+\): error TS2322: .*number/);
});
