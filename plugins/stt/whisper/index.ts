import { createRequire } from 'node:module';
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
import { languagesOf } from './whisper-model.ts';

interface Options {
  model?: string | undefined;
  numThreads: number;
}

type Context = PluginContext<Options>;

/** Model that the options select. */
interface Choice {
  name: string;
  path: string;
  /** Absent: the operator's own file, which the catalogue does not know. */
  known?: KnownFile;
  remedy: string;
}

/** Optional, because of its size: operators who want it install it. The version must match package.json. */
export const PACKAGE = '@fugood/whisper.node@1.1.3';

export default {
  name: 'whisper',
  api: 1,
  title: 'Whisper: a hundred languages on this machine, offline, each utterance once it has ended',
  options: z =>
    z.strictObject({
      model: z
        .string()
        .min(1)
        .optional()
        .describe('A name in config/models.json, or the path of a ggml file; absent: the default there'),
      numThreads: z.coerce
        .number()
        .int()
        .min(1)
        .max(64)
        .default(4)
        .describe('Processor threads for one utterance; others wait'),
    }),
  async setup(context) {
    const { error, options } = context;
    checkPackage(error);
    const { name, path, known, remedy } = await choose(context);
    const refuse = (what: string, cause?: unknown) =>
      error('config_error', `whisper: ${shownPath(path, context.dataDir)} ${what}; ${remedy}`, { cause });
    const problem = await problemOf(path, known ?? {});
    if (problem !== null) throw refuse(problem);
    const languages = await languagesOf(path);
    if (languages === null) throw refuse('is no Whisper model in the ggml format');
    const engine = startEngine(
      {
        name: 'whisper',
        entry: new URL(`./whisper-main${extname(import.meta.filename)}`, import.meta.url),
        options: { path, numThreads: options.numThreads },
        loadMs: 120_000,
        silentMs: 20_000,
        remedy,
      },
      context,
    );
    await engine.started().catch(cause => {
      throw cause.code === 'upstream_error' ? refuse('ends the process that loads it', cause) : cause;
    });
    return { stt: { sampleRate: 16000, languages, model: name, open: engine.open } };
  },
} satisfies Plugin<Options>;

function checkPackage(error: Context['error']): void {
  try {
    createRequire(import.meta.url).resolve('@fugood/whisper.node');
  } catch (cause) {
    const message = `whisper: its package is not installed; install it with: npm install ${PACKAGE}`;
    throw error('config_error', message, { cause });
  }
}

async function choose({ dataDir, error, options: { model } }: Context): Promise<Choice> {
  if (model !== undefined && /[/\\]|\.bin$/.test(model)) {
    return {
      name: basename(model, '.bin'),
      path: model,
      remedy: 'name another file in plugins.whisper.model',
    };
  }
  const catalogue = await readCatalogue<{ files: { model: KnownFile } }>('whisper');
  const name = model ?? catalogue.default;
  const known = catalogue.models[name]?.files.model;
  if (known === undefined) {
    const names = Object.keys(catalogue.models).join(', ');
    throw error(
      'config_error',
      `whisper: there is no model ${name}; known are ${names}, or the path of a file`,
    );
  }
  return { name, path: join(dataDir, name, known.name), known, remedy: fetchRemedy(name) };
}
