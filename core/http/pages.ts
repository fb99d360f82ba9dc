import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Middleware, ParameterizedContext } from 'koa';
import type { Page } from '../contract/plugin.ts';
import { AppError } from '../runtime/errors.ts';

/** Maximum number of files per page. */
const MAX_FILES = 500;
const MAX_BYTES = 20 * 1024 * 1024;
/** Smaller files do not get smaller by compression. */
const MIN_COMPRESSED_BYTES = 1024;

/** By file extension: the content type, and whether compression helps. */
const TYPES: Readonly<Record<string, { type: string; compress: boolean }>> = {
  '.html': { type: 'text/html; charset=utf-8', compress: true },
  '.js': { type: 'text/javascript; charset=utf-8', compress: true },
  '.css': { type: 'text/css; charset=utf-8', compress: true },
  '.json': { type: 'application/json', compress: true },
  '.webmanifest': { type: 'application/manifest+json', compress: true },
  '.svg': { type: 'image/svg+xml', compress: true },
  '.txt': { type: 'text/plain; charset=utf-8', compress: true },
  '.png': { type: 'image/png', compress: false },
  '.jpg': { type: 'image/jpeg', compress: false },
  '.webp': { type: 'image/webp', compress: false },
  '.ico': { type: 'image/x-icon', compress: false },
  '.woff2': { type: 'font/woff2', compress: false },
};

/** Content Security Policy of pages: they load from, run code of and send to this server only. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "font-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types earshot',
].join('; ');

const HEADERS = {
  'Content-Security-Policy': POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(self)',
  Vary: 'Accept-Encoding',
} as const;

interface File {
  type: string;
  bytes: Buffer;
  /** Null: it is sent uncompressed. */
  gzipped: Buffer | null;
  etag: string;
  isImmutable: boolean;
}

/** Files by their path below the page's own, without a leading slash. */
type Files = ReadonlyMap<string, File>;

/**
 * Serves the pages of plugins, each below its path. Only files that existed when the page was first requested are
 * served, so no path can leave its directory. Other requests go on to the next middleware.
 * @param pages those of the plugins that are available now
 */
export function servePages(pages: () => readonly Page[]): Middleware {
  const loading = new WeakMap<Page, Promise<Files>>();

  function filesOf(page: Page): Promise<Files> {
    const known = loading.get(page);
    if (known) return known;
    const files = readPage(page);
    loading.set(page, files);
    files.catch(() => loading.delete(page)); // it may appear later
    return files;
  }

  return async (context, next) => {
    if (context.method !== 'GET' && context.method !== 'HEAD') return next();
    const page = pages()
      .filter(({ path }) => context.path.startsWith(path))
      .reduce<Page | null>(
        (best, each) => (best && best.path.length >= each.path.length ? best : each),
        null,
      );
    if (!page) return next();
    const file = fileAt(await filesOf(page), page, context.path.slice(page.path.length));
    if (!file) return next();
    send(context, file);
  };
}

function fileAt(files: Files, { views = [] }: Page, path: string): File | undefined {
  const [first = ''] = path.split('/', 1);
  return files.get(path === '' || views.includes(first) ? 'index.html' : path);
}

function send(context: ParameterizedContext, { type, bytes, gzipped, etag, isImmutable }: File): void {
  context.set({
    ...HEADERS,
    'Cache-Control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    'Content-Type': type,
  });
  const isGzipped = gzipped !== null && context.acceptsEncodings('gzip', 'identity') === 'gzip';
  context.etag = isGzipped ? `${etag}-gzip` : etag;
  if (isGzipped) context.set('Content-Encoding', 'gzip');
  context.body = isGzipped ? gzipped : bytes;
  context.set('Content-Type', type); // Koa would set another type for a buffer
  context.status = 200;
  if (context.fresh) context.status = 304; // a 304 has no body
}

/** @throws {AppError} `unavailable` that says what is wrong with the directory */
async function readPage({ directory, immutable }: Page): Promise<Files> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(cause => {
    throw new AppError('unavailable', 'The files of this page cannot be read', { cause });
  });
  const paths = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name));
  if (paths.length > MAX_FILES) throw unfit(`it has ${paths.length} files; ${MAX_FILES} are allowed`);
  const files = new Map<string, File>();
  let bytes = 0;
  for (const path of paths) {
    const name = relative(directory, path).split(sep).join('/');
    const known = TYPES[extname(name)];
    if (!known) throw unfit(`${name} is of an unknown type; known: ${Object.keys(TYPES).join(' ')}`);
    const content = await readFile(path);
    bytes += content.length;
    if (bytes > MAX_BYTES) throw unfit(`it has more than ${MAX_BYTES} bytes`);
    const isImmutable = immutable !== undefined && name.startsWith(`${immutable}/`);
    files.set(name, await fileOf(content, known, isImmutable));
  }
  if (!files.has('index.html')) throw unfit('it has no index.html');
  return files;
}

async function fileOf(
  bytes: Buffer,
  { type, compress }: { type: string; compress: boolean },
  isImmutable: boolean,
): Promise<File> {
  const etag = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  const isWorthIt = compress && bytes.length >= MIN_COMPRESSED_BYTES;
  const gzipped = isWorthIt ? await promisify(gzip)(bytes, { level: 9 }) : null;
  return { type, bytes, gzipped, etag, isImmutable };
}

function unfit(why: string): AppError {
  return new AppError('unavailable', `This page cannot be served: ${why}`);
}
