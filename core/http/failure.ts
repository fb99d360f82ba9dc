import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { AppError, type Issue } from '../runtime/errors.ts';

/** On every answer: it is data of one person, for programs. */
export const SECURITY_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
} as const;

/** As it is: Koa looks at each header twice before it sets it. */
export function setHeaders(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  for (const name in headers) response.setHeader(name, headers[name] ?? '');
}

type Detail = string | Issue[] | Readonly<Record<string, unknown>>;

/** How a failure is answered: before an upgrade as well as to a request. */
export interface Failure {
  status: number;
  headers: Record<string, string>;
  body: { detail: Detail } | Readonly<Record<string, unknown>>;
}

/** The answer to whatever was thrown. What may not be shown is a plain 500. */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof AppError && thrown.expose) {
    return { status: thrown.status, headers: headersOf(thrown), body: { detail: detailOf(thrown) } };
  }
  const status = statusOfKoa(thrown);
  if (status !== null) return plainFailure(status);
  return { status: 500, headers: {}, body: { detail: 'Internal server error' } };
}

/** A status that says it all. */
export function plainFailure(status: number): Failure {
  return { status, headers: {}, body: { detail: STATUS_CODES[status] ?? 'Error' } };
}

function detailOf(error: AppError): Detail {
  if (error.code !== 'invalid_request') return error.detail ?? error.message;
  return error.issues ?? [{ loc: ['body'], msg: error.message, type: 'value_error' }];
}

function headersOf({ status, retryAfter }: AppError): Record<string, string> {
  return {
    ...(status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}),
    ...(status === 413 ? { Connection: 'close' } : {}), // instead of reading all of it first
    ...(retryAfter === undefined ? {} : { 'Retry-After': String(Math.ceil(retryAfter)) }),
  };
}

/** Koa and its router throw errors of their own for what a client did wrong. */
function statusOfKoa(thrown: unknown): number | null {
  if (!(thrown instanceof Error) || !('expose' in thrown) || thrown.expose !== true) return null;
  return 'status' in thrown && typeof thrown.status === 'number' ? thrown.status : null;
}

/** Not HTTP, or so slow that it may be an attack: there is no request that could be answered, only a socket. */
export function refuseGarbage(error: Error & { code?: string }, socket: Duplex): void {
  const status = GARBAGE_STATUS[error.code ?? ''] ?? 400;
  answerSocket(socket, status, STATUS_CODES[status] ?? 'Error');
}
const GARBAGE_STATUS: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

/** An upgrade to what is no WebSocket of RFC 6455. Answers with which status. */
export function refuseHandshake(error: Error, socket: Duplex, { method }: IncomingMessage): number {
  const status = method === 'GET' ? 400 : 405;
  socket.once('finish', () => socket.destroy()); // the server lists it no more: who never ends it would keep it open
  answerSocket(socket, status, error.message, HANDSHAKE_HEADERS);
  return status;
}
const HANDSHAKE_HEADERS = { Allow: 'GET', 'Sec-WebSocket-Version': '13' };

function answerSocket(
  socket: Duplex,
  status: number,
  detail: unknown,
  headers: Record<string, string> = {},
): void {
  if (!socket.writable) return void socket.destroy();
  const json = JSON.stringify({ detail });
  const all = {
    Connection: 'close',
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(json),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${json}`);
}
