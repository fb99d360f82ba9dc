import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { AppError, type Issue } from '../runtime/errors.ts';
import { linger } from './unread-body.ts';

/** Headers of every response, which holds one person's data for programs. */
export const SECURITY_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
} as const;

/** Sets headers directly: Koa would validate each of them twice. */
export function setHeaders(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  for (const name in headers) response.setHeader(name, headers[name] ?? '');
}

type Detail = string | Issue[] | Readonly<Record<string, unknown>>;

/** A failure as an HTTP response, also for a refused upgrade. */
export interface Failure {
  status: number;
  headers: Record<string, string>;
  body: { detail: Detail } | Readonly<Record<string, unknown>>;
}

/** Converts anything thrown to a response. What must not be shown becomes a plain 500. */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof AppError && thrown.expose) {
    return { status: thrown.status, headers: headersOf(thrown), body: { detail: detailOf(thrown) } };
  }
  const status = statusOfKoa(thrown);
  if (status !== null) return plainFailure(status);
  return { status: 500, headers: {}, body: { detail: 'Internal server error' } };
}

/** A response for which the status says everything. */
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
    ...(status === 413 ? { Connection: 'close' } : {}), // instead of reading the whole body first
    ...(retryAfter === undefined ? {} : { 'Retry-After': String(Math.ceil(retryAfter)) }),
  };
}

/** Koa and its router throw their own errors for client mistakes. */
function statusOfKoa(thrown: unknown): number | null {
  if (!(thrown instanceof Error) || !('expose' in thrown) || thrown.expose !== true) return null;
  return 'status' in thrown && typeof thrown.status === 'number' ? thrown.status : null;
}

/** Answers what is not HTTP, or so slow that it may be an attack: there is no request, only a socket. */
export function refuseGarbage(error: Error & { code?: string }, socket: Duplex): void {
  const status = GARBAGE_STATUS[error.code ?? ''] ?? 400;
  answerSocket(socket, status, STATUS_CODES[status] ?? 'Error');
}
const GARBAGE_STATUS: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

/** Refuses an upgrade that does not follow RFC 6455. Returns the status of the response. */
export function refuseHandshake(error: Error, socket: Duplex, { method }: IncomingMessage): number {
  const status = method === 'GET' ? 400 : 405;
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
  linger(socket); // the server no longer tracks it, so one that the client does not close would stay open
}
