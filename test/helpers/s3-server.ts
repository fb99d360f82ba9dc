import { createHash, createHmac, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import { startLocalServer } from './local-server.ts';

export const ACCESS_KEY = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};
/** Objects and uploads per page of a list. */
const PAGE = 2;

interface Seen {
  method: string;
  /** Path and query. */
  url: string;
}

/** Faults that a test may switch on. */
interface Faults {
  /** Status to answer this request with; null: the normal answer. */
  refuse?: (request: Seen) => { status: number; code: string } | null;
  /** Stores other bytes than it received. */
  spoil?: boolean;
  /** Answers 200 with an error when an upload is completed. */
  completesBadly?: boolean;
  /** Omits the MD5, as storage with encryption does. */
  hidesMd5?: boolean;
  /** Returns other bytes than it stored. */
  decayed?: boolean;
}

interface Reply {
  status: number;
  headers?: Record<string, string>;
  body?: Buffer | string;
}

const hash = (algorithm: string, data: string | Buffer) => createHash(algorithm).update(data).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

/** Computes Signature Version 4 of a request, by Amazon's specification. */
export function signatureOf(
  {
    method,
    path,
    query,
    headers,
    body,
  }: {
    method: string;
    path: string;
    query: URLSearchParams;
    headers: Readonly<Record<string, string>>;
    body: string;
  },
  { signed, date, region, secret }: { signed: string; date: string; region: string; secret: string },
): string {
  const encode = (text: string) =>
    encodeURIComponent(text).replace(/[!'()*]/g, each => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
  const pairs = [...query].map(([name, value]) => `${encode(name)}=${encode(value)}`).sort();
  const lines = signed.split(';').map(name => `${name}:${(headers[name] ?? '').trim()}\n`);
  const request = [method, path, pairs.join('&'), lines.join(''), signed, body].join('\n');
  const scope = `${date.slice(0, 8)}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', date, scope, hash('sha256', request)].join('\n');
  const key = ['s3', 'aws4_request'].reduce<Buffer>(
    hmac,
    hmac(hmac(`AWS4${secret}`, date.slice(0, 8)), region),
  );
  return hmac(key, text).toString('hex');
}

/**
 * S3's protocol on a real socket, with one bucket in memory, `backups`: objects, multipart uploads and lists, by
 * path-style addresses. Signatures and the hashes of bodies are checked.
 */
export async function s3Server(t: Pick<ExecutionContext, 'teardown'>, region = 'us-east-1') {
  const objects = new Map<string, { body: Buffer; etag: string }>();
  const uploads = new Map<string, { key: string; parts: Map<number, Buffer> }>();
  const seen: Seen[] = [];
  const faults: Faults = {};

  function refusal(request: IncomingMessage, url: URL, body: Buffer): [number, string] | null {
    const { authorization = '' } = request.headers;
    const parsed =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)$/.exec(
        authorization,
      );
    const [, id, , named = '', signed = '', signature] = parsed ?? [];
    if (id !== ACCESS_KEY.accessKeyId) return [403, 'InvalidAccessKeyId'];
    if (named !== region) return [400, 'AuthorizationHeaderMalformed'];
    const headers = request.headers as Record<string, string>;
    const told = headers['x-amz-content-sha256'] ?? '';
    const expected = signatureOf(
      { method: request.method ?? '', path: url.pathname, query: url.searchParams, headers, body: told },
      { signed, date: headers['x-amz-date'] ?? '', region, secret: ACCESS_KEY.secretAccessKey },
    );
    if (signature !== expected || !signed.includes('x-amz-content-sha256'))
      return [403, 'SignatureDoesNotMatch'];
    if (told !== hash('sha256', body)) return [400, 'XAmzContentSHA256Mismatch'];
    const [, bucket] = url.pathname.split('/');
    return bucket === 'backups' ? null : [404, 'NoSuchBucket'];
  }

  async function answer(request: IncomingMessage): Promise<Reply> {
    const body = await buffer(request);
    const { method = '' } = request;
    const url = new URL(request.url ?? '', 'http://storage');
    const told = { method, url: url.pathname + url.search };
    seen.push(told);
    const fault = faults.refuse?.(told);
    const [status, code] = fault ? [fault.status, fault.code] : (refusal(request, url, body) ?? [200, '']);
    if (status !== 200) return fail(status, code);
    const [, , ...rest] = url.pathname.split('/');
    const key = decodeURIComponent(rest.join('/'));
    if (key === '') return list(url.searchParams);
    const upload = uploads.get(url.searchParams.get('uploadId') ?? '');
    if (url.searchParams.has('uploadId') && upload?.key !== key) return fail(404, 'NoSuchUpload');
    if (upload) return onUpload({ method, key, query: url.searchParams, body }, upload);
    if (method === 'POST') return begin(key);
    if (method === 'DELETE') {
      objects.delete(key);
      return { status: 204 };
    }
    const object = objects.get(key);
    if (!object) return fail(404, 'NoSuchKey');
    const etag = faults.hidesMd5 ? 'encrypted' : object.etag;
    return {
      status: 200,
      headers: { etag: `"${etag}"`, 'content-length': String(object.body.length) },
      body: method === 'HEAD' ? '' : faults.decayed ? Buffer.alloc(object.body.length) : object.body,
    };
  }

  function begin(key: string): Reply {
    const id = randomUUID();
    uploads.set(id, { key, parts: new Map() });
    return xml('InitiateMultipartUploadResult', `<Key>${key}</Key><UploadId>${id}</UploadId>`);
  }

  function onUpload(
    { method, key, query, body }: { method: string; key: string; query: URLSearchParams; body: Buffer },
    { parts }: { parts: Map<number, Buffer> },
  ): Reply {
    if (method === 'PUT') {
      const part = faults.spoil ? Buffer.alloc(body.length) : body;
      parts.set(Number(query.get('partNumber')), part);
      return { status: 200, headers: { etag: `"${hash('md5', part)}"` } };
    }
    uploads.delete(query.get('uploadId') ?? '');
    if (method === 'DELETE') {
      return { status: 204 };
    }
    if (faults.completesBadly) return xml('Error', '<Code>InternalError</Code>');
    const wanted = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>"(\w+)"<\/ETag>/g)];
    const chosen = wanted.map(([, number]) => parts.get(Number(number)) ?? Buffer.alloc(0));
    if (chosen.length === 0 || chosen.some((part, at) => hash('md5', part) !== wanted[at]?.[2]))
      return fail(400, 'InvalidPart');
    if (chosen.slice(0, -1).some(({ length }) => length < 5 * 1024 * 1024))
      return fail(400, 'EntityTooSmall');
    const digests = chosen.map(part => createHash('md5').update(part).digest());
    const etag = `${createHash('md5').update(Buffer.concat(digests)).digest('hex')}-${chosen.length}`;
    objects.set(key, { body: Buffer.concat(chosen), etag });
    return xml('CompleteMultipartUploadResult', `<Key>${key}</Key><ETag>&quot;${etag}&quot;</ETag>`);
  }

  function listUploads(prefix: string, after: string | null): Reply {
    const all = [...uploads].filter(([, { key }]) => key.startsWith(prefix));
    const from = all.findIndex(([id]) => id === after) + 1;
    const page = all.slice(from, from + PAGE);
    const [lastId, last] = page.at(-1) ?? [];
    const rest = from + PAGE < all.length;
    const entries = page.map(
      ([id, { key }]) => `<Upload><Key>${key}</Key><UploadId>${id}</UploadId></Upload>`,
    );
    const markers = `<NextKeyMarker>${last?.key}</NextKeyMarker><NextUploadIdMarker>${lastId}</NextUploadIdMarker>`;
    const content = `<IsTruncated>${rest}</IsTruncated>${rest ? markers : ''}${entries.join('')}`;
    return xml('ListMultipartUploadsResult', content);
  }

  function list(query: URLSearchParams): Reply {
    const prefix = query.get('prefix') ?? '';
    if (query.has('uploads')) return listUploads(prefix, query.get('upload-id-marker'));
    const all = [...objects].filter(([key]) => key.startsWith(prefix)).sort(([a], [b]) => (a < b ? -1 : 1));
    const from = Number(query.get('continuation-token') ?? 0);
    const entries = all
      .slice(from, from + PAGE)
      .map(([key, { body }]) => `<Contents><Key>${key}</Key><Size>${body.length}</Size></Contents>`);
    const next =
      from + PAGE < all.length ? `<NextContinuationToken>${from + PAGE}</NextContinuationToken>` : '';
    return xml('ListBucketResult', `<IsTruncated>${next !== ''}</IsTruncated>${next}${entries.join('')}`);
  }

  const { url: endpoint, close } = await startLocalServer(
    async (request: IncomingMessage, response: ServerResponse) => {
      const { status, headers, body } = await answer(request);
      response.writeHead(status, headers).end(body);
    },
  );
  t.teardown(close);
  return { endpoint, objects, uploads, seen, faults };
}

function xml(name: string, content: string, status = 200): Reply {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<${name} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${content}</${name}>`;
  return { status, headers: { 'content-type': 'application/xml' }, body };
}

function fail(status: number, code: string): Reply {
  return xml('Error', `<Code>${code}</Code><Message>no</Message>`, status);
}
