import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import type { Principal } from '../domain/accounts/credentials.ts';
import { AppError } from '../runtime/errors.ts';
import type { createNoteRead } from './access-log.ts';
import { type Gate, namedBy } from './auth.ts';
import type { Bodies, RequestBody } from './bodies.ts';
import type { Connections } from './connections.ts';
import type { Failure } from './failure.ts';
import { jsonAnswer } from './json-answer.ts';
import { refuseLargeBody } from './json-body.ts';
import { repeatedIn, valuesOf } from './query.ts';
import { REPEAT_HEADER, type Repeats } from './repeats.ts';
import { Binary, Download, EventStream, type Route, StoredFile } from './route.ts';
import { cutOffStalled } from './stalled.ts';
import { sendStoredFile } from './stored-file.ts';
import { RAW_TYPE, type Upload, type Uploads } from './uploads.ts';

/** Parts of the server that handle routes. */
export interface Parts {
  gate: Gate;
  bodies: Bodies;
  uploads: Uploads;
  connections: Connections;
  addressOf(request: IncomingMessage): string;
  /** Logs a failure, and returns what is answered. */
  failureOf(thrown: unknown, request: IncomingMessage): Failure;
  noteRead: ReturnType<typeof createNoteRead>;
  repeats: Repeats;
}

/**
 * Serves operations that need a credential. Each resource has a router: a single one would match every path against the
 * patterns of all.
 */
export function serveRoutes(routes: Route[], parts: Parts): Middleware {
  const resources = Map.groupBy(routes, ({ path }) => resourceOf(path));
  const served = new Map<string, Middleware>();
  for (const [name, own] of resources) {
    if (name.includes('{')) throw new Error(`${name} begins with a parameter`);
    served.set(name, routerOf(own, parts).routes() as Middleware); // the router adds what it needs to the context itself
  }
  return (context, next) => served.get(resourceOf(context.path))?.(context, next) ?? next();
}

const RESOURCE = /^\/v1\/dev\/user\/[^/]+|^\/[^/]+\/[^/]+/;

/** Returns the path prefix of a resource, in lower case because the router ignores case. */
function resourceOf(path: string): string {
  return RESOURCE.exec(path.toLowerCase())?.[0] ?? path;
}

function routerOf(
  routes: Route[],
  { gate, bodies, uploads, connections, addressOf, failureOf, noteRead, repeats }: Parts,
): Router {
  const router = new Router();
  for (const route of routes) {
    const repeated = repeatedIn(route.query);
    router[route.method](route.path.replace(/\{(\w+)\}/g, ':$1'), async context => {
      const { params, req, res } = context;
      const query = valuesOf(context.querystring, repeated);
      let principal: Principal | undefined;
      let opened: RequestBody | undefined;
      const files = route.upload && uploads.open(context, route.upload);
      const gone = new AbortController();
      let upload: Upload | undefined;
      /** Settles when a streamed response no longer needs the files. */
      let streaming: Promise<void> | undefined;
      context.state.failure = route.failure;
      const body = once(async () => {
        if (files && principal) {
          upload = await files.read(principal.user.id);
          return upload.fields;
        }
        if (!route.body) return refuseLargeBody(req);
        opened = principal
          ? bodies.ofAccount(context, principal.user.id, route.maxBodyBytes)
          : bodies.ofAddress(context, addressOf(req), route.maxBodyBytes);
        return opened.read();
      });
      const named = once(() => namedBy(route, { params, query, body }));
      try {
        principal = await gate.admit(context, route, route.policy(query), named);
        connections.enter(req.socket);
        res.once('close', () => {
          connections.leave(req.socket);
          // Creating an error collects a stack trace: none is created for the many responses that were sent whole.
          if (!res.writableFinished) gone.abort(new AppError('unavailable', 'The client is gone'));
        });
        const lastEventId = context.get('Last-Event-ID') || undefined;
        const came = await body();
        const { signal } = gone;
        const { user, keyId } = principal;
        const request = { principal, params, query, body: came, upload, signal, lastEventId };
        const key = route.repeatable ? context.get(REPEAT_HEADER) : '';
        const answer =
          key === ''
            ? await route.run(request)
            : await repeats.once(
                { userId: user.id, operation: `${route.id} ${keyId ?? ''}`, key },
                [params, query, came],
                () => route.run(request),
              );
        noteRead(principal, route.id, params, 'rest');
        if (answer instanceof EventStream) {
          sendEvents(context, answer);
          if (files) streaming = finished(answer.readable).catch(() => {});
        } else if (answer instanceof Binary) sendBinary(context, answer, route.type);
        else if (answer instanceof Download) sendFile(context, route.type ?? '', answer);
        else if (answer instanceof StoredFile) sendStoredFile(context, route.type ?? '', answer);
        else if (!route.response) context.status = 204;
        else await sendJson(context, answer, error => void failureOf(error, req));
      } finally {
        opened?.release();
        if (streaming) void streaming.then(() => files?.release());
        else await files?.release();
      }
    });
  }
  return router;
}

/** @param onLost called with the reason why a response that has begun is cut off */
async function sendJson(
  context: Pick<Context, 'res' | 'body'>,
  answer: unknown,
  onLost: (error: unknown) => void,
): Promise<void> {
  const { res } = context;
  const body = await jsonAnswer(answer);
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  context.body = body;
  if (typeof body === 'string') return;
  cutOffStalled(res);
  body.once('error', error => {
    onLost(error);
    res.destroy(); // otherwise the client would wait for the rest
  });
}

/** A browser shows it, and runs nothing in it. */
function sendBinary(context: Pick<Context, 'set' | 'body'>, { bytes }: Binary, type = RAW_TYPE): void {
  context.body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  context.set('Content-Type', type);
}

function sendFile(
  context: Pick<Context, 'set' | 'body' | 'res'>,
  type: string,
  { readable, fileName }: Download,
): void {
  const { res } = context;
  cutOffStalled(res);
  res.once('close', () => readable.destroy()); // also where nothing of it was read
  context.body = readable.once('error', () => res.destroy()); // otherwise the client would wait for the rest
  context.set('Content-Type', type);
  context.set('Content-Disposition', `attachment; filename="${fileName}"`);
}

/** Koa ends the stream when its client disconnects. */
function sendEvents(context: Pick<Context, 'set' | 'body'>, { readable }: EventStream): void {
  context.body = readable;
  context.set('Content-Type', 'text/event-stream; charset=utf-8');
  context.set('X-Accel-Buffering', 'no'); // nginx would buffer the events
}

/** Calls `ask` once, at the first use, and keeps its result, also a failure. */
function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => {
    answer ??= ask();
    return answer;
  };
}
