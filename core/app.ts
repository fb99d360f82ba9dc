import 'reflect-metadata';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type InjectionToken, instanceCachingFactory, container as root } from 'tsyringe';
import type { LoadedConfig } from '../config/load.ts';
import { BUILTIN_PLUGINS, choicesOf, notChosen } from './builtin-plugins.ts';
import {
  type Commands,
  callControl,
  controlPath,
  createCommands,
  RECOGNITION,
  type Readiness,
  type Status,
  serveControl,
} from './control.ts';
import { createDaySummary } from './delivery/day-summary.ts';
import { createOutbound } from './delivery/outbound.ts';
import { createProactive } from './delivery/proactive.ts';
import { createDelivery, type Delivery } from './delivery/service.ts';
import { createTellOff } from './delivery/tell-off.ts';
import { type ActionItems, createActionItems } from './domain/action-items.ts';
import { type Apps, createApps } from './domain/apps.ts';
import { type Ask, createAsk } from './domain/ask.ts';
import {
  type ChannelAddresses,
  createChannelAddresses,
  type LoadedChannel,
} from './domain/channel-addresses.ts';
import { type Conversations, createConversations } from './domain/conversations.ts';
import { type Credentials, createCredentials } from './domain/credentials.ts';
import { createDeliveries, DAY_JOB, type Deliveries } from './domain/deliveries.ts';
import { createDueNotices } from './domain/due-notices.ts';
import { createEmbedding, EMBED_CHECK_JOB, EMBED_JOB, type Embedding } from './domain/embedding.ts';
import { createFolders, type Folders } from './domain/folders.ts';
import { createGoals, type Goals } from './domain/goals.ts';
import { createHooks, type Hooks } from './domain/hooks.ts';
import { createIdentities } from './domain/identities.ts';
import { createKeys, type Keys } from './domain/keys.ts';
import { FINISH_JOB } from './domain/lifecycle.ts';
import { setLocked } from './domain/locks.ts';
import { createMemories, type Memories } from './domain/memories.ts';
import { createCategorise } from './domain/memory-category.ts';
import { createNotifications, type Notifications, RELEASE_JOB } from './domain/notifications.ts';
import { createPeople, type People } from './domain/people.ts';
import { NOTICE_JOB, REMINDER_JOB } from './domain/reminders.ts';
import { createSearch, type Search } from './domain/search.ts';
import { createSignIn, type SignIn } from './domain/sign-in.ts';
import { createUsers, type Users } from './domain/users.ts';
import { minuteOf, zoneOfMachine } from './domain/wall-clock.ts';
import { AppError } from './errors.ts';
import { createEvents, type EventBus } from './events.ts';
import { createNotificationLimit, createRateLimits, type RateLimits } from './http/rate-limit.ts';
import { createServer, type HttpServer } from './http/server.ts';
import { createJobs, type JobHandler, type Jobs } from './jobs.ts';
import { createAside } from './listen/aside.ts';
import { createLiveAudios } from './listen/live-audio.ts';
import { createRecogniser } from './listen/recogniser.ts';
import { createListen, type Listen } from './listen/socket.ts';
import { openDisk } from './listen/spool/disk.ts';
import { openSpool, type Spool } from './listen/spool.ts';
import { concealSecrets, type Log } from './log.ts';
import { createMetrics, type ListenMetrics, type Metrics, timedStorage } from './metrics.ts';
import type { Clock } from './model.ts';
import { startNightly } from './nightly.ts';
import { createFinish, createGivenUp } from './pipeline/finish.ts';
import type { Storage } from './plugin.ts';
import { createPluginHost, type PluginHost } from './plugin-host.ts';
import { startUpkeep } from './upkeep.ts';
import { version } from './version.ts';

/** Every service of the house. Plugins' capabilities are asked of the host at each use: one may have been started again. */
const token = <T>(name: string) => Symbol(name) as InjectionToken<T>;
const TOKENS = {
  storage: token<Storage>('storage'),
  events: token<EventBus>('events'),
  jobs: token<Jobs>('jobs'),
  users: token<Users>('users'),
  signIn: token<SignIn>('signIn'),
  keys: token<Keys>('keys'),
  credentials: token<Credentials>('credentials'),
  rateLimits: token<RateLimits>('rateLimits'),
  conversations: token<Conversations>('conversations'),
  actionItems: token<ActionItems>('actionItems'),
  goals: token<Goals>('goals'),
  memories: token<Memories>('memories'),
  search: token<Search>('search'),
  embedding: token<Embedding>('embedding'),
  folders: token<Folders>('folders'),
  people: token<People>('people'),
  ask: token<Ask>('ask'),
  apps: token<Apps>('apps'),
  hooks: token<Hooks>('hooks'),
  notifications: token<Notifications>('notifications'),
  channelAddresses: token<ChannelAddresses>('channelAddresses'),
  deliveries: token<Deliveries>('deliveries'),
  delivery: token<Delivery>('delivery'),
  daySummary: token<JobHandler>('daySummary'),
  metrics: token<Metrics>('metrics'),
  spool: token<Spool>('spool'),
  listen: token<Listen>('listen'),
  server: token<HttpServer>('server'),
  commands: token<Commands>('commands'),
};

export interface App {
  /** Loads every plugin, makes the first account, listens. Rejects with what a person can act on. */
  start(): Promise<{ url: string; host: string; port: number }>;
  /** Sockets first, storage last; what was said is stored. Never rejects. */
  stop(): Promise<void>;
  commands: Commands;
  status(): Promise<Status>;
}

interface AppOptions {
  loaded: LoadedConfig;
  log: Log;
  clock?: Clock;
  /** To serve, or (the default) just for commands: then no recogniser and no detector is loaded. */
  serving?: boolean;
}

/**
 * Live connections may take this long to store what they heard, in ms, and then as much as a recogniser takes to close:
 * the rest is held on disk, and a stop has ten seconds for all.
 */
const DRAIN_MS = 4000;
const DAY_MS = 24 * 3_600_000;

/**
 * The composition root: storage is open and of this version when it resolves.
 * Rejects with `conflict` when it is to serve a data directory that another server serves.
 */
export async function createApp({
  loaded,
  log,
  clock = systemClock,
  serving = false,
}: AppOptions): Promise<App> {
  const { config } = loaded;
  const control = controlPath(config.dataDir);
  const outbound = createOutbound({ ...config.delivery, clock });
  const host = createPluginHost({
    builtin: BUILTIN_PLUGINS,
    config: loaded,
    log,
    clock,
    dataDir: config.dataDir,
    wanted: choicesOf(config),
    fetchUser: outbound.fetchUser,
  });
  const meaning = {
    embedder: () => host.get('embedder', config.embedder),
    vectors: () => host.get('vectors', config.vectors),
  };
  /** Outlets for notifications that work now. */
  function channels(): LoadedChannel[] {
    const titles = new Map(host.status().map(({ name, title }) => [name, title]));
    return host
      .list('notify')
      .map(({ name, value }) => ({ name, title: titles.get(name) ?? name, channel: value }));
  }
  const container = root.createChildContainer();
  concealSecrets([config.metrics.token, config.bridge.key].filter(secret => secret !== undefined));
  /** Last opened, first closed. */
  const closers: (() => Promise<void>)[] = [() => outbound.close(), () => host.stop()];
  let url: string | null = null;
  let ready = false;

  async function stop() {
    ready = false;
    for (const close of closers.splice(0).reverse())
      await close().catch(error => log.error({ err: error }, 'could not close'));
  }

  async function open() {
    const storage = await host.loadStorage(config.storage);
    await storage.migrate();
    provide(storage);
    if (!serving) await host.loadAll({ skip: [...notChosen(config.identity), 'silero'] });
  }

  function provide(opened: Storage) {
    const metrics = createMetrics({
      now: () => performance.now(),
      plugins: host.status,
      jobs: () => opened.jobs.counts(clock.now()),
      spool: () => (container.isRegistered(TOKENS.spool) ? container.resolve(TOKENS.spool).counts : null),
    });
    container.register(TOKENS.metrics, { useValue: metrics });
    const storage = timedStorage(opened, metrics);
    container.register(TOKENS.storage, { useValue: storage });
    const identities = createIdentities(() => {
      const working = host.list('identity', config.identity);
      const missing = config.identity.filter(name => !working.some(provider => provider.name === name));
      return { working: working.map(({ value }) => value), missing };
    });
    const get = <T>(wanted: InjectionToken<T>) => container.resolve(wanted);
    const single = <T>(offered: InjectionToken<T>, make: () => T) =>
      container.register(offered, { useFactory: instanceCachingFactory(make) });
    const store = { storage, clock };

    single(TOKENS.events, createEvents);
    single(TOKENS.jobs, () =>
      createJobs({
        ...store,
        metrics,
        log: log.child({ part: 'jobs' }),
        onCommit: () => get(TOKENS.delivery).poke(),
      }),
    );
    single(TOKENS.users, () => createUsers({ ...store, identities }));
    single(TOKENS.signIn, () => createSignIn({ ...store, identities, users: get(TOKENS.users) }));
    single(TOKENS.keys, () => createKeys(store));
    single(TOKENS.credentials, () =>
      createCredentials({
        users: get(TOKENS.users),
        keys: get(TOKENS.keys),
        apps: get(TOKENS.apps),
        identities,
      }),
    );
    const webhooks = () => ({
      ...store,
      events: get(TOKENS.events),
      types: () => host.list('webhook').map(({ value }) => value),
      checkUrl: outbound.check,
      fetchUser: outbound.fetchUser,
    });
    single(TOKENS.apps, () => createApps(webhooks()));
    single(TOKENS.hooks, () => createHooks(webhooks()));
    single(TOKENS.rateLimits, () => createRateLimits({ ...store, limits: config.rateLimits }));
    const jobs = {
      poke() {
        get(TOKENS.jobs).poke();
        get(TOKENS.delivery).poke();
      },
    };
    single(TOKENS.conversations, () => createConversations({ ...store, events: get(TOKENS.events), jobs }));
    single(TOKENS.actionItems, () => createActionItems({ ...store, jobs }));
    single(TOKENS.goals, () => createGoals(store));
    const models = () => host.list('llm', config.llm).map(({ value }) => value);
    const categorise = createCategorise({
      models,
      embedder: meaning.embedder,
      clock,
      log: log.child({ part: 'memories' }),
    });
    single(TOKENS.memories, () => createMemories({ ...store, jobs, categorise }));
    single(TOKENS.search, () => createSearch({ storage, log: log.child({ part: 'search' }), ...meaning }));
    single(TOKENS.embedding, () =>
      createEmbedding({ ...store, log: log.child({ part: 'embedding' }), jobs, ...meaning }),
    );
    single(TOKENS.folders, () => createFolders(store));
    single(TOKENS.people, () => createPeople(store));
    single(TOKENS.ask, () =>
      createAsk({
        conversations: get(TOKENS.conversations),
        search: get(TOKENS.search),
        models,
        clock,
        log: log.child({ part: 'ask' }),
      }),
    );
    single(TOKENS.notifications, () =>
      createNotifications({
        ...store,
        jobs,
        defaults: {
          timeZone: config.notifications.timeZone ?? zoneOfMachine(),
          perAppPerHour: config.notifications.perAppPerHour,
          daySummaryAt: minuteOf(config.notifications.daySummaryAt),
        },
        publicUrl: config.publicUrl ?? null,
      }),
    );
    single(TOKENS.channelAddresses, () =>
      createChannelAddresses({ ...store, log: log.child({ part: 'notifications' }), loaded: channels }),
    );
    single(TOKENS.daySummary, () =>
      createDaySummary({
        ...store,
        models,
        conversations: get(TOKENS.conversations),
        actionItems: get(TOKENS.actionItems),
        notifications: get(TOKENS.notifications),
        deliveriesOf: event => get(TOKENS.delivery).fanOut.deliveriesOf(event),
        log: log.child({ part: 'day' }),
      }),
    );
    single(TOKENS.deliveries, () => createDeliveries({ ...store, jobs }));
    single(TOKENS.delivery, () =>
      createDelivery({
        ...store,
        metrics,
        events: get(TOKENS.events),
        conversations: get(TOKENS.conversations),
        outbound,
        webhooks: () => host.list('webhook').map(({ value }) => value),
        channel: name => host.get('notify', name),
        log: log.child({ part: 'delivery' }),
        tellOff: createTellOff(get(TOKENS.notifications)),
        answered: createProactive({
          ...store,
          jobs,
          models,
          conversations: get(TOKENS.conversations),
          notifications: get(TOKENS.notifications),
          log: log.child({ part: 'proactive' }),
        }).receive,
      }),
    );
    single(TOKENS.listen, () =>
      makeListen(
        get(TOKENS.credentials),
        get(TOKENS.conversations),
        get(TOKENS.spool),
        get(TOKENS.events),
        metrics,
      ),
    );
    single(TOKENS.server, () =>
      createServer({
        log: log.child({ part: 'http' }),
        clock,
        credentials: get(TOKENS.credentials),
        signIn: get(TOKENS.signIn),
        conversations: get(TOKENS.conversations),
        keys: get(TOKENS.keys),
        actionItems: get(TOKENS.actionItems),
        ...(config.rateLimits.enabled && {
          rateLimits: get(TOKENS.rateLimits),
          notificationLimit: createNotificationLimit({ ...store, perHour: config.rateLimits.notification }),
        }),
        apps: get(TOKENS.apps),
        hooks: get(TOKENS.hooks),
        goals: get(TOKENS.goals),
        memories: get(TOKENS.memories),
        search: get(TOKENS.search),
        folders: get(TOKENS.folders),
        people: get(TOKENS.people),
        ask: get(TOKENS.ask),
        notifications: get(TOKENS.notifications),
        channelAddresses: get(TOKENS.channelAddresses),
        deliveries: get(TOKENS.deliveries),
        listen: get(TOKENS.listen),
        metrics: { ...metrics, token: config.metrics.token },
        config,
        health: () => ready,
      }),
    );
    single(TOKENS.commands, () =>
      createCommands({
        users: get(TOKENS.users),
        signIn: get(TOKENS.signIn),
        keys: get(TOKENS.keys),
        channelAddresses: get(TOKENS.channelAddresses),
        apps: get(TOKENS.apps),
        hooks: get(TOKENS.hooks),
        setLocked: wanted => setLocked(storage, wanted),
        status,
      }),
    );
  }

  function makeListen(
    credentials: Credentials,
    conversations: Conversations,
    spool: Spool,
    events: EventBus,
    metrics: ListenMetrics,
  ): Listen {
    const listenLog = log.child({ part: 'listen' });
    const aside = createAside({
      dir: join(config.dataDir, 'untranscribed'),
      clock,
      log: listenLog,
      checkDisk: spool.checkDisk,
    });
    const { live } = container.resolve(TOKENS.delivery);
    const audio = createLiveAudios({ hooks: live, now: () => clock.now(), log: listenLog });
    return createListen({
      credentials,
      conversations,
      spool,
      limits: config.listen,
      metrics,
      clock,
      log: listenLog,
      sessionDeps: sessionLog => ({
        aside,
        audio,
        events,
        metrics,
        vad: () => host.get('vad'),
        maxQueuedBytes: config.listen.maxQueuedBytes,
        recogniser: (connection, signal, told) =>
          createRecogniser({
            providers: () => host.list('stt', config.stt).map(({ name, value }) => ({ name, stt: value })),
            language: connection.language,
            wish: connection.sttService,
            signal,
            clock,
            log: sessionLog,
            ...told,
          }),
      }),
    });
  }

  async function start() {
    await host.loadAll({ skip: notChosen(Object.values(choicesOf(config)).flat()) });
    const created = await container.resolve(TOKENS.users).ensureFirst(config.account);
    if (created) log.info({ account: created.name }, 'first account made');
    const answering = await serveControl(control, container.resolve(TOKENS.commands), log);
    closers.push(() => answering.close());
    const spool = await openSpool({
      disk: await openDisk(join(config.dataDir, 'audio')),
      clock,
      log: log.child({ part: 'spool' }),
      limits: config.listen.spool,
      metrics: container.resolve(TOKENS.metrics),
    });
    closers.push(() => spool.close());
    container.register(TOKENS.spool, { useValue: spool });
    const listen = container.resolve(TOKENS.listen);
    await listen.start(); // before the jobs, which would end the conversations that wait for text
    const jobs = container.resolve(TOKENS.jobs);
    const conversations = container.resolve(TOKENS.conversations);
    jobs.handle(
      FINISH_JOB,
      createFinish({ conversations, log: log.child({ part: 'finish' }) }),
      createGivenUp(conversations),
    );
    const notifications = container.resolve(TOKENS.notifications);
    const { notice, reminder } = createDueNotices({
      storage: container.resolve(TOKENS.storage),
      clock,
      notifications,
    });
    jobs.handle(NOTICE_JOB, notice);
    jobs.handle(REMINDER_JOB, reminder);
    jobs.handle(RELEASE_JOB, notifications.release);
    jobs.handle(DAY_JOB, container.resolve(TOKENS.daySummary));
    const embedding = container.resolve(TOKENS.embedding);
    jobs.handle(EMBED_JOB, embedding.embed);
    jobs.handle(EMBED_CHECK_JOB, embedding.check);
    await embedding.begin();
    jobs.start();
    closers.push(() => jobs.stop());
    const delivery = container.resolve(TOKENS.delivery);
    delivery.start();
    closers.push(() => delivery.stop());
    const upkeep = startUpkeep({
      clock,
      log: log.child({ part: 'upkeep' }),
      tasks: {
        keys: container.resolve(TOKENS.keys).flush,
        rateLimits: container.resolve(TOKENS.rateLimits).flush,
        deliveries: () =>
          container.resolve(TOKENS.deliveries).prune(clock.now() - config.delivery.logDays * DAY_MS),
      },
    });
    closers.push(() => upkeep.close());
    const nightly = startNightly({
      log: log.child({ part: 'nightly' }),
      tasks: {
        notifications: () => notifications.prune(clock.now() - config.notifications.keepDays * DAY_MS),
        attempts: () => container.resolve(TOKENS.storage).attempts.prune(clock.now()),
      },
    });
    closers.push(() => nightly.close());
    const server = container.resolve(TOKENS.server);
    const address = await server.listen(config.host, config.port);
    // Side by side: nobody connects any more while those who are connected are let go.
    closers.push(async () => {
      await Promise.all([server.close(), listen.stop(DRAIN_MS)]);
    });
    url = `http://${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`;
    ready = true;
    return { url, ...address };
  }

  async function status(): Promise<Status> {
    const users = await container.resolve(TOKENS.users).list();
    return {
      version,
      url,
      dataDir: config.dataDir,
      configFile: loaded.file,
      ready: [
        ...PARTS.flatMap(part => readinessOf(host, part, [config[part.key]].flat())),
        await bluetooth(),
      ],
      users: users.map(user => user.name),
    };
  }

  try {
    if (serving && (await isServed(control)))
      throw new AppError(
        'conflict',
        `Earshot is already running on ${config.dataDir}; stop it, or set EARSHOT_DATA_DIR`,
      );
    await open();
  } catch (error) {
    await stop();
    throw error;
  }
  return { start, stop, status, commands: container.resolve(TOKENS.commands) };
}

const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}),
};

/** The storage of a configuration alone, as it is: not migrated. */
export async function openStorage({
  loaded,
  log,
}: Pick<AppOptions, 'loaded' | 'log'>): Promise<{ storage: Storage; close(): Promise<void> }> {
  const { storage, dataDir } = loaded.config;
  const host = createPluginHost({
    builtin: BUILTIN_PLUGINS,
    config: loaded,
    log,
    clock: systemClock,
    dataDir,
  });
  try {
    return { storage: await host.loadStorage(storage), close: () => host.stop() };
  } catch (error) {
    await host.stop();
    throw error;
  }
}

/** Rejects with `conflict` while a server runs on this data directory. */
export async function refuseServed(dataDir: string): Promise<void> {
  if (await isServed(controlPath(dataDir)))
    throw new AppError('conflict', `A server runs on ${dataDir}; stop it first`);
}

/** Does another server answer on this data directory? */
async function isServed(control: string): Promise<boolean> {
  return (await callControl(control, 'status', {})) !== 'absent';
}

/** What of the house comes as plugins chosen by name, and what it means that there is none. */
const PARTS = [
  {
    key: 'stt',
    part: RECOGNITION,
    without: 'nothing is transcribed; name recognisers in the configuration (stt)',
  },
  { key: 'identity', part: 'signing in', without: 'nobody can sign in' },
  { key: 'llm', part: 'language model', without: 'titles and overviews are made by plain rules' },
  { key: 'embedder', part: 'search by meaning', without: 'search finds words alone' },
  { key: 'vectors', part: 'search by meaning', without: 'search finds words alone' },
] as const;

/** One line for each plugin that was chosen. Why one is not ready, and the way out, is in its own words. */
function readinessOf(
  host: PluginHost,
  { key, part, without }: (typeof PARTS)[number],
  wanted: readonly string[],
): Readiness[] {
  if (wanted.length === 0) return [{ part, name: 'none', ok: false, detail: without, cure: null }];
  const states = host.status();
  return wanted.map(name => {
    const plugin = states.find(state => state.name === name);
    const ok = plugin?.state === 'ready';
    const does = key === 'llm' && ok ? host.get('llm', name).model : plugin?.title;
    const detail = (ok ? does : plugin?.reason?.message) ?? 'not loaded';
    return { part, name, ok, detail, cure: null };
  });
}

/** The bridge uses the adapter; here it is only looked for. */
async function bluetooth(): Promise<Readiness> {
  const adapters = await readdir('/sys/class/bluetooth').catch(() => []);
  const part = 'Bluetooth';
  if (adapters.length > 0)
    return {
      part,
      name: adapters.join(', '),
      ok: true,
      detail: 'pair a wearable with: npx earshot bridge',
      cure: null,
    };
  return {
    part,
    name: 'no adapter',
    ok: false,
    detail: 'plug one in, or try without a wearable',
    cure: 'npx earshot bridge --simulate',
  };
}
