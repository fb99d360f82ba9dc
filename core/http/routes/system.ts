import { z } from 'zod';
import type { Backups } from '../../backup/backups.ts';
import type { JobCount, User } from '../../contract/model.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Latency, Metrics } from '../../runtime/metrics.ts';
import type { DiskUsage } from '../../system/disk-usage.ts';
import type { ExaminationState } from '../../system/examination.ts';
import type { Level, LogLine } from '../../system/log-lines.ts';
import type { ListedModel } from '../../system/models.ts';
import type { DescribedPlugin } from '../../system/plugins.ts';
import type { ReadyPart } from '../../system/readiness.ts';
import type { SimulationState } from '../../system/simulation.ts';
import { integer } from '../query.ts';
import { type Route, route } from '../route.ts';

/** Services for operators, about the whole server. */
export interface System {
  readiness(): Promise<{ version: string; parts: ReadyPart[] }>;
  models: {
    list(): Promise<ListedModel[]>;
    download(name: string): Promise<void>;
    remove(name: string): Promise<number>;
  };
  simulation: { state(): SimulationState; begin(user: User): void; stop(): Promise<void> };
  examination: { state(): ExaminationState; begin(): void };
  diskUsage(): Promise<DiskUsage>;
  jobs(): Promise<JobCount[]>;
  latency: Metrics['latency'];
  plugins(): DescribedPlugin[];
  changePlugin(
    user: User,
    name: string,
    options: Readonly<Record<string, unknown>>,
  ): Promise<DescribedPlugin>;
  logLines(which: { level: Level; limit: number }): LogLine[];
  backups: Pick<Backups, 'begin' | 'progress' | 'state'>;
}

const ModelDownload = z
  .object({ model: z.string(), bytes: z.int() })
  .describe('Model whose download makes it ready; null: none does');

const Readiness = z
  .object({
    version: z.string(),
    parts: z.array(
      z.object({
        part: z.string().describe('Purpose, such as `speech recognition`'),
        name: z.string().describe('Plugin, or device'),
        ok: z.boolean(),
        optional: z.boolean().describe('Nothing is broken without it'),
        detail: z.string(),
        cure: z.string().nullable().describe('Command on the server that makes it ready'),
        download: ModelDownload.nullable(),
      }),
    ),
  })
  .meta({ id: 'Readiness' });

const MEASURED = {
  count: z.int().describe('Measurements: at most the latest 1000 since the start of the server'),
  oldest_s: z.number().nullable().describe('Age of the oldest, in seconds; null: there are none'),
  newest_s: z.number().nullable(),
  p50_ms: z.int().nullable().describe('Null: fewer than 2'),
  p90_ms: z.int().nullable().describe('Null: fewer than 10'),
  p99_ms: z.int().nullable().describe('Null: fewer than 100'),
  max_ms: z.int().nullable(),
};

const Latencies = z.object({
  total: z
    .object(MEASURED)
    .describe('From the arrival of the last speech of an utterance to the sending of its text'),
  beyond: z
    .object(MEASURED)
    .describe('The same from the end of the utterance: without the silence that has to follow'),
});

const Model = z
  .object({
    name: z.string(),
    plugin: z.string().describe('Plugin that takes it'),
    about: z.string(),
    languages: z.array(z.string()).describe('`multi`: it detects the language'),
    licence: z.string(),
    bytes: z.int().describe('Size of the download'),
    memory_bytes: z.int().describe('For planning, not measured'),
    live: z.boolean().describe('Text comes while people speak; otherwise after each utterance'),
    installed: z.boolean(),
    default: z.boolean().describe('The plugin takes it where its options name no other'),
    download: z
      .object({
        running: z.boolean(),
        bytes: z.int().describe('Bytes that have arrived'),
        error: z.string().nullable().describe('Why it ended early; another try goes on from there'),
      })
      .nullable()
      .describe('Last download since the start of the server'),
  })
  .meta({ id: 'Model' });

const Simulation = z
  .object({
    running: z.boolean(),
    error: z.string().nullable().describe('Why the last one ended before its conversation did'),
  })
  .meta({ id: 'Simulation' });

const DescribedPluginShape = z
  .object({
    name: z.string(),
    title: z.string(),
    state: z.enum(['off', 'starting', 'ready', 'degraded']),
    reason: z.string().nullable().describe('Why it is degraded'),
    capabilities: z.array(z.string()),
    builtin: z.boolean(),
    options: z.array(
      z.object({
        name: z.string().describe('Path in its section of the configuration'),
        description: z.string().nullable(),
        secret: z.boolean().describe('Then its value is not told; `from` tells whether it is set'),
        value: z.unknown().describe('As it is in use, defaults included; null: not set, or secret'),
        from: z.enum(['default', 'file', 'page', 'environment', 'command']).describe('Where it was set'),
        place: z.string().nullable().describe('Line, or variable, that sets it'),
        changeable: z.boolean().describe('Whether `changePlugin` takes it'),
        schema: z.record(z.string(), z.unknown()).describe('JSON schema of its value'),
      }),
    ),
    ignored: z
      .array(z.string())
      .describe('What is wrong with options that were set on the page; they are left out'),
  })
  .meta({ id: 'Plugin' });

const MAX_OPTIONS = 100;

const PluginChange = z
  .strictObject({
    options: z
      .record(z.string().max(200), z.unknown())
      .refine(
        options => Object.keys(options).length <= MAX_OPTIONS,
        `must have at most ${MAX_OPTIONS} options`,
      )
      .describe('New values by the names of the options; null: what the file or the default says'),
  })
  .meta({ id: 'PluginChange', examples: [{ options: { numThreads: 2 } }] });

const Usage = z
  .object({
    free_bytes: z.int().describe('Free space on the disk of the data directory'),
    parts: z
      .array(z.object({ name: z.string(), bytes: z.int() }))
      .describe('Folders of the data directory; `database` and `files` are what lies beside them'),
    accounts: z
      .array(
        z.object({
          id: z.string(),
          name: z.string(),
          photos_bytes: z.int(),
          recordings_bytes: z.int().describe('Recordings that wait for their text'),
          clips_bytes: z.int().describe('Audio that the account keeps'),
        }),
      )
      .describe('Files that accounts have beside the database'),
  })
  .meta({ id: 'DiskUsage' });

const Jobs = z
  .object({
    jobs: z.array(
      z.object({
        kind: z.string(),
        state: z
          .enum(['waiting', 'due', 'running', 'failed', 'dead'])
          .describe('`failed` waits for its next attempt, `waiting` for its time; `dead` was given up'),
        count: z.int(),
      }),
    ),
  })
  .meta({ id: 'Jobs' });

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const satisfies readonly Level[];
const MAX_LINES = 500;

const Lines = z
  .object({
    lines: z.array(
      z.object({
        time: z.iso.datetime().nullable(),
        level: z.enum(LEVELS),
        part: z.string().nullable().describe('Part of the server, or plugin'),
        message: z.string(),
        details: z.string().nullable().describe('Other fields, as JSON'),
      }),
    ),
  })
  .meta({ id: 'LogLines' });

const Examination = z
  .object({
    running: z.boolean(),
    started_at: z.iso.datetime().nullable().describe('Null: none since the start of the server'),
    error: z.string().nullable().describe('Why it did not come to its end'),
    findings: z.array(
      z.object({
        group: z.string(),
        what: z.string(),
        level: z.enum(['good', 'note', 'doubt', 'bad']),
        detail: z.string(),
        cure: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: 'Examination' });

const Backup = z
  .object({
    running: z.boolean(),
    error: z.string().nullable().describe('Why the last one failed'),
    directory: z.string(),
    enabled: z.boolean().describe('Whether one is made daily'),
    newest: z.object({ created_at: z.iso.datetime(), bytes: z.int() }).nullable(),
  })
  .meta({ id: 'BackupState' });

const Named = z.object({ name: z.string().meta({ examples: ['whisper-base'] }) });

/** Operations on the whole server, for operators. */
export function systemRoutes(system: System): Route[] {
  const { readiness, models, simulation, examination, backups } = system;
  const common = {
    tag: 'System',
    credential: 'idToken',
    role: 'operator',
    params: z.object({}),
    query: z.object({}),
  } as const;
  return [
    route({
      ...common,
      method: 'get',
      id: 'getReadiness',
      path: '/v1/system/readiness',
      summary: 'Get what works, and what makes the rest work',
      response: Readiness,
      handle: readiness,
    }),
    route({
      ...common,
      method: 'get',
      id: 'listModels',
      path: '/v1/system/models',
      summary: 'List the models that this server knows',
      response: z.object({ models: z.array(Model) }),
      handle: async () => ({ models: (await models.list()).map(modelJson) }),
    }),
    route({
      ...common,
      method: 'post',
      id: 'downloadModel',
      path: '/v1/system/models/{name}/download',
      summary: 'Begin the download of a model; the list of models tells its progress',
      params: Named,
      response: z.object({ started: z.literal(true) }),
      errors: ['not_found', 'conflict'],
      async handle({ params }) {
        await models.download(params.name);
        return { started: true } as const;
      },
    }),
    route({
      ...common,
      method: 'delete',
      id: 'removeModel',
      path: '/v1/system/models/{name}',
      summary: 'Delete the files of a model',
      params: Named,
      response: z.object({ freed_bytes: z.int() }),
      errors: ['not_found', 'conflict'],
      handle: async ({ params }) => ({ freed_bytes: await models.remove(params.name) }),
    }),
    route({
      ...common,
      method: 'get',
      id: 'getSimulation',
      path: '/v1/system/simulation',
      summary: 'Get whether the simulated pendant plays',
      response: Simulation,
      handle: async () => simulationJson(simulation.state()),
    }),
    route({
      ...common,
      method: 'post',
      id: 'startSimulation',
      path: '/v1/system/simulation',
      summary: 'Have a simulated pendant speak to your account, up to the end of one conversation',
      response: Simulation,
      errors: ['conflict'],
      async handle({ principal: { user } }) {
        simulation.begin(user);
        return simulationJson(simulation.state());
      },
    }),
    route({
      ...common,
      method: 'delete',
      id: 'stopSimulation',
      path: '/v1/system/simulation',
      summary: 'Stop the simulated pendant',
      response: Simulation,
      async handle() {
        await simulation.stop();
        return simulationJson(simulation.state());
      },
    }),
    route({
      ...common,
      method: 'get',
      id: 'listPlugins',
      path: '/v1/system/plugins',
      summary: 'List plugins with their state and options',
      response: z.object({ plugins: z.array(DescribedPluginShape) }),
      handle: async () => ({ plugins: system.plugins().map(pluginJson) }),
    }),
    route({
      ...common,
      method: 'patch',
      id: 'changePlugin',
      maxBodyBytes: 64 * 1024,
      path: '/v1/system/plugins/{name}',
      summary: 'Change options of a plugin, and start it again with them',
      params: Named,
      body: PluginChange,
      response: DescribedPluginShape,
      errors: ['not_found', 'conflict'],
      handle: async ({ params, body, principal: { user } }) =>
        pluginJson(await system.changePlugin(user, params.name, body.options)),
    }),
    route({
      ...common,
      method: 'get',
      id: 'getDiskUsage',
      path: '/v1/system/storage',
      summary: 'Get the space that the data directory takes, by purpose and by account',
      policy: 'search',
      response: Usage,
      async handle() {
        const { freeBytes, parts, accounts } = await system.diskUsage();
        return {
          free_bytes: freeBytes,
          parts,
          accounts: accounts.map(({ id, name, photos, recordings, clips }) => ({
            id,
            name,
            photos_bytes: photos,
            recordings_bytes: recordings,
            clips_bytes: clips,
          })),
        };
      },
    }),
    route({
      ...common,
      method: 'get',
      id: 'listJobs',
      path: '/v1/system/jobs',
      summary: 'Count stored jobs by kind and state',
      response: Jobs,
      handle: async () => ({ jobs: await system.jobs() }),
    }),
    route({
      ...common,
      method: 'get',
      id: 'getLatency',
      path: '/v1/system/latency',
      summary: 'Get the latest latencies from speech to its text, with their number',
      response: Latencies,
      async handle() {
        const { total, beyond } = system.latency();
        return { total: latencyJson(total), beyond: latencyJson(beyond) };
      },
    }),
    route({
      ...common,
      method: 'get',
      id: 'listLogLines',
      path: '/v1/system/log',
      summary: 'List the last lines of the log, newest first; it holds neither credentials nor what was said',
      query: z.object({
        limit: integer({ from: 1, to: MAX_LINES, absent: 200 }),
        level: z.enum(LEVELS).default('info').describe('Least level'),
      }),
      response: Lines,
      handle: async ({ query }) => ({ lines: system.logLines(query) }),
    }),
    route({
      ...common,
      method: 'get',
      id: 'getExamination',
      path: '/v1/system/examination',
      summary: 'Get the findings of the last examination',
      response: Examination,
      handle: async () => examinationJson(examination.state()),
    }),
    route({
      ...common,
      method: 'post',
      id: 'startExamination',
      path: '/v1/system/examination',
      summary: 'Examine the whole installation, as `earshot doctor` does; one at a time',
      response: Examination,
      async handle() {
        examination.begin();
        return examinationJson(examination.state());
      },
    }),
    route({
      ...common,
      method: 'get',
      id: 'getBackupState',
      path: '/v1/system/backup',
      summary: 'Get the newest backup, and whether one is being made',
      response: Backup,
      handle: () => backupJson(backups),
    }),
    route({
      ...common,
      method: 'post',
      id: 'startBackup',
      path: '/v1/system/backup',
      summary: 'Make a backup now, in the directory of the daily ones',
      response: Backup,
      errors: ['conflict'],
      async handle() {
        if (backups.progress().running) throw new AppError('conflict', 'A backup is being made already');
        backups.begin(null);
        return backupJson(backups);
      },
    }),
  ];
}

function pluginJson({
  reason,
  options,
  ignored,
  ...plugin
}: DescribedPlugin): z.input<typeof DescribedPluginShape> {
  return {
    ...plugin,
    reason: reason?.message ?? null,
    options: options.map(({ isChangeable, ...option }) => ({ ...option, changeable: isChangeable })),
    ignored: [...ignored],
  };
}

function modelJson(model: ListedModel): z.input<typeof Model> {
  const { name, plugin, about, languages, licence, bytes, memoryBytes, live, installed, download } = model;
  return {
    name,
    plugin,
    about,
    languages,
    licence,
    bytes,
    live,
    installed,
    memory_bytes: memoryBytes,
    default: model.default,
    download: download && { running: download.isRunning, bytes: download.bytes, error: download.error },
  };
}

function simulationJson({ isRunning, error }: SimulationState): z.input<typeof Simulation> {
  return { running: isRunning, error };
}

function examinationJson({
  isRunning,
  startedAt,
  error,
  findings,
}: ExaminationState): z.input<typeof Examination> {
  return {
    running: isRunning,
    error,
    findings,
    started_at: startedAt === null ? null : new Date(startedAt).toISOString(),
  };
}

async function backupJson(backups: System['backups']): Promise<z.input<typeof Backup>> {
  const { running, error } = backups.progress();
  const { directory, enabled, newest, failed } = await backups.state();
  return {
    running,
    directory,
    enabled,
    error: error ?? failed?.message ?? null,
    newest: newest && { created_at: new Date(newest.createdAt).toISOString(), bytes: newest.bytes },
  };
}

function latencyJson({
  count,
  oldestMs,
  newestMs,
  p50,
  p90,
  p99,
  max,
}: Latency): z.input<typeof Latencies>['total'] {
  const seconds = (ms: number | null) => (ms === null ? null : Math.round(ms / 1000));
  const whole = (ms: number | null) => (ms === null ? null : Math.round(ms));
  return {
    count,
    oldest_s: seconds(oldestMs),
    newest_s: seconds(newestMs),
    p50_ms: whole(p50),
    p90_ms: whole(p90),
    p99_ms: whole(p99),
    max_ms: whole(max),
  };
}
