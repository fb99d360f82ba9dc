/** Sends one question to the server: with a time limit, a bounded answer, and errors of Earshot's own codes. */
import { createOpenAICompatible, type OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible';
import type { PluginContext } from '../../../core/contract/plugin.ts';
import { isAppError, isRecord, refusal, request, retryAfter, type Server } from '../../kit/kit.ts';

/** Maximum bytes of a streamed answer, which has about 200 for each token. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

type Question = Parameters<OpenAICompatibleChatLanguageModel['doStream']>[0];
export type Messages = Question['prompt'];
type Context = Pick<PluginContext<never>, 'clock' | 'error' | 'fetch'>;

interface Settings {
  baseUrl: string;
  apiKey?: string | undefined;
  firstTokenMs: number;
}

export interface Asked {
  model: string;
  messages: Messages;
  format?: Question['responseFormat'];
  maxTokens?: number | undefined;
  /** Signals of the caller and of the time limit of the whole call. Their reasons are thrown. */
  signals: readonly AbortSignal[];
}

export interface Requester {
  /** Yields the answer in pieces, without reasoning. Throws `config_error`, `timeout` or `upstream_error`. */
  ask(asked: Asked): AsyncGenerator<string>;
  /** Resolves when the server answers and accepts the key. A server that is too slow counts as away. */
  check(): Promise<void>;
}

/** Statuses that refuse the request itself, not the credential. */
const REFUSALS: readonly number[] = [400, 413, 415, 422];

/** Time limit of the first request: less than the 30 seconds of a plugin's setup. */
const CHECK_MS = 8000;

export function createRequester({ baseUrl, apiKey, firstTokenMs }: Settings, context: Context): Requester {
  const { clock, error, fetch } = context;
  const base = baseUrl.replace(/(?<!\/)\/+$/, '');
  const server = `openai-llm: ${base}`;
  const place: Server = {
    plugin: 'openai-llm',
    url: baseUrl,
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    options: { url: 'baseUrl', model: 'model' },
    limitMs: CHECK_MS,
  };

  async function* ask({ model, messages, format, maxTokens, signals }: Asked): AsyncGenerator<string> {
    const leaving = new AbortController();
    const late = error('timeout', `${server} did not begin to answer within ${firstTokenMs} ms`);
    const timer = setTimeout(() => leaving.abort(late), firstTokenMs);
    const measured = measure(fetch);
    const ours = [...signals, leaving.signal];
    try {
      const provider = createOpenAICompatible({
        name: 'earshot',
        baseURL: base,
        ...(apiKey === undefined ? {} : { apiKey }),
        supportsStructuredOutputs: true,
        fetch: measured.fetch,
      });
      const { stream } = await provider(model).doStream({
        prompt: messages,
        abortSignal: AbortSignal.any(ours),
        ...(format === undefined ? {} : { responseFormat: format }),
        ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
        // The answer is validated here; with `strict`, servers refuse schemas with optional properties.
        providerOptions: { openaiCompatible: { strictJsonSchema: false } },
      });
      for await (const part of stream) {
        for (const signal of ours) signal.throwIfAborted(); // also where the whole answer has come already
        if (part.type === 'text-delta' || part.type === 'reasoning-delta') clearTimeout(timer);
        if (part.type === 'text-delta') yield part.delta;
        if (part.type === 'error') throw part.error;
        if (part.type === 'finish' && part.finishReason.unified === 'content-filter') {
          throw error('upstream_error', `${server}: ${model} refuses to answer`);
        }
      }
    } catch (thrown) {
      for (const signal of ours) signal.throwIfAborted();
      if (measured.isTooLong()) throw error('upstream_error', `${server} answered with more than 8 MiB`);
      throw isAppError(thrown) ? thrown : failureOf(thrown);
    } finally {
      clearTimeout(timer);
      leaving.abort(); // the reader may have stopped early
    }
  }

  async function check(): Promise<void> {
    const { signal } = new AbortController(); // `fetch` has the plugin's signal
    const reply = await request(context, place, '/models', {}, signal).catch(thrown => {
      throw thrown.code === 'timeout' ? error('upstream_error', thrown.message) : thrown;
    });
    // Some servers refuse to list models: that is an answer, too.
    if (reply.status >= 300 && ![404, 405, 501].includes(reply.status)) throw refusal(context, place, reply);
  }

  function failureOf(thrown: unknown): Error {
    const { status, header, code } = readFailure(thrown);
    if (status === undefined) return unreachable(thrown);
    if (status < 300) return error('upstream_error', `${server} broke off, or answered with nonsense`);
    return refused(status, code, retryAfter(header, clock.now()));
  }

  function refused(status: number, code: string | undefined, seconds: number | undefined): Error {
    const cause = Object.assign(new Error(`status ${status}${code === undefined ? '' : `, ${code}`}`), {
      status,
    });
    if (!REFUSALS.includes(status)) return refusal(context, place, { status, retryAfter: seconds }, cause);
    const what = 'refuses the question, which may be too long for it';
    return error('upstream_error', `${server} ${what} (${status})`, { cause });
  }

  function unreachable(thrown: unknown): Error {
    const remedy = 'start the server there, or correct plugins.openai-llm.baseUrl';
    const cause = new Error(rootOf(thrown));
    return error('upstream_error', `${server} cannot be reached, or broke off; ${remedy}`, { cause });
  }

  return { ask, check };
}

/**
 * Wraps `fetch` for the server that the operator chose: redirects are not followed, so that people's words go nowhere
 * else.
 */
function measure(fetch: typeof globalThis.fetch) {
  let isTooLong = false;
  const bounded: typeof fetch = async (input, init) => {
    const response = await fetch(input, { ...init, redirect: 'manual' });
    if (response.body === null) return response;
    let bytes = 0;
    const count = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        isTooLong = bytes > MAX_ANSWER_BYTES;
        if (isTooLong) controller.error(new Error('too long'));
        else controller.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(count), response);
  };
  return { fetch: bounded, isTooLong: () => isTooLong };
}

/** Takes the status and the code from the library's error, and nothing else: it contains prompts and answers. */
function readFailure(thrown: unknown): { status?: number; header?: string; code?: string } {
  if (!isRecord(thrown)) return { status: 200 }; // an error that the server sent within the stream
  const { statusCode, responseHeaders, data, name } = thrown;
  if (typeof statusCode !== 'number') return name === 'AI_APICallError' ? {} : { status: 200 };
  const header = isRecord(responseHeaders) ? responseHeaders['retry-after'] : undefined;
  const code = isRecord(data) && isRecord(data.error) ? data.error.code : undefined;
  return {
    status: statusCode,
    ...(typeof header === 'string' ? { header } : {}),
    ...(typeof code === 'string' && /^[\w.-]{1,60}$/.test(code) ? { code } : {}),
  };
}

/** Returns the system's code, such as `ECONNREFUSED`, from the chain of causes. */
function rootOf(thrown: unknown): string {
  const code = isRecord(thrown) ? thrown.code : undefined;
  if (typeof code === 'string') return code;
  return isRecord(thrown) && thrown.cause !== undefined ? rootOf(thrown.cause) : 'no reason given';
}

/** Whether the server refused the request itself, which another format may change. */
export function isRefusal(thrown: unknown): boolean {
  const cause = isRecord(thrown) ? thrown.cause : undefined;
  return isRecord(cause) && REFUSALS.includes(Number(cause.status));
}
