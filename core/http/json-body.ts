import type { IncomingMessage } from 'node:http';
import { AppError } from '../errors.ts';

const MAX_BODY_BYTES = 1024 * 1024;

/** `application/json`, or a format that is JSON; UTF-8 is the only encoding that JSON has. */
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?;?\s*$/i;

/**
 * The body of a request as JSON; undefined when it has none. Rejects with `too_large`, `unsupported_media`, or, where
 * it is no JSON, `invalid_request` of the type `json_invalid`.
 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const { headers } = request;
  if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0)
    return undefined;
  if (!JSON_TYPE.test(headers['content-type'] ?? ''))
    throw new AppError('unsupported_media', 'The body must be JSON: send "Content-Type: application/json"');
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new AppError('unsupported_media', 'The body must be sent without a Content-Encoding');
  return parse(await collect(request));
}

/** `too_large` where the request says so itself: before it is read. */
export function refuseLargeBody({ headers }: IncomingMessage): void {
  if (Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge();
}

function tooLarge(): AppError {
  return new AppError('too_large', `A request body may have ${MAX_BODY_BYTES} bytes at most`);
}

/** Listens rather than iterates: leaving an iteration early would close the socket before the answer. */
function collect(request: IncomingMessage): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
    else reject(tooLarge()); // what still comes until the connection is closed is not kept
  });
  request.once('end', () => resolve(Buffer.concat(chunks)));
  request.once('error', cause =>
    reject(new AppError('invalid_request', 'The request ended before its body', { cause })),
  );
  return promise;
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    const issue = { loc: ['body'], msg: 'The body is not valid JSON', type: 'json_invalid' };
    throw new AppError('invalid_request', issue.msg, { cause, issues: [issue] });
  }
}
