/** The system's services for a test server: a catalogue of small models, and a simulated pendant. */
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Model, modelDirectory } from '../../config/setup/model.mjs';
import type { Clock, User } from '../../core/contract/model.ts';
import type { Storage } from '../../core/contract/plugin.ts';
import type { Status } from '../../core/control/commands.ts';
import type { Keys } from '../../core/domain/accounts/keys.ts';
import type { Users } from '../../core/domain/accounts/users.ts';
import type { PluginStatus } from '../../core/plugin-host/plugin-host.ts';
import { AppError } from '../../core/runtime/errors.ts';
import type { Log } from '../../core/runtime/log.ts';
import { createMetrics } from '../../core/runtime/metrics.ts';
import { createDiskUsage } from '../../core/system/disk-usage.ts';
import type { ExaminationState } from '../../core/system/examination.ts';
import { logLines } from '../../core/system/log-lines.ts';
import { createModels } from '../../core/system/models.ts';
import { describePlugins } from '../../core/system/plugins.ts';
import { createReadiness } from '../../core/system/readiness.ts';
import { createSimulation } from '../../core/system/simulation.ts';

const CONTENT = Buffer.alloc(200_000, 'model');
/** Port on which nothing listens. */
const NOWHERE = 'http://127.0.0.1:9';

/** A model of one file at this address. */
export function smallModel(base = NOWHERE): Model {
  const sha256 = createHash('sha256').update(CONTENT).digest('hex');
  const file = { name: 'model.bin', url: `${base}/model.bin`, size: CONTENT.length, sha256 };
  const about = { licence: 'MIT', about: 'A model of tests', languages: ['en'], live: true };
  return { plugin: 'sherpa-onnx', kind: 'transducer', ...about, files: { model: file } };
}

/** Content of the model's file. */
export const smallModelContent = (): Buffer => CONTENT;

/** Installs the files of a small model. */
export async function installSmallModel(dataDir: string, name: string): Promise<void> {
  const directory = modelDirectory(dataDir, name, smallModel());
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'model.bin'), CONTENT);
}

/** A model server that pauses in the middle of a file until told to continue. */
export async function modelServer() {
  const goOn = Promise.withResolvers<void>();
  const ranges: string[] = [];
  const server = createServer(async (request, response) => {
    const from = Number(/\d+/.exec(request.headers.range ?? '0')?.[0]);
    ranges.push(request.headers.range ?? 'all');
    const part = CONTENT.subarray(from);
    response.writeHead(from > 0 ? 206 : 200, {
      'Content-Length': part.length,
      ...(from > 0 ? { 'Content-Range': `bytes ${from}-${CONTENT.length - 1}/${CONTENT.length}` } : {}),
    });
    response.write(part.subarray(0, part.length / 2));
    await goOn.promise;
    response.end(part.subarray(part.length / 2));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, goOn: goOn.resolve, ranges, close };
}

const EXAMINED: ExaminationState = {
  isRunning: false,
  startedAt: 1_700_000_000_000,
  findings: [{ group: 'Disk', what: 'space', level: 'doubt', detail: 'little is free', cure: 'make room' }],
  error: null,
};
const PLUGIN: PluginStatus = {
  ...{ name: 'log', title: 'Log', state: 'degraded', capabilities: ['notify'], builtin: true },
  reason: { code: 'config_error', message: 'it lacks something' },
};
const DESCRIBED = describePlugins({ status: () => [PLUGIN], options: () => null });
const NO_BACKUP = { since: null, newest: null, failed: null, rehearsed: null, copies: [], enabled: true };

const LACKING: Status['ready'] = [
  {
    ...{ part: 'speech recognition', name: 'sherpa-onnx', ok: false, optional: false },
    ...{ detail: 'its model is missing', cure: null },
  },
];

/** @param dataDir directory for models and backups */
export function systemOf({
  dataDir,
  keys,
  users,
  storage,
  clock,
  log,
}: {
  dataDir: string;
  keys: Keys;
  users: Users;
  storage: Storage;
  clock: Clock;
  log: Log;
}) {
  const catalogue = async () => ({
    defaults: { 'sherpa-onnx': 'small' },
    models: { small: smallModel(), other: smallModel() },
  });
  const models = createModels({
    dataDir,
    catalogue,
    log,
    chosen: () => undefined,
    installed: async () => {},
  });
  const status = async () => ({
    ...{ version: '1.0.0', url: null, dataDir, configFile: null, ready: LACKING, users: [] },
  });
  return {
    readiness: createReadiness({ status, models }),
    models,
    simulation: createSimulation({ keys, url: () => null, environment: {} }),
    /** Its process is not started; the examination has its own tests. */
    examination: { state: () => EXAMINED, begin() {} },
    diskUsage: createDiskUsage({ dataDir, users }),
    jobs: () => storage.jobs.counts(clock.now()),
    latency: createMetrics({ now: clock.now, plugins: () => [], jobs: async () => [] }).latency,
    plugins: () => DESCRIBED,
    async changePlugin(_user: User, name: string) {
      const plugin = DESCRIBED.find(each => each.name === name);
      if (!plugin) throw new AppError('not_found', `There is no plugin ${name}`);
      return plugin;
    },
    logLines,
    backups: {
      begin() {},
      progress: () => ({ running: false, backup: null, error: null }),
      state: async () => ({ ...NO_BACKUP, directory: dataDir }),
    },
  };
}
