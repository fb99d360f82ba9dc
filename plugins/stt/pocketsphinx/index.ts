import { access } from 'node:fs/promises';
import { extname } from 'node:path';
import type { Plugin, PluginContext } from '../../../core/contract/plugin.ts';
import { startEngine } from '../../kit/engine/host.ts';

interface Options {
  library: string;
  baseLibrary: string;
  hmm: string;
  lm: string;
  dict: string;
  decoders: number;
}

const MODEL = '/usr/share/pocketsphinx/model/en-us';
const REMEDY = 'make it ready with: sudo apt-get install libpocketsphinx3 pocketsphinx-en-us';

export default {
  name: 'pocketsphinx',
  api: 1,
  title:
    'PocketSphinx: English, offline, small. A last resort and for tests: it follows clear synthetic voices, and people poorly',
  options: z =>
    z.strictObject({
      library: z
        .string()
        .default('libpocketsphinx.so.3')
        .meta({ fileOnly: true })
        .describe('Name or path of the library'),
      baseLibrary: z
        .string()
        .default('libsphinxbase.so.3')
        .meta({ fileOnly: true })
        .describe('Name or path of the library below it'),
      hmm: z.string().default(`${MODEL}/en-us`).describe('Directory of the acoustic model'),
      lm: z.string().default(`${MODEL}/en-us.lm.bin`).describe('File of the language model'),
      dict: z.string().default(`${MODEL}/cmudict-en-us.dict`).describe('File of the pronunciations'),
      decoders: z.coerce
        .number()
        .int()
        .min(1)
        .max(16)
        .default(2)
        .describe('Utterances decoded concurrently, with 91 MB each; further ones wait'),
    }),
  async setup(context) {
    await checkFiles(context);
    const engine = startEngine(
      {
        name: 'pocketsphinx',
        entry: new URL(`./pocketsphinx-main${extname(import.meta.filename)}`, import.meta.url),
        options: context.options,
        loadMs: 60_000,
        silentMs: 20_000,
        remedy: REMEDY,
      },
      context,
    );
    await engine.started();
    return { stt: { sampleRate: 16000, languages: ['en'], model: 'en-us', plain: true, open: engine.open } };
  },
} satisfies Plugin<Options>;

async function checkFiles({ options, error }: PluginContext<Options>): Promise<void> {
  for (const path of [options.hmm, options.lm, options.dict]) {
    await access(path).catch(cause => {
      throw error('config_error', `pocketsphinx: ${path} is missing; ${REMEDY}`, { cause });
    });
  }
}
