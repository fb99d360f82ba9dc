import { execFile, spawn } from 'node:child_process';
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { plainEnvironment } from './cli.ts';
import { isThorough } from './thorough.ts';

export const ROOT = join(import.meta.dirname, '../..');

/** Programs that an installation might compile with. */
const COMPILERS = /(^|-)(g?make|cc|c[89]9|gcc|[gc]\+\+|clang|cpp|python)([\d.-]|$)/;

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** An empty directory on a machine without a compiler. */
export interface Workplace {
  dir: string;
  env: NodeJS.ProcessEnv;
  /** Runs a program to its end. */
  run(command: string, args: string[], env?: NodeJS.ProcessEnv): Promise<Ran>;
  /** Starts a program; the caller ends it. */
  start(command: string, args: string[], env?: NodeJS.ProcessEnv): ReturnType<typeof spawn>;
  remove(): Promise<void>;
}

export async function openWorkplace(): Promise<Workplace> {
  const home = await realpath(await mkdtemp(join(tmpdir(), 'earshot-packed-')));
  const dir = join(home, 'empty');
  const [tmp, bin] = [join(home, 'tmp'), join(home, 'bin')];
  for (const each of [dir, tmp, bin]) await mkdir(each);
  await writeFile(join(dir, 'package.json'), '{ "private": true }'); // otherwise npm looks for one in parent directories
  await linkPrograms(bin);
  const env = { ...withoutNpm(plainEnvironment()), PATH: bin, TMPDIR: tmp };
  return {
    dir,
    env,
    run: (command, args, more) => execute(command, args, { cwd: dir, env: { ...env, ...more } }),
    start: (command, args, more) =>
      spawn(command, args, { cwd: dir, env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] }),
    remove: () => rm(home, { recursive: true, force: true }),
  };
}

/**
 * Installs a package: with npm in the thorough form, which takes half a minute of processor time. Otherwise it is
 * unpacked, and finds only the packages that its manifest names, which are those of the checkout.
 * @returns what npm wrote if it failed, else null
 */
export async function installTarball({ dir, run }: Workplace, tarball: string): Promise<string | null> {
  if (!isThorough) return unpack(dir, tarball);
  const { code, stderr } = await run('npm', ['install', '--prefer-offline', tarball]);
  return code === 0 ? null : stderr;
}

async function unpack(dir: string, tarball: string): Promise<string | null> {
  const packages = join(dir, 'node_modules');
  const unpacked = join(packages, 'package');
  await mkdir(join(packages, '.bin'), { recursive: true });
  const { code, stderr } = await execute('tar', ['-xzf', tarball, '-C', packages], {});
  if (code !== 0) return stderr;
  const manifest = JSON.parse(await readFile(join(unpacked, 'package.json'), 'utf8'));
  const home = join(packages, manifest.name);
  await rename(unpacked, home);
  for (const [name, file] of Object.entries<string>(manifest.bin)) {
    await chmod(join(home, file), 0o755);
    await symlink(join(home, file), join(packages, '.bin', name));
  }
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
    await mkdir(dirname(join(packages, name)), { recursive: true });
    await symlink(join(ROOT, 'node_modules', name), join(packages, name));
  }
  return null;
}

/** Explains why packages cannot be installed here; null if they can. */
export async function whyNoPackages(): Promise<string | null> {
  if (!isThorough) return null;
  const args = ['view', 'zod', 'version', '--fetch-retries', '0'];
  const { code, stderr } = await execute('npm', args, { env: process.env });
  return code === 0 ? null : `npm cannot ask its registry: ${/error code (\S+)/.exec(stderr)?.[1] ?? stderr}`;
}

export function execute(
  command: string,
  args: string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv },
): Promise<Ran> {
  return new Promise(resolve => {
    execFile(command, args, { ...options, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr });
    });
  });
}

/** Links everything on the path except compilers and programs of this checkout. */
async function linkPrograms(bin: string): Promise<void> {
  const places = (process.env.PATH ?? '').split(':').filter(place => !place.includes('node_modules'));
  for (const place of places) {
    for (const name of await readdir(place).catch(() => [])) {
      if (!COMPILERS.test(name)) await symlink(join(place, name), join(bin, name)).catch(() => {}); // the first match wins
    }
  }
}

/** Removes the settings that npm inherits when it runs the tests. */
function withoutNpm(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(
      ([name]) => !/^(npm_(package|lifecycle|config_local_prefix)|INIT_CWD)/.test(name),
    ),
  );
}
