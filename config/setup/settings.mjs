/**
 * The few settings that decide which recogniser to make ready. The whole configuration is read, and judged, by the
 * program itself; here what cannot be read counts as not set.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const MODEL = '/usr/share/pocketsphinx/model/en-us';

export async function readSettings(root, env, cwd) {
  const file = resolve(cwd, env.EARSHOT_CONFIG || 'earshot.yaml');
  const yaml = existsSync(file) ? readYaml(root, file) : {};
  const dataDir = env.EARSHOT_DATA_DIR
    ? resolve(cwd, env.EARSHOT_DATA_DIR)
    : resolve(cwd, text(yaml.dataDir) ?? 'data');
  const sherpa = pluginOptions('SHERPA_ONNX', ['model', 'directory'], yaml, env);
  const sphinx = pluginOptions('POCKETSPHINX', ['library', 'hmm', 'lm', 'dict'], yaml, env);
  const order = listOf(env.EARSHOT_STT) ?? listOf(yaml.stt) ?? ['sherpa-onnx', 'pocketsphinx'];
  return {
    dataDir,
    order,
    hasFinal: yaml.stt?.final !== undefined || /"final"/.test(env.EARSHOT_STT ?? ''),
    sherpa: {
      wanted: order.includes('sherpa-onnx') && !sherpa.off,
      own: sherpa.own,
      model: sherpa.model,
      directory: sherpa.directory && resolve(cwd, sherpa.directory),
    },
    pocketsphinx: {
      wanted: order.includes('pocketsphinx') && !sphinx.off,
      library: sphinx.library ?? 'libpocketsphinx.so.3',
      files: [
        sphinx.hmm ?? join(MODEL, 'en-us'),
        sphinx.lm ?? join(MODEL, 'en-us.lm.bin'),
        sphinx.dict ?? join(MODEL, 'cmudict-en-us.dict'),
      ],
    },
  };
}

function pluginOptions(variable, names, yaml, env) {
  const section = yaml.plugins?.[variable.toLowerCase().replaceAll('_', '-')];
  const prefix = `EARSHOT_PLUGINS__${variable}`;
  const options = names.map(name => [name, env[`${prefix}__${name.toUpperCase()}`] || text(section?.[name])]);
  const own = section?.own !== undefined || Object.keys(env).some(name => name.startsWith(`${prefix}__OWN`));
  return {
    ...Object.fromEntries(options),
    own,
    off: section === false || env[prefix]?.toLowerCase() === 'false',
  };
}

function readYaml(root, file) {
  try {
    const { parse } = createRequire(join(root, 'package.json'))('yaml');
    return parse(readFileSync(file, 'utf8')) ?? {};
  } catch {
    return {};
  }
}

function text(value) {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A list in the file, or the recognisers of two passes; in the environment as JSON, or with commas. */
function listOf(value) {
  if (Array.isArray(value)) return value;
  if (value?.live && value.final) return [value.live, value.final].flat();
  if (typeof value !== 'string' || value === '') return undefined;
  if (!/^\s*[[{]/.test(value)) return value.split(',').map(name => name.trim());
  try {
    return listOf(JSON.parse(value));
  } catch {
    return undefined;
  }
}
