import type {
  Plugin,
  PluginContext,
  SttHints,
  SttSession,
  Transcript,
  Utterance,
} from '../../../core/contract/plugin.ts';
import { piecesOf, promptOf, readAnswer } from '../../kit/engine/whisper-answer.ts';
import { isRecord, parseJson, type Reply, refusal, request, type Server } from '../../kit/kit.ts';
import { accountKey, serverAddress, timeLimit } from '../../kit/options.ts';

interface Options {
  baseUrl: string;
  apiKey?: string | undefined;
  model: string;
  languages: 'any' | string[];
  responseFormat: 'auto' | 'verbose_json' | 'json';
  prompt?: string | undefined;
  timeoutMs: number;
}

interface Wishes {
  /** ISO 639-1; null: the server detects it. */
  language: string | null;
  /** Text that the server gets as context; '' for none. */
  prompt: string;
}

/** A tenth of a second: hosted servers refuse shorter audio, and no word is shorter. */
const MIN_SAMPLES = 1600;
/** Form of error codes, such as `model_not_found`. */
const CODE = /^[a-z][a-z0-9_]{0,63}$/;

export default {
  name: 'openai',
  api: 1,
  title: "Any server with OpenAI's transcription endpoint: whisper.cpp, speaches, LocalAI, or OpenAI's own",
  sends: 'Speech',
  options: z =>
    z.strictObject({
      baseUrl: serverAddress(z)
        .default('http://127.0.0.1:8000/v1')
        .describe('Address of the server, to which /audio/transcriptions is added'),
      apiKey: accountKey(z).optional().describe('Key of the account there, if the server requires one'),
      model: z.string().min(1).default('whisper-1').describe('Name of the model on the server'),
      languages: z
        .union([z.literal('any'), z.array(z.string().min(2)).min(1)])
        .default('any')
        .describe('Languages to use it for, as ISO 639-1 codes; any: all of them'),
      responseFormat: z
        .enum(['auto', 'verbose_json', 'json'])
        .default('auto')
        .describe(
          'Format of responses; verbose_json has the times of each part; auto: verbose_json if the server supports it',
        ),
      prompt: z.string().min(1).max(1000).optional().describe('Words to expect: names, terms'),
      timeoutMs: timeLimit(z, { usual: 25_000, most: 29_000 }).describe(
        'Time limit for an answer, in milliseconds',
      ),
    }),
  setup(context) {
    const { error, onStop, options } = context;
    const stopped = Promise.withResolvers<never>();
    stopped.promise.catch(() => undefined); // handled by the open sessions, if any
    onStop(() => stopped.reject(error('upstream_error', 'openai is stopped')));
    const server = connect(context);

    async function open(hints: SttHints): Promise<SttSession> {
      await server.check(hints.signal);
      const language = hints.language === 'multi' ? null : (hints.language.split('-')[0] ?? null);
      return {
        transcribe: (utterance, signal) =>
          transcribe(
            utterance,
            { language, prompt: promptOf(hints.vocabulary ?? [], options.prompt) },
            signal,
          ),
        failed: stopped.promise,
        close: async () => undefined,
      };
    }

    async function* transcribe(
      utterance: Utterance,
      wishes: Wishes,
      signal: AbortSignal,
    ): AsyncGenerator<Transcript> {
      const { startSample } = utterance;
      const wav = await utterance.wav(startSample, signal);
      const { endSample = startSample } = utterance; // known, as it has ended
      if (endSample - startSample < MIN_SAMPLES) return;
      const answer = await server.transcribe(wav, wishes, signal);
      yield* piecesOf(answer, startSample, endSample);
    }

    return { stt: { sampleRate: 16000, languages: options.languages, model: options.model, open } };
  },
} satisfies Plugin<Options>;

function connect(context: PluginContext<Options>) {
  const { error, options } = context;
  const server = `openai: ${options.baseUrl}`;
  const place: Server = {
    plugin: 'openai',
    url: options.baseUrl,
    headers: options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` },
    options: { url: 'baseUrl', model: 'model' },
    limitMs: options.timeoutMs,
  };
  let format: 'verbose_json' | 'json' = options.responseFormat === 'json' ? 'json' : 'verbose_json';

  /** Resolves when the server answers and accepts the key. A server without a list of models has answered, too. */
  async function check(signal: AbortSignal): Promise<void> {
    const reply = await request(context, place, '/models', {}, signal);
    if (reply.status < 300 || [404, 405, 501].includes(reply.status)) return;
    throw refusal(context, place, reply, causeOf(reply));
  }

  async function transcribe(wav: Uint8Array, wishes: Wishes, signal: AbortSignal) {
    let reply = await post(wav, wishes, format, signal);
    if (options.responseFormat === 'auto' && format === 'verbose_json' && refuses(reply)) {
      // Some models return no times. After the first such refusal, only the text is requested.
      reply = await post(wav, wishes, 'json', signal);
      if (reply.status === 200) format = 'json';
    }
    if (reply.status !== 200)
      throw refuses(reply) ? unreadable(reply) : refusal(context, place, reply, causeOf(reply));
    if (reply.body === null) throw error('upstream_error', `${server} answered with more than 1 MiB`);
    const answer = readAnswer(reply.body);
    if (answer === null) {
      throw error('upstream_error', `${server} answered with something that is no transcription`);
    }
    return answer;
  }

  function post(wav: Uint8Array, wishes: Wishes, as: string, signal: AbortSignal): Promise<Reply> {
    const { language, prompt } = wishes;
    const form = new FormData();
    form.set('file', new Blob([new Uint8Array(wav)], { type: 'audio/wav' }), 'utterance.wav');
    form.set('model', options.model);
    form.set('response_format', as);
    if (language !== null) form.set('language', language);
    if (prompt !== '') form.set('prompt', prompt);
    return request(context, place, '/audio/transcriptions', { method: 'POST', body: form }, signal);
  }

  function unreadable(reply: Reply) {
    return error('invalid_input', `${server} cannot read this audio (${reply.status})`, {
      cause: causeOf(reply),
    });
  }

  return { check, transcribe };
}

/** Whether the server refuses the file or the fields of the form. */
function refuses({ status }: Reply): boolean {
  return [400, 413, 415, 422].includes(status);
}

/** Describes an error for the log by its code alone: the server's message may quote what was said. */
function causeOf({ status, body }: Reply): Error {
  const json = body === null ? undefined : parseJson(body);
  const failure = isRecord(json) && isRecord(json.error) ? json.error : {};
  const code = [failure.code, failure.type].find(each => typeof each === 'string' && CODE.test(each));
  return new Error(`status ${status}${code === undefined ? '' : `, ${code}`}`);
}
