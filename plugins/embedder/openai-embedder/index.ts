import type { Plugin } from '../../../core/contract/plugin.ts';
import { postJson, type Server } from '../../kit/kit.ts';
import { accountKey, serverAddress, timeLimit } from '../../kit/options.ts';
import { nameSpace, readVectors } from './vectors.ts';

interface Options {
  baseUrl: string;
  apiKey?: string | undefined;
  model: string;
  dimensions?: number | undefined;
  revision?: string | undefined;
  maxCharacters: number;
  batchSize: number;
  timeoutMs: number;
}

/** Must fit into the 10 seconds of `setup`; a server that loads its model for longer is tried again later. */
const PROBE_MS = 8000;
const MAX_BODY_BYTES = 32 * 1024 * 1024;

export default {
  name: 'openai-embedder',
  api: 1,
  title: "Meaning by any server with OpenAI's embeddings endpoint: Ollama, llama.cpp, vLLM, or OpenAI's own",
  sends: 'What is searched in',
  options: z =>
    z.strictObject({
      baseUrl: serverAddress(z)
        .default('http://127.0.0.1:11434/v1')
        .describe('Address of the server, to which /embeddings is added'),
      apiKey: accountKey(z).optional().describe('Key of the account there, if the server requires one'),
      model: z
        .string()
        .min(1)
        .default('nomic-embed-text')
        .describe('Name of the model on the server; after a change all vectors are made again'),
      dimensions: z.coerce
        .number()
        .int()
        .min(1)
        .max(4096)
        .optional()
        .describe(
          'Dimensions of a vector, if the model offers a choice; without it the server is asked at the start',
        ),
      revision: z
        .string()
        .regex(/^[a-z0-9._-]{1,20}$/, 'must be 1 to 20 of a-z, 0-9, . _ -')
        .optional()
        .describe(
          'Any text; change it when the same name stands for another model: all vectors are then made again',
        ),
      maxCharacters: timeLimit(z, { usual: 4000, most: 100_000 }).describe(
        'Characters of a text that are sent; a token is about 4',
      ),
      batchSize: z.coerce.number().int().min(1).max(256).default(64).describe('Texts in one request'),
      timeoutMs: timeLimit(z, { usual: 60_000, most: 600_000 }).describe(
        'Time limit for an answer, in milliseconds',
      ),
    }),

  async setup(context) {
    const { error, options, signal: stopping } = context;
    const { batchSize, maxCharacters, model, revision, timeoutMs } = options;
    const server: Server = {
      plugin: 'openai-embedder',
      url: options.baseUrl,
      headers: options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` },
      options: { url: 'baseUrl', model: 'model' },
      maxBytes: MAX_BODY_BYTES,
    };

    async function ask(
      input: readonly string[],
      limitMs: number,
      signal: AbortSignal,
    ): Promise<Float32Array[]> {
      const wish = options.dimensions === undefined ? {} : { dimensions: options.dimensions };
      const question = { model, input, encoding_format: 'float', ...wish };
      const body = await postJson(context, { ...server, limitMs }, '/embeddings', question, signal);
      const vectors = readVectors(body, input.length);
      if (vectors === null)
        throw error(
          'upstream_error',
          `openai-embedder: ${options.baseUrl} answered with something that is no vectors`,
        );
      return vectors;
    }

    /** Asks for one vector to learn its length. A timeout counts as a temporary failure. */
    async function probe(): Promise<number> {
      const [vector] = await ask(['Earshot'], PROBE_MS, stopping).catch(thrown => {
        throw thrown.code === 'timeout' ? error('upstream_error', thrown.message, { cause: thrown }) : thrown;
      });
      return vector?.length ?? 0;
    }

    const dimensions = options.dimensions ?? (await probe());

    async function embed(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]> {
      signal.throwIfAborted();
      const vectors = texts.map((): Float32Array => new Float32Array(dimensions));
      // Servers refuse blank texts and unpaired surrogates.
      const telling = [...texts.keys()].filter(index => texts[index]?.trim());
      for (let at = 0; at < telling.length; at += batchSize) {
        const places = telling.slice(at, at + batchSize);
        const inputs = places.map(place => (texts[place] ?? '').slice(0, maxCharacters).toWellFormed());
        for (const [index, vector] of (await ask(inputs, timeoutMs, signal)).entries()) {
          refuseOther(vector.length);
          vectors[places[index] ?? 0] = vector;
        }
      }
      return vectors;
    }

    function refuseOther(length: number): void {
      if (length === dimensions) return;
      const remedy = 'correct plugins.openai-embedder.dimensions, or start Earshot again';
      throw error('config_error', `${server} answers with ${length} numbers, not ${dimensions}; ${remedy}`);
    }

    return { embedder: { id: nameSpace(model, dimensions, revision), dimensions, embed } };
  },
} satisfies Plugin<Options>;
