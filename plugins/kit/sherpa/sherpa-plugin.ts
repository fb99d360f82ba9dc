/** A plugin that runs sherpa-onnx in a separate process: one for live speech, one for a second pass. */
import { basename, extname, join } from 'node:path';
import type { Plugin, PluginContext } from '../../../core/contract/plugin.ts';
import { startEngine } from '../engine/host.ts';
import { fetchRemedy, problemOf, readCatalogue } from '../engine/model-file.ts';
import {
  checkModel,
  type KnownModel,
  knownFrom,
  type OwnModel,
  ownModelSchema,
  type Punctuation,
} from './sherpa-model.ts';

interface Options {
  model?: string | undefined;
  directory?: string | undefined;
  own?: OwnModel | undefined;
  numThreads: number;
  hotwords: boolean;
}

/** Model that the options select. */
interface Choice {
  name: string;
  known: KnownModel;
  directory: string;
  remedy: string;
}

/** Directory of the punctuation model, which is a single archive that operators unpack beside the models. */
const PUNCTUATION = 'sherpa-onnx-online-punct-en-2024-08-06';
const PUNCTUATION_FILES = ['model.int8.onnx', 'bpe.vocab'];

/** Plugin whose directory holds the models of all these plugins. */
const OWNER = 'sherpa-onnx';

export function sherpaPlugin({ name, title }: { name: string; title: string }): Plugin<Options> {
  return {
    name,
    api: 1,
    title,
    options: z =>
      z.strictObject({
        model: z.string().min(1).optional().describe('A name in config/models.json; absent: its default'),
        directory: z
          .string()
          .min(1)
          .optional()
          .describe('Directory of its files; absent: in the data directory'),
        own: ownModelSchema(z).optional().describe('A model that config/models.json does not know'),
        numThreads: z.coerce
          .number()
          .int()
          .min(1)
          .max(64)
          .default(1)
          .describe('Processor threads for all streams'),
        hotwords: z
          .boolean()
          .default(false)
          .describe(
            'Whether to expect names and words of the vocabulary: for `offline-transducer` models only; takes more time',
          ),
      }),
    async setup(context) {
      const { options } = context;
      const { name: model, known, directory, remedy } = await choose(name, context);
      const found = await checkModel(known, directory, remedy, context);
      const punctuation = await punctuationFor(known, context.dataDir);
      const engine = startEngine(
        {
          name,
          entry: new URL(`./sherpa-main${extname(import.meta.filename)}`, import.meta.url),
          options: {
            ...found,
            numThreads: options.numThreads,
            hotwords: options.hotwords,
            punctuation,
            language: known.languages.find(each => each !== 'multi') ?? 'en',
          },
          loadMs: 60_000,
          silentMs: 60_000,
          remedy,
        },
        context,
      );
      await engine.started();
      const plain = known.punctuation === false && punctuation === null;
      return { stt: { sampleRate: 16000, languages: known.languages, model, plain, open: engine.open } };
    },
  };
}

/** Returns sherpa's punctuation model, where it is installed and the other model needs it; it only knows English. */
async function punctuationFor(known: KnownModel, dataDir: string): Promise<Punctuation | null> {
  if (known.punctuation !== false || known.languages.some(language => language !== 'en')) return null;
  const directory = join(dataDir, '..', OWNER, PUNCTUATION);
  const [model, vocabulary] = PUNCTUATION_FILES.map(name => join(directory, name)) as [string, string];
  const problems = [await problemOf(model, {}), await problemOf(vocabulary, {})];
  return problems.every(problem => problem === null) ? { model, vocabulary } : null;
}

async function choose(
  plugin: string,
  { options: { model, directory, own }, dataDir, error }: PluginContext<Options>,
): Promise<Choice> {
  if (own !== undefined) {
    if (directory === undefined)
      throw error('config_error', `${plugin}: a model of your own needs \`directory\``);
    const remedy = `put the file there, or correct plugins.${plugin}.own`;
    return { name: model ?? basename(directory), known: knownFrom(own), directory, remedy };
  }
  const { defaults, models } = await readCatalogue<KnownModel>(OWNER);
  const name = model ?? defaults[plugin] ?? '';
  const known = models[name];
  if (known === undefined) {
    const names = Object.keys(models).join(', ');
    throw error('config_error', `${plugin}: there is no model ${name}; known are ${names}`);
  }
  const into = directory ?? join(dataDir, '..', OWNER, name);
  return { name, known, directory: into, remedy: fetchRemedy(name, directory) };
}
