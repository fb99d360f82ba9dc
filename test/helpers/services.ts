import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { loadConfig, type Overrides } from '../../config/load.ts';
import { type App, createApp, openStorage } from '../../core/app.ts';
import type { Clock } from '../../core/contract/model.ts';
import { createLog, type Log } from '../../core/runtime/log.ts';
import type { Catalogue } from '../../core/system/models.ts';
import { indiscretions, keptLog } from './discretion.ts';
import { createMigrated } from './storage.ts';

/** A complete server on a free port, with a real database in its own directory, and one account. */
export interface TestServer {
  app: App;
  url: string;
  dataDir: string;
  userId: string;
  /** With the scopes `listen` and `conversations:read`. */
  key: string;
  /** Sends a request with the key and parses the body. */
  get(path: string): Promise<{ status: number; body: unknown }>;
  /** Its log at level trace; empty if the test brought its own log. */
  lines: readonly string[];
  stop(): Promise<void>;
}

/** The recogniser of tests: see `fixtures/plugins/counting-stt.ts`. */
export function countingStt(options: Record<string, unknown> = {}) {
  const use = join(import.meta.dirname, '../fixtures/plugins/counting-stt.ts');
  return { stt: ['counting'], plugins: { counting: { use, ...options } } };
}

/** Created before any thread: each thread adds error listeners to this process's output, and Node warns beyond ten. */
const silent = createLog({ level: 'silent', format: 'json' });

/** Time limits of plugins for a machine busy with other tests. */
export const UNHURRIED = { importMs: 600_000, setupMs: 600_000, undoMs: 60_000 };

interface Surroundings {
  catalogue?: () => Promise<Catalogue>;
  clock?: Clock;
  log?: Log;
}

/** The tests' recogniser, failing from `begin` to `end`. */
export async function failingStt(t: ExecutionContext) {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-outage-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const outage = join(dir, 'now');
  return { ...countingStt({ outage }), begin: () => writeFile(outage, ''), end: () => rm(outage) };
}

/** Prepares a data directory as a first start leaves it, without an account. */
export async function prepareData(dataDir: string): Promise<void> {
  const loaded = loadConfig({ env: {}, cwd: tmpdir(), overrides: { dataDir } });
  const app = await createApp({ loaded, log: silent });
  await app.stop();
}

/** A directory with a migrated database: migrating takes a fifth of the time of a start. */
async function newDataDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-'));
  await createMigrated(join(dir, 'earshot.db'));
  return dir;
}

/** Builds a server that stops with its test. */
export async function openServer(
  t: ExecutionContext,
  overrides: Overrides = {},
  surroundings: Surroundings = {},
): Promise<TestServer> {
  const server = await buildServer(overrides, surroundings);
  t.teardown(server.stop);
  return server;
}

/**
 * Its directory is removed when it stops, unless the caller brought one. Stopping rejects if the log contains a
 * credential or personal data.
 */
export async function buildServer(
  overrides: Overrides = {},
  surroundings: Surroundings = {},
): Promise<TestServer> {
  const dataDir = overrides.dataDir ?? (await newDataDir());
  const loaded = loadConfig({
    env: {},
    cwd: dataDir,
    overrides: { host: '127.0.0.1', port: 0, ...overrides, dataDir },
  });
  const { log, lines } = keptLog();
  const app = await createApp({ loaded, log, serving: true, pluginLimits: UNHURRIED, ...surroundings });
  let isStopped = false;
  const stop = async () => {
    if (isStopped) return;
    isStopped = true;
    await app.stop();
    const { storage, close } = await openStorage({ loaded, log: silent });
    const shown = await indiscretions(lines, storage).finally(close);
    if (shown.length > 0) throw new Error(`the log shows what nobody may read there: ${shown.join(', ')}`);
    if (!overrides.dataDir) await rm(dataDir, { recursive: true, force: true });
  };
  const { url } = await app.start();
  const [owner] = await app.commands['user.list']({});
  if (!owner) throw new Error('there is no first account');
  const { key } = await app.commands.key({ user: owner.name, scopes: ['listen', 'conversations:read'] });
  return {
    app,
    url,
    dataDir,
    userId: owner.id,
    key,
    lines,
    stop,
    async get(path) {
      const response = await fetch(new URL(path, url), { headers: { Authorization: `Bearer ${key}` } });
      return { status: response.status, body: await response.json() };
    },
  };
}
