import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Clock } from '../contract/model.ts';
import { CLOSE } from '../listen/protocol.ts';
import type { Listen } from '../listen/socket.ts';
import { deadline } from '../runtime/deadline.ts';
import { AppError } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';
import type { HttpMetrics } from '../runtime/metrics.ts';
import type { Gate } from './auth.ts';
import { type Failure, refuseHandshake, SECURITY_HEADERS } from './failure.ts';

/** Limit for the time until it is accepted or refused. */
const AUTHORIZE_MS = 10_000;

type Answer = (accepted: boolean, status?: number, body?: string, headers?: Record<string, string>) => void;

/** Turns requests into live connections: the one place where they can be refused with a status and a reason. */
export function createUpgrade(options: {
  listen: Pick<Listen, 'paths' | 'refusal' | 'authorize' | 'accept'>;
  clock: Clock;
  log: Log;
  failureOf(thrown: unknown, request: IncomingMessage): Failure;
  gate: Pick<Gate, 'countFailure'>;
  addressOf(request: IncomingMessage): string;
  /** Absent: nothing is measured. */
  metrics?: HttpMetrics | undefined;
}) {
  const { listen, clock, log, metrics } = options;
  const grants = new WeakMap<IncomingMessage, Awaited<ReturnType<Listen['authorize']>>>();

  async function authorize(request: IncomingMessage): Promise<void> {
    if (!listen.paths.includes(pathOf(request))) throw new AppError('not_found', 'Not Found');
    const principal = listen.authorize(request, options.addressOf(request)).catch(error => {
      throw options.gate.countFailure(error, request) ?? error;
    });
    grants.set(request, await inTime(principal));
  }

  function inTime<T>(answer: Promise<T>): Promise<T> {
    const late = () => new AppError('unavailable', 'Checking the credential took too long; try again');
    return deadline({ clock, limitMs: AUTHORIZE_MS, late }, () => answer);
  }

  /** The status of the response. */
  function refuse(request: IncomingMessage, thrown: unknown, answer: Answer): number {
    const { status, headers, body } = options.failureOf(thrown, request);
    const json = { ...SECURITY_HEADERS, 'Content-Type': 'application/json; charset=utf-8', ...headers };
    answer(false, status, JSON.stringify(body), json);
    return status;
  }

  function measure(request: IncomingMessage, status: number, beganAt = metrics?.now() ?? 0): void {
    const path = pathOf(request);
    const route = listen.paths.includes(path) ? path : 'none';
    metrics?.answered({ method: request.method ?? 'GET', route, status }, metrics.now() - beganAt);
  }

  return {
    verifyClient({ req }: { req: IncomingMessage }, answer: Answer): void {
      const beganAt = metrics?.now() ?? 0;
      const turnAway = (thrown: unknown) => measure(req, refuse(req, thrown, answer), beganAt);
      const refusal = listen.refusal(req);
      if (refusal) turnAway(refusal);
      else authorize(req).then(() => answer(true), turnAway);
    },

    /** Refuses a handshake that does not follow RFC 6455. */
    refuseHandshake(error: Error, socket: Duplex, request: IncomingMessage): void {
      measure(request, refuseHandshake(error, socket, request));
    },

    /** Accepts a socket, paused until a listener is attached, so that no message is lost. */
    async accept(socket: WebSocket, request: IncomingMessage): Promise<void> {
      socket.pause();
      try {
        await listen.accept(socket, request, grants.get(request) ?? null);
      } catch (error) {
        log.error({ err: error }, 'a live connection failed');
        socket.resume(); // otherwise the answer to our close frame would not be read
        socket.close(CLOSE.failed);
      }
    },
  };
}

export function pathOf(request: IncomingMessage): string {
  return request.url?.split('?', 1)[0] ?? '/';
}
