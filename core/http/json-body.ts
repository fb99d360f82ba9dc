import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../contract/model.ts';
import { AppError } from '../runtime/errors.ts';
import { othersTurn } from '../runtime/pace.ts';
import type { Share } from './body-memory.ts';

export const MAX_BODY_BYTES = 1024 * 1024;
/** Takes about 1 ms to parse: of larger ones that come at once, one is parsed in each round of the event loop. */
const LARGE_BODY_BYTES = 64 * 1024;

/** `application/json`, or a format that is JSON. */
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json$/i;
/** UTF-8 is the only encoding that JSON has. */
const UTF8 = /^charset="?utf-?8"?$/i;
/** No Content-Type of JSON is longer. */
const MAX_TYPE_CHARS = 200;

export interface BodyLimits {
  maxBytes: number;
  /** From now to the end of the body. */
  maxMs: number;
  /** Memory for it; the caller releases it when the body is not needed any more. */
  share: Share;
  clock: Pick<Clock, 'sleep'>;
}

type Exchange = { req: IncomingMessage; res: ServerResponse };

/**
 * The body of a request as JSON; undefined when it has none. Rejects with `too_large`, `too_slow`, `unsupported_media`,
 * what its share of memory throws, or, where it is no JSON, `invalid_request` of the type `json_invalid`.
 */
export async function readJson({ req, res }: Exchange, limits: BodyLimits): Promise<unknown> {
  const { headers } = req;
  refuseLargeBody(req, limits.maxBytes);
  if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0)
    return undefined;
  if (!isJson(headers['content-type'] ?? ''))
    throw new AppError('unsupported_media', 'The body must be JSON: send "Content-Type: application/json"');
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new AppError('unsupported_media', 'The body must be sent without a Content-Encoding');
  if (headers.expect !== undefined) res.writeContinue();
  const body = await inTime(limits, signal => collect(req, limits, signal));
  if (body.length > LARGE_BODY_BYTES) await othersTurn();
  return parse(body);
}

/** `too_large` where the request says so itself: before it is read. */
export function refuseLargeBody({ headers }: IncomingMessage, maxBytes = MAX_BODY_BYTES): void {
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
}

function isJson(contentType: string): boolean {
  if (contentType.length > MAX_TYPE_CHARS) return false;
  const [type = '', ...parameters] = contentType.split(';').map(part => part.trim());
  const isUtf8 = (parameter: string) => parameter === '' || UTF8.test(parameter.replaceAll(/[ \t]/g, ''));
  return JSON_TYPE.test(type) && parameters.every(isUtf8);
}

function tooLarge(maxBytes: number): AppError {
  return new AppError('too_large', `A request body may have ${maxBytes} bytes at most`);
}

/** Listens rather than iterates: leaving an iteration early would close the socket before the answer. */
function collect(
  request: IncomingMessage,
  { maxBytes, share }: BodyLimits,
  signal: AbortSignal,
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const refuse = (error: unknown) => {
    request.off('data', take).resume(); // what still comes until the connection is closed is not kept
    chunks.length = 0;
    reject(error);
  };
  function take(chunk: Buffer): void {
    bytes += chunk.length;
    try {
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      share.take(chunk.length);
      chunks.push(chunk);
    } catch (error) {
      refuse(error);
    }
  }
  request.on('data', take);
  signal.addEventListener('abort', () => refuse(signal.reason));
  request.once('end', () => resolve(Buffer.concat(chunks)));
  request.once('error', cause =>
    reject(new AppError('invalid_request', 'The request ended before its body', { cause })),
  );
  return promise;
}

async function inTime<T>(
  { clock, maxMs }: BodyLimits,
  read: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const [done, late] = [new AbortController(), new AbortController()];
  const tooSlow = new AppError('too_slow', `The request body did not come within ${maxMs / 1000} s`);
  clock.sleep(maxMs, done.signal).then(
    () => late.abort(tooSlow),
    () => {}, // it came in time
  );
  try {
    return await read(late.signal);
  } finally {
    done.abort();
  }
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    const issue = { loc: ['body'], msg: 'The body is not valid JSON', type: 'json_invalid' };
    throw new AppError('invalid_request', issue.msg, { cause, issues: [issue] });
  }
}
