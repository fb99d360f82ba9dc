import { isAbsolute, join } from 'node:path';
import type { Clock } from '../../../core/contract/model.ts';
import type { Capabilities } from '../../../core/contract/plugin.ts';
import { BUILTIN_PLUGINS } from '../../../core/plugin-host/builtin.ts';
import { diagnose } from '../../../core/plugin-host/diagnosis.ts';
import { within } from '../../../core/plugin-host/life.ts';
import { importUnnamed, type LoadedPlugin, optionsSchema } from '../../../core/plugin-host/loader.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import { checkDescriptions, readGiven, readKeys, tellEmpty, tellUnmarked } from '../suites/options.ts';
import type { CheckMessage, CheckRequest } from '../suites/report.ts';
import { createReporter, type Reporter, reasonOf } from '../suites/reporter.ts';
import type { Leftovers } from './leftovers.ts';
import { createSandbox, isBuiltinModule, type Run, type Sandbox } from './sandbox.ts';
import { SUITES } from './suites.ts';

interface Tools {
  environment: NodeJS.ProcessEnv;
  clock: Clock;
  leftovers: Leftovers;
  tell(message: CheckMessage): void;
}

/** One check of a suite; what waits for the plugin for longer waits for ever. */
const CHECK_MS = 60_000;
const IMPORT_MS = 10_000;

/** Tries a plugin in every way that there is, and tells what each came to. What cannot be tried any more is left out. */
export async function examine(request: CheckRequest, tools: Tools): Promise<void> {
  const { check, warn } = createReporter(tools.tell);
  const module = moduleOf(request);
  const plugin = await check('module', 'loads, and has the shape of a plugin', () => load(request, module));
  if (!plugin) return;
  await check('module', 'has a name of its own', async () => refuseTakenName(plugin, module));
  const schema = await check('options', 'has a schema', async () => optionsSchema(plugin));
  if (!schema) return;
  const nobody = { ...request, ...tools, environment: {}, allowHosts: [] };
  const bare = await createSandbox(plugin, module, {}, nobody);
  await check('options', 'without any, it has defaults or a clear error', async () =>
    tellEmpty(() => bare.config.pluginOptions(plugin.name, schema)),
  );
  await check('options', 'each has a description', async () => checkDescriptions(schema));
  warn('options', 'secrets are marked', tellUnmarked(schema));

  const options = await check('options', 'those that were given are right', async () => {
    const given = await readKeys('--options', request.options);
    const address = await readKeys('--address', request.address);
    const tester = { ...request, ...tools, allowHosts: hostsIn(address) };
    const sandbox = await createSandbox(plugin, module, given, tester);
    readGiven(() => sandbox.config.pluginOptions(plugin.name, schema), request.options !== null);
    return sandbox;
  });
  if (options) await live(options, request, { ...tools, check, warn });
}

/** Starts, stops, starts, stops; then does its work, and stops once more. */
async function live(sandbox: Sandbox, request: CheckRequest, tools: Tools & Reporter): Promise<void> {
  const { check, leftovers } = tools;
  for (const again of ['', ' again']) {
    leftovers.begin();
    const run = await check('life', `starts${again}`, () => sandbox.start());
    if (!run) return;
    await stop(run, again, tools);
  }
  leftovers.begin();
  const run = await check('life', 'starts to work', () => sandbox.start());
  if (!run) return;
  await check('doctor', 'what it tells of itself makes sense', () => tellDiagnosis(sandbox, run, tools));
  for (const capability of run.capabilities) await work(capability, run, { sandbox, request, ...tools });
  await stop(run, ' after its work', tools);
}

/** Beside the plugin that runs, as the doctor asks beside a server. */
async function tellDiagnosis(
  { plugin, config }: Sandbox,
  { dataDir, capabilities }: Run,
  { clock }: Tools,
): Promise<string> {
  const told = await diagnose(plugin, {
    options: config.pluginOptions(plugin.name, optionsSchema(plugin)).values,
    dataDir: capabilities.includes('storage') ? dataDir : join(dataDir, 'plugins', plugin.name),
    clock,
    signal: AbortSignal.timeout(CHECK_MS),
  });
  return (
    told?.map(({ what, detail }) => `${what}: ${detail}`).join('; ') ?? 'it tells nothing, which is fine'
  );
}

async function stop(run: Run, when: string, { check, leftovers }: Tools & Reporter): Promise<void> {
  await check('life', `stops${when}`, async () => {
    const complaints = await run.stop();
    if (complaints.length === 0) return;
    throw new AppError('internal', `what it gave to onStop failed: ${complaints.join('; ')}`);
  });
  await check('life', `leaves nothing behind${when}`, async () => {
    const left = await leftovers.find();
    if (left.length === 0) return;
    throw new AppError('internal', `still open: ${left.join(', ')}; close it in onStop`);
  });
}

async function work(
  capability: keyof Capabilities,
  run: Run,
  { sandbox, request, check, warn }: Reporter & { sandbox: Sandbox; request: CheckRequest },
): Promise<void> {
  const suite = SUITES[capability];
  if (!suite) return warn(capability, 'does what it promises', 'there is no suite for this capability yet');
  const checks = await check(capability, 'can be tried', () => suite({ run, sandbox, request }));
  for (const { title, run } of checks ?? []) {
    await check(capability, title, () => within(CHECK_MS, 'it did not finish', run()));
  }
}

/** A built-in plugin goes by its name too. */
function moduleOf({ plugin }: CheckRequest): string {
  return Object.hasOwn(BUILTIN_PLUGINS, plugin) ? String(BUILTIN_PLUGINS[plugin]) : plugin;
}

async function load({ dir }: CheckRequest, module: string): Promise<LoadedPlugin> {
  try {
    return await within(IMPORT_MS, 'its module did not load', importUnnamed({ module, dir }));
  } catch (error) {
    if (isAbsolute(module) || module.startsWith('file:')) throw error;
    throw new AppError('not_found', `${reasonOf(error)}; a file is given as a path, such as ./${module}.mjs`);
  }
}

/** Lists the hosts of all addresses in it, as an operator would allow them. */
function hostsIn(value: unknown): string[] {
  if (typeof value === 'string') return [URL.parse(value)?.host ?? ''].filter(host => host !== '');
  return Object.values(Object(value)).flatMap(hostsIn);
}

async function refuseTakenName({ name }: LoadedPlugin, module: string): Promise<void> {
  if (!Object.hasOwn(BUILTIN_PLUGINS, name) || isBuiltinModule(name, module)) return;
  throw new AppError('conflict', `${name} is built in; give yours a name of its own`);
}
