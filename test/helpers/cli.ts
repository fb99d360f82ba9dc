import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
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
