import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { MARK, type UnitOptions, unitOf } from '../../../core/cli/service/unit.ts';
import { earshot } from '../../helpers/cli.ts';

const run = promisify(execFile);
const hasAnalyze = await run('systemd-analyze', ['--version']).then(
  () => true,
  () => false,
);

const MACHINE: UnitOptions = {
  ...{ service: 'core', isUser: false, program: [process.execPath, '/opt/earshot/earshot'] },
  ...{ dataDir: '/var/lib/earshot', configFile: null, bridge: null, account: 'earshot' },
};

/** Installs a program `systemctl` that records its calls. */
async function setUp(t: ExecutionContext) {
  const home = await mkdtemp(join(tmpdir(), 'earshot-service-'));
  t.teardown(() => rm(home, { recursive: true }));
  const script = `#!/bin/sh
echo "$@" >> ${home}/calls
case "$*" in *show\\ earshot*) printf 'ActiveState=active\\nSubState=running\\nUnitFileState=enabled\\nNRestarts=2\\n';; esac`;
  await mkdir(join(home, 'bin'));
  await writeFile(join(home, 'bin/systemctl'), script);
  await chmod(join(home, 'bin/systemctl'), 0o755);
  const file = join(home, 'config/systemd/user/earshot.service');
  return {
    home,
    file,
    calls: async () => (await readFile(join(home, 'calls'), 'utf8')).trim().split('\n'),
    cli: (...args: string[]) =>
      earshot(['service', ...args, '--data-dir', join(home, 'data')], {
        ...{ XDG_CONFIG_HOME: join(home, 'config'), HOME: home },
        PATH: `${join(home, 'bin')}:${process.env.PATH}`,
      }),
  };
}

test('a service is installed, described and removed, with a systemctl that only records its arguments', async t => {
  const { cli, file, calls, home } = await setUp(t);
  const installed = await cli('install', '--user');
  t.is(installed.code, 0, installed.stderr);
  const unit = await readFile(file, 'utf8');
  t.true(unit.startsWith(MARK));
  t.regex(unit, new RegExp(`^ExecStart=.*main\\.mjs serve --data-dir ${home}/data$`, 'm'));
  t.deepEqual(await calls(), [
    '--user show --property=Version',
    '--user daemon-reload',
    '--user enable earshot.service',
    '--user restart earshot.service',
  ]);
  const { stdout } = await cli('status', '--user', '--json');
  t.like(JSON.parse(stdout), { active: 'active', sub: 'running', restarts: 2, dataDir: `${home}/data` });
  const removed = await cli('uninstall', '--user');
  t.regex(removed.stdout, /data is still in/);
  t.true((await calls()).includes('--user disable --now earshot.service'));
  await t.throwsAsync(readFile(file), { code: 'ENOENT' });
  t.regex((await cli('status', '--user')).stderr, /There is no .*earshot\.service; leave --user out/);
});

test('a unit written by somebody else is left unchanged', async t => {
  const { cli, file } = await setUp(t);
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, '[Unit]\n');
  for (const verb of ['install', 'uninstall']) {
    const { code, stderr } = await cli(verb, '--user');
    t.is(code, 1);
    t.regex(stderr, /was not written by .*move it away first/);
  }
  t.is(await readFile(file, 'utf8'), '[Unit]\n');
});

test('an impossible request is rejected with instructions', async t => {
  const { cli } = await setUp(t);
  t.regex((await cli('install', '--core', 'ws://a', '--key-file', 'b')).stderr, /are for the bridge/);
  t.regex((await cli('install', 'bridge', '--core', 'ws://a')).stderr, /belong together/);
  const lines = await cli('install', 'bridge', '--user', '--core', 'ws://a\nUser=root', '--key-file', 'b');
  t.regex(lines.stderr, /line break/);
  if (process.getuid?.() !== 0) t.regex((await cli('install')).stderr, /use sudo, or --user/);
});

test('no value in a unit becomes another line or a specifier', t => {
  const dataDir = '/srv/100% of "it"/$HOME';
  const unit = unitOf({ ...MACHINE, dataDir, isUser: true });
  t.true(unit.includes('WorkingDirectory=/srv/100%% of "it"/$HOME\n'), unit);
  t.true(unit.includes('--data-dir "/srv/100%% of \\"it\\"/$$HOME"\n'), unit);
});

test('a bridge gets only Bluetooth capabilities; its key stays out of the process list', t => {
  const bridge = { core: 'ws://192.168.1.5:8420', keyFile: '/etc/earshot/kitchen.key' };
  const unit = unitOf({ ...MACHINE, service: 'bridge', dataDir: '/var/lib/earshot-bridge', bridge });
  t.regex(unit, /^AmbientCapabilities=CAP_NET_RAW CAP_NET_ADMIN$/m);
  t.regex(unit, /^CapabilityBoundingSet=CAP_NET_RAW CAP_NET_ADMIN$/m);
  t.regex(unit, /^LoadCredential=key:\/etc\/earshot\/kitchen\.key$/m);
  t.regex(unit, /^User=earshot$/m);
  t.notRegex(unit, /PrivateUsers/);
});

if (hasAnalyze)
  test('systemd finds no error in the units, and few permissions', async t => {
    const { home } = await setUp(t);
    const bridge = { core: 'ws://192.168.1.5:8420', keyFile: '/etc/hostname' };
    const units: [string, UnitOptions, number][] = [
      ['earshot.service', { ...MACHINE, dataDir: home }, 20],
      ['earshot-bridge.service', { ...MACHINE, service: 'bridge', dataDir: home, bridge }, 25],
    ];
    for (const [name, options, most] of units) {
      const file = join(home, name);
      await writeFile(file, unitOf(options).replace('/opt/earshot/earshot', import.meta.filename));
      const verified = await run('systemd-analyze', ['verify', '--man=no', file]);
      t.false(verified.stderr.includes(name), verified.stderr);
      const security = ['security', '--offline=true', `--threshold=${most}`, file];
      await t.notThrowsAsync(run('systemd-analyze', security), name);
    }
  });
