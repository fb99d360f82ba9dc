import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Plugin, PluginContext, VadSession } from '../../core/plugin.ts';
import { createEngine, type Engine } from './silero/engine.ts';
import { createNetwork, freshState, WINDOW } from './silero/network.ts';
import { readTensors, type Tensors } from './silero/onnx.ts';

interface Options {
  model: string;
  sha256: string;
  maxWaitingSeconds: number;
}

const BUILT_IN = {
  model: fileURLToPath(new URL('./silero/silero-vad-v5.onnx', import.meta.url)),
  sha256: '2623a2953f6ff3d2c1e61740c6cdb7168133479b267dfef114a4a3cc5bdd788f',
};

/** Speech detection with Silero v5: any number of streams, one thread, 20 ms of computing per second of audio. */
const silero: Plugin<Options> = {
  name: 'silero',
  api: 1,
  title: 'Silero VAD: tells speech from noise, on this machine, in any language',
  options: z =>
    z.strictObject({
      model: z.string().min(1).default(BUILT_IN.model).describe('Another Silero v5 model file (ONNX)'),
      sha256: z
        .string()
        .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits')
        .default(BUILT_IN.sha256)
        .describe('Checksum of that file'),
      maxWaitingSeconds: z.coerce
        .number()
        .positive()
        .default(1200)
        .describe('Audio of all streams together that may wait to be judged'),
    }),
  async setup(context) {
    const engine = createEngine({
      tensors: await loadModel(context),
      maxWaitingSamples: context.options.maxWaitingSeconds * 16_000,
      onDeath: error => context.fail(error),
    });
    context.onStop(engine.stop);
    return { vad: { windowSize: WINDOW, open: () => openSession(engine, context) } };
  },
};
export default silero;

async function loadModel({ options, error }: PluginContext<Options>): Promise<Tensors> {
  const what = `The speech detector's model ${options.model}`;
  const wayOut = 'Restore the file, or set plugins.silero.model and plugins.silero.sha256';
  const bytes = await readFile(options.model).catch(cause => {
    throw error('config_error', `${what} cannot be read. ${wayOut}`, { cause });
  });
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 !== options.sha256)
    throw error(
      'config_error',
      `${what} is another file: ${bytes.length} bytes, SHA-256 ${sha256}. ${wayOut}`,
    );
  try {
    const tensors = readTensors(bytes);
    createNetwork(tensors); // fails where the thread would
    return tensors;
  } catch (cause) {
    throw error('config_error', `${what} is not Silero v5. ${wayOut}`, { cause });
  }
}

/** One stream: its state goes to the thread with each question and comes back with the answer. */
function openSession(engine: Engine, { error }: PluginContext<Options>): VadSession {
  let state = freshState();
  let latest: Promise<unknown> = Promise.resolve();

  async function judge(samples: Int16Array) {
    const given = state;
    try {
      const answer = await engine.judge(samples, given);
      if (state === given) state = answer.state;
      return answer.probabilities;
    } catch (cause) {
      if (state === given) state = freshState();
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw error('unavailable', reason, { cause });
    }
  }

  return {
    probabilities(samples) {
      const result = latest.then(() => judge(samples));
      latest = result.catch(() => {}); // the caller has it; the next question only waits for its turn
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
