import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { MAIN, plainEnvironment } from '../../helpers/cli.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { openServer, prepareData } from '../../helpers/services.ts';
import { isThorough } from '../../helpers/thorough.ts';

/** A folder to run commands in, and a directory that stands in for the systemd service's. */
async function places(t: ExecutionContext) {
  const root = await temporaryDirectory(t);
  const [folder, service] = [join(root, 'folder'), join(root, 'service')];
  await mkdir(folder);
  const earshot = async (args: string[], { env = {}, uid }: Runs = {}) => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      cwd: folder,
      ...(uid === undefined ? {} : { uid, gid: uid }),
      env: { ...plainEnvironment(), EARSHOT_TEST_SERVICE_DIRECTORY: service, ...env },
    });
    child.stdin.end();
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    return { code, stdout, stderr };
  };
  return { root, folder, service, earshot };
}
interface Runs {
  env?: Record<string, string>;
  uid?: number | undefined;
}

/** One of each kind: through the control socket, as a process, with a file, and to another directory. */
const COMMANDS: string[][] = [
  ['user', 'list'],
  ['bridge', '--simulate'],
  ['stream', 'x.wav'],
  ['move', '--to', 'x.yaml'],
  ...(isThorough
    ? [
        ...[['user', 'add', 'ada'], ['token', 'owner'], ['key', 'list', 'owner'], ['status']],
        ...[
          ['key', 'owner', '--scopes', 'listen'],
          ['notify', 'list', 'owner'],
          ['app', 'list'],
        ],
        ['system', 'rotate-keys'],
      ]
    : []),
];

test('Without a data directory no command creates one, and each says how to', async t => {
  const { root, folder, service, earshot } = await places(t);
  const elsewhere = join(root, 'elsewhere');
  for (const args of COMMANDS) {
    const { code, stdout, stderr } = await earshot(args);
    t.is(code, 1, args.join(' '));
    t.is(stdout, '');
    t.is(
      stderr,
      `error: There is no data of Earshot in ${join(folder, 'data')} or ${service}: node ${MAIN} serve creates it, or name its directory with --data-dir\n`,
    );
  }
  const named = await earshot(['user', 'list', '--data-dir', elsewhere]);
  t.regex(named.stderr, new RegExp(`^error: There is no data of Earshot in ${elsewhere}: `));
  const looked = await earshot(['doctor', '--json'], { env: { EARSHOT_STT: '[]' } });
  t.regex(looked.stdout, /does not exist yet; the first start creates it/);
  t.is((await earshot(['models', 'list'])).code, 0);
  t.deepEqual([await readdir(folder), await readdir(root)], [[], ['folder']]);
});

test('After a restore that was killed, commands name it until the server has finished it', async t => {
  const { folder, earshot } = await places(t);
  const dataDir = join(folder, 'data');
  const restored = `${dataDir}.restored-2026-01-01T000000.000`;
  await prepareData(restored);
  const refused = await earshot(['user', 'list']);
  t.regex(refused.stderr, /A restore into .*data was interrupted; start the server, or restore again/);
  await mkdir(join(dataDir, 'audio'), { recursive: true });
  t.is((await earshot(['user', 'list'])).stderr.split('interrupted').length, 2, 'also where there is data');
  const again = await earshot(['restore', join(folder, 'none.tar.zst')]);
  t.regex(again.stderr, /interrupted restore was completed first: .*\n.*\nerror: .* is not empty/);
  t.deepEqual(
    (await readdir(folder)).filter(name => name.startsWith('data.restored-')),
    [],
  );
  t.is((await earshot(['user', 'list'])).code, 0);
});

test("A named directory has precedence, then the service's, then the folder's own, and the choice is shown", async t => {
  const { folder, service, earshot, root } = await places(t);
  const used = async (args: string[] = [], env: Record<string, string> = {}) => {
    const { code, stdout, stderr } = await earshot(['user', 'list', ...args], { env });
    t.is(code, 0, stderr);
    return [/ {2}(\S+)\n$/.exec(stdout)?.[1], stderr];
  };
  const make = async (dir: string, name: string) => {
    await prepareData(dir);
    t.is((await earshot(['user', 'add', name, '--data-dir', dir])).code, 0);
    return dir;
  };
  const here = await make(join(folder, 'data'), 'here');
  t.deepEqual(await used(), ['here', `Data directory: ${here} (this folder's)\n`]);
  await make(service, 'service');
  t.deepEqual(await used(), ['service', `Data directory: ${service} (the systemd service's)\n`]);
  const [flag, variable] = [
    await make(join(root, 'flag'), 'flag'),
    await make(join(root, 'var'), 'variable'),
  ];
  t.deepEqual(await used([], { EARSHOT_DATA_DIR: variable }), ['variable', '']);
  t.deepEqual(await used(['--data-dir', flag], { EARSHOT_DATA_DIR: variable }), ['flag', '']);
  await writeFile(join(folder, 'earshot.yaml'), `dataDir: ${flag}\n`);
  t.deepEqual(await used(), ['flag', '']);
  const doctor = await earshot(['doctor', '--json', '--config', '/dev/null'], { env: { EARSHOT_STT: '[]' } });
  t.true(doctor.stdout.includes(service) && !doctor.stdout.includes(here));
});

test('A running server is preferred to data that is not served', async t => {
  const { folder, service, earshot } = await places(t);
  await prepareData(service);
  const { url } = await openServer(t, { stt: [], dataDir: join(folder, 'data') });
  const { stdout } = await earshot(['status', '--json']);
  t.is(JSON.parse(stdout).url, url);
  t.regex((await earshot(['user', 'list'])).stderr, /\(this folder's\)/);
});

test("Data of the service's account is reported with the account to use", async t => {
  const { root, folder, service, earshot } = await places(t);
  await prepareData(service);
  await prepareData(join(folder, 'data'));
  for (const dir of [root, folder]) await chmod(dir, 0o755);
  const isRoot = process.getuid?.() === 0;
  if (!isRoot) await chmod(service, 0); // root may read everything: the command is then run as nobody
  const { code, stderr } = await earshot(['user', 'list'], { uid: isRoot ? 65_534 : undefined });
  t.is(code, 1);
  const uid = process.getuid?.() ?? '';
  t.is(
    stderr,
    `error: ${service} belongs to another account: run the command as that account, with sudo -u '#${uid}'\n`,
  );
  if (!isRoot) await chmod(service, 0o700);
});
