#!/usr/bin/env node
// The `earshot` command. Plain JavaScript for any Node from 18 on: it runs itself again under the Node that the
// project brings along, and there hands over to program.ts, or in a package to what was emitted of it.
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { basename, delimiter, dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { watchNpm } from '../../config/parent.mjs';

const NEEDED_MAJOR = 24;
/**
 * How garbage is collected while streams make 1 MB of it a second each. New objects get half of 2 × 8 MB, which V8 would
 * let grow to 64. Old ones are looked through when there are three times as many, not at each 10 MB more; and by the thread that
 * serves, in small steps: V8's own threads take the core that a home server may have but one of, 10 to 25 ms at a time.
 */
const COLLECTION = ['--max-semi-space-size=8', '--single-threaded-gc', '--heap-growing-percent=200'];
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

function main() {
  dieWithParent();
  // Kept where we run ourselves under another Node: then it was called as the first process was.
  if (!process.channel || !process.env.EARSHOT_CALLED_AS) process.env.EARSHOT_CALLED_AS = calledAs();
  const node = projectNode();
  if (node && node !== realpathSync(process.execPath)) return runUnder(node);
  if (Number.parseInt(process.versions.node, 10) >= NEEDED_MAJOR) return runProgram();
  process.stderr.write(
    `error: this is Node ${process.version}, Earshot needs ${NEEDED_MAJOR}; npm install brings it, or npm rebuild node\n`,
  );
  process.exit(1);
}

/**
 * How to type this command again: its name where the shell finds it, `npx earshot` in the folder that it is installed
 * in, and else its path. Elsewhere npx would ask a registry, where the name is not ours.
 */
function calledAs() {
  const script = process.argv[1];
  const isOnPath = (process.env.PATH ?? '').split(delimiter).includes(dirname(script));
  const isByNpm = process.env.npm_command !== undefined; // which extends the path
  if (basename(script) === 'earshot' && isOnPath && !isByNpm) return 'earshot';
  // In a checkout npx runs a link in its own cache, which leads here.
  const folders = [script, realpathSync(script)].map(installationOf);
  const isHere = folder => folder !== null && `${process.cwd()}${sep}`.startsWith(folder + sep);
  if (folders.some(isHere)) return 'npx earshot';
  const path = /^[\w./@+-]+$/.test(script) ? script : `'${script.replaceAll("'", "'\\''")}'`;
  return basename(script) === 'earshot' ? path : `node ${path}`;
}

/** The folder in which npx finds this script: what it is installed in, or the checkout; null where it does not. */
function installationOf(script) {
  const [folder, ...rest] = script.split(`${sep}node_modules${sep}`);
  if (rest.length > 0) return folder;
  return basename(script) === 'main.mjs' ? dirname(dirname(dirname(script))) : null;
}

/** The executable of the npm package `node`, beside us or in the project that we are installed in; null without. */
function projectNode() {
  try {
    const home = dirname(createRequire(import.meta.url).resolve('node/package.json'));
    const file = join(home, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    return existsSync(file) ? realpathSync(file) : null;
  } catch {
    return null;
  }
}

function runUnder(node) {
  const child = spawn(node, [...COLLECTION, fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    // The channel tells the child that we are gone, whatever ended us.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      // A terminal sends Ctrl-C to the child as well; a second one would mean "at once".
      if (signal === 'SIGINT' && process.stdin.isTTY) return;
      child.kill(signal);
    });
  }
  child.on('error', error => {
    process.stderr.write(`error: cannot run ${node} (${error.message}); npm install repairs it\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (!signal) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

async function runProgram() {
  keepCompiled();
  process.stdout.on('error', error => process.exit(error.code === 'EPIPE' ? 0 : 1));
  const program = ['program.ts', '../../build/core/cli/program.js']
    .map(name => new URL(name, import.meta.url))
    .find(url => existsSync(url));
  const { run } = await import(program.href);
  process.exit(await run(process.argv.slice(2)));
}

/** Enables the compile cache, for the next start and for our threads and children. */
function keepCompiled() {
  process.env.NODE_COMPILE_CACHE ??= fileURLToPath(
    new URL('../../node_modules/.cache/earshot', import.meta.url),
  );
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE);
}

/** Started with a channel: its end is the end of the parent. */
function dieWithParent() {
  const stop = () => process.kill(process.pid, 'SIGTERM');
  if (process.channel) {
    process.on('disconnect', stop);
    process.channel.unref();
  } else watchNpm(stop);
}

main();
