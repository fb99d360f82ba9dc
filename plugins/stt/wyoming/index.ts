import type {
  Plugin,
  PluginContext,
  SttSession,
  Transcript,
  Utterance,
} from '../../../core/contract/plugin.ts';
import { timeLimit } from '../../kit/options.ts';
import { encodeEvent } from '../../kit/wyoming/events.ts';
import { type Connection, connect } from './connection.ts';
import { type Ability, abilityOf } from './info.ts';

interface Options {
  host: string;
  port: number;
  model?: string | undefined;
  timeoutMs: number;
}

/** Time limit to connect, and again to answer: together less than the 30 seconds of a plugin's setup. */
const DESCRIBE_MS = 4000;
const FORMAT = { rate: 16_000, width: 2, channels: 1 };
/** Samples of one event: a tenth of a second. */
const CHUNK_SAMPLES = 1600;

export default {
  name: 'wyoming',
  api: 1,
  title: "A recogniser that speaks Home Assistant's Wyoming protocol, such as faster-whisper",
  sends: 'Speech',
  options: z =>
    z.strictObject({
      host: z.string().trim().min(1).default('127.0.0.1').describe('Address of the server'),
      port: z.coerce.number().int().min(1).max(65_535).default(10_300).describe('Its TCP port'),
      model: z
        .string()
        .min(1)
        .optional()
        .describe('Name of the model to request; absent: the server decides'),
      timeoutMs: timeLimit(z, { usual: 25_000, most: 29_000 }).describe(
        'Time limit for an answer after the end of speech, in milliseconds',
      ),
    }),
  async setup(context) {
    const { error, onStop } = context;
    const stopper = new AbortController();
    const stopped = Promise.withResolvers<never>();
    stopped.promise.catch(() => undefined); // handled by the open sessions, if any
    onStop(() => {
      const reason = error('upstream_error', 'wyoming is stopped');
      stopper.abort(reason);
      stopped.reject(reason);
    });
    const orStopped = (signal: AbortSignal) => AbortSignal.any([signal, stopper.signal]);
    const ability = await describe(context, context.signal).catch(failure => {
      // A server that does not answer may come back: `upstream_error` makes core start the plugin again later.
      if (failure.code !== 'timeout') throw failure;
      throw error('upstream_error', failure.message, { cause: failure });
    });

    async function open(hints: { language: string; signal: AbortSignal }): Promise<SttSession> {
      await describe(context, orStopped(hints.signal));
      return {
        transcribe: (utterance, leaving) =>
          transcribe(context, utterance, hints.language, orStopped(leaving)),
        failed: stopped.promise,
        close: async () => undefined,
      };
    }
    return { stt: { sampleRate: 16000, ...ability, open } };
  },
} satisfies Plugin<Options>;

type Context = PluginContext<Options>;

async function describe(context: Context, signal: AbortSignal): Promise<Ability> {
  const { error, options } = context;
  const server = { ...options, timeoutMs: Math.min(options.timeoutMs, DESCRIBE_MS) };
  const connection = await connect(server, 'info', signal, context);
  try {
    await connection.send(encodeEvent('describe'));
    const ability = abilityOf(await connection.answerInTime(), options.model);
    if (ability !== null) return ability;
  } finally {
    connection.close();
  }
  const lack = options.model === undefined ? 'recognises no speech' : `has no model ${options.model}`;
  const remedy = 'correct plugins.wyoming.host, plugins.wyoming.port or plugins.wyoming.model';
  throw error('config_error', `wyoming: the server at ${options.host}:${options.port} ${lack}; ${remedy}`);
}

/** Opens one connection per utterance, because servers close it after their answer. */
async function* transcribe(
  context: Context,
  utterance: Utterance,
  language: string,
  signal: AbortSignal,
): AsyncGenerator<Transcript> {
  const { error, options } = context;
  const connection = await connect(options, 'transcript', signal, context);
  try {
    await connection.send(encodeEvent('transcribe', request(options.model, language)));
    await connection.send(encodeEvent('audio-start', FORMAT));
    if (!(await sendAudio(connection, utterance))) {
      const { host, port } = options;
      throw error('upstream_error', `wyoming: ${host}:${port} answered before the speech had ended`);
    }
    const { startSample, endSample = startSample } = utterance; // known, as it has ended
    if (endSample === startSample) return;
    await connection.send(encodeEvent('audio-stop'));
    const { text } = await connection.answerInTime();
    if (typeof text !== 'string') throw error('upstream_error', 'wyoming: a transcript came without text');
    const said = text.replaceAll(/\s+/g, ' ').trim();
    if (said !== '') yield { text: said, startSample, endSample, final: true };
  } finally {
    connection.close();
  }
}

function request(model: string | undefined, language: string): Record<string, unknown> {
  return {
    ...(model === undefined ? {} : { name: model }),
    ...(language === 'multi' ? {} : { language: language.split('-')[0] }),
  };
}

/** Sends speech as it comes. Resolves to false where the answer came before all of it was sent. */
async function sendAudio(connection: Connection, utterance: Utterance): Promise<boolean> {
  const chunks = utterance.pcm()[Symbol.asyncIterator]();
  const answered = connection.answer.then(() => null);
  try {
    for (;;) {
      // The next chunk may take long; a lost connection ends the wait.
      const next = await Promise.race([chunks.next(), answered]);
      if (next === null) return false;
      if (next.done) return true;
      for (let at = 0; at < next.value.length; at += CHUNK_SAMPLES) {
        const samples = next.value.subarray(at, at + CHUNK_SAMPLES);
        await connection.send(encodeEvent('audio-chunk', FORMAT, bytesOf(samples)));
      }
    }
  } finally {
    void chunks.return?.().catch(() => undefined); // not awaited: it may wait for more speech
  }
}

/** Bytes in the order of the machine, which is little-endian wherever Earshot runs. */
function bytesOf(samples: Int16Array): Uint8Array {
  return new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
}
