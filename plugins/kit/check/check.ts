import { join } from 'node:path';
import type { Clock } from '../../../core/contract/model.ts';
import type { Capabilities } from '../../../core/contract/plugin.ts';
import { BUILTIN_PLUGINS } from '../../../core/plugin-host/builtin.ts';
import { diagnose } from '../../../core/plugin-host/diagnosis.ts';
import { within } from '../../../core/plugin-host/life.ts';
import { importUnnamed, type LoadedPlugin, optionsSchema } from '../../../core/plugin-host/loader.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import { checkDescriptions, tellEmpty, tellUnmarked } from '../suites/options.ts';
import type { CheckMessage, CheckRequest } from '../suites/report.ts';
import { createReporter, type PlaceOf, type Reporter } from '../suites/reporter.ts';
import { NOTHING_GIVEN, readGiven, readKeys, readOptions } from './given.ts';
import type { Leftovers } from './leftovers.ts';
import { createSandbox, isBuiltinModule, type Run, type Sandbox } from './sandbox.ts';
import { SUITES } from './suites.ts';

interface Tools {
  environment: NodeJS.ProcessEnv;
  clock: Clock;
  leftovers: Leftovers;
  placeOf: PlaceOf;
  tell(message: CheckMessage): void;
}

/** Time limit for one check of a suite. */
const CHECK_MS = 60_000;
const IMPORT_MS = 10_000;

/**
 * Tests a plugin in every available way, and reports each result. Checks that depend on a failed one are left out.
 */
export async function examine(request: CheckRequest, tools: Tools): Promise<void> {
  const { check, warn, skip } = createReporter(tools.tell, tools.placeOf);
  const module = moduleOf(request);
  const plugin = await check('module', 'loads, and has the shape of a plugin', () =>
    within(IMPORT_MS, 'its module did not load', importUnnamed({ module, dir: request.dir })),
  );
  if (!plugin) return;
  const isOwn = await check('module', 'has a name of its own', async () => refuseTakenName(plugin, module));
  if (isOwn === null) return;
  const schema = await check('options', 'has a schema', async () => optionsSchema(plugin));
  if (!schema) return;
  const nobody = { ...request, ...tools, environment: {}, allowHosts: [] };
  const bare = await createSandbox(plugin, module, NOTHING_GIVEN, nobody);
  await check('options', 'has defaults, or a clear error without options', async () =>
    tellEmpty(() => bare.config.pluginOptions(plugin.name, schema)),
  );
  await check('options', 'have descriptions', async () => checkDescriptions(schema));
  warn('options', 'secrets are marked', tellUnmarked(schema));

  const options = await check('options', 'are valid', async () => {
    const given = readOptions(plugin.name, schema, request.options);
    const address = readKeys(request.address);
    const tester = { ...request, ...tools, allowHosts: hostsIn(address.values) };
    const sandbox = await createSandbox(plugin, module, given, tester);
    readGiven(() => sandbox.config.pluginOptions(plugin.name, schema), request.options !== null);
    return sandbox;
  });
  if (options) await live(options, request, { ...tools, check, warn, skip });
}

/** Starts and stops it twice; then does its work, and stops it again. */
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
  await check('doctor', 'its diagnosis is valid', () => tellDiagnosis(sandbox, run, tools));
  if (request.address !== null)
    await check('options', '--address is supported', async () => refuseAddress(run));
  for (const capability of run.capabilities) await work(capability, run, { sandbox, request, ...tools });
  await stop(run, ' after its work', tools);
}

/** Asks for the diagnosis while the plugin runs, as the doctor does beside a server. */
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
    told?.map(({ what, detail }) => `${what}: ${detail}`).join('; ') ??
    'it has no diagnosis, which is optional'
  );
}

async function stop(run: Run, when: string, { check, leftovers }: Tools & Reporter): Promise<void> {
  await check('life', `stops${when}`, async () => {
    const complaints = await run.stop();
    if (complaints.length === 0) return;
    throw new AppError('internal', `a handler that it passed to onStop failed: ${complaints.join('; ')}`);
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
  { sandbox, request, check, warn, skip }: Reporter & { sandbox: Sandbox; request: CheckRequest },
): Promise<void> {
  const suite = SUITES[capability];
  if (!suite) return warn(capability, 'does what it promises', 'there is no suite for this capability yet');
  const checks = (await check(capability, 'can be tested', () => suite({ run, sandbox, request }))) ?? [];
  for (const [index, { title, isBasis, run }] of checks.entries()) {
    const done = await check(capability, title, () => within(CHECK_MS, 'it did not finish', run()));
    const left = checks.length - index - 1;
    if (done === null && isBasis && left > 0)
      return skip(capability, left, `they need a check that failed: "${title}"`);
  }
}

async function refuseAddress({ capabilities }: Run): Promise<void> {
  if (capabilities.some(capability => capability === 'notify' || capability === 'calendar')) return;
  throw new AppError(
    'invalid_request',
    `it provides ${capabilities.join(' and ')}, which takes no address: only channels and calendars do; leave --address out`,
  );
}

/** Accepts the name of a built-in plugin as well. */
export function moduleOf({ plugin }: CheckRequest): string {
  return Object.hasOwn(BUILTIN_PLUGINS, plugin) ? String(BUILTIN_PLUGINS[plugin]) : plugin;
}

/** Lists the hosts of all addresses in the options, as an operator would allow them. */
function hostsIn(value: unknown): string[] {
  if (typeof value === 'string') return [URL.parse(value)?.host ?? ''].filter(host => host !== '');
  return Object.values(Object(value)).flatMap(hostsIn);
}

async function refuseTakenName({ name }: LoadedPlugin, module: string): Promise<void> {
  if (!Object.hasOwn(BUILTIN_PLUGINS, name) || isBuiltinModule(name, module)) return;
  throw new AppError('conflict', `${name} is built in; give yours a name of its own`);
}
