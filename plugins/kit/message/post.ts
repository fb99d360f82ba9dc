/** A request to an address that a user gave, and the meaning of its response. */
import type { FetchUser, PluginContext } from '../../../core/contract/plugin.ts';
import { retryAfter } from '../../../core/runtime/retry.ts';

export type Reply = Awaited<ReturnType<FetchUser>>;
type Context = Pick<PluginContext<never>, 'clock' | 'error' | 'fetchUser'>;
export type Verdict = readonly [code: Parameters<Context['error']>[0], words: string];

interface Request {
  headers?: Record<string, string>;
  body: string | Uint8Array;
  signal: AbortSignal;
}

/** Resolves to a successful response; else throws as `NotificationChannel.send` does. */
export type Post = (url: string, request: Request) => Promise<Reply>;

const COMMON: Readonly<Record<number, Verdict>> = {
  401: ['forbidden', 'refuses the credentials; enter the address again, with a token that may send'],
  403: ['forbidden', 'refuses the credentials; enter the address again, with a token that may send'],
  404: ['forbidden', 'does not know this address; correct it'],
  408: ['upstream_error', 'timed out while it waited for the request'],
  410: ['gone', 'says that the address no longer exists'],
  413: ['forbidden', 'refuses the message because of its size'],
  425: ['upstream_error', 'does not process the request yet'],
  429: ['rate_limited', 'received too many requests'],
};

/** @param judgeOwn returns the meaning of a response where it differs from the usual one; else undefined */
export function createPost(
  { clock, error, fetchUser }: Context,
  judgeOwn: (reply: Reply) => Verdict | undefined = () => undefined,
): Post {
  return async (url, { headers, body, signal }) => {
    signal.throwIfAborted();
    const request = { method: 'POST', headers: headers ?? {}, body, signal } as const;
    const reply = await fetchUser(url, request);
    const verdict = judgeOwn(reply) ?? judge(reply.status);
    if (verdict === null) return reply;
    const [code, words] = verdict;
    // The response may quote the message: it is left out.
    const message = `${new URL(url).host} ${words} (${reply.status})`;
    const seconds = retryAfter(reply.headers.get('retry-after'), clock.now());
    throw error(code, message, seconds === undefined ? {} : { retryAfter: seconds });
  };
}

function judge(status: number): Verdict | null {
  if (status >= 200 && status < 300) return null;
  if (status < 400) return ['forbidden', 'redirects; give the address that it redirects to'];
  return (
    COMMON[status] ?? (status < 500 ? ['forbidden', 'refuses the message'] : ['upstream_error', 'failed'])
  );
}
