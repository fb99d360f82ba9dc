import type { z } from 'zod';
import { keysOf } from './keys.ts';
import {
  EMPTY,
  ENVIRONMENT_PREFIX,
  type Layer,
  merge,
  readEnvironment,
  section,
  tell,
  valueAt,
  variablesOf,
  withSecrets,
} from './layers.ts';
import { ConfigError, check } from './problems.ts';
import type { Config } from './schema.ts';

const PLUGIN_PREFIX = `${ENVIRONMENT_PREFIX}PLUGINS__`;

/** `EARSHOT_PLUGINS__<NAME>=false` and `EARSHOT_PLUGINS__<NAME>__USE=<path or package>`. */
export function readPluginSwitches(env: NodeJS.ProcessEnv, problems: string[]): Layer {
  const sources = new Map<string, string>();
  const plugins: Record<string, unknown> = {};
  for (const [variable, text] of variablesOf(env, PLUGIN_PREFIX)) {
    const [name, option] = pluginVariable(variable);
    if (option === '') {
      if (text.toLowerCase() !== 'false') {
        problems.push(`${variable} can only be false; options are ${variable}__<OPTION>`);
        continue;
      }
      plugins[name] = false;
      sources.set(`plugins.${name}`, variable);
    }
    if (option === 'USE') {
      plugins[name] = { use: text };
      sources.set(`plugins.${name}.use`, variable);
    }
  }
  return { values: { plugins }, where: path => sources.get(path.join('.')) ?? null };
}

/** `EARSHOT_PLUGINS__MY_STT__API_KEY` → `['my-stt', 'API_KEY']`. */
function pluginVariable(variable: string): [name: string, option: string] {
  const [name = '', ...option] = variable.slice(PLUGIN_PREFIX.length).split('__');
  return [name.toLowerCase().replaceAll('_', '-'), option.join('__').toUpperCase()];
}

/** A plugin that only the environment configures has a section too. */
export function withVariablesOnly(plugins: Config['plugins'], env: NodeJS.ProcessEnv): Config['plugins'] {
  const names = variablesOf(env, PLUGIN_PREFIX).map(([variable]) => pluginVariable(variable)[0]);
  return { ...Object.fromEntries(names.map(name => [name, {}])), ...plugins };
}

/** A plugin's options, parsed, and those of them that may not be shown. */
export interface PluginOptions {
  values: unknown;
  secrets: { key: string; text: string }[];
}

export function readPluginOptions(
  name: string,
  schema: z.core.$ZodType,
  from: { layers: readonly Layer[]; env: NodeJS.ProcessEnv; dir: string; cwd: string },
): PluginOptions {
  const problems: string[] = [];
  const path = ['plugins', name];
  const prefix = `${PLUGIN_PREFIX}${name.replaceAll('-', '_').toUpperCase()}__`;
  const variables = readEnvironment(schema, from.env, {
    prefix,
    ignore: option => option === 'USE',
    problems,
    dir: from.cwd,
  });
  const [file = EMPTY, switches = EMPTY, overrides = EMPTY] = from.layers.map(layer => section(layer, path));
  const layers = [
    withSecrets(schema, file, { dir: from.dir, problems, prefix: path }),
    switches,
    variables,
    overrides,
  ];
  const { use: _, ...merged } = merge(layers);
  const { data, problems: wrong } = check(schema, merged);
  problems.push(...wrong.map(problem => tell(layers, problem, path)));
  if (problems.length > 0) throw new ConfigError(problems);
  const secrets = keysOf(schema)
    .filter(key => key.secret)
    .map(({ path }) => ({ key: path.at(-1) ?? '', text: valueAt(merged, path) }));
  return {
    values: data,
    secrets: secrets.flatMap(({ key, text }) => (typeof text === 'string' ? [{ key, text }] : [])),
  };
}
