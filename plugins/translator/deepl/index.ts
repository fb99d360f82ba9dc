import type { Plugin } from '../../../core/contract/plugin.ts';
import { isRecord } from '../../kit/json.ts';
import { postJson, type Server } from '../../kit/kit.ts';
import { accountKey, serverAddress, timeLimit } from '../../kit/options.ts';

interface Options {
  apiKey: string;
  baseUrl?: string | undefined;
  timeoutMs: number;
}

/** Suffix of the keys of free accounts, which have their own host. */
const FREE_KEY = ':fx';
/** Codes for target languages with several variants. */
const TARGETS: Readonly<Record<string, string>> = { en: 'EN-US', pt: 'PT-PT', zh: 'ZH-HANS' };
const MAX_BODY_BYTES = 256 * 1024;

export default {
  name: 'deepl',
  api: 1,
  title: 'Translation by DeepL, with an account there',
  sends: 'What was said',
  options: z =>
    z.strictObject({
      apiKey: accountKey(z).describe('Key of the account; one of a free account ends with :fx'),
      baseUrl: serverAddress(z)
        .optional()
        .describe('Address of the service, to which /v2/translate is added; absent: chosen by the key'),
      timeoutMs: timeLimit(z, { usual: 15_000, most: 60_000 }).describe(
        'Time limit for an answer, in milliseconds',
      ),
    }),
  setup(context) {
    const { error, options } = context;
    const { apiKey, timeoutMs } = options;
    const url = options.baseUrl ?? `https://api${apiKey.endsWith(FREE_KEY) ? '-free' : ''}.deepl.com`;
    const server: Server = {
      plugin: 'deepl',
      url,
      headers: { authorization: `DeepL-Auth-Key ${apiKey}` },
      options: { url: 'baseUrl' },
      limitMs: timeoutMs,
      maxBytes: MAX_BODY_BYTES,
    };
    return {
      translator: {
        languages: 'any' as const,
        async translate({ text, from, to }, signal) {
          const question = {
            text: [text.toWellFormed()],
            target_lang: TARGETS[to] ?? to.toUpperCase(),
            ...(from === null ? {} : { source_lang: (from.split('-')[0] ?? from).toUpperCase() }),
          };
          const answer = await postJson(context, server, '/v2/translate', question, signal);
          const translated = firstText(answer);
          if (translated !== null) return translated;
          throw error('upstream_error', `deepl: ${url} answered with something that is no translation`);
        },
      },
    };
  },
} satisfies Plugin<Options>;

function firstText(answer: unknown): string | null {
  const list = isRecord(answer) && Array.isArray(answer.translations) ? answer.translations : [];
  const first: unknown = list[0];
  return isRecord(first) && typeof first.text === 'string' ? first.text : null;
}
