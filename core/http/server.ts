import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import Router from '@koa/router';
import Koa, { type Context, type Middleware, type Next } from 'koa';
import websockify from 'koa-websocket';
import type { Config } from '../../config/schema.ts';
import type { ActionItems } from '../domain/action-items.ts';
import type { Apps } from '../domain/apps.ts';
import type { Ask } from '../domain/ask.ts';
import type { ChannelAddresses } from '../domain/channel-addresses.ts';
import type { Conversations } from '../domain/conversations.ts';
import type { Credentials } from '../domain/credentials.ts';
import type { Deliveries } from '../domain/deliveries.ts';
import type { Folders } from '../domain/folders.ts';
import type { Goals } from '../domain/goals.ts';
import type { Hooks } from '../domain/hooks.ts';
import type { Keys } from '../domain/keys.ts';
import type { Memories } from '../domain/memories.ts';
import type { Notifications } from '../domain/notifications.ts';
import type { People } from '../domain/people.ts';
import type { Search } from '../domain/search.ts';
import type { SignIn } from '../domain/sign-in.ts';
import { MAX_MESSAGE_BYTES } from '../listen/protocol.ts';
import type { Listen } from '../listen/socket.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Clock } from '../model.ts';
import { createGate, type Gate, namedBy } from './auth.ts';
import { createClientAddress } from './client-address.ts';
import { cors } from './cors.ts';
import {
  type Failure,
  plainFailure,
  refuseGarbage,
  SECURITY_HEADERS,
  setHeaders,
  toFailure,
} from './failure.ts';
import { readJson, refuseLargeBody } from './json-body.ts';
import { openApiDocument, openApiRoute } from './openapi.ts';
import { cannotListen } from './port.ts';
import { repeatedIn, valuesOf } from './query.ts';
import type { NotificationLimit, RateLimits } from './rate-limit.ts';
import type { OpenOperation, OpenRoute, Route } from './route.ts';
import { actionItemRoutes } from './routes/action-items.ts';
import { appRoutes } from './routes/apps.ts';
import { askRoutes } from './routes/ask.ts';
import { channelAddressRoutes } from './routes/channel-addresses.ts';
import { conversationRoutes } from './routes/conversations.ts';
import { correctionRoutes } from './routes/corrections.ts';
import { deliveryRoutes } from './routes/deliveries.ts';
import { docsFile, docsRoute } from './routes/docs.ts';
import { folderRoutes } from './routes/folders.ts';
import { goalRoutes } from './routes/goals.ts';
import { healthRoute } from './routes/health.ts';
import { hookRoutes } from './routes/hooks.ts';
import { identityOperations, publicKeysRoute } from './routes/identity.ts';
import { importRoutes } from './routes/imports.ts';
import { integrationRoutes } from './routes/integrations.ts';
import { keyRoutes } from './routes/keys.ts';
import { memoryRoutes } from './routes/memories.ts';
import { measureRequests, metricsRoute } from './routes/metrics.ts';
import { muteByLink, mutePageRoute } from './routes/mute-page.ts';
import { notificationSettingsRoutes } from './routes/notification-settings.ts';
import { notificationRoutes } from './routes/notifications.ts';
import { peopleRoutes } from './routes/people.ts';
import { createUpgrade, pathOf } from './upgrade.ts';

const HEADERS_MS = 10_000;
const REQUEST_MS = 60_000;
/** Connections beside the live ones. */
const PLAIN_CONNECTIONS = 1000;

/** What `close` grants to requests and sockets that are still open. */
const CLOSE_MS = 5000;

interface ServerOptions {
  log: Log;
  clock: Clock;
  credentials: Pick<Credentials, 'authenticate' | 'app'>;
  /** Absent: nothing is limited. */
  rateLimits?: RateLimits | undefined;
  notificationLimit?: NotificationLimit | undefined;
  signIn: SignIn;
  conversations: Conversations;
  keys: Keys;
  actionItems: ActionItems;
  goals: Goals;
  memories: Memories;
  search: Search;
  folders: Folders;
  people: People;
  ask: Ask;
  apps: Apps;
  hooks: Hooks;
  notifications: Notifications;
  channelAddresses: ChannelAddresses;
  deliveries: Deliveries;
  /** The live side. A socket is paused when handed over; `accept` resumes it once it listens. */
  listen: Pick<Listen, 'paths' | 'authorize' | 'accept'>;
  /** Absent: nothing is measured. */
  metrics?: Metrics;
  config: Pick<Config, 'listen' | 'trustedProxies'> & Partial<Pick<Config, 'cors' | 'metrics'>>;
  /** Is everything up? */
  health(): boolean;
}

export interface HttpServer {
  /** Resolves to where it really listens. Rejects with `config_error`, and the way out, when it cannot. */
  listen(host: string, port: number): Promise<{ host: string; port: number }>;
  /** Takes no more connections, lets running requests end, and cuts off what is left after 5 s. */
  close(): Promise<void>;
}

/** Everything that is reached over HTTP, on one port. Every failure leaves through one door, as `{detail}`. */
export function createServer(options: ServerOptions): HttpServer {
  const { log, clock, listen: live, config, metrics } = options;
  const failureOf = failuresInto(log);
  const addressOf = createClientAddress(config.trustedProxies);
  const { credentials, apps, rateLimits, notificationLimit } = options;
  const gate = createGate({ credentials, apps, rateLimits, notificationLimit, addressOf });
  const upgrade = createUpgrade({ listen: live, clock, log, failureOf, gate, metrics });
  let closing = false;

  const koa = new Koa();
  koa.on('error', error => log.debug({ err: error }, 'connection lost while answering'));
  if (metrics) koa.use(measureRequests(metrics));
  koa.use(decorate(() => closing));
  if (config.cors?.origins.length) koa.use(cors(config.cors.origins));
  koa.use(answerFailures(failureOf));
  koa.use(nameStatus);
  const { conversations } = options;
  const routes = [
    ...conversationRoutes(conversations),
    ...importRoutes(conversations),
    ...folderRoutes(conversations, options.folders),
    ...correctionRoutes(conversations),
    ...peopleRoutes(options.people),
    ...askRoutes(options.ask),
    ...keyRoutes(options.keys),
    ...actionItemRoutes(options.actionItems),
    ...goalRoutes(options.goals),
    ...memoryRoutes(options.memories, options.search),
    ...appRoutes(apps),
    ...hookRoutes(options.hooks),
    ...integrationRoutes(options),
    ...notificationRoutes(options.notifications),
    ...notificationSettingsRoutes(options.notifications),
    ...channelAddressRoutes(options.channelAddresses),
    ...deliveryRoutes(options.deliveries),
  ];
  const operations = identityOperations(options.signIn, clock);
  const open: OpenRoute[] = [
    publicKeysRoute(options.signIn),
    healthRoute(options.health),
    openApiRoute(() => openApiDocument(routes, operations, open)),
    docsRoute,
    mutePageRoute(options.notifications),
    ...(metrics ? [metricsRoute(metrics, config.metrics?.token)] : []),
  ];
  const router = new Router();
  addOpenOperations(router, operations, addressOf);
  for (const { path, serve } of open) router.get(path, serve);
  router.get('/docs/:file', docsFile);
  koa.use(muteByLink(options.notifications));
  koa.use(byResource(routes, gate));
  koa.use(router.routes());
  koa.use(router.allowedMethods());
  koa.use((context, next) => {
    refuseLargeBody(context.req);
    return next();
  });

  const answer = koa.callback();
  const http = createHttpServer(
    {
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      connectionsCheckingInterval: HEADERS_MS / 2,
      // A client that offers HTTP/2 by the way is answered as if it had not.
      shouldUpgradeCallback: request => request.headers.upgrade?.toLowerCase() === 'websocket',
    },
    answer,
  );
  http.on('checkExpectation', answer); // nothing but 100-continue is known: what else is expected is passed over
  http.maxConnections = config.listen.maxConnections + PLAIN_CONNECTIONS;
  http.on('clientError', refuseGarbage);

  koa.listen = http.listen.bind(http); // koa-websocket attaches itself to what this starts
  const app = websockify(koa, {
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    verifyClient: upgrade.verifyClient,
  });
  app.ws.use(({ websocket, req }) => upgrade.accept(websocket, req));

  function listen(host: string, port: number): Promise<{ host: string; port: number }> {
    return new Promise((resolve, reject) => {
      http.once('error', error => reject(cannotListen(error, host, port)));
      app.listen(port, host, () => {
        const address = http.address();
        if (address && typeof address === 'object') resolve({ host: address.address, port: address.port });
      });
      app.ws.server?.on('wsClientError', upgrade.refuseHandshake);
      // It repeats the server's errors, and one that nobody hears would end the process.
      app.ws.server?.on('error', error => {
        if (http.listening) log.error({ err: error }, 'the HTTP server reports an error');
      });
    });
  }

  async function close(): Promise<void> {
    if (!http.listening) return;
    closing = true;
    const closed = new Promise<void>(resolve => http.close(() => resolve()));
    app.ws.server?.close();
    const done = new AbortController();
    const patience = clock.sleep(CLOSE_MS, done.signal).then(cutOff, () => {});
    await closed;
    done.abort();
    await patience;
  }

  function cutOff(): void {
    for (const socket of app.ws.server?.clients ?? []) socket.terminate();
    http.closeAllConnections();
  }

  return { listen, close };
}

/** A router for each resource: one for all would try the patterns of all on each path. */
function byResource(routes: Route[], gate: Gate): Middleware {
  const resources = Map.groupBy(routes, ({ path }) => resourceOf(path));
  const served = new Map<string, Middleware>();
  for (const [name, own] of resources) {
    if (name.includes('{')) throw new Error(`${name} begins with a parameter`);
    served.set(name, routerOf(own, gate).routes() as Middleware); // it adds to the context itself what it needs there
  }
  return (context, next) => served.get(resourceOf(context.path))?.(context, next) ?? next();
}

const RESOURCE = /^\/v1\/dev\/user\/[^/]+|^\/[^/]+\/[^/]+/;

/** What all paths of a resource begin with; in small letters, as the router does not tell them from large ones. */
function resourceOf(path: string): string {
  return RESOURCE.exec(path.toLowerCase())?.[0] ?? path;
}

function routerOf(routes: Route[], gate: Gate): Router {
  const router = new Router();
  for (const route of routes) {
    const repeated = repeatedIn(route.query);
    router[route.method](route.path.replace(/\{(\w+)\}/g, ':$1'), async context => {
      const { params } = context;
      const query = valuesOf(context.querystring, repeated);
      const body = once(async () => {
        refuseLargeBody(context.req);
        return route.body && readJson(context.req);
      });
      const named = once(() => namedBy(route, { params, query, body }));
      const principal = await gate.admit(context, route, route.policy(query), named);
      const answer = await route.run({ principal, params, query, body: await body() });
      if (!route.response) context.status = 204;
      else sendJson(context, answer);
    });
  }
  return router;
}

/** What Koa does with an object, without finding out first what it is. */
function sendJson(context: Pick<Context, 'res' | 'body'>, answer: unknown): void {
  context.res.setHeader('Content-Type', 'application/json; charset=utf-8');
  context.body = JSON.stringify(answer);
}

/** Asked at its first use; a failure stays one. */
function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => {
    answer ??= ask();
    return answer;
  };
}

function addOpenOperations(
  router: Router,
  operations: OpenOperation[],
  addressOf: (request: IncomingMessage) => string,
): void {
  for (const { method, path, run } of operations)
    router[method](path, async context => {
      context.body = await run({ address: addressOf(context.req), body: await readJson(context.req) });
    });
}

/** What is the server's fault is logged with its cause; the answer does not tell it. */
function failuresInto(log: Log) {
  return (thrown: unknown, request: IncomingMessage): Failure => {
    const failure = toFailure(thrown);
    const where = { err: thrown, method: request.method, path: pathOf(request) };
    if (failure.status === 500) log.error(where, 'request failed');
    else if (failure.status > 500) log.warn(where, 'request could not be served');
    return failure;
  };
}

function answerFailures(failureOf: ReturnType<typeof failuresInto>): Middleware {
  return async (context, next) => {
    try {
      await next();
    } catch (thrown) {
      const { status, headers, body } = failureOf(thrown, context.req);
      context.status = status;
      setHeaders(context.res, headers);
      context.body = body;
    }
  };
}

function decorate(isClosing: () => boolean): Middleware {
  return async (context, next) => {
    setHeaders(context.res, SECURITY_HEADERS);
    await next();
    if (isClosing()) context.set('Connection', 'close');
  };
}

/** A status that Koa or its router set without a word. */
async function nameStatus(context: Context, next: Next): Promise<void> {
  await next();
  if (context.status < 400 || context.body != null) return;
  const { status, body } = plainFailure(context.status);
  context.status = status;
  context.body = body;
}
