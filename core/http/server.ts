import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import Router from '@koa/router';
import Koa, { type Context, type Middleware, type Next } from 'koa';
import websockify from 'koa-websocket';
import type { Config } from '../../config/schema.ts';
import type { Clock, Health } from '../contract/model.ts';
import type { Page } from '../contract/plugin.ts';
import type { Feed } from '../delivery/feed.ts';
import type { TestHook } from '../delivery/hook-test.ts';
import type { Accounts } from '../domain/accounts/accounts.ts';
import type { Credentials } from '../domain/accounts/credentials.ts';
import type { Identities } from '../domain/accounts/identities.ts';
import type { Keys } from '../domain/accounts/keys.ts';
import type { People } from '../domain/accounts/people.ts';
import type { Sessions } from '../domain/accounts/sessions.ts';
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
import type { Marks } from '../domain/conversations/marks.ts';
import type { Places } from '../domain/conversations/places.ts';
import type { SummaryTemplates } from '../domain/conversations/summary-templates.ts';
import type { VoiceAssignments } from '../domain/conversations/voice-assignments.ts';
import type { WeeklyReviews } from '../domain/conversations/weekly-review.ts';
import type { Devices } from '../domain/devices/devices.ts';
import type { AccountExport } from '../domain/export/export.ts';
import type { ExportFiles } from '../domain/export/export-files.ts';
import type { UploadedImports } from '../domain/foreign/uploaded-imports.ts';
import type { Memories } from '../domain/memories/memories.ts';
import type { ChannelAddresses } from '../domain/notifications/channel-addresses.ts';
import type { DaySummaries } from '../domain/notifications/day-summaries.ts';
import type { Notifications } from '../domain/notifications/notifications.ts';
import type { Photos } from '../domain/photos/photos.ts';
import type { Accesses } from '../domain/privacy/accesses.ts';
import type { Listening } from '../domain/privacy/listening.ts';
import type { Retention } from '../domain/privacy/retention.ts';
import type { Recordings } from '../domain/recordings/recordings.ts';
import type { Search } from '../domain/search/search.ts';
import type { KeptAudios } from '../domain/speech/kept-audio.ts';
import type { SpeechChoices } from '../domain/speech/speech-settings.ts';
import type { VoiceSamples } from '../domain/speech/voice-samples.ts';
import type { ActionItems } from '../domain/tasks/action-items.ts';
import type { Goals } from '../domain/tasks/goals.ts';
import { MAX_MESSAGE_BYTES, PROXY_SETTINGS, UPGRADE_REQUIRED } from '../listen/protocol.ts';
import type { SpeechProfiles } from '../listen/recordings/speech-profile.ts';
import type { VoiceMessages } from '../listen/recordings/voice-messages.ts';
import type { Listen } from '../listen/socket.ts';
import { toAppError } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { createNoteRead } from './access-log.ts';
import { createGate } from './auth.ts';
import { createBodies } from './bodies.ts';
import { createClientAddress, createIsProxy } from './client-address.ts';
import { createConnections } from './connections.ts';
import { cors } from './cors.ts';
import {
  type Failure,
  plainFailure,
  refuseGarbage,
  SECURITY_HEADERS,
  setHeaders,
  toFailure,
} from './failure.ts';
import { refuseLargeBody } from './json-body.ts';
import { createMcp, MCP_PATH } from './mcp/mcp.ts';
import { openApiDocument, openApiRoute } from './openapi.ts';
import { servePages } from './pages.ts';
import { cannotListen } from './port.ts';
import type { NotificationLimit, RateLimits } from './rate-limit.ts';
import { createRepeats } from './repeats.ts';
import { inRounds } from './rounds.ts';
import type { FailureForm, OpenOperation, OpenRoute, Route } from './route.ts';
import { accessRoutes } from './routes/accesses.ts';
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
import { foreignImportRoutes } from './routes/foreign-imports.ts';
import { goalRoutes } from './routes/goals.ts';
import { healthRoute } from './routes/health.ts';
import { hookRoutes } from './routes/hooks.ts';
import { identityOperations, publicKeysRoute, sessionRoutes } from './routes/identity.ts';
import { fromText, importRoutes } from './routes/imports.ts';
import { integrationRoutes } from './routes/integrations.ts';
import { keptAudioRoutes } from './routes/kept-audio.ts';
import { keyRoutes } from './routes/keys.ts';
import { listeningRoutes } from './routes/listening.ts';
import { markRoutes } from './routes/marks.ts';
import { memoryRoutes } from './routes/memories.ts';
import { messageRoutes } from './routes/messages.ts';
import { measureRequests, metricsRoute } from './routes/metrics.ts';
import { muteByLink, mutePageRoute } from './routes/mute-page.ts';
import { notificationSettingsRoutes } from './routes/notification-settings.ts';
import { notificationRoutes } from './routes/notifications.ts';
import { ownAccountRoutes } from './routes/own-account.ts';
import { peopleRoutes } from './routes/people.ts';
import { photoRoutes } from './routes/photos.ts';
import { placeRoutes } from './routes/places.ts';
import { recordingRoutes } from './routes/recordings.ts';
import { retentionRoutes } from './routes/retention.ts';
import { speechRoutes } from './routes/speech.ts';
import { speechProfileRoutes } from './routes/speech-profile.ts';
import { statisticsRoutes } from './routes/statistics.ts';
import { summaryRoutes } from './routes/summaries.ts';
import { type System, systemRoutes } from './routes/system.ts';
import { vocabularyRoutes } from './routes/vocabulary.ts';
import { voiceAssignmentRoutes } from './routes/voice-assignments.ts';
import { voiceMessageRoutes } from './routes/voice-messages.ts';
import { weeklyReviewRoutes } from './routes/weekly-review.ts';
import { type Parts, serveRoutes } from './serve-routes.ts';
import { sessionCookie } from './session-cookie.ts';
import { isWorthClosing, leaveBody } from './unread-body.ts';
import { createUpgrade, pathOf } from './upgrade.ts';
import type { Uploads } from './uploads.ts';

const HEADERS_MS = 10_000;
/** Enough for a recording of hours over a slow line; readers of bodies have narrower limits of their own. */
const REQUEST_MS = 2 * 3600_000;
/**
 * Longer than proxies keep an idle connection (nginx: 60 s). Otherwise a proxy might send a request while the
 * connection is being closed, and answer 502.
 */
const KEPT_MS = 75_000;
/**
 * Maximum connections beside the live ones that serve no authenticated request; the oldest is closed for a new one.
 */
const MAX_IDLE_CONNECTIONS = 1000;
/** The same limit for one IPv4 address, or IPv6 network. */
const MAX_IDLE_OF_NETWORK = 200;
/** Maximum connections beside the live ones on which a request was authenticated. */
const MAX_SERVED_CONNECTIONS = 1000;
/** Requests that are begun in one round of the event loop; a small one takes about 0.4 ms. */
const MAX_REQUESTS_OF_ROUND = 8;
/** Maximum bytes of the request line and the headers together. */
const MAX_HEADER_BYTES = 16 * 1024;

/** Time that `close` allows open requests and sockets. */
const CLOSE_MS = 5000;

interface ServerOptions {
  log: Log;
  clock: Clock;
  credentials: Pick<Credentials, 'authenticate' | 'app' | 'token'>;
  /** Absent: requests are not limited. */
  rateLimits?: RateLimits | undefined;
  notificationLimit?: NotificationLimit | undefined;
  signIn: SignIn;
  sessions: Sessions;
  accounts: Accounts;
  accountExport: AccountExport;
  exportFiles: ExportFiles;
  /** Lists data that outlives an account removed now, and until when. */
  remains(userId: string): Promise<{ what: string; until: number | null }[]>;
  users: Users;
  conversations: Conversations;
  keys: Keys;
  actionItems: ActionItems;
  goals: Goals;
  memories: Memories;
  search: Search;
  folders: Folders;
  places: Places;
  summaryTemplates: SummaryTemplates;
  calendarLinks: CalendarLinks;
  calendarFeed: CalendarFeed;
  calendarSync: CalendarSync;
  devices: Devices;
  people: People;
  vocabularies: Vocabularies;
  speechSettings: SpeechChoices;
  listening: Listening;
  retention: Retention;
  accesses: Pick<Accesses, 'record' | 'list'>;
  speechProfiles: SpeechProfiles;
  voiceSamples: VoiceSamples;
  voiceAssignments: VoiceAssignments;
  ask: Ask;
  chat: Chat;
  daySummaries: DaySummaries;
  weeklyReview: WeeklyReviews;
  apps: Apps;
  hooks: Hooks;
  testHook: TestHook;
  notifications: Notifications;
  channelAddresses: ChannelAddresses;
  deliveries: Deliveries;
  marks: Marks;
  photos: Photos;
  keptAudios: Pick<KeptAudios, 'list' | 'open'>;
  voiceMessages: VoiceMessages;
  recordings: Recordings;
  uploadedImports: UploadedImports;
  uploads: Uploads;
  feed: Feed;
  system: System;
  /** Live connections. A socket is paused when handed over; `accept` resumes it once it listens. */
  listen: Pick<Listen, 'paths' | 'refusal' | 'authorize' | 'accept'>;
  /** Static files of the plugins that are available now; absent: none. */
  pages?: (() => Page[]) | undefined;
  /** Absent: nothing is measured. */
  metrics?: Metrics;
  identities: Pick<Identities, 'ofAccessTokens'>;
  config: Pick<Config, 'listen' | 'trustedProxies'> & Partial<Pick<Config, 'cors' | 'metrics' | 'publicUrl'>>;
  /** Health as `/healthz` reports it. */
  health(): Promise<Health>;
}

export interface HttpServer {
  /** Resolves to the actual address. Rejects with `config_error`, and what to do, when it cannot listen. */
  listen(host: string, port: number): Promise<{ host: string; port: number }>;
  /** Accepts no more connections, lets running requests end, and closes what is left after 5 s. */
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
    ...placeRoutes(options.places),
    ...summaryRoutes(conversations, options.summaryTemplates),
    ...calendarRoutes(options.calendarLinks),
    ...calendarAccountRoutes(options.calendarSync),
    ...deviceRoutes(options.devices),
    ...correctionRoutes(conversations),
    ...peopleRoutes(options.people),
    ...vocabularyRoutes(options.vocabularies),
    ...speechRoutes(options.speechSettings),
    ...listeningRoutes(options.listening),
    ...retentionRoutes(options.retention),
    ...accessRoutes(options.accesses),
    ...speechProfileRoutes(options.speechProfiles, options.voiceSamples),
    ...askRoutes(options.ask),
    ...messageRoutes(options.chat),
    ...dailySummaryRoutes(options.daySummaries),
    ...weeklyReviewRoutes(options.weeklyReview),
    ...eventRoutes(options.feed),
    ...accountRoutes(options.accounts, options.users),
    ...ownAccountRoutes(options),
    ...sessionRoutes(options.sessions),
    ...keyRoutes(options.keys),
    ...actionItemRoutes(options.actionItems),
    ...goalRoutes(options.goals),
    ...statisticsRoutes(conversations, options.clock),
    ...memoryRoutes(options.memories, options.search),
    ...appRoutes(options.apps),
    ...hookRoutes(options.hooks, options.testHook),
    ...integrationRoutes(options, textBody),
    ...notificationRoutes(options.notifications),
    ...notificationSettingsRoutes(options.notifications),
    ...channelAddressRoutes(options.channelAddresses),
    ...deliveryRoutes(options.deliveries),
    ...markRoutes(options.marks),
    ...photoRoutes(options.photos),
    ...keptAudioRoutes(options.keptAudios),
    ...voiceAssignmentRoutes(options.voiceAssignments),
    ...recordingRoutes(options.recordings),
    ...foreignImportRoutes(options.uploadedImports),
    ...voiceMessageRoutes(options.voiceMessages, options.chat),
    ...systemRoutes(options.system),
  ];
}

/**
 * Serves everything that is reached over HTTP, on one port. Every failure is answered in one place, as `{detail}`.
 */
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
  const noteRead = createNoteRead(options.accesses);
  const mcp = createMcp({
    routes,
    gate,
    bodyOf: (context, userId) => bodies.ofAccount(context, userId),
    publicUrl: config.publicUrl,
    origins: config.cors?.origins ?? [],
    issuers: options.identities.ofAccessTokens,
    noteRead,
  });

  const admitByLink: typeof gate.admitByLink = async (context, verify) => {
    const user = await gate.admitByLink(context, verify);
    const read = { operation: 'getCalendarFeed', data: 'action_items', subject: null } as const;
    options.accesses.record({ userId: user.id, reader: 'link', readerId: null, via: 'rest', ...read });
    return user;
  };

  const koa = new Koa();
  koa.on('error', error => log.debug({ err: error }, 'connection lost while answering'));
  if (metrics) koa.use(measureRequests(metrics));
  koa.use(decorate(() => closing));
  if (config.cors?.origins.length) koa.use(cors(config.cors.origins));
  koa.use(mcp.challenge);
  koa.use(answerFailures(failureOf));
  koa.use(nameStatus);
  const operations = identityOperations({
    signIn: options.signIn,
    sessions: options.sessions,
    credentials,
    clock,
  });
  const open: OpenRoute[] = [
    publicKeysRoute(options.signIn),
    healthRoute(options.health),
    openApiRoute(() => openApiDocument(routes, operations, open)),
    docsRoute,
    mutePageRoute(options.notifications),
    mcp.metadata,
    calendarFeedRoute({ links: options.calendarLinks, feed: options.calendarFeed }, admitByLink),
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
  const repeats = createRepeats({ clock });
  koa.use(
    serveRoutes(routes, { gate, bodies, uploads, connections, addressOf, failureOf, noteRead, repeats }),
  );
  koa.use(router.routes());
  koa.use(router.allowedMethods());
  if (options.pages) koa.use(servePages(options.pages));
  koa.use((context, next) => {
    refuseLargeBody(context.req);
    return next();
  });

  const answer = inRounds(MAX_REQUESTS_OF_ROUND, koa.callback());
  const http = createHttpServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      keepAliveTimeout: KEPT_MS,
      connectionsCheckingInterval: HEADERS_MS / 2,
      // A client that also offers HTTP/2 gets an HTTP/1.1 response.
      shouldUpgradeCallback: request => request.headers.upgrade?.toLowerCase() === 'websocket',
    },
    answer,
  );
  http.on('checkContinue', answer); // `100 Continue` is sent only when the body is read
  http.on('checkExpectation', answer); // no expectation but 100-continue exists: others are ignored
  http.on('connection', connections.open);
  http.maxConnections = config.listen.maxConnections + MAX_SERVED_CONNECTIONS + MAX_IDLE_CONNECTIONS;
  http.on('clientError', refuseGarbage);

  koa.listen = http.listen.bind(http); // koa-websocket attaches itself to the server that this starts
  const app = websockify(koa, {
    perMessageDeflate: false,
    autoPong: false, // otherwise a client that sends pings without reading would fill memory with pongs
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
      // It repeats the server's errors, and an error without a listener would end the process.
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
        const userAgent = context.get('User-Agent');
        const came = schema ? await body.read() : undefined;
        context.body = await run({ address, userAgent, session, body: came });
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
    if (isClosing() || isWorthClosing(context.req) || context.status === 408)
      context.set('Connection', 'close');
    leaveBody(context);
  };
}

/** Adds a body to responses for which Koa or its router set only a status. */
async function nameStatus(context: Context, next: Next): Promise<void> {
  await next();
  if (context.status < 400 || context.body != null) return;
  const { status, body } = plainFailure(context.status);
  context.status = status;
  context.body = body;
}

/** Answers requests to WebSocket paths that are no upgrade; a proxy may have removed the header. */
function requireUpgrade(context: Context): void {
  context.set('Upgrade', 'websocket');
  context.status = UPGRADE_REQUIRED;
  context.body = {
    detail: `${context.path} is for WebSockets, and this request came without the header Upgrade: websocket. Where a proxy stands in front, it has to pass on Upgrade and Connection; nginx: ${PROXY_SETTINGS}`,
  };
}
