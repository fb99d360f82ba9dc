import { once } from 'node:events';
import { watch } from 'node:fs';
import { cp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { type ExecutionContext } from 'ava';
import { earshot } from './helpers/cli.ts';
import { coreProcess } from './helpers/core-process.ts';
import {
  execute,
  installTarball,
  openWorkplace,
  ROOT,
  type Workplace,
  whyNoPackages,
} from './helpers/packed.ts';
import { countingStt } from './helpers/services.ts';
import { isThorough } from './helpers/thorough.ts';

/** Packages that only the server needs. */
const HEAVY =
  /^(node|koa.*|@koa\/.*|better-sqlite3|knex|objection|pg|sherpa-onnx-.*|koffi|lc3codec|tsyringe|commander|@abandonware\/.*)$/;

const obstacle = await whyNoPackages();
const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
const workplace = await openWorkplace();
const outside = join(workplace.dir, '..');
test.after.always(() => workplace.remove());

let installation: Promise<Workplace> | null = null;

/** The package of the bridge in an empty folder, for all tests together. */
function installed(t: ExecutionContext): Promise<Workplace> {
  installation ??= install(t);
  return installation;
}

/**
 * The bridge's package, and in the thorough form the server's too, of a copy of this checkout, into which nothing else
 * writes. `packed.test.ts` packs the server.
 */
async function pack(t: ExecutionContext): Promise<void> {
  const copy = join(outside, 'checkout');
  const { stdout } = await execute('git', ['ls-files', '-z'], { cwd: ROOT });
  const tracked = stdout.split('\0').filter(path => path !== '' && !path.startsWith('test/'));
  for (const path of tracked) await cp(join(ROOT, path), join(copy, path));
  await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const written: (string | null)[] = [];
  const watcher = watch(copy, (_event, path) => written.push(path));
  const args = ['config/pack.mjs', isThorough ? 'all' : 'bridge', '--into', outside];
  const { code, stderr } = await execute(process.execPath, args, { cwd: copy });
  watcher.close();
  t.is(code, 0, stderr);
  t.deepEqual(written, [], 'the checkout stays as it is');
}

async function install(t: ExecutionContext): Promise<Workplace> {
  await pack(t);
  const tarball = join(outside, `earshot-bridge-${manifest.version}.tgz`);
  t.is(await installTarball(workplace, tarball), null);
  return workplace;
}

const testInstalled = obstacle === null ? test : test.skip;

test('packages can be installed, or this is not CI and the tests of an installed bridge are skipped', t => {
  if (obstacle !== null) t.log(`SKIPPED: all tests of an installed bridge. ${obstacle}`);
  t.falsy(obstacle !== null && process.env.CI, obstacle ?? '');
});

interface Event {
  event: string;
  [field: string]: unknown;
}

/** The installed command under our Node, as the machine's may be too old. */
async function startBridge(t: ExecutionContext, args: string[]) {
  const { dir, start } = await installed(t);
  const command = join(dir, 'node_modules/.bin/earshot-bridge');
  const child = start(process.execPath, [command, '--simulate', '--json', ...args]);
  t.teardown(() => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout ?? t.fail() });
  return {
    async until(name: string): Promise<Event> {
      for await (const line of lines) {
        const event: Event = JSON.parse(line);
        if (event.event === name) return event;
      }
      throw new Error(`the bridge ended without ${name}`);
    },
    async stop(): Promise<unknown[]> {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      return ended;
    },
  };
}

testInstalled(
  "an installed bridge contains nothing of the server, and its packages have the server's versions",
  async t => {
    const { dir } = await installed(t);
    const packages = await packagesIn(join(dir, 'node_modules'));
    t.true(packages.includes('ws') && packages.includes('@stoprocent/bluetooth-hci-socket'));
    t.deepEqual(
      packages.filter(name => HEAVY.test(name)),
      [],
    );
    const {
      version,
      dependencies,
      private: isPrivate,
    } = JSON.parse(await readFile(join(dir, 'node_modules/earshot-bridge/package.json'), 'utf8'));
    t.is(version, manifest.version);
    t.true(isPrivate && manifest.private, 'its name is not ours on a registry');
    t.like(manifest.dependencies, dependencies);
    const files = await readdir(join(dir, 'node_modules/earshot-bridge/core'), { recursive: true });
    const shared = [
      ...['audio/pcm.js', 'audio/recording-file.js', 'listen/protocol.js'],
      ...['runtime/errors.js', 'runtime/terminal.js'],
    ];
    t.deepEqual(files.filter(file => file.endsWith('.js')).sort(), shared);
  },
);

async function packagesIn(directory: string): Promise<string[]> {
  const names = await readdir(directory);
  const scoped = names.filter(name => name.startsWith('@'));
  const within = await Promise.all(
    scoped.map(async scope => (await readdir(join(directory, scope))).map(name => `${scope}/${name}`)),
  );
  return [...names.filter(name => !/^[@.]/.test(name)), ...within.flat()];
}

testInstalled('with a key created by core it carries speech to core, and exits cleanly', async t => {
  const { dir } = await installed(t);
  const core = await coreProcess(t, countingStt());
  const made = await earshot(['key', 'owner', '--scopes', 'listen', '--name', 'kitchen'], {
    EARSHOT_DATA_DIR: core.dataDir,
  });
  await writeFile(join(dir, 'key'), made.stdout);
  const bridge = await startBridge(t, ['--core', core.url.replace('http', 'ws'), '--key-file', 'key']);
  const { segments } = (await bridge.until('segments')) as Event & { segments: { text: string }[] };
  t.regex(segments[0]?.text ?? '', /^\d+ tenths$/);
  t.deepEqual(await bridge.stop(), [0, null]);
});

testInstalled('if core refuses the key, or is unreachable, it gives instructions', async t => {
  const { dir } = await installed(t);
  const core = await coreProcess(t, countingStt());
  await writeFile(join(dir, 'wrong'), 'omi_dev_00000000000000000000000000000000\n');
  const args = (url: string) => ['--core', url, '--key-file', 'wrong', '--data-dir', `data-${url.slice(-4)}`];
  const refused = await startBridge(t, args(core.url.replace('http', 'ws')));
  const { code, reason } = await refused.until('disconnected');
  t.is(code, 401);
  t.regex(String(reason), /does not accept the API key.*earshot key <account> --scopes listen/);
  const alone = await startBridge(t, args('ws://127.0.0.1:1'));
  t.regex(
    String((await alone.until('disconnected')).reason),
    /cannot be reached.*setting host.*ECONNREFUSED/,
  );
});

testInstalled('it prints help and its version, and reports a Node that is too old', async t => {
  const { dir, run } = await installed(t);
  const command = join(dir, 'node_modules/.bin/earshot-bridge');
  const bridge = (...args: string[]) =>
    run(process.execPath, [...args.slice(0, -1), command, args.at(-1) ?? '']);
  t.regex((await bridge('--help')).stdout, /^Usage: earshot-bridge .*--core <url>.*--key-file <file>/s);
  t.is((await bridge('--version')).stdout.trim(), manifest.version);
  const older = '{ value: { ...process.versions, node: "20.19.0" } }';
  const script = `data:text/javascript,Object.defineProperty(process, "versions", ${older})`;
  const { code, stderr } = await bridge('--import', script, '--help');
  t.is(code, 1);
  t.regex(stderr, /^error: this is Node v.*, the bridge needs 22\.18 or later\n$/);
});
