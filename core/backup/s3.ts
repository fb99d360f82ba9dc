/** Backups in a bucket of S3-compatible storage. Requests are signed by Signature Version 4, their bodies included. */
import { createHash } from 'node:crypto';
import { createReadStream, openAsBlob } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { AppError } from '../runtime/errors.ts';
import { hashStream } from './archive.ts';
import { copiesOf } from './names.ts';
import type { Place } from './place.ts';

export interface S3Settings {
  /** Such as `https://s3.eu-central-1.amazonaws.com`. */
  endpoint: string;
  region: string;
  bucket: string;
  /** Folders above the backups, without slashes at its ends; may be empty. */
  prefix: string;
  /** True: `endpoint/bucket/key`; false: `bucket.endpoint/key`. */
  pathStyle: boolean;
  accessKeyId: string;
  secretAccessKey: string;
}

const MiB = 1024 * 1024;
const PART_BYTES = 16 * MiB;
/** S3's own limit. Larger files have larger parts. */
const MAX_PARTS = 10_000;
const REQUEST_MS = 15 * 60_000;
/** Answers in XML: a list holds 1,000 objects at most. */
const MAX_ANSWER_BYTES = 4 * MiB;
const MAX_PAGES = 100;
const RETRY_MS = [1000, 5000, 30_000];

type Query = Readonly<Record<string, string>>;
interface Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Within the bucket; empty: the bucket itself. */
  key?: string;
  query?: Query;
  body?: Blob | string;
  /** SHA-256 of the body, hex. */
  sha256?: string;
  /** False: a second one may have another effect. */
  retry?: boolean;
}

/** @param retryMs how long to wait before each further attempt */
export function openBucket(settings: S3Settings, retryMs: readonly number[] = RETRY_MS): Place {
  const { bucket, prefix } = settings;
  const where = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`;
  const folder = prefix === '' ? '' : `${prefix}/`;
  const send = createSender(settings, where, retryMs);

  /** Sends one whose answer has nothing to read. */
  async function command(request: Request, signal: AbortSignal): Promise<Headers> {
    const { headers, body } = await send(request, signal);
    await body?.cancel();
    return headers;
  }

  /** Hands out a list page by page. */
  async function* pages(query: Query, next: (xml: string) => Query | null, signal: AbortSignal) {
    let more: Query | null = {};
    for (let page = 0; more; page++) {
      if (page === MAX_PAGES) throw failure(where, `holds more than ${MAX_PAGES} pages of objects`);
      const answer = await send({ method: 'GET', query: { ...query, ...more } }, signal);
      const xml = await textOf(answer, where);
      yield xml;
      more = next(xml);
    }
  }

  async function list(signal: AbortSignal) {
    const objects: { name: string; bytes: number }[] = [];
    const next = (xml: string): Query | null => {
      const token = elements(xml, 'NextContinuationToken')[0];
      return elements(xml, 'IsTruncated')[0] === 'true' && token !== undefined
        ? { 'continuation-token': token }
        : null;
    };
    for await (const xml of pages({ 'list-type': '2', prefix: `${folder}earshot-` }, next, signal))
      for (const content of elements(xml, 'Contents')) {
        const [key = ''] = elements(content, 'Key');
        if (key.startsWith(folder))
          objects.push({ name: key.slice(folder.length), bytes: Number(elements(content, 'Size')[0]) });
      }
    return copiesOf(objects);
  }

  /** Parts of uploads that a killed server has left take space, and no list of objects shows them. */
  async function abortUnfinished(signal: AbortSignal): Promise<void> {
    const next = (xml: string): Query | null => {
      const [key, upload] = [elements(xml, 'NextKeyMarker')[0], elements(xml, 'NextUploadIdMarker')[0]];
      return elements(xml, 'IsTruncated')[0] === 'true' && key !== undefined && upload !== undefined
        ? { 'key-marker': key, 'upload-id-marker': upload }
        : null;
    };
    for await (const xml of pages({ uploads: '', prefix: `${folder}earshot-` }, next, signal))
      for (const upload of elements(xml, 'Upload')) {
        const [key = ''] = elements(upload, 'Key');
        const [uploadId = ''] = elements(upload, 'UploadId');
        if (copiesOf([{ name: key.slice(folder.length), bytes: null }]).length === 1)
          await command({ method: 'DELETE', key, query: { uploadId } }, signal);
      }
  }

  async function upload(file: string, key: string, signal: AbortSignal): Promise<Uploaded> {
    const begun = await send({ method: 'POST', key, query: { uploads: '' }, retry: false }, signal);
    const [uploadId] = elements(await textOf(begun, where), 'UploadId');
    if (uploadId === undefined) throw failure(where, 'did not begin an upload');
    try {
      const uploaded = await uploadParts(file, signal, (partNumber, part) =>
        command({ method: 'PUT', key, query: { partNumber: String(partNumber), uploadId }, ...part }, signal),
      );
      const body = completion(uploaded.etags);
      const completed = await send(
        { method: 'POST', key, query: { uploadId }, body, sha256: sha256(body), retry: false },
        signal,
      );
      const xml = await textOf(completed, where); // an error may come with the status 200
      if (elements(xml, 'ETag').length === 0) throw failure(where, elements(xml, 'Code')[0] ?? 'no answer');
      return uploaded;
    } catch (error) {
      const end = AbortSignal.timeout(10_000); // also where `signal` is what ended it
      await command({ method: 'DELETE', key, query: { uploadId }, retry: false }, end).catch(() => {});
      throw error;
    }
  }

  async function read(name: string, signal: AbortSignal): Promise<Readable> {
    const { body } = await send({ method: 'GET', key: folder + name }, signal, null);
    return body ? Readable.fromWeb(body as import('node:stream/web').ReadableStream) : Readable.from([]);
  }

  /** By the size, and by the checksum that the storage has made; where it tells none, all of it is read back. */
  async function check(name: string, uploaded: Uploaded, signal: AbortSignal): Promise<void> {
    const headers = await command({ method: 'HEAD', key: folder + name }, signal);
    const bytes = Number(headers.get('content-length'));
    if (bytes !== uploaded.bytes)
      throw failure(where, `stored ${bytes} bytes of ${name} instead of ${uploaded.bytes}`);
    if (headers.get('etag')?.replaceAll('"', '') === uploaded.etag) return;
    const hash = await hashStream(await read(name, signal), signal);
    if (hash !== uploaded.sha256) throw failure(where, `stored ${name} with a different content`);
  }

  async function remove(name: string, signal: AbortSignal): Promise<void> {
    await command({ method: 'DELETE', key: folder + name }, signal);
  }

  return {
    ...{ name: where, list, read, remove },
    async store(file, signal) {
      const name = basename(file);
      await abortUnfinished(signal).catch(() => signal.throwIfAborted()); // not every storage can list them
      const uploaded = await upload(file, folder + name, signal);
      try {
        await check(name, uploaded, signal);
      } catch (error) {
        await remove(name, AbortSignal.timeout(10_000)).catch(() => {});
        throw error;
      }
    },
  };
}

interface Uploaded {
  bytes: number;
  sha256: string;
  /** ETag of each part, as the storage has answered. */
  etags: string[];
  /** ETag that the whole should have: the MD5 of the MD5s of its parts, and their number. */
  etag: string;
}

/** Sends a file part by part. What is read for the checksums is read again for the request. */
async function uploadParts(
  file: string,
  signal: AbortSignal,
  put: (number: number, part: { body: Blob; sha256: string }) => Promise<Headers>,
): Promise<Uploaded> {
  const { size } = await stat(file);
  const partBytes = Math.max(PART_BYTES, Math.ceil(size / MAX_PARTS));
  const content = await openAsBlob(file);
  const [whole, ofParts] = [createHash('sha256'), createHash('md5')];
  const etags: string[] = [];
  for (let start = 0; start < size; start += partBytes) {
    const end = Math.min(start + partBytes, size);
    const [hash, md5] = [createHash('sha256'), createHash('md5')];
    for await (const chunk of createReadStream(file, { start, end: end - 1, signal }))
      for (const each of [whole, hash, md5]) each.update(chunk);
    const part = { body: content.slice(start, end), sha256: hash.digest('hex') };
    const headers = await put(etags.length + 1, part);
    etags.push(headers.get('etag') ?? '');
    ofParts.update(md5.digest());
  }
  const etag = `${ofParts.digest('hex')}-${etags.length}`;
  return { bytes: size, sha256: whole.digest('hex'), etags, etag };
}

function completion(etags: readonly string[]): string {
  const parts = etags.map((etag, at) => {
    const safe = etag.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
    return `<Part><PartNumber>${at + 1}</PartNumber><ETag>${safe}</ETag></Part>`;
  });
  return `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}</CompleteMultipartUpload>`;
}

function createSender(settings: S3Settings, where: string, retryMs: readonly number[]) {
  const { accessKeyId, secretAccessKey, region } = settings;

  async function attempt(
    { method, key = '', query = {}, body = '', sha256: hash }: Request,
    signal: AbortSignal,
    limitMs: number | null,
  ) {
    const url = urlOf(settings, key);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const signed = await new AwsV4Signer({
      ...{ method, accessKeyId, secretAccessKey, region, service: 's3' },
      url: url.href,
      headers: { 'x-amz-content-sha256': hash ?? sha256('') },
    }).sign();
    return fetch(signed.url, {
      ...{ method, headers: signed.headers, redirect: 'error' },
      body: method === 'GET' || method === 'HEAD' ? null : body,
      signal: limitMs === null ? signal : AbortSignal.any([signal, AbortSignal.timeout(limitMs)]),
    });
  }

  /** @param limitMs time for the whole of the answer; null: as long as it goes on */
  return async (
    request: Request,
    signal: AbortSignal,
    limitMs: number | null = REQUEST_MS,
  ): Promise<Response> => {
    const delays = request.retry === false ? [] : [...retryMs];
    for (;;) {
      const answer = await attempt(request, signal, limitMs).catch(cause => {
        signal.throwIfAborted();
        return unreachable(where, cause);
      });
      if (answer instanceof Response && answer.ok) return answer;
      const error = answer instanceof Response ? await refusal(where, request.method, answer) : answer;
      const delay = error.retryable ? delays.shift() : undefined;
      if (delay === undefined) throw error;
      await sleep(delay, undefined, { signal });
    }
  };
}

function urlOf({ endpoint, bucket, pathStyle }: S3Settings, key: string): URL {
  const url = new URL(endpoint);
  if (!pathStyle) url.hostname = `${bucket}.${url.hostname}`;
  const base = url.pathname.replace(/\/$/, '') + (pathStyle ? `/${bucket}` : '');
  url.pathname = `${base}/${key}`.replace(/\/$/, '') || '/';
  return url;
}

function unreachable(where: string, cause: unknown): AppError {
  const { code = Object(cause).name } = Object(Object(cause).cause);
  return new AppError('upstream_error', `${where} cannot be reached: ${code}`, { cause });
}

const HINTS: Readonly<Record<string, string>> = {
  SignatureDoesNotMatch: 'check backup.s3.secretAccessKey, and backup.s3.region',
  InvalidAccessKeyId: 'check backup.s3.accessKeyId',
  AccessDenied: 'the key needs to list, read, write and delete there',
  NoSuchBucket: 'create the bucket first',
  NoSuchKey: 'earshot backup list --from tells what is there',
  RequestTimeTooSkewed: "check this machine's clock",
  AuthorizationHeaderMalformed: 'check backup.s3.region',
  PermanentRedirect: 'check backup.s3.endpoint and backup.s3.region',
};

async function refusal(where: string, method: string, answer: Response): Promise<AppError> {
  const xml = method === 'HEAD' ? '' : await textOf(answer, where).catch(() => '');
  const code = (elements(xml, 'Code')[0] ?? '').replace(/[^A-Za-z0-9.]/g, '').slice(0, 100);
  const said = code === '' ? `HTTP ${answer.status}` : `HTTP ${answer.status}, ${code}`;
  const hint = HINTS[code];
  const message = `${where} answered ${said}${hint === undefined ? '' : `: ${hint}`}`;
  if (answer.status === 404) return new AppError('not_found', message);
  const mayHelp = answer.status === 429 || (answer.status >= 500 && answer.status !== 501);
  return new AppError(mayHelp ? 'upstream_error' : 'config_error', message);
}

function failure(where: string, what: string): AppError {
  return new AppError('upstream_error', `${where}: ${what}`);
}

async function textOf({ body }: Response, where: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw failure(where, 'answered too much');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Contents of all elements of a name, with their entities resolved where they hold text alone. */
function elements(xml: string, name: string): string[] {
  const found: string[] = [];
  const [open, close] = [`<${name}>`, `</${name}>`];
  for (let from = xml.indexOf(open); from !== -1; from = xml.indexOf(open, from)) {
    const to = xml.indexOf(close, from);
    if (to === -1) break;
    const inner = xml.slice(from + open.length, to);
    found.push(inner.includes('<') ? inner : unescaped(inner));
    from = to + close.length;
  }
  return found;
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
function unescaped(text: string): string {
  return text.replace(/&(#\d{1,7}|#x[\da-fA-F]{1,6}|[a-z]{2,4});/g, (whole, name: string) => {
    const code = name.startsWith('#x') ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    if (!name.startsWith('#')) return ENTITIES[name] ?? whole;
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
