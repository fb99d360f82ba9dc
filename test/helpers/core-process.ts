import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { stringify } from 'yaml';
import { callControl, controlPath } from '../../core/control/control.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { freePort } from './free-port.ts';

/** Node's arguments that start core as `npm start` does. */
export const SERVE = packageJson.scripts.start
  .split(' ')
  .slice(1)
  .map(argument => (argument.endsWith('.mjs') ? join(import.meta.dirname, '../..', argument) : argument));

/** Node's arguments from ava.config.mjs, so that modules load faster; a benchmark has none. */
const FINDS_MODULES = process.execArgv.filter(argument => argument.startsWith('--preserve-symlinks'));

/** Core in a separate process, which can be killed and restarted with the same data and port. */
export interface CoreProcess {
  url: string;
  dataDir: string;
  key: string;
  process(): ChildProcess;
  /** Sends SIGKILL, so that nothing is flushed or announced. */
  kill(): Promise<void>;
  /** SIGTERM; resolves to the exit status. */
  stop(): Promise<number>;
  /** @param changes to the previous configuration */
  start(changes?: Record<string, unknown>): Promise<void>;
  get(path: string): Promise<unknown>;
  /** Value of a line of /metrics: `earshot_spool_bytes{state="disk"}`. */
  metric(line: string): Promise<number>;
}

/** @param launcherOf returns a command that starts core, such as `taskset -c 0`, given the data directory */
export async function coreProcess(
  t: Pick<ExecutionContext, 'teardown'>,
  config: Record<string, unknown>,
  launcherOf: (dataDir: string) => string[] = () => [],
): Promise<CoreProcess> {
  const dataDir = await mkdtemp(join(tmpdir(), 'earshot-core-'));
  const file = join(dataDir, 'earshot.yaml');
  const logFile = `${dataDir}.log`;
  const port = await freePort();
  let child: ChildProcess | null = null;

  async function start(changes: Record<string, unknown> = {}) {
    const log = { level: 'warn', format: 'json' };
    // Set at once, so that a kill during the start reaches this process and not the previous one.
    writeFileSync(file, stringify({ ...config, ...changes, port, dataDir, log }));
    const [command = '', ...args] = [...launcherOf(dataDir), process.execPath, ...FINDS_MODULES, ...SERVE];
    const output = openSync(logFile, 'w');
    child = spawn(command, args, {
      env: { PATH: process.env.PATH, EARSHOT_CONFIG: file },
      stdio: ['ignore', output, output, 'ipc'],
    });
    closeSync(output);
    const failed = once(child, 'exit').then(async ([code]) => {
      throw new Error(`core ended with ${code}: ${await readFile(logFile, 'utf8')}`);
    });
    await Promise.race([once(child, 'message'), failed]);
    failed.catch(() => {});
  }
  async function kill() {
    const ended = child && child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null;
    child?.kill('SIGKILL');
    await ended;
  }
  async function stop() {
    if (!child) throw new Error('core does not run');
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const [status] = await ended;
    return status;
  }
  t.teardown(async () => {
    await kill();
    await rm(dataDir, { recursive: true, force: true });
    await rm(logFile, { force: true });
  });

  await start();
  const made = await callControl(controlPath(dataDir), 'key', {
    user: 'owner',
    scopes: ['listen', 'conversations:read'],
  });
  if (made === 'absent') throw new Error('core does not answer on its control socket');
  const { key } = made;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    dataDir,
    key,
    process: () => child as ChildProcess,
    kill,
    stop,
    start,
    async get(path) {
      const response = await fetch(new URL(path, url), { headers: { Authorization: `Bearer ${key}` } });
      return response.json();
    },
    async metric(line) {
      const text = await (await fetch(new URL('/metrics', url))).text();
      const found = text.split('\n').find(each => each.startsWith(`${line} `));
      return Number(found?.slice(line.length));
    },
  };
}
