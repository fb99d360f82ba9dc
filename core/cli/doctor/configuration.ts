import { ConfigError, type LoadedConfig } from '../../../config/load.ts';
import { BUILTIN_PLUGINS, choicesOf, notChosen } from '../../plugin-host/builtin.ts';
import { importPlugin, type LoadedPlugin, optionsSchema } from '../../plugin-host/loader.ts';
import { type KnownPlugin, knownPlugins } from '../../plugin-host/selection.ts';
import type { Check, Patient } from './examination.ts';
import { type Finding, findingsOf } from './finding.ts';

const { good, bad } = findingsOf('Configuration');
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
 * @throws {ConfigError} when one is named that does not exist
 */
export function chosenPlugins({ loaded }: Patient): KnownPlugin[] {
  const wanted = choicesOf(loaded.config);
  const skip = notChosen([loaded.config.storage, ...Object.values(wanted).flat()]);
  const known = knownPlugins({ builtin: BUILTIN_PLUGINS, config: loaded, wanted });
  return known.filter(({ name, builtin, off }) => !off && !(builtin && skip.includes(name)));
}

/** @throws {AppError | ConfigError} what is wrong with its module, or its options */
export async function optionsOf(
  known: KnownPlugin,
  loaded: LoadedConfig,
): Promise<{ plugin: LoadedPlugin; options: unknown }> {
  const plugin = await importPlugin(known);
  return { plugin, options: loaded.pluginOptions(plugin.name, optionsSchema(plugin)).values };
}

async function problemsOf(known: KnownPlugin, patient: Patient): Promise<Finding[]> {
  try {
    await optionsOf(known, patient.loaded);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return problemsIn(error);
    const cure = `correct plugins.${known.name}.use, or try it: earshot plugin check ${known.module}`;
    return [bad(known.name, error instanceof Error ? error.message : String(error), cure)];
  }
}
