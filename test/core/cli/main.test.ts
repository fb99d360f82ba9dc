import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, link, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { type ExecutionContext } from 'ava';
import { MAIN, plainEnvironment } from '../../helpers/cli.ts';

/** What main.mjs hands over to, as emitted: it tells who runs it, and does as it is told. */
const PROGRAM = `
export async function run(argv) {
  const { promise, resolve } = Promise.withResolvers();
  for (const [signal, status] of [['SIGINT', 3], ['SIGTERM', 4]]) process.on(signal, () => {
    console.log(JSON.stringify({ signal }));
    resolve(status);
  });
  if (argv[0] === 'leave') resolve(Number(argv[1]));
  else setInterval(() => {}, 1000);
  console.log(JSON.stringify({ pid: process.pid, node: process.execPath, argv }));
  return promise;
}`;

/**
 * A project in which Earshot is installed, its Node hoisted beside it, and another Node that the machine has: the same
 * executable at another place.
 */
async function project(t: ExecutionContext): Promise<{ main: string; ownNode: string; otherNode: string }> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'earshot-project-')));
  t.teardown(() => rm(root, { recursive: true }));
  const main = join(root, 'node_modules/earshot/core/cli/main.mjs');
  const ownNode = join(root, 'node_modules/node/bin/node');
  const otherNode = join(root, 'bin/node');
  await mkdir(dirname(main), { recursive: true });
  await copyFile(MAIN, main);
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

test('it also does when it is started by a link, as npx does', async t => {
  const { main, ownNode, otherNode } = await project(t);
  const command = join(dirname(otherNode), 'earshot');
  await symlink(main, command);
  const { next, exited } = start(t, otherNode, command, ['leave', '0']);
  t.is((await next()).node, ownNode);
  t.deepEqual(await exited, [0, null]);
});

test('it stays in its process when that is the right Node already', async t => {
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

test('what it started ends with it, also when it is killed', async t => {
  const { main, otherNode } = await project(t);
  const { child, next } = start(t, otherNode, main, ['stay']);
  const { pid } = await next();
  t.not(pid, child.pid);
  child.kill('SIGKILL');
  t.deepEqual(await next(), { signal: 'SIGTERM' });
  t.is(await next(), null); // its standard output is closed: it has gone
});

test('without a project Node, the one that runs it has to be new enough', async t => {
  const { main, ownNode, otherNode } = await project(t);
  await rm(dirname(dirname(ownNode)), { recursive: true });
  const { next } = start(t, otherNode, main, ['leave', '0']);
  t.is((await next()).node, otherNode);
});
