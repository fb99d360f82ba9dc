import type { Plugin } from '../../../core/contract/plugin.ts';
import { isRecord } from '../../kit/json.ts';
import { postJson, type Server } from '../../kit/kit.ts';
import { serverAddress, timeLimit } from '../../kit/options.ts';

interface Options {
  baseUrl: string;
  apiKey?: string | undefined;
  languages: 'any' | string[];
  timeoutMs: number;
}

/** Maximum bytes of an answer; a translation is seldom longer than three times the text. */
const MAX_BODY_BYTES = 256 * 1024;

export default {
  name: 'libretranslate',
  api: 1,
  title: 'Translation by a LibreTranslate server, on your network or elsewhere',
  sends: 'What was said',
  options: z =>
    z.strictObject({
      baseUrl: serverAddress(z)
        .default('http://127.0.0.1:5000')
        .describe('Address of the server, to which /translate is added'),
      apiKey: z
        .string()
        .trim()
        .min(1)
        .meta({ secret: true })
        .optional()
        .describe('Key of the account there, if the server requires one'),
      languages: z
        .union([z.literal('any'), z.array(z.string().min(2)).min(1)])
        .default('any')
        .describe('Languages to translate into, as ISO 639-1 codes; any: all of them'),
      timeoutMs: timeLimit(z, { usual: 15_000, most: 60_000 }).describe(
        'Time limit for an answer, in milliseconds',
      ),
    }),
  setup(context) {
    const { error, options } = context;
    const { apiKey, baseUrl, languages, timeoutMs } = options;
    const server: Server = {
      plugin: 'libretranslate',
      url: baseUrl,
      options: { url: 'baseUrl' },
      limitMs: timeoutMs,
      maxBytes: MAX_BODY_BYTES,
    };
    return {
      translator: {
        languages,
        async translate({ text, from, to }, signal) {
          const question = {
            q: text.toWellFormed(),
            source: from === null ? 'auto' : codeOf(from),
            target: codeOf(to),
            format: 'text',
            ...(apiKey === undefined ? {} : { api_key: apiKey }),
          };
          const answer = await postJson(context, server, '/translate', question, signal);
          if (isRecord(answer) && typeof answer.translatedText === 'string') return answer.translatedText;
          throw error(
            'upstream_error',
            `libretranslate: ${baseUrl} answered with something that is no translation`,
          );
        },
      },
    };
  },
} satisfies Plugin<Options>;

/** Returns LibreTranslate's code: without the region, except for the scripts of Chinese and Brazilian Portuguese. */
function codeOf(language: string): string {
  return ['pt-BR', 'zh-Hans', 'zh-Hant'].includes(language) ? language : (language.split('-')[0] ?? language);
}
