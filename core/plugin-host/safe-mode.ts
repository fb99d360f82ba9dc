import type { LoadedConfig } from '../../config/load.ts';
import { type Config, ConfigSchema } from '../../config/schema.ts';

const DEFAULTS = ConfigSchema.parse({});

/**
 * Removes third-party plugins, and what was set on the page, from a configuration, for a start that one of them prevents.
 * Where only such plugins were selected, the default is used.
 * @returns also their names
 * @throws {ConfigError} where one of them is the storage: without it there is no data
 */
export function withoutForeignPlugins(loaded: LoadedConfig): { loaded: LoadedConfig; leftOut: string[] } {
  const { config } = loaded;
  const sections = Object.entries(config.plugins);
  const leftOut = sections.flatMap(([name, section]) => (section !== false && section.use ? [name] : []));
  const isKept = (name: string) => !leftOut.includes(name);
  if (!isKept(config.storage))
    throw loaded.problem(
      ['storage'],
      `is a plugin of yours, ${config.storage}, and holds the data: safe mode cannot leave it out`,
    );
  const list = (key: 'identity' | 'llm' | 'understanding' | 'speakers' | 'translator' | 'notify') => {
    const kept = config[key].filter(isKept);
    return kept.length > 0 || config[key].length === 0 ? kept : DEFAULTS[key];
  };
  const safe: Config = {
    ...config,
    plugins: Object.fromEntries(sections.filter(([name]) => isKept(name))),
    stt: recognisers(config.stt, isKept),
    identity: list('identity'),
    llm: list('llm'),
    understanding: list('understanding'),
    speakers: list('speakers'),
    translator: list('translator'),
    notify: list('notify'),
    embedder: isKept(config.embedder) ? config.embedder : DEFAULTS.embedder,
    vectors: isKept(config.vectors) ? config.vectors : DEFAULTS.vectors,
  };
  // the default that takes its place was not asked for, so it must not prevent the start if it does not work
  const isSet = (path: string) => loaded.isSet(path) && !isChanged(path, config, safe);
  const pluginOptions: LoadedConfig['pluginOptions'] = (name, schema) =>
    loaded.pluginOptions(name, schema, true);
  return { loaded: { ...loaded, config: safe, isSet, pluginOptions }, leftOut };
}

function isChanged(path: string, before: Config, after: Config): boolean {
  const [key = ''] = path.split('.');
  const [was, is] = [before, after].map(config => JSON.stringify(config[key as keyof Config]));
  return was !== is;
}

/** One remaining recogniser becomes the only one; two passes need both. */
function recognisers(stt: Config['stt'], isKept: (name: string) => boolean): Config['stt'] {
  if (!Array.isArray(stt) && [stt.live, stt.final].flat().every(isKept)) return stt;
  const names = Array.isArray(stt) ? stt : [stt.live, stt.final].flat();
  const kept = names.filter(isKept);
  return kept.length > 0 || names.length === 0 ? kept : DEFAULTS.stt;
}
