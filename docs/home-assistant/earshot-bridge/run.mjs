/**
 * Runs a program with the options of the add-on as its settings: `run.mjs [--user ID] PROGRAM [ARGUMENT …]`. With
 * `--user`, the data directory belongs to that account, and so does the process.
 */
import { spawn } from 'node:child_process';
import { chownSync, lchownSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const OPTIONS = process.env.OPTIONS_FILE ?? '/data/options.json';

/** `log__level: info` becomes `EARSHOT_LOG__LEVEL=info`; empty options are not set. */
function settings(options) {
  return Object.fromEntries(
    Object.entries(options)
      .map(([name, value]) => [
        `EARSHOT_${name.toUpperCase()}`,
        Array.isArray(value) ? JSON.stringify(value) : `${value ?? ''}`,
      ])
      .filter(([, value]) => value !== '' && value !== '[]'),
  );
}

/** Gives a folder with everything in it to an account. */
function giveTo(id, folder) {
  chownSync(folder, id, id);
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true }))
    lchownSync(join(entry.parentPath, entry.name), id, id);
}

const args = process.argv.slice(2);
const [user] = args[0] === '--user' ? args.splice(0, 2).slice(1).map(Number) : [];
const [program, ...rest] = args;
const env = { ...process.env, ...settings(JSON.parse(readFileSync(OPTIONS, 'utf8'))) };
const folder = env.EARSHOT_DATA_DIR;
mkdirSync(folder, { recursive: true, mode: 0o700 });
if (user !== undefined) giveTo(user, folder);
const child = spawn(program, rest, {
  env,
  stdio: 'inherit',
  ...(user === undefined ? {} : { uid: user, gid: user }),
});
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => child.kill(signal));
child.once('error', error => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
child.once('exit', code => {
  process.exitCode = code ?? 1;
});
