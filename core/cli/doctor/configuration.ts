import { ConfigError, type LoadedConfig, type PluginOptions } from '../../../config/load.ts';
import { BUILTIN_PLUGINS, choicesOf, notChosen } from '../../plugin-host/builtin.ts';
import { importPlugin, type LoadedPlugin, optionsSchema } from '../../plugin-host/loader.ts';
import { checkChoices, type KnownPlugin, knownPlugins } from '../../plugin-host/selection.ts';
import type { Check, Patient } from './examination.ts';
import { type Finding, findingsOf } from './finding.ts';

const { good, doubt, bad } = findingsOf('Configuration');
const ON_PAGE = 'set it anew on the system page, or delete it from settings.yaml in the data directory';
const CORRECT = 'correct it; config/example.yaml shows every option';

/** Converts each configuration problem to a finding. */
export function problemsIn(error: ConfigError): Finding[] {
  return error.problems.map(problem => bad('configuration', problem, CORRECT));
}

export const configurationCheck: Check = {
  group: 'Configuration',
  what: 'plugins',
  limitMs: 15_000,
  cure: CORRECT,
  async look(patient) {
    const file = good('configuration', patient.loaded.file ?? 'no file, all defaults');
    try {
      const problems = await Promise.all(chosenPlugins(patient).map(plugin => problemsOf(plugin, patient)));
      return [file, ...problems.flat()];
    } catch (error) {
      if (error instanceof ConfigError) return [file, ...problemsIn(error)];
      throw error;
    }
  },
};

/**
 * Lists the plugins that the server would load.
 * @throws {ConfigError} when one is named that does not exist, or a built-in one for what it does not provide
 */
export function chosenPlugins({ loaded }: Patient): KnownPlugin[] {
  const wanted = choicesOf(loaded.config);
  const skip = notChosen([loaded.config.storage, ...Object.values(wanted).flat()]);
  const known = knownPlugins({ builtin: BUILTIN_PLUGINS, config: loaded, wanted });
  checkChoices(
    loaded,
    wanted,
    known.map(({ name, off, kind }) => ({ name, off, provides: kind === null ? null : [kind] })),
  );
  return known.filter(({ name, builtin, off }) => !off && !(builtin && skip.includes(name)));
}

/** @throws {AppError | ConfigError} what is wrong with its module, or its options */
export async function optionsOf(
  known: KnownPlugin,
  loaded: LoadedConfig,
): Promise<{ plugin: LoadedPlugin; options: unknown; given: PluginOptions }> {
  const plugin = await importPlugin(known);
  const given = loaded.pluginOptions(plugin.name, optionsSchema(plugin));
  return { plugin, options: given.values, given };
}

async function problemsOf(known: KnownPlugin, patient: Patient): Promise<Finding[]> {
  try {
    const { given } = await optionsOf(known, patient.loaded);
    const onPage = [...given.origins].flatMap(([path, { from }]) => (from === 'page' ? [path] : []));
    const told = onPage.length > 0 ? [good(known.name, `set on the page: ${onPage.join(', ')}`)] : [];
    return [...told, ...given.ignored.map(problem => doubt(known.name, `left out: ${problem}`, ON_PAGE))];
  } catch (error) {
    if (error instanceof ConfigError) return problemsIn(error);
    const cure = `correct plugins.${known.name}.use, or try it: earshot plugin check ${known.module}`;
    return [bad(known.name, error instanceof Error ? error.message : String(error), cure)];
  }
}
