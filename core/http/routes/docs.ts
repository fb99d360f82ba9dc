import { readFile } from 'node:fs/promises';
import type { Middleware } from 'koa';
import { z } from 'zod';
import { fixed } from '../fixed.ts';
import type { OpenRoute } from '../route.ts';

/** The page loads nothing from other hosts, and sends nothing to them. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Files of the documentation page: Swagger UI and its set-up script. */
const FILES: Readonly<Record<string, Middleware>> = {
  'page.css': file('text/css', new URL('../docs/page.css', import.meta.url)),
  'page.js': file('text/javascript', new URL('../docs/page.js', import.meta.url)),
  'swagger-ui.css': file('text/css', new URL(import.meta.resolve('swagger-ui-dist/swagger-ui.css'))),
  'swagger-ui-bundle.js': file(
    'text/javascript',
    new URL(import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js')),
  ),
};

/** The interface as a page for people. */
export const docsRoute: OpenRoute = {
  id: 'getDocs',
  path: '/docs',
  tag: 'Service',
  summary: 'Get an interactive page of this API',
  answers: { 200: { description: 'The page', type: 'text/html', schema: z.string() } },
  serve: file('text/html', new URL('../docs/page.html', import.meta.url), {
    'Content-Security-Policy': PAGE_POLICY,
  }),
};

/** A file of the page, by the parameter `file`. */
export const docsFile: Middleware = (context, next) => {
  const name: string = context.params.file;
  return Object.hasOwn(FILES, name) ? FILES[name]?.(context, next) : next();
};

function file(type: string, from: URL, headers?: Record<string, string>): Middleware {
  return fixed(type, () => readFile(from), headers);
}
