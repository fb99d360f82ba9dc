import { basename, extname, join } from 'node:path';
import type { Plugin, PluginContext } from '../../../core/contract/plugin.ts';
import { startEngine } from '../../kit/engine/host.ts';
import { readCatalogue } from '../../kit/engine/model-file.ts';
import { checkModel, type KnownModel, knownFrom, type OwnModel, ownModelSchema } from './sherpa-model.ts';

interface Options {
  model?: string | undefined;
  directory?: string | undefined;
  own?: OwnModel | undefined;
  numThreads: number;
}

/** What the options come to. */
interface Choice {
  name: string;
  known: KnownModel;
  directory: string;
  remedy: string;
}

export default {
  name: 'sherpa-onnx',
  api: 1,
  title: 'sherpa-onnx: streaming recognition on this machine, offline, in the language of the model chosen',
  options: z =>
    z.strictObject({
      model: z.string().min(1).optional().describe('A name in config/models.json; absent: its default'),
      directory: z.string().min(1).optional().describe('Where its files lie; absent: in the data directory'),
      own: ownModelSchema(z).optional().describe('A model that config/models.json does not know'),
      numThreads: z.coerce
        .number()
        .int()
        .min(1)
        .max(64)
        .default(1)
        .describe('Processor threads for all streams'),
    }),
  async setup(context) {
    const { dataDir, error, options } = context;
    const { name, known, directory, remedy } = await choose(options, dataDir, error);
    const model = await checkModel(known, directory, remedy, error);
    const engine = startEngine(
      {
        name: 'sherpa-onnx',
        entry: new URL(`./sherpa-main${extname(import.meta.filename)}`, import.meta.url),
        options: { ...model, numThreads: options.numThreads },
        loadMs: 60_000,
        silentMs: 20_000,
        remedy,
      },
      context,
    );
    await engine.started();
    return { stt: { sampleRate: 16000, languages: known.languages, model: name, open: engine.open } };
  },
} satisfies Plugin<Options>;

async function choose(
  { model, directory, own }: Options,
  dataDir: string,
  error: PluginContext<Options>['error'],
): Promise<Choice> {
  if (own !== undefined) {
    if (directory === undefined)
      throw error('config_error', 'sherpa-onnx: a model of your own needs `directory`');
    const remedy = 'put the file there, or correct plugins.sherpa-onnx.own';
    return { name: model ?? basename(directory), known: knownFrom(own), directory, remedy };
  }
  const catalogue = await readCatalogue<KnownModel>('sherpa-onnx');
  const name = model ?? catalogue.default;
  const known = catalogue.models[name];
  if (known === undefined) {
    const names = Object.keys(catalogue.models).join(', ');
    throw error('config_error', `sherpa-onnx: there is no model ${name}; known are ${names}`);
  }
  const into = directory ?? join(dataDir, name);
  const remedy = `fetch the model with: earshot models pull ${name} --into ${into}`;
  return { name, known, directory: into, remedy };
}
