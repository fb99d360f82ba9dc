import type { LanguageModel, Plugin, VisionModel } from '../../../core/contract/plugin.ts';
import { accountKey, serverAddress, timeLimit } from '../../kit/options.ts';
import { createChat } from './chat.ts';
import { FORMATS, type Format } from './question.ts';
import { createRequester } from './request.ts';

interface Options {
  baseUrl: string;
  apiKey?: string | undefined;
  model: string;
  visionModel?: string | undefined;
  responseFormat: 'auto' | Format;
  firstTokenMs: number;
  timeoutMs: number;
}

export default {
  name: 'openai-llm',
  api: 1,
  title:
    "Language models on any server with OpenAI's chat endpoint: Ollama, llama.cpp, vLLM, or OpenAI's own",
  sends: 'What was said',
  options: z =>
    z.strictObject({
      baseUrl: serverAddress(z)
        .default('http://127.0.0.1:11434/v1')
        .describe('Address of the server, to which /chat/completions is added'),
      apiKey: accountKey(z).optional().describe('Key of the account there, if the server requires one'),
      model: z.string().min(1).default('llama3.2').describe('Name of the model on the server'),
      visionModel: z
        .string()
        .min(1)
        .optional()
        .describe(
          'Name of a model there for pictures, which may be the same one; without it, photos are not described',
        ),
      responseFormat: z
        .enum(['auto', ...FORMATS])
        .default('auto')
        .describe(
          'How JSON is requested from the server; auto: the first method that it supports, from json_schema on',
        ),
      firstTokenMs: timeLimit(z, { usual: 60_000, most: 600_000 }).describe(
        'Time limit for the beginning of an answer, in milliseconds; the server may have to load the model first',
      ),
      timeoutMs: timeLimit(z, { usual: 180_000, most: 1_800_000 }).describe(
        'Time limit for a complete answer with its correction, in milliseconds',
      ),
    }),

  async setup(context) {
    const { responseFormat, timeoutMs, model, visionModel } = context.options;
    const server = createRequester(context.options, context);
    await server.check();
    const formats = responseFormat === 'auto' ? FORMATS : [responseFormat];
    const chat = createChat(server, { formats, timeoutMs }, context.error);
    const llm: LanguageModel = {
      model,
      object: (schema, prompt) => chat.object(model, schema, prompt),
      text: prompt => chat.text(model, prompt),
    };
    if (visionModel === undefined) return { llm };
    const vision: VisionModel = {
      model: visionModel,
      object: (schema, prompt) => chat.object(visionModel, schema, prompt),
    };
    return { llm, vision };
  },
} satisfies Plugin<Options>;
