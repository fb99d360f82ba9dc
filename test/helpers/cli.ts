import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

export const MAIN = join(import.meta.dirname, '../../core/cli/main.mjs');

interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Runs the real command line to its end, without Earshot's settings in the environment.
 * @param uid account to run as; absent: this one
 */
export async function earshot(args: string[], env: NodeJS.ProcessEnv = {}, uid?: number): Promise<Ran> {
  const child = startEarshot(args, env, uid);
  const [stdout, stderr, [code]] = await Promise.all([
    child.stdout ? text(child.stdout) : '',
    child.stderr ? text(child.stderr) : '',
    once(child, 'close'),
  ]);
  return { code, stdout, stderr };
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command in this process, for tests of what it does: that takes a tenth of the processor time of one of its
 * own. One at a time, because they share this process's streams and environment.
 * @param input piped to its standard input
 */
export function command(args: string[], env: NodeJS.ProcessEnv = {}, input = ''): Promise<Ran> {
  const ran = last.then(() => runHere(args, env, input));
  last = ran.catch(() => {});
  return ran;
}

async function runHere(args: string[], env: NodeJS.ProcessEnv, input: string): Promise<Ran> {
  const { run } = await import('../../core/cli/program.ts'); // most files run processes alone
  const outer = { ...process.env };
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin');
  const [stdout, stderr] = [captured(process.stdout), captured(process.stderr)];
  try {
    replaceEnvironment({ ...plainEnvironment(), EARSHOT_CALLED_AS: 'npx earshot', ...env });
    Object.defineProperty(process, 'stdin', { value: Readable.from([input]), configurable: true });
    const code = await run(args);
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    replaceEnvironment(outer);
    if (stdin) Object.defineProperty(process, 'stdin', stdin);
    for (const { release } of [stdout, stderr]) release();
  }
}

function replaceEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
}

/** Keeps what is written to a stream from it. */
function captured(stream: NodeJS.WriteStream) {
  const { write } = stream;
  let all = '';
  stream.write = (chunk: string | Uint8Array) => {
    all += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    return true;
  };
  return {
    text: () => all,
    release() {
      stream.write = write;
    },
  };
}

/** Starts the command line; the caller ends it. */
export function startEarshot(args: string[], env: NodeJS.ProcessEnv = {}, uid?: number): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], {
    ...(uid === undefined ? {} : { uid, gid: uid }),
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...plainEnvironment(), ...env },
  });
}

/** The environment without variables that change Earshot's behaviour or colours. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(EARSHOT_|FORCE_COLOR|NODE_CHANNEL)/.test(name),
  );
  return { ...Object.fromEntries(kept), NO_COLOR: '1' };
}
