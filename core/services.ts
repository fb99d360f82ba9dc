import 'reflect-metadata';
import { join } from 'node:path';
import { instanceCachingFactory, container as root } from 'tsyringe';
import type { LoadedConfig } from '../config/load.ts';
import { createCommands } from './commands.ts';
import { createDaySummary } from './delivery/day-summary.ts';
import type { Outbound } from './delivery/outbound.ts';
import { createProactive } from './delivery/proactive.ts';
import { createDelivery, type Delivery } from './delivery/service.ts';
import { createTellOff } from './delivery/tell-off.ts';
import { createActionItems } from './domain/action-items.ts';
import { createApps } from './domain/apps.ts';
import { createAsk } from './domain/ask.ts';
import { createChannelAddresses } from './domain/channel-addresses.ts';
import { type Conversations, createConversations } from './domain/conversations.ts';
import { type Credentials, createCredentials } from './domain/credentials.ts';
import { createDeliveries } from './domain/deliveries.ts';
import { createDueNotices } from './domain/due-notices.ts';
import { createEmbedding } from './domain/embedding.ts';
import { createFolders } from './domain/folders.ts';
import { createGoals } from './domain/goals.ts';
import { createHooks } from './domain/hooks.ts';
import { createIdentities } from './domain/identities.ts';
import { createKeys } from './domain/keys.ts';
import { createLocks } from './domain/locks.ts';
import { createMemories } from './domain/memories.ts';
import { createCategorise } from './domain/memory-category.ts';
import { createNotifications } from './domain/notifications.ts';
import { createPeople } from './domain/people.ts';
import { createSearch } from './domain/search.ts';
import { createSignIn } from './domain/sign-in.ts';
import { createUsers } from './domain/users.ts';
import { minuteOf, zoneOfMachine } from './domain/wall-clock.ts';
import { createEvents, type EventBus } from './events.ts';
import { createNotificationLimit, createRateLimits } from './http/rate-limit.ts';
import { createServer } from './http/server.ts';
import { createJobs, type Jobs } from './jobs.ts';
import { type Aside, createAside } from './listen/aside.ts';
import { createLiveAudios, type LiveAudios } from './listen/live-audio.ts';
import { createRecogniser } from './listen/recogniser.ts';
import { createListen } from './listen/socket.ts';
import type { Spool } from './listen/spool.ts';
import type { Log } from './log.ts';
import { createMetrics, type Metrics, timedStorage } from './metrics.ts';
import type { Clock } from './model.ts';
import { createFinish } from './pipeline/finish.ts';
import type { Storage } from './plugin.ts';
import type { PluginHost } from './plugin-host.ts';
import { createStatus } from './readiness.ts';

/** What there is before any service. */
interface Ground {
  loaded: LoadedConfig;
  log: Log;
  clock: Clock;
  host: PluginHost;
  outbound: Outbound;
  /** As its plugin gives it. */
  database: Storage;
  /** Where the server listens, null until it does; and whether everything is up. */
  state: { url: string | null; isReady: boolean };
}

/** With what plugins can do at this moment: asked for at each use, as one may have been started again. */
function given(ground: Ground) {
  const { host, outbound, loaded } = ground;
  const { config } = loaded;
  return {
    ...ground,
    config,
    health: () => ground.state.isReady,
    checkUrl: outbound.check,
    fetchUser: outbound.fetchUser,
    identities: createIdentities(() => {
      const working = host.list('identity', config.identity);
      const missing = config.identity.filter(name => !working.some(provider => provider.name === name));
      return { working: working.map(({ value }) => value), missing };
    }),
    recognisers: () => host.list('stt', config.stt).map(({ name, value }) => ({ name, stt: value })),
    vad: () => host.get('vad'),
    embedder: () => host.get('embedder', config.embedder),
    vectors: () => host.get('vectors', config.vectors),
    models: () => host.list('llm', config.llm).map(({ value }) => value),
    webhooks: () => host.list('webhook').map(({ value }) => value),
    outlets: () => host.list('notify').map(({ name, title, value }) => ({ name, title, channel: value })),
    channel: (name: string) => host.get('notify', name),
  };
}
type Given = ReturnType<typeof given>;
type Stored = Given & { storage: Storage };

/**
 * Each is made at its first use. Its maker takes what it needs out of the house, by the names that stand here; it copies
 * nothing of the rest, which would make all that there is.
 */
const SERVICES = {
  metrics: (house: Given & { spool?: Spool }) =>
    createMetrics({
      now: () => performance.now(),
      plugins: house.host.status,
      jobs: () => house.database.jobs.counts(house.clock.now()),
      spool: () => house.spool?.counts ?? null,
    }),
  storage: ({ database, metrics }: Given & { metrics: Metrics }) => timedStorage(database, metrics),
  events: createEvents,
  jobs: part('jobs', createWakingJobs),

  users: createUsers,
  signIn: createSignIn,
  keys: createKeys,
  credentials: createCredentials,
  conversations: createConversations,
  finish: part('finish', createFinish),
  actionItems: createActionItems,
  goals: createGoals,
  memories: createMemories,
  categorise: part('memories', createCategorise),
  folders: createFolders,
  people: createPeople,
  search: part('search', createSearch),
  embedding: part('embedding', createEmbedding),
  ask: part('ask', createAsk),
  locks: createLocks,

  apps: createApps,
  hooks: createHooks,
  notifications: ({ storage, clock, jobs, config: { notifications, publicUrl } }: Stored & { jobs: Jobs }) =>
    createNotifications({
      ...{ storage, clock, jobs },
      defaults: {
        timeZone: notifications.timeZone ?? zoneOfMachine(),
        perAppPerHour: notifications.perAppPerHour,
        daySummaryAt: minuteOf(notifications.daySummaryAt),
      },
      publicUrl: publicUrl ?? null,
    }),
  channelAddresses: part('notifications', createChannelAddresses),
  dueNotices: createDueNotices,
  deliveries: createDeliveries,
  delivery: part('delivery', createDelivery),
  tellOff: createTellOff,
  proactive: part('proactive', createProactive),
  answered: ({ proactive }: { proactive: ReturnType<typeof createProactive> }) => proactive.receive,
  deliveriesOf: ({ delivery }: { delivery: Delivery }) => delivery.fanOut.deliveriesOf,
  daySummary: part('day', createDaySummary),

  aside: part('listen', ({ config, clock, log, spool }: Given & { spool: Spool }) =>
    createAside({ dir: join(config.dataDir, 'untranscribed'), clock, log, checkDisk: spool.checkDisk }),
  ),
  audio: part('listen', ({ delivery, clock, log }: Given & { delivery: Delivery }) =>
    createLiveAudios({ hooks: delivery.live, now: () => clock.now(), log }),
  ),
  listen: part('listen', createHouseListen),
  rateLimits: ({ storage, clock, config: { rateLimits: limits } }: Stored) =>
    limits.enabled ? createRateLimits({ storage, clock, limits }) : undefined,
  notificationLimit: ({ storage, clock, config: { rateLimits: limits } }: Stored) =>
    limits.enabled ? createNotificationLimit({ storage, clock, perHour: limits.notification }) : undefined,
  server: part('http', createServer),

  status: createStatus,
  commands: createCommands,
};
type Made = { [Name in keyof typeof SERVICES]: ReturnType<(typeof SERVICES)[Name]> };
export type House = Given & Made & { spool: Spool };
const MAKERS: { [Name in keyof Made]: (house: House) => Made[Name] } = SERVICES;

/** The house but for its spool, which is opened when it starts. */
export function furnish(ground: Ground): House {
  const container = root.createChildContainer();
  const house = given(ground) as House; // what is made follows
  for (const [name, make] of Object.entries(MAKERS)) {
    container.register(name, { useFactory: instanceCachingFactory(() => make(house)) });
    Object.defineProperty(house, name, { get: () => container.resolve(name), enumerable: true });
  }
  return house;
}

/** Made with a log that says which part of the house speaks. */
function part<Needs extends { log: Log }, Service>(name: string, make: (needs: Needs) => Service) {
  return (house: Needs): Service => {
    const own = { log: { value: house.log.child({ part: name }), enumerable: true } };
    return make(Object.create(null, { ...Object.getOwnPropertyDescriptors(house), ...own }));
  };
}

/** To wake them wakes what is delivered too. */
function createWakingJobs(house: Stored & { metrics: Metrics; delivery: Pick<Delivery, 'poke'> }): Jobs {
  const { storage, clock, log, metrics } = house;
  const jobs = createJobs({ storage, clock, log, metrics, onCommit: () => house.delivery.poke() });
  return {
    ...jobs,
    poke() {
      jobs.poke();
      house.delivery.poke();
    },
  };
}

interface Heard extends Given {
  credentials: Credentials;
  conversations: Conversations;
  spool: Spool;
  events: EventBus;
  metrics: Metrics;
  aside: Aside;
  audio: LiveAudios;
}

function createHouseListen(house: Heard) {
  const { credentials, conversations, spool, events, metrics, aside, audio, clock, log } = house;
  const { listen: limits } = house.config;
  return createListen({
    ...{ credentials, events, conversations, spool, metrics, clock, log, limits },
    sessionDeps: sessionLog => ({
      ...{ aside, audio, metrics, vad: house.vad, maxQueuedBytes: limits.maxQueuedBytes },
      recogniser: ({ language, sttService: wish }, signal, told) =>
        createRecogniser({
          ...{ providers: house.recognisers, language, wish, signal, clock, log: sessionLog },
          ...told,
        }),
    }),
  });
}
