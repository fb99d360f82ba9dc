/** One question to the server: within its time, its answer bounded, its failures named. */
import { createOpenAICompatible, type OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible';
import type { PluginContext } from '../../../core/plugin.ts';

/** Of the answer as it comes, which is about 200 bytes for each token. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

type Question = Parameters<OpenAICompatibleChatLanguageModel['doStream']>[0];
export type Messages = Question['prompt'];
type Context = Pick<PluginContext<never>, 'clock' | 'error' | 'fetch'>;

export interface Server {
  baseUrl: string;
  apiKey?: string | undefined;
  firstTokenMs: number;
}

export interface Asked {
  model: string;
  messages: Messages;
  format?: Question['responseFormat'];
  maxTokens?: number | undefined;
  /** The caller's, and the one that ends the whole call. Their reasons are thrown. */
  signals: readonly AbortSignal[];
}

export interface Requester {
  /** The answer in pieces, reasoning left out. Throws `config_error`, `timeout` or `upstream_error`. */
  ask(asked: Asked): AsyncGenerator<string>;
  /** Resolves when the server is there and takes the key. One that is slow at the start is away, for now. */
  check(): Promise<void>;
}

/** The status of an answer that refuses what was asked, and not who asks. */
const REFUSALS: readonly number[] = [400, 413, 415, 422];

/** Setup has 10 seconds. */
const CHECK_MS = 8000;

export function createRequester({ baseUrl, apiKey, firstTokenMs }: Server, context: Context): Requester {
  const { clock, error, fetch } = context;
  const base = baseUrl.replace(/\/+$/, '');
  const server = `openai-llm: ${base}`;

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
        // The answer is held to the schema here; servers that are strict refuse schemas with anything optional.
        providerOptions: { openaiCompatible: { strictJsonSchema: false } },
      });
      for await (const part of stream) {
        for (const signal of ours) signal.throwIfAborted(); // also where all of the answer is here already
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
      throw isOurs(thrown) ? thrown : failureOf(thrown);
    } finally {
      clearTimeout(timer);
      leaving.abort(); // where the reader left early
    }
  }

  async function check(): Promise<void> {
    const headers: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    const late = AbortSignal.timeout(CHECK_MS);
    const response = await fetch(`${base}/models`, { headers, redirect: 'manual', signal: late }).catch(
      cause => {
        throw late.aborted
          ? error('upstream_error', `${server} did not answer within ${CHECK_MS} ms`)
          : unreachable(cause);
      },
    );
    await response.body?.cancel();
    const { status } = response;
    // Not every server lists its models; it has answered then.
    if (status >= 300 && ![404, 405, 501].includes(status)) throw refusal(status, undefined, undefined);
  }

  function failureOf(thrown: unknown): Error {
    const { status, retryAfter, code } = readFailure(thrown);
    if (status === undefined) return unreachable(thrown);
    if (status < 300) return error('upstream_error', `${server} broke off, or answered with nonsense`);
    return refusal(status, code, retryAfter);
  }

  function refusal(status: number, code: string | undefined, retryAfter: string | undefined): Error {
    const cause = Object.assign(new Error(`status ${status}${code === undefined ? '' : `, ${code}`}`), {
      status,
    });
    const slip = SLIPS[status] ?? (status < 400 ? REDIRECT : undefined);
    if (slip !== undefined) return error('config_error', `${server} ${slip} (${status})`, { cause });
    const seconds = secondsOf(retryAfter);
    const details = { cause, ...(seconds === undefined ? {} : { retryAfter: seconds }) };
    if (status === 429) return error('upstream_error', `${server} is asked too often (429)`, details);
    const what = REFUSALS.includes(status) ? 'refuses the question, which may be too long for it' : 'failed';
    return error('upstream_error', `${server} ${what} (${status})`, details);
  }

  function unreachable(thrown: unknown): Error {
    const remedy = 'start the server there, or correct plugins.openai-llm.baseUrl';
    const cause = new Error(rootOf(thrown));
    return error('upstream_error', `${server} cannot be reached, or broke off; ${remedy}`, { cause });
  }

  /** `Retry-After`, which is a number of seconds or a date. */
  function secondsOf(header: string | undefined): number | undefined {
    const text = header?.trim() ?? '';
    if (/^\d{1,9}$/.test(text)) return Number(text);
    const seconds = Math.ceil((Date.parse(text) - clock.now()) / 1000);
    return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
  }

  return { ask, check };
}

/** What no other try can mend, and where to mend it. */
const SLIPS: Readonly<Record<number, string>> = {
  401: 'refuses the key; correct plugins.openai-llm.apiKey',
  403: 'refuses the key; correct plugins.openai-llm.apiKey',
  404: 'has no such endpoint or model; fetch the model there, or correct plugins.openai-llm.baseUrl or plugins.openai-llm.model',
  405: 'has no such endpoint; correct plugins.openai-llm.baseUrl',
};
const REDIRECT = 'sends us elsewhere; put the address that it leads to in plugins.openai-llm.baseUrl';

/** What people said goes where the operator sent it and nowhere else: a redirect is not followed. */
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

/** Only this much is taken from what the library throws: the rest of it holds prompts and answers. */
function readFailure(thrown: unknown): { status?: number; retryAfter?: string; code?: string } {
  if (!isRecord(thrown)) return { status: 200 }; // a server's own words, within an answer that had begun well
  const { statusCode, responseHeaders, data, name } = thrown;
  if (typeof statusCode !== 'number') return name === 'AI_APICallError' ? {} : { status: 200 };
  const retryAfter = isRecord(responseHeaders) ? responseHeaders['retry-after'] : undefined;
  const code = isRecord(data) && isRecord(data.error) ? data.error.code : undefined;
  return {
    status: statusCode,
    ...(typeof retryAfter === 'string' ? { retryAfter } : {}),
    ...(typeof code === 'string' && /^[\w.-]{1,60}$/.test(code) ? { code } : {}),
  };
}

/** `ECONNREFUSED` and the like, at the end of the chain of causes. */
function rootOf(thrown: unknown): string {
  const code = isRecord(thrown) ? thrown.code : undefined;
  if (typeof code === 'string') return code;
  return isRecord(thrown) && thrown.cause !== undefined ? rootOf(thrown.cause) : 'no reason given';
}

/** Did the server refuse what was asked, or how? */
export function isRefusal(thrown: unknown): boolean {
  const cause = isRecord(thrown) ? thrown.cause : undefined;
  return isRecord(cause) && REFUSALS.includes(Number(cause.status));
}

function isOurs(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === 'AppError';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
