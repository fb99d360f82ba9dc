import type { IncomingMessage, ServerResponse } from 'node:http';
import { startLocalServer } from './local-server.ts';

/** A requested translation, in the service's terms. */
export interface AskedTranslation {
  path: string;
  authorization: string | undefined;
  body: Record<string, unknown>;
}

export interface TranslationServer {
  url: string;
  asked: AskedTranslation[];
  /** Answers requests; replaceable. */
  translate: (asked: AskedTranslation, response: ServerResponse) => void | Promise<void>;
  close(): Promise<void>;
}

export const KEY = 'key-not-to-be-seen';

/** Marks a text as translated, so that the text and its languages are visible. */
const translated = (text: string, from: string, to: string) => `(${from}-${to}) ${text}`;

/** LibreTranslate's `POST /translate`, as its manual describes it, on a real socket. */
export function startLibreTranslate(): Promise<TranslationServer> {
  return start('/translate', ({ body }, response) => {
    const { q, source, target, format, api_key: key } = body;
    if (key !== undefined && key !== KEY) return answer(response, 403, { error: 'Invalid API key' });
    if (typeof q !== 'string' || q === '' || !q.isWellFormed() || format !== 'text')
      return answer(response, 400, { error: 'Invalid request: missing q parameter' });
    if (!isCode(source, /^(auto|[a-z]{2}(-[A-Za-z]+)?)$/) || !isCode(target, /^[a-z]{2}(-[A-Za-z]+)?$/))
      return answer(response, 400, { error: `${source} is not supported` });
    const detected = source === 'auto' ? { detectedLanguage: { confidence: 90, language: 'en' } } : {};
    answer(response, 200, { ...detected, translatedText: translated(q, source, target) });
  });
}

/** DeepL's `POST /v2/translate`, as its manual describes it, on a real socket. */
export function startDeepL(): Promise<TranslationServer> {
  return start('/v2/translate', ({ authorization, body }, response) => {
    const { text, source_lang: source = 'EN', target_lang: target } = body;
    if (authorization !== `DeepL-Auth-Key ${KEY}`) return answer(response, 403, '');
    if (!Array.isArray(text) || text.some(each => typeof each !== 'string' || !each.isWellFormed()))
      return answer(response, 400, { message: 'Bad request' });
    if (!isCode(source, /^[A-Z]{2}$/) || !isCode(target, /^[A-Z]{2}(-[A-Z]+)?$/))
      return answer(response, 400, { message: "Value for 'target_lang' not supported." });
    const translations = text.map((each: string) => ({
      detected_source_language: source,
      text: translated(each, source, target),
    }));
    answer(response, 200, { translations });
  });
}

export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

function isCode(value: unknown, shape: RegExp): value is string {
  return typeof value === 'string' && shape.test(value);
}

async function start(path: string, translate: TranslationServer['translate']): Promise<TranslationServer> {
  const { url, close } = await startLocalServer(take);
  const server: TranslationServer = { url, asked: [], translate, close };
  return server;

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST' || request.url !== path) return answer(response, 404, {});
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const asked = {
      path: request.url,
      authorization: request.headers.authorization,
      body: JSON.parse(Buffer.concat(parts).toString('utf8')),
    };
    server.asked.push(asked);
    await server.translate(asked, response);
  }
}
