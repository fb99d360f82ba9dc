import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BlockList, isIPv6 } from 'node:net';
import type { Middleware } from 'koa';
import { z } from 'zod';
import { AppError } from '../../runtime/errors.ts';
import type { HttpMetrics, Metrics } from '../../runtime/metrics.ts';
import { Failed } from '../openapi.ts';
import type { OpenRoute } from '../route.ts';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8);
LOOPBACK.addAddress('::1', 'ipv6');
/**
 * Host names of this machine: under another name, a web page could send the request through its visitor's browser.
 */
const OWN_NAME = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i;
/** A request with any of these headers came through a proxy, from another machine. */
const OF_PROXIES = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

/**
 * Metrics for Prometheus. They reveal when people speak, so without a configured token only this machine may read
 * them.
 */
export function metricsRoute(
  metrics: Pick<Metrics, 'text' | 'contentType'>,
  token: string | undefined,
): OpenRoute {
  const refusal = (description: string) => ({ description, type: 'application/json', schema: Failed });
  return {
    id: 'getMetrics',
    path: '/metrics',
    tag: 'Service',
    summary: 'Get metrics in the text format of Prometheus',
    security: [{ metricsToken: [] }, {}],
    answers: {
      200: { description: 'The metrics', type: 'text/plain', schema: z.string() },
      401: refusal('The server has a `metrics.token`, and this is not it'),
      403: refusal('The server has no `metrics.token`, and answers its own machine alone'),
    },
    async serve(context) {
      if (token === undefined) requireLocal(context.req);
      else requireToken(context.req, token);
      context.set('Content-Type', metrics.contentType);
      context.body = await metrics.text();
    },
  };
}

/** Counts by the route's pattern; paths without a route count as one. */
export function measureRequests(metrics: HttpMetrics): Middleware {
  return async (context, next) => {
    const beganAt = metrics.now();
    await next();
    const { method, status } = context;
    const route = String(context._matchedRoute ?? 'none');
    metrics.answered({ method, route, status }, metrics.now() - beganAt);
  };
}

function requireLocal({ socket, headers }: IncomingMessage): void {
  const address = socket.remoteAddress ?? '';
  const isHere = LOOPBACK.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  const isDirect = OF_PROXIES.every(name => headers[name] === undefined);
  if (isHere && isDirect && OWN_NAME.test(headers.host ?? '')) return;
  throw new AppError(
    'forbidden',
    'Metrics are served to this machine only, without a proxy; to read them from elsewhere, set metrics.token and send it as "Authorization: Bearer <token>"',
  );
}

function requireToken({ headers }: IncomingMessage, token: string): void {
  const [, sent = ''] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
  if (timingSafeEqual(digest(sent), digest(token))) return;
  throw new AppError(
    'unauthorized',
    'Send the metrics.token of the configuration: "Authorization: Bearer <token>"',
  );
}

/** Hashes a text, so that comparisons take the same time for any input. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
