import { basename, extname, join } from 'node:path';
import type { Plugin, PluginContext } from '../../../core/contract/plugin.ts';
import { startEngine } from '../../kit/engine/host.ts';
import {
  fetchRemedy,
  type KnownFile,
  problemOf,
  readCatalogue,
  shownPath,
} from '../../kit/engine/model-file.ts';

interface Options {
  model?: string | undefined;
  file?: string | undefined;
  sha256?: string | undefined;
  sameVoice?: number | undefined;
  namedVoice?: number | undefined;
  numThreads: number;
}

interface KnownModel {
  files: { model: KnownFile };
  /** Likenesses (cosines), explained at `SpeakerModel`. */
  sameVoice: number;
  namedVoice: number;
}

/** Model that the options select. */
interface Choice extends Pick<KnownModel, 'sameVoice' | 'namedVoice'> {
  path: string;
  known: Pick<KnownFile, 'size' | 'sha256'>;
  sha256: string;
  remedy: string;
}

const PLUGIN = 'sherpa-speakers';
const UNCHECKED = 'unchecked';
/** Threshold for models outside the catalogue: most models that sherpa-onnx loads distinguish voices from here on. */
const SAME_VOICE = 0.5;
const NAMED_VOICE = 0.65;

export default {
  name: PLUGIN,
  api: 1,
  title: 'Tells voices apart, on this machine, with a model that sherpa-onnx loads',
  options: z => {
    const likeness = z.coerce.number().min(0).max(1).optional();
    return z.strictObject({
      model: z.string().min(1).optional().describe('A name in config/models.json; absent: its default'),
      file: z
        .string()
        .min(1)
        .optional()
        .describe('The path of a model that config/models.json does not know'),
      sha256: z
        .string()
        .regex(/^([0-9a-f]{64}|unchecked)$/)
        .optional()
        .describe(
          'SHA-256 of that file; unchecked: load it without a check, although a damaged file ends the process',
        ),
      sameVoice: likeness.describe(
        'Similarity, 0 to 1, from which two pieces are of one voice; absent: the default of the model',
      ),
      namedVoice: likeness.describe(
        'Similarity, 0 to 1, from which a voice gets a name; absent: the default of the model',
      ),
      numThreads: z.coerce.number().int().min(1).max(64).default(1).describe('Processor threads'),
    });
  },
  async setup(context) {
    const { error, options } = context;
    const { path, known, sha256, remedy, sameVoice, namedVoice } = await choose(context);
    const refuse = (what: string, cause?: unknown) =>
      error('config_error', `${PLUGIN}: ${shownPath(path, context.dataDir)} ${what}; ${remedy}`, { cause });
    const problem = await problemOf(path, known);
    if (problem !== null) throw refuse(problem);
    const engine = startEngine(
      {
        name: PLUGIN,
        entry: new URL(`./speakers-main${extname(import.meta.filename)}`, import.meta.url),
        options: { path, numThreads: options.numThreads },
        loadMs: 60_000,
        silentMs: 20_000,
        remedy,
      },
      context,
    );
    await engine.started().catch(cause => {
      throw cause.code === 'upstream_error' ? refuse('ends the process that loads it', cause) : cause;
    });
    const never = new AbortController().signal;
    const { length: dimensions } = await engine.embed(new Int16Array(TRIAL_SAMPLES), never);
    return {
      speakers: {
        id: `sherpa.${nameOf(path)}.${sha256.slice(0, 12)}`,
        dimensions,
        sameVoice: options.sameVoice ?? sameVoice,
        namedVoice: options.namedVoice ?? namedVoice,
        embed: engine.embed,
      },
    };
  },
} satisfies Plugin<Options>;

/** Length of a trial, half a second: the dimensions in a model's metadata are not always right. */
const TRIAL_SAMPLES = 8000;

async function choose({ dataDir, error, options }: PluginContext<Options>): Promise<Choice> {
  const { file, sha256 } = options;
  if (file !== undefined) {
    const remedy = `name another file in plugins.${PLUGIN}.file, or correct plugins.${PLUGIN}.sha256`;
    if (sha256 === undefined)
      throw error(
        'config_error',
        `${PLUGIN}: plugins.${PLUGIN}.sha256 is missing: the checksum of ${file}, or ${UNCHECKED}`,
      );
    const isChecked = sha256 !== UNCHECKED;
    return {
      path: file,
      known: isChecked ? { sha256 } : {},
      sha256,
      remedy,
      sameVoice: SAME_VOICE,
      namedVoice: NAMED_VOICE,
    };
  }
  const catalogue = await readCatalogue<KnownModel>(PLUGIN);
  const name = options.model ?? catalogue.default;
  const model = catalogue.models[name];
  if (model === undefined) {
    const names = Object.keys(catalogue.models).join(', ');
    throw error('config_error', `${PLUGIN}: there is no model ${name}; known are ${names}, or name a file`);
  }
  const into = join(dataDir, name);
  const known = model.files.model;
  return {
    path: join(into, known.name),
    known,
    sha256: known.sha256 ?? '',
    remedy: fetchRemedy(name),
    sameVoice: model.sameVoice,
    namedVoice: model.namedVoice,
  };
}

/** Derives the id of a vector space from the file name. */
function nameOf(path: string): string {
  const name = basename(path, '.onnx')
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]/g, '-');
  return name.slice(0, 60);
}
