import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Plugin, PluginContext, VadSession } from '../../core/plugin.ts';
import { createEngine, type Engine } from './silero/engine.ts';
import { freshState, WINDOW } from './silero/model.ts';

interface Options {
  model: string;
  sha256: string;
  idleMinutes: number;
  maxWaitingSeconds: number;
}

const BUILT_IN = {
  model: fileURLToPath(new URL('./silero/silero-vad-v5.onnx', import.meta.url)),
  sha256: '2623a2953f6ff3d2c1e61740c6cdb7168133479b267dfef114a4a3cc5bdd788f',
};

/** Voice activity detection with the Silero v5 model, for any number of streams, in one thread of this process. */
const silero: Plugin<Options> = {
  name: 'silero',
  api: 1,
  title: 'Silero VAD: tells speech from noise, offline, in any language',
  options: z =>
    z.strictObject({
      model: z.string().min(1).default(BUILT_IN.model).describe('Another Silero v5 model file (ONNX)'),
      sha256: z
        .string()
        .regex(/^[0-9a-f]{64}$/)
        .default(BUILT_IN.sha256)
        .describe('Checksum of that file, hexadecimal'),
      idleMinutes: z.coerce
        .number()
        .positive()
        .default(10)
        .describe('Without speech to look for, the model leaves memory after this'),
      maxWaitingSeconds: z.coerce
        .number()
        .positive()
        .default(600)
        .describe('Audio of all streams together that may wait to be judged'),
    }),
  async setup(context) {
    const model = await readModel(context);
    const engine = createEngine({
      model,
      maxWaitingSamples: context.options.maxWaitingSeconds * 16_000,
      onDeath: error => context.fail(error),
    });
    context.onStop(engine.stop);
    return { vad: { windowSize: WINDOW, open: () => openSession(engine, context) } };
  },
};
export default silero;

async function readModel({ options, error }: PluginContext<Options>): Promise<Uint8Array> {
  const bytes = await readFile(options.model).catch(cause => {
    throw error('config_error', `The speech detector's model ${options.model} cannot be read`, { cause });
  });
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 === options.sha256) return bytes;
  throw error(
    'config_error',
    `The speech detector's model ${options.model} is not the expected file: ${bytes.length} bytes, SHA-256 ${sha256}. ` +
      'Restore it, or set plugins.silero.model and plugins.silero.sha256',
  );
}

function openSession(engine: Engine, { error }: PluginContext<Options>): VadSession {
  let state = freshState();
  let last: Promise<unknown> = Promise.resolve();

  async function judge(samples: Int16Array) {
    const before = state;
    try {
      const answer = await engine.judge(samples, before);
      if (state === before) state = answer.state;
      return answer.probabilities;
    } catch (cause) {
      if (state === before) state = freshState();
      throw error('unavailable', 'The speech detector failed', { cause });
    }
  }

  return {
    probabilities(samples) {
      const result = last.then(() => judge(samples));
      last = result.catch(() => {});
      return result;
    },
    reset() {
      state = freshState();
    },
    close() {
      state = freshState();
    },
  };
}
