import type { Context } from 'koa';
import type { StoredFile } from './route.ts';
import { cutOffStalled } from './stalled.ts';

/** Bytes of a file, both ends inclusive. */
interface Span {
  start: number;
  end: number;
}

/** Sends a file, or the one part of it that the client asks for. */
export function sendStoredFile(
  context: Pick<Context, 'set' | 'body' | 'get' | 'res' | 'status' | 'length' | 'method'>,
  routeType: string,
  { handle, bytes, version, fileName, type = routeType }: StoredFile,
): void {
  const { res } = context;
  const tag = `"${version}"`;
  const isSame = ['', tag].includes(context.get('If-Range'));
  const span = isSame ? spanOf(context.get('Range'), bytes) : null;
  context.set('Accept-Ranges', 'bytes');
  context.set('ETag', tag);
  if (span === 'none') {
    void handle.close();
    context.status = 416;
    context.set('Content-Range', `bytes */${bytes}`);
    return;
  }
  const { start, end } = span ?? { start: 0, end: bytes - 1 };
  cutOffStalled(res);
  const readable = handle.createReadStream({ start, end }); // closes the handle with itself
  res.once('close', () => readable.destroy()); // also where nothing of it was read
  context.body = readable.once('error', () => res.destroy()); // otherwise the client would wait for the rest
  context.length = end - start + 1;
  context.set('Content-Type', type);
  context.set('Cache-Control', 'private, no-store');
  context.set('Content-Disposition', `attachment; filename="${fileName}"`);
  if (span === null) return;
  context.status = 206;
  context.set('Content-Range', `bytes ${start}-${end}/${bytes}`);
}

const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/** Null: the whole file, as for several ranges at once; `none`: nothing of the range is in it. */
function spanOf(range: string, bytes: number): Span | 'none' | null {
  const [, from = '', to = ''] = RANGE.exec(range) ?? [];
  if (from === '' && to === '') return null;
  const start = from === '' ? Math.max(0, bytes - Number(to)) : Number(from);
  const end = from === '' || to === '' ? bytes - 1 : Math.min(Number(to), bytes - 1);
  if (start >= bytes) return 'none';
  return end < start ? null : { start, end };
}
