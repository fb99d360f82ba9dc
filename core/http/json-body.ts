import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../contract/model.ts';
import { AppError } from '../runtime/errors.ts';
import { createValueCounter } from '../runtime/json-values.ts';
import { othersTurn } from '../runtime/pace.ts';
import type { Share } from './body-memory.ts';

export const MAX_BODY_BYTES = 1024 * 1024;
/**
 * A body of this size takes about 1 ms to parse. Of larger ones, only one is parsed in each round of the event loop.
 */
const LARGE_BODY_BYTES = 64 * 1024;

/** A body of nothing but small values takes ten times as long to parse as one of the same size that is text. */
const BYTES_OF_VALUE = 16;
const LEAST_VALUES = 1024;

/** `application/json`, or another type with the suffix `+json`. */
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json$/i;
/** JSON allows no encoding but UTF-8. */
const UTF8 = /^charset="?utf-?8"?$/i;
/** Longer than any Content-Type for JSON. */
const MAX_TYPE_CHARS = 200;

export interface BodyLimits {
  maxBytes: number;
  /** Time limit from now to the end of the body. */
  maxMs: number;
  /** Memory reserved for the body; the caller releases it. */
  share: Share;
  clock: Pick<Clock, 'sleep'>;
}

type Exchange = { req: IncomingMessage; res: ServerResponse };

/**
 * Reads the body of a request as JSON; undefined when it has none. Rejects with `too_large`, `too_slow`,
 * `unsupported_media`, what its memory reservation throws, or, where it is no JSON, `invalid_request` of the type
 * `json_invalid`.
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

/** Throws `too_large`, before the body is read, where its announced length is. */
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

/** Uses events: leaving an async iteration early would close the socket before the response is sent. */
function collect(
  request: IncomingMessage,
  { maxBytes, share }: BodyLimits,
  signal: AbortSignal,
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  const maxValues = Math.max(LEAST_VALUES, maxBytes / BYTES_OF_VALUE);
  const count = createValueCounter();
  let bytes = 0;
  const refuse = (error: unknown) => {
    request.off('data', take).pause(); // the rest is left to `leaveBody`
    chunks.length = 0;
    reject(error);
  };
  function take(chunk: Buffer): void {
    bytes += chunk.length;
    try {
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      if (count(chunk) > maxValues)
        throw new AppError('too_large', `A request body may have ${maxValues} values at most`);
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
    () => {}, // it arrived in time
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
