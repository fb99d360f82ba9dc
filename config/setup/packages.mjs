/** The npm packages of this checkout. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Runs `npm ci` unless node_modules holds what package-lock.json says; whoever installed it.
 * @param withDevelopment are the packages for development needed as well
 * @throws with npm's own last words when it fails: nothing can run without packages
 */
export async function installPackages(root, { env, withDevelopment, say }) {
  const reason = whyInstall(root, withDevelopment);
  if (reason === null) return;
  say(`Installing packages (npm ci), as ${reason} …`);
  const started = performance.now();
  const { code, output } = await npm(root, ['ci', '--no-audit', '--no-fund'], env);
  if (code !== 0) throw new Error(`npm ci failed:\n${lastLines(output, 25)}`);
  say(`Installed packages in ${Math.round((performance.now() - started) / 1000)} s`);
}

/** npm notes what it installed in a lockfile of its own inside node_modules. */
function whyInstall(root, withDevelopment) {
  const wanted = readPackages(join(root, 'package-lock.json'));
  if (wanted === null)
    throw new Error(`${join(root, 'package-lock.json')} is missing: this is no complete checkout`);
  const found = readPackages(join(root, 'node_modules', '.package-lock.json'));
  if (found === null) return 'none are installed';
  const entries = Object.entries(wanted).filter(([path]) => path !== '');
  // Someone may have left out all that only development needs.
  const noDevelopment = !withDevelopment && !entries.some(([path, { dev }]) => dev && path in found);
  const differs = entries.find(([path, entry]) => {
    const there = found[path];
    if (there === undefined) return !entry.optional && !entry.devOptional && !(entry.dev && noDevelopment);
    return there.version !== entry.version || there.integrity !== entry.integrity;
  });
  if (differs === undefined) return null;
  return `${differs[0].replace(/^.*node_modules\//, '')} is not as in package-lock.json`;
}

function readPackages(file) {
  if (!existsSync(file)) return null;
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages ?? null;
  } catch {
    return null;
  }
}

/** The npm that runs us, else the one on the path. */
function npm(root, args, env) {
  const script = env.npm_execpath;
  const [command, first] =
    script?.endsWith('.js') && existsSync(script) ? [process.execPath, [script]] : ['npm', []];
  return new Promise(resolve => {
    const child = spawn(command, [...first, ...args], {
      cwd: root,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32' && command === 'npm',
    });
    let output = '';
    const keep = chunk => {
      output = (output + chunk).slice(-100_000);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', error => resolve({ code: -1, output: `npm could not be started: ${error.message}` }));
    child.on('close', code => resolve({ code, output }));
  });
}

function lastLines(text, count) {
  return text.trimEnd().split('\n').slice(-count).join('\n');
}
