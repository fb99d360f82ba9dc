import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import Router from '@koa/router';
import Koa, { type Context, type Middleware, type Next } from 'koa';
import websockify from 'koa-websocket';
import type { Config } from '../../config/schema.ts';
import type { Clock, Health } from '../contract/model.ts';
import type { Page } from '../contract/plugin.ts';
import type { Feed } from '../delivery/feed.ts';
import type { Accounts } from '../domain/accounts/accounts.ts';
import type { Credentials, Principal } from '../domain/accounts/credentials.ts';
import type { Identities } from '../domain/accounts/identities.ts';
import type { Keys } from '../domain/accounts/keys.ts';
import type { People } from '../domain/accounts/people.ts';
import type { SignIn } from '../domain/accounts/sign-in.ts';
import type { Users } from '../domain/accounts/users.ts';
import type { Vocabularies } from '../domain/accounts/vocabulary.ts';
import type { Apps } from '../domain/apps/apps.ts';
import type { Deliveries } from '../domain/apps/deliveries.ts';
import type { Hooks } from '../domain/apps/hooks.ts';
import type { Ask } from '../domain/ask/ask.ts';
import type { Chat } from '../domain/ask/chat.ts';
import type { CalendarFeed } from '../domain/calendar/calendar-feed.ts';
import type { CalendarLinks } from '../domain/calendar/calendar-links.ts';
import type { CalendarSync } from '../domain/calendar/calendar-sync.ts';
import type { Conversations } from '../domain/conversations/conversations.ts';
import type { Folders } from '../domain/conversations/folders.ts';
import type { SummaryTemplates } from '../domain/conversations/summary-templates.ts';
import type { VoiceAssignments } from '../domain/conversations/voice-assignments.ts';
import type { WeeklyReviews } from '../domain/conversations/weekly-review.ts';
import type { Devices } from '../domain/devices/devices.ts';
import type { AccountExport } from '../domain/export/export.ts';
import type { Memories } from '../domain/memories/memories.ts';
import type { ChannelAddresses } from '../domain/notifications/channel-addresses.ts';
import type { DaySummaries } from '../domain/notifications/day-summaries.ts';
import type { Notifications } from '../domain/notifications/notifications.ts';
import type { Photos } from '../domain/photos/photos.ts';
import type { Recordings } from '../domain/recordings/recordings.ts';
import type { Search } from '../domain/search/search.ts';
import type { SpeechChoices } from '../domain/speech/speech-settings.ts';
import type { VoiceSamples } from '../domain/speech/voice-samples.ts';
import type { ActionItems } from '../domain/tasks/action-items.ts';
import type { Goals } from '../domain/tasks/goals.ts';
import { MAX_MESSAGE_BYTES, PROXY_SETTINGS, UPGRADE_REQUIRED } from '../listen/protocol.ts';
import type { Listen } from '../listen/socket.ts';
import type { SpeechProfiles } from '../recordings/speech-profile.ts';
import type { VoiceMessages } from '../recordings/voice-messages.ts';
import { AppError, toAppError } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { createGate, type Gate, namedBy } from './auth.ts';
import { type Bodies, createBodies, type RequestBody } from './bodies.ts';
import { createClientAddress, createIsProxy } from './client-address.ts';
import { type Connections, createConnections } from './connections.ts';
import { cors } from './cors.ts';
import {
  type Failure,
  plainFailure,
  refuseGarbage,
  SECURITY_HEADERS,
  setHeaders,
  toFailure,
} from './failure.ts';
import { jsonAnswer } from './json-answer.ts';
import { refuseLargeBody } from './json-body.ts';
import { createMcp, MCP_PATH } from './mcp/mcp.ts';
import { openApiDocument, openApiRoute } from './openapi.ts';
import { servePages } from './pages.ts';
import { cannotListen } from './port.ts';
import { repeatedIn, valuesOf } from './query.ts';
import type { NotificationLimit, RateLimits } from './rate-limit.ts';
import {
  Binary,
  Download,
  EventStream,
  type FailureForm,
  type OpenOperation,
  type OpenRoute,
  type Route,
} from './route.ts';
import { accountRoutes } from './routes/accounts.ts';
import { actionItemRoutes } from './routes/action-items.ts';
import { appRoutes } from './routes/apps.ts';
import { askRoutes } from './routes/ask.ts';
import { calendarAccountRoutes, calendarFeedRoute, calendarRoutes } from './routes/calendar.ts';
import { channelAddressRoutes } from './routes/channel-addresses.ts';
import { conversationRoutes } from './routes/conversations.ts';
import { correctionRoutes } from './routes/corrections.ts';
import { dailySummaryRoutes } from './routes/daily-summaries.ts';
import { deliveryRoutes } from './routes/deliveries.ts';
import { deviceRoutes } from './routes/devices.ts';
import { docsFile, docsRoute } from './routes/docs.ts';
import { eventRoutes } from './routes/events.ts';
import { folderRoutes } from './routes/folders.ts';
import { goalRoutes } from './routes/goals.ts';
import { healthRoute } from './routes/health.ts';
import { hookRoutes } from './routes/hooks.ts';
import { identityOperations, publicKeysRoute } from './routes/identity.ts';
import { fromText, importRoutes } from './routes/imports.ts';
import { integrationRoutes } from './routes/integrations.ts';
import { keyRoutes } from './routes/keys.ts';
import { memoryRoutes } from './routes/memories.ts';
import { messageRoutes } from './routes/messages.ts';
import { measureRequests, metricsRoute } from './routes/metrics.ts';
import { muteByLink, mutePageRoute } from './routes/mute-page.ts';
import { notificationSettingsRoutes } from './routes/notification-settings.ts';
import { notificationRoutes } from './routes/notifications.ts';
import { ownAccountRoutes } from './routes/own-account.ts';
import { peopleRoutes } from './routes/people.ts';
import { photoRoutes } from './routes/photos.ts';
import { recordingRoutes } from './routes/recordings.ts';
import { speechRoutes } from './routes/speech.ts';
import { speechProfileRoutes } from './routes/speech-profile.ts';
import { statisticsRoutes } from './routes/statistics.ts';
import { summaryRoutes } from './routes/summaries.ts';
import { vocabularyRoutes } from './routes/vocabulary.ts';
import { voiceAssignmentRoutes } from './routes/voice-assignments.ts';
import { voiceMessageRoutes } from './routes/voice-messages.ts';
import { weeklyReviewRoutes } from './routes/weekly-review.ts';
import { sessionCookie } from './session-cookie.ts';
import { cutOffStalled } from './stalled.ts';
import { createUpgrade, pathOf } from './upgrade.ts';
import { RAW_TYPE, type Upload, type Uploads } from './uploads.ts';

const HEADERS_MS = 10_000;
/** A recording of hours, over a slow line; what reads a body has narrower limits of its own. */
const REQUEST_MS = 2 * 3600_000;
/** Longer than proxies keep a connection (nginx: 60 s), which would else ask as it is closed, and answer 502. */
const KEPT_MS = 75_000;
/** Connections beside the live ones that serve nobody; the oldest gives way to a new one. */
const MAX_IDLE_CONNECTIONS = 1000;
/** The same of one IPv4 address, or IPv6 network. */
const MAX_IDLE_OF_NETWORK = 200;
/** Connections on which someone has authenticated, beside the live ones. */
const MAX_SERVED_CONNECTIONS = 1000;
/** Bytes of the request line and the headers together. */
const MAX_HEADER_BYTES = 16 * 1024;

/** Time that `close` grants to open requests and sockets. */
const CLOSE_MS = 5000;

interface ServerOptions {
  log: Log;
  clock: Clock;
  credentials: Pick<Credentials, 'authenticate' | 'app' | 'token'>;
  /** Absent: nothing is limited. */
  rateLimits?: RateLimits | undefined;
  notificationLimit?: NotificationLimit | undefined;
  signIn: SignIn;
  accounts: Accounts;
  accountExport: AccountExport;
  /** Lists data that outlives an account removed now, and until when. */
  remains(): Promise<{ what: string; until: number | null }[]>;
  users: Users;
  conversations: Conversations;
  keys: Keys;
  actionItems: ActionItems;
  goals: Goals;
  memories: Memories;
  search: Search;
  folders: Folders;
  summaryTemplates: SummaryTemplates;
  calendarLinks: CalendarLinks;
  calendarFeed: CalendarFeed;
  calendarSync: CalendarSync;
  devices: Devices;
  people: People;
  vocabularies: Vocabularies;
  speechSettings: SpeechChoices;
  speechProfiles: SpeechProfiles;
  voiceSamples: VoiceSamples;
  voiceAssignments: VoiceAssignments;
  ask: Ask;
  chat: Chat;
  daySummaries: DaySummaries;
  weeklyReview: WeeklyReviews;
  apps: Apps;
  hooks: Hooks;
  notifications: Notifications;
  channelAddresses: ChannelAddresses;
  deliveries: Deliveries;
  photos: Photos;
  voiceMessages: VoiceMessages;
  recordings: Recordings;
  uploads: Uploads;
  feed: Feed;
  /** The live side. A socket is paused when handed over; `accept` resumes it once it listens. */
  listen: Pick<Listen, 'paths' | 'refusal' | 'authorize' | 'accept'>;
  /** Static files of plugins that work now; absent: there are none. */
  pages?: (() => Page[]) | undefined;
  /** Absent: nothing is measured. */
  metrics?: Metrics;
  identities: Pick<Identities, 'ofAccessTokens'>;
  config: Pick<Config, 'listen' | 'trustedProxies'> & Partial<Pick<Config, 'cors' | 'metrics' | 'publicUrl'>>;
  /** Health as `/healthz` reports it. */
  health(): Promise<Health>;
}

export interface HttpServer {
  /** Resolves to where it really listens. Rejects with `config_error`, and the way out, when it cannot. */
  listen(host: string, port: number): Promise<{ host: string; port: number }>;
  /** Takes no more connections, lets running requests end, and cuts off what is left after 5 s. */
  close(): Promise<void>;
}

/** Every operation that needs a credential. */
export function routesOf(
  options: Omit<
    ServerOptions,
    'log' | 'credentials' | 'signIn' | 'listen' | 'pages' | 'config' | 'health' | 'uploads'
  >,
): Route[] {
  const { conversations } = options;
  const textBody = fromText(conversations.sources);
  return [
    ...conversationRoutes(conversations),
    ...importRoutes(conversations, textBody),
    ...folderRoutes(conversations, options.folders),
    ...summaryRoutes(conversations, options.summaryTemplates),
    ...calendarRoutes(options.calendarLinks),
    ...calendarAccountRoutes(options.calendarSync),
    ...deviceRoutes(options.devices),
    ...correctionRoutes(conversations),
    ...peopleRoutes(options.people),
    ...vocabularyRoutes(options.vocabularies),
    ...speechRoutes(options.speechSettings),
    ...speechProfileRoutes(options.speechProfiles, options.voiceSamples),
    ...askRoutes(options.ask),
    ...messageRoutes(options.chat),
    ...dailySummaryRoutes(options.daySummaries),
    ...weeklyReviewRoutes(options.weeklyReview),
    ...eventRoutes(options.feed),
    ...accountRoutes(options.accounts, options.users),
    ...ownAccountRoutes(options),
    ...keyRoutes(options.keys),
    ...actionItemRoutes(options.actionItems),
    ...goalRoutes(options.goals),
    ...statisticsRoutes(conversations, options.clock),
    ...memoryRoutes(options.memories, options.search),
    ...appRoutes(options.apps),
    ...hookRoutes(options.hooks),
    ...integrationRoutes(options, textBody),
    ...notificationRoutes(options.notifications),
    ...notificationSettingsRoutes(options.notifications),
    ...channelAddressRoutes(options.channelAddresses),
    ...deliveryRoutes(options.deliveries),
    ...photoRoutes(options.photos),
    ...voiceAssignmentRoutes(options.voiceAssignments),
    ...recordingRoutes(options.recordings),
    ...voiceMessageRoutes(options.voiceMessages, options.chat),
  ];
}

/** Everything that is reached over HTTP, on one port. Every failure leaves through one door, as `{detail}`. */
export function createServer(options: ServerOptions): HttpServer {
  const { log, clock, listen: live, config, metrics } = options;
  const failureOf = failuresInto(log);
  const addressOf = createClientAddress(config.trustedProxies);
  const { credentials, apps, rateLimits, notificationLimit } = options;
  const gate = createGate({ credentials, apps, rateLimits, notificationLimit, addressOf });
  const upgrade = createUpgrade({ listen: live, clock, log, failureOf, gate, addressOf, metrics });
  const bodies = createBodies(clock);
  const connections = createConnections({
    most: MAX_IDLE_CONNECTIONS,
    mostOfNetwork: MAX_IDLE_OF_NETWORK,
    isProxy: createIsProxy(config.trustedProxies),
  });
  let closing = false;

  const routes = routesOf(options);
  const mcp = createMcp({
    routes,
    gate,
    bodyOf: (context, userId) => bodies.ofAccount(context, userId),
    publicUrl: config.publicUrl,
    origins: config.cors?.origins ?? [],
    issuers: options.identities.ofAccessTokens,
  });

  const koa = new Koa();
  koa.on('error', error => log.debug({ err: error }, 'connection lost while answering'));
  if (metrics) koa.use(measureRequests(metrics));
  koa.use(decorate(() => closing));
  if (config.cors?.origins.length) koa.use(cors(config.cors.origins));
  koa.use(mcp.challenge);
  koa.use(answerFailures(failureOf));
  koa.use(nameStatus);
  const operations = identityOperations({ signIn: options.signIn, credentials, clock });
  const open: OpenRoute[] = [
    publicKeysRoute(options.signIn),
    healthRoute(options.health),
    openApiRoute(() => openApiDocument(routes, operations, open)),
    docsRoute,
    mutePageRoute(options.notifications),
    mcp.metadata,
    calendarFeedRoute({ links: options.calendarLinks, feed: options.calendarFeed }, gate.admitByLink),
    ...(metrics ? [metricsRoute(metrics, config.metrics?.token)] : []),
  ];
  const router = new Router();
  addOpenOperations(router, operations, { gate, bodies, addressOf });
  for (const { path, serve } of open) router.get(path, serve);
  router.get('/docs/:file', docsFile);
  router.post(MCP_PATH, mcp.serve);
  for (const path of live.paths) router.get(path, requireUpgrade);
  koa.use(muteByLink(options.notifications));
  const { uploads } = options;
  koa.use(byResource(routes, { gate, bodies, uploads, connections, addressOf, failureOf }));
  koa.use(router.routes());
  koa.use(router.allowedMethods());
  if (options.pages) koa.use(servePages(options.pages));
  koa.use((context, next) => {
    refuseLargeBody(context.req);
    return next();
  });

  const answer = koa.callback();
  const http = createHttpServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      keepAliveTimeout: KEPT_MS,
      connectionsCheckingInterval: HEADERS_MS / 2,
      // A client that offers HTTP/2 by the way is answered as if it had not.
      shouldUpgradeCallback: request => request.headers.upgrade?.toLowerCase() === 'websocket',
    },
    answer,
  );
  http.on('checkContinue', answer); // a client is told to continue when its body is read
  http.on('checkExpectation', answer); // nothing but 100-continue is known: what else is expected is passed over
  http.on('connection', connections.open);
  http.maxConnections = config.listen.maxConnections + MAX_SERVED_CONNECTIONS + MAX_IDLE_CONNECTIONS;
  http.on('clientError', refuseGarbage);

  koa.listen = http.listen.bind(http); // koa-websocket attaches itself to what this starts
  const app = websockify(koa, {
    perMessageDeflate: false,
    autoPong: false, // a client that pings without reading would be held any number of pongs
    maxBufferedChunks: 16_384,
    maxPayload: MAX_MESSAGE_BYTES,
    verifyClient: upgrade.verifyClient,
  });
  app.ws.use(({ websocket, req }) => {
    connections.enter(req.socket);
    return upgrade.accept(websocket, req);
  });

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
    options.feed.close();
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

/** Parts of the server that handling a route needs. */
interface Parts {
  gate: Gate;
  bodies: Bodies;
  uploads: Uploads;
  connections: Connections;
  addressOf(request: IncomingMessage): string;
  failureOf: ReturnType<typeof failuresInto>;
}

/** A router for each resource: one for all would try the patterns of all on each path. */
function byResource(routes: Route[], parts: Parts): Middleware {
  const resources = Map.groupBy(routes, ({ path }) => resourceOf(path));
  const served = new Map<string, Middleware>();
  for (const [name, own] of resources) {
    if (name.includes('{')) throw new Error(`${name} begins with a parameter`);
    served.set(name, routerOf(own, parts).routes() as Middleware); // it adds to the context itself what it needs there
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
  { gate, bodies, uploads, connections, addressOf, failureOf }: Parts,
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
      /** Settles when an answer that goes on needs the files no more. */
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
          gone.abort(new AppError('unavailable', 'The client is gone'));
        });
        const lastEventId = context.get('Last-Event-ID') || undefined;
        const came = await body();
        const { signal } = gone;
        const answer = await route.run({ principal, params, query, body: came, upload, signal, lastEventId });
        if (answer instanceof EventStream) {
          sendEvents(context, answer);
          if (files) streaming = finished(answer.readable).catch(() => {});
        } else if (answer instanceof Binary) sendBinary(context, answer, route.type);
        else if (answer instanceof Download) sendFile(context, route.type ?? '', answer);
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

/** @param onLost told why an answer that has begun is cut off */
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
    res.destroy(); // or the client would wait for the rest
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
  context.body = readable.once('error', () => res.destroy()); // or the client would wait for the rest
  context.set('Content-Type', type);
  context.set('Content-Disposition', `attachment; filename="${fileName}"`);
}

/** Koa ends the stream when its client is gone. */
function sendEvents(context: Pick<Context, 'set' | 'body'>, { readable }: EventStream): void {
  context.body = readable;
  context.set('Content-Type', 'text/event-stream; charset=utf-8');
  context.set('X-Accel-Buffering', 'no'); // nginx would keep them back
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
  { gate, bodies, addressOf }: Pick<Parts, 'gate' | 'bodies' | 'addressOf'>,
): void {
  for (const { method, path, body: schema, run } of operations)
    router[method](path, async context => {
      const address = addressOf(context.req);
      gate.admitStranger(context);
      const body = bodies.ofAddress(context, address);
      const session = sessionCookie(context);
      try {
        context.body = await run({ address, session, body: schema ? await body.read() : undefined });
      } finally {
        body.release();
      }
    });
}

/** Logs server errors with their cause; the response does not show it. */
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
      const usual = failureOf(thrown, context.req);
      const form: FailureForm | undefined = context.state.failure;
      const { status, headers, body } = form?.answer(toAppError(thrown), usual) ?? usual;
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
    const isUnread = context.req.headers.expect !== undefined; // maybe: its body never comes, or is not waited for
    if (isClosing() || isUnread || context.status === 408) context.set('Connection', 'close');
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

/** A WebSocket was meant, or a proxy in front has taken the header away. */
function requireUpgrade(context: Context): void {
  context.set('Upgrade', 'websocket');
  context.status = UPGRADE_REQUIRED;
  context.body = {
    detail: `${context.path} is for WebSockets, and this request came without the header Upgrade: websocket. Where a proxy stands in front, it has to pass on Upgrade and Connection; nginx: ${PROXY_SETTINGS}`,
  };
}
