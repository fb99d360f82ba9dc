/** The built files of the dashboard in a checkout: plugins/page/dashboard/built/. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

const PAGE = join('plugins', 'page', 'dashboard');

/**
 * Builds it where it is missing, or older than its sources. Without the packages for development there is nothing to
 * build with: then the server runs without it.
 * @throws with Vite's own words when it fails
 */
export function buildDashboard(root, { say }) {
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
  if (!existsSync(join(root, PAGE, 'app')) || isFresh(root)) return; // a package holds the built files alone
  if (!existsSync(vite)) {
    say('The dashboard is not built, as its packages for development are not installed: npm ci');
    return;
  }
  const node = join(root, 'node_modules', 'node', 'bin', 'node'); // ours: Vite needs a newer one than this may be
  const config = join(root, PAGE, 'vite.config.ts');
  const built = join(root, PAGE, 'built');
  const fresh = `${built}-${process.pid}`;
  const old = `${fresh}-old`;
  const { status, stdout, stderr } = spawnSync(
    existsSync(node) ? node : process.execPath,
    [vite, 'build', '--config', config, '--outDir', fresh],
    // Under another value, Vite builds for development: slower, and with the paths of this machine.
    { cwd: root, encoding: 'utf8', env: { NODE_ENV: 'production' } },
  );
  if (status !== 0) throw new Error(`The dashboard cannot be built:\n${stdout ?? ''}${stderr ?? ''}`);
  // Renamed, not removed first: a server that runs meanwhile goes without the files for a moment only.
  if (existsSync(built)) renameSync(built, old);
  renameSync(fresh, built);
  rmSync(old, { recursive: true, force: true });
  say(stderr.trim());
}

function isFresh(root) {
  const index = join(root, PAGE, 'built', 'index.html');
  if (!existsSync(index)) return false;
  const builtAt = statSync(index).mtimeMs;
  const app = join(root, PAGE, 'app');
  const sources = readdirSync(app, { recursive: true }).map(name => join(app, name));
  const others = [join(root, PAGE, 'vite.config.ts'), join(root, 'package-lock.json')];
  return [...sources, ...others].every(path => statSync(path).mtimeMs <= builtAt);
}
