import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, link, mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { type ExecutionContext } from 'ava';
import { asCalled, COMMAND_NAMES } from '../../../config/called-as.ts';
import { earshot, MAIN, plainEnvironment } from '../../helpers/cli.ts';

/** The program that main.mjs starts, as compiled: it reports its process and follows its arguments. */
const PROGRAM = `
export async function run(argv) {
  const { promise, resolve } = Promise.withResolvers();
  for (const [signal, status] of [['SIGINT', 3], ['SIGTERM', 4]]) process.on(signal, () => {
    console.log(JSON.stringify({ signal }));
    resolve(status);
  });
  if (argv[0] === 'leave') resolve(Number(argv[1]));
  else setInterval(() => {}, 1000);
  const calledAs = process.env.EARSHOT_CALLED_AS;
  console.log(JSON.stringify({ pid: process.pid, node: process.execPath, argv, calledAs }));
  return promise;
}`;

/**
 * A project with Earshot installed and its Node beside it, and another Node of the machine: the same executable at
 * another path.
 */
async function project(t: ExecutionContext): Promise<{ main: string; ownNode: string; otherNode: string }> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'earshot-project-')));
  t.teardown(() => rm(root, { recursive: true }));
  const main = join(root, 'node_modules/earshot/core/cli/main.mjs');
  const ownNode = join(root, 'node_modules/node/bin/node');
  const otherNode = join(root, 'bin/node');
  await mkdir(dirname(main), { recursive: true });
  await copyFile(MAIN, main);
  await mkdir(join(root, 'node_modules/earshot/config'));
  await copyFile(
    join(dirname(MAIN), '../../config/parent.mjs'),
    join(root, 'node_modules/earshot/config/parent.mjs'),
  );
  const program = join(root, 'node_modules/earshot/build/core/cli/program.js');
  await mkdir(dirname(program), { recursive: true });
  await writeFile(program, PROGRAM);
  await writeFile(join(root, 'node_modules/earshot/package.json'), '{"type":"module"}');
  for (const node of [ownNode, otherNode]) {
    await mkdir(dirname(node), { recursive: true });
    await linkOrCopy(await realpath(process.execPath), node);
  }
  await writeFile(join(root, 'node_modules/node/package.json'), '{"name":"node","version":"24.0.0"}');
  return { main, ownNode, otherNode };
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  await link(from, to).catch(() => copyFile(from, to)); // another file system
}

function start(t: ExecutionContext, node: string, main: string, args: string[]) {
  const child = spawn(node, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env: plainEnvironment() });
  t.teardown(() => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value ?? 'null');
  return { child, next, exited: once(child, 'exit') };
}

test("it runs under the project's own Node, with its arguments and exit status", async t => {
  const { main, ownNode, otherNode } = await project(t);
  const { next, exited } = start(t, otherNode, main, ['leave', '7', '--json']);
  const { node, argv } = await next();
  t.is(node, ownNode);
  t.deepEqual(argv, ['leave', '7', '--json']);
  t.deepEqual(await exited, [7, null]);
});

test('it also does so when it is started by a link, as npx does', async t => {
  const { main, ownNode, otherNode } = await project(t);
  const command = join(dirname(otherNode), 'earshot');
  await symlink(main, command);
  const { next, exited } = start(t, otherNode, command, ['leave', '0']);
  t.is((await next()).node, ownNode);
  t.deepEqual(await exited, [0, null]);
});

test('it stays in its process if that is the right Node already', async t => {
  const { main, ownNode } = await project(t);
  const { child, next, exited } = start(t, ownNode, main, ['leave', '0']);
  t.is((await next()).pid, child.pid);
  t.deepEqual(await exited, [0, null]);
});

test('signals are passed on', async t => {
  const { main, otherNode } = await project(t);
  for (const [signal, status] of [
    ['SIGINT', 3],
    ['SIGTERM', 4],
  ] as const) {
    const { child, next, exited } = start(t, otherNode, main, ['stay']);
    await next();
    child.kill(signal);
    t.deepEqual(await next(), { signal });
    t.deepEqual(await exited, [status, null]);
  }
});

test('child processes end with it, also when it is killed', async t => {
  const { main, otherNode } = await project(t);
  const { child, next } = start(t, otherNode, main, ['stay']);
  const { pid } = await next();
  t.not(pid, child.pid);
  child.kill('SIGKILL');
  t.deepEqual(await next(), { signal: 'SIGTERM' });
  t.is(await next(), null); // its standard output is closed: it has exited
});

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`under npm it ends with npm, also by ${signal}, and with a shell in between`, async t => {
    const { main, otherNode } = await project(t);
    // behaves like npm: runs the script in a shell, and exits without waiting for it
    const npm = `const { spawn } = require('node:child_process');
      const shell = spawn('sh', ['-c', process.argv[1] + '; exit $?'], { stdio: 'inherit' });
      process.on('SIGTERM', () => { shell.kill('SIGTERM'); process.exit(); });`;
    const env = { ...plainEnvironment(), npm_lifecycle_event: 'start' };
    const child = spawn(otherNode, ['-e', npm, `"${otherNode}" "${main}" stay`], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env,
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async () => JSON.parse((await lines.next()).value ?? 'null');
    const { pid } = await next();
    t.teardown(() => {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {} // it has exited, as it should
    });
    child.kill(signal);
    t.deepEqual(await next(), { signal: 'SIGTERM' });
    t.is(await next(), null); // its standard output is closed: it has exited
  });
}

test('without a project Node, the running one must be recent enough', async t => {
  const { main, ownNode, otherNode } = await project(t);
  await rm(dirname(dirname(ownNode)), { recursive: true });
  const { next } = start(t, otherNode, main, ['leave', '0']);
  t.is((await next()).node, otherNode);
});

/** The command's name for itself when started by a link at this path. */
async function calledAs(
  t: ExecutionContext,
  { node, link, cwd, env }: { node: string; link: string; cwd: string; env?: NodeJS.ProcessEnv },
): Promise<unknown> {
  const child = spawn(node, [link, 'leave', '0'], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...withoutNpm(), ...env },
  });
  t.teardown(() => child.kill('SIGKILL'));
  for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line).calledAs;
  return null;
}

test('in a checkout, where npx runs a link in its own cache, messages name npx', async t => {
  const { main, otherNode, ownNode } = await project(t);
  const installed = dirname(dirname(dirname(main)));
  const root = dirname(dirname(installed));
  const checkout = join(root, 'checkout');
  await rename(installed, checkout);
  const link = join(root, 'cache/_npx/9cee4b76/node_modules/.bin/earshot');
  await mkdir(dirname(link), { recursive: true });
  await symlink(join(checkout, 'core/cli/main.mjs'), link);
  const env = { npm_command: 'exec', PATH: `${dirname(link)}:${process.env.PATH}` };
  for (const node of [otherNode, ownNode]) {
    t.is(await calledAs(t, { node, link, cwd: checkout, env }), 'npx earshot');
    t.is(await calledAs(t, { node, link, cwd: tmpdir(), env }), link);
  }
});

const withoutNpm = () =>
  Object.fromEntries(Object.entries(plainEnvironment()).filter(([name]) => !name.startsWith('npm_')));

test('messages name the command as it was called, and npx only if it finds the command', async t => {
  const { main, otherNode, ownNode } = await project(t);
  const root = main.slice(0, main.indexOf('/node_modules/'));
  const local = join(root, 'node_modules/.bin/earshot');
  const shared = join(root, 'bin/earshot');
  const spaced = join(root, 'my programs/earshot');
  for (const link of [local, shared, spaced]) {
    await mkdir(dirname(link), { recursive: true });
    await symlink(main, link);
  }
  const elsewhere = tmpdir();
  const path = `${dirname(shared)}:${process.env.PATH}`;
  const npm = { npm_command: 'exec', PATH: `${dirname(local)}:${process.env.PATH}` };
  for (const node of [otherNode, ownNode]) {
    t.is(await calledAs(t, { node, link: shared, cwd: elsewhere, env: { PATH: path } }), 'earshot');
    t.is(await calledAs(t, { node, link: local, cwd: root, env: npm }), 'npx earshot');
    t.is(await calledAs(t, { node, link: local, cwd: join(root, 'bin'), env: npm }), 'npx earshot');
    t.is(await calledAs(t, { node, link: local, cwd: elsewhere, env: npm }), local);
    t.is(await calledAs(t, { node, link: spaced, cwd: elsewhere }), `'${spaced}'`);
    t.is(await calledAs(t, { node, link: main, cwd: root }), 'npx earshot');
    t.is(await calledAs(t, { node, link: main, cwd: elsewhere }), `node ${main}`);
    const stale = { EARSHOT_CALLED_AS: 'npx earshot' };
    t.is(await calledAs(t, { node, link: shared, cwd: elsewhere, env: { ...stale, PATH: path } }), 'earshot');
  }
});

test('only the command is replaced, wherever it occurs in a message', async t => {
  const called = '/opt/earshot/node_modules/.bin/earshot';
  const message = "try: earshot user add x; be it: sudo -u '#0' earshot doctor; earshot is no command here";
  t.is(
    asCalled(message, called),
    `try: ${called} user add x; be it: sudo -u '#0' ${called} doctor; earshot is no command here`,
  );
  for (const text of ['/opt/earshot serve', 'npm-earshot serve', 'Earshot serve', 'earshot keyboard'])
    t.is(asCalled(text, 'x'), text);
  const { stdout } = await earshot([]);
  const named = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name);
  t.deepEqual(COMMAND_NAMES.toSorted(), named.filter(name => name !== 'help').toSorted());
});
