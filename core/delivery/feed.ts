import { randomBytes } from 'node:crypto';
import type { Clock, Segment, User } from '../contract/model.ts';
import { type Principal, requireScope } from '../domain/accounts/credentials.ts';
import { segmentJson } from '../domain/conversations/conversation-json.ts';
import type { Conversations } from '../domain/conversations/conversations.ts';
import { happeningJson } from '../domain/devices/device-json.ts';
import { listeningAt } from '../domain/privacy/pause-rules.ts';
import { AppError } from '../runtime/errors.ts';
import { type EventBus, type Events, isRevoked } from '../runtime/events.ts';
import type { Log } from '../runtime/log.ts';

/** Maximum number of streams of one user, and in total. */
const MAX_STREAMS = 20;
const MAX_ALL_STREAMS = 500;
/** Events kept per user for clients that reconnect; the oldest go first. */
const MAX_KEPT = 500;
const MAX_KEPT_CHARS = 512 * 1024;
/** Users without a stream whose events are kept; the one whose last stream ended first goes first. */
const MAX_IDLE = 100;
/** Maximum number of open conversations in the first event of a stream. */
const MAX_OPEN = 20;

/** Event as it is sent. `scope`: the scope that a key needs to receive it. */
export interface FeedEvent {
  id: string;
  event:
    | 'ready'
    | 'segments'
    | 'conversation'
    | 'memory'
    | 'action_item'
    | 'mark'
    | 'device'
    | 'device_event'
    | 'listening';
  /** JSON. */
  data: string;
}

const SCOPES = {
  ready: 'conversations:read',
  segments: 'conversations:read',
  conversation: 'conversations:read',
  device: 'conversations:read',
  device_event: 'conversations:read',
  listening: 'conversations:read',
  mark: 'conversations:read',
  memory: 'memories:read',
  action_item: 'action_items:read',
} as const;

interface Subscriber {
  principal: Principal;
  push(event: FeedEvent): void;
  end(): void;
}

/** Recent events of one user, kept while somebody listens and a while after. */
interface Channel {
  user: User;
  subscribers: Set<Subscriber>;
  /** Streams, including those that receive nothing yet. */
  streams: number;
  kept: FeedEvent[];
  keptChars: number;
  /** Number of the newest event. */
  last: number;
  /** Events are sent one after the other, because names of speakers are looked up. Never rejects. */
  telling: Promise<void>;
}

interface Device {
  device: string | null;
  source: string;
}

export type Feed = ReturnType<typeof createFeed>;

/**
 * Streams a user's events to their programs. A client that reconnects with its last event id gets the events it
 * missed, as far as they are kept; any other stream begins with `ready`, which describes the present state.
 * Everything is in memory: a user without listeners costs nothing.
 */
export function createFeed({
  events,
  conversations,
  clock,
  log,
}: {
  events: EventBus;
  clock: Pick<Clock, 'now'>;
  conversations: Pick<Conversations, 'list' | 'speakerNames'>;
  log: Log;
}) {
  /** Prefix of event ids: those of another process do not count. */
  const epoch = randomBytes(6).toString('hex');
  const channels = new Map<string, Channel>();
  const devices = new Map<string, Map<string, Device & { count: number }>>();
  let streams = 0;
  let isClosed = false;

  events.on('segments', ({ userId, conversationId, segments }) =>
    tell(userId, 'segments', async ({ user }) => ({
      conversation_id: conversationId,
      segments: await shown(user, segments),
    })),
  );
  events.on('conversation.processing', ({ userId, conversationId }) =>
    tell(userId, 'conversation', () => ({ conversation_id: conversationId, change: 'processing' })),
  );
  events.on('conversation.processed', ({ userId, conversation: { id, status } }) =>
    tell(userId, 'conversation', () => ({ conversation_id: id, change: status })),
  );
  events.on('conversation.dropped', ({ userId, conversationId }) =>
    tell(userId, 'conversation', () => ({ conversation_id: conversationId, change: 'removed' })),
  );
  events.on('changed', ({ userId, kind, id, change }) =>
    tell(userId, kind, () => ({ [`${kind}_id`]: id, change })),
  );
  events.on('marked', ({ mark: { id, userId, conversationId, at }, change }) =>
    tell(userId, 'mark', () => ({
      mark_id: id,
      conversation_id: conversationId,
      at: new Date(at).toISOString(),
      change,
    })),
  );
  events.on('device', onDevice);
  events.on('device.happened', ({ userId, device, happening }) =>
    tell(userId, 'device_event', () => ({ device_id: device.id, ...happeningJson(device, happening) })),
  );
  events.on('listening.changed', ({ userId, rules }) =>
    tell(userId, 'listening', () => {
      const { isPaused, until } = listeningAt(rules, clock.now());
      return { paused: isPaused, until: until === null ? null : new Date(until).toISOString() };
    }),
  );
  events.on('credential.revoked', revocation => {
    for (const { principal, end } of channels.get(revocation.userId)?.subscribers ?? [])
      if (isRevoked(principal, revocation)) end();
  });

  async function shown(user: User, segments: Segment[]) {
    const nameOf = await conversations.speakerNames(user);
    return segments.map(segment => segmentJson(segment, nameOf(segment)));
  }

  function onDevice({ userId, device, source, isConnected }: Events['device'][0]): void {
    const own = devices.get(userId) ?? new Map<string, Device & { count: number }>();
    const name = `${source} ${device}`;
    const before = own.get(name)?.count ?? 0;
    const count = before + (isConnected ? 1 : -1);
    if (count > 0) own.set(name, { device, source, count });
    else own.delete(name);
    if (own.size > 0) devices.set(userId, own);
    else devices.delete(userId);
    if (before === 0 || count === 0)
      tell(userId, 'device', () => ({ device, source, connected: isConnected }));
  }

  function tell(
    userId: string,
    event: FeedEvent['event'],
    dataOf: (channel: Channel) => object | Promise<object>,
  ): void {
    const channel = channels.get(userId);
    if (!channel) return;
    channel.telling = channel.telling
      .then(async () => publish(channel, event, await dataOf(channel)))
      .catch(error => log.warn({ err: error, event }, 'an event could not be told'));
  }

  function publish(channel: Channel, event: FeedEvent['event'], data: object): void {
    channel.last += 1;
    const told = { id: `${epoch}-${channel.last}`, event, data: JSON.stringify(data) };
    channel.kept.push(told);
    channel.keptChars += told.data.length;
    while (channel.kept.length > MAX_KEPT || channel.keptChars > MAX_KEPT_CHARS)
      channel.keptChars -= channel.kept.shift()?.data.length ?? 0;
    for (const subscriber of channel.subscribers) push(subscriber, told);
  }

  function push({ principal, push: send }: Subscriber, event: FeedEvent): void {
    const scope = SCOPES[event.event];
    if (principal.scopes === 'all' || principal.scopes.has(scope)) send(event);
  }

  /** Returns the events after this one; null: they are no longer kept. */
  function missedSince(channel: Channel, lastId: string | undefined): FeedEvent[] | null {
    const [, of, number] = /^([0-9a-f]{1,20})-(\d{1,15})$/.exec(lastId ?? '') ?? [];
    if (of !== epoch) return null;
    const missing = channel.last - Number(number);
    if (missing < 0 || missing > channel.kept.length) return null;
    return missing === 0 ? [] : channel.kept.slice(-missing);
  }

  async function state(channel: Channel): Promise<object> {
    const { id } = channel.user;
    const statuses = ['in_progress' as const, 'processing' as const];
    const open = await conversations.list(id, { statuses, locked: false, limit: MAX_OPEN, offset: 0 });
    return {
      conversations: open.map(({ id, status }) => ({ conversation_id: id, status })),
      devices: [...(devices.get(id)?.values() ?? [])].map(({ device, source }) => ({ device, source })),
    };
  }

  /** Drops the events of the user whose last stream ended first. */
  function dropIdle(): void {
    const idle = [...channels].filter(([, channel]) => channel.streams === 0);
    for (const [userId] of idle.slice(0, Math.max(0, idle.length - MAX_IDLE))) channels.delete(userId);
  }

  function leave(channel: Channel, subscriber: Subscriber): void {
    channel.subscribers.delete(subscriber);
    channel.streams -= 1;
    streams -= 1;
    if (channel.streams > 0) return;
    channels.delete(channel.user.id);
    channels.set(channel.user.id, channel); // now the last of the idle ones
    dropIdle();
  }

  return {
    /**
     * Begins a stream: `push` receives each event, `end` is called when there will be none any more. Resolves to a
     * function that ends it. `rate_limited` where there are too many streams already.
     */
    async subscribe(
      principal: Principal,
      lastId: string | undefined,
      { push: send, end }: Pick<Subscriber, 'push' | 'end'>,
    ): Promise<() => void> {
      requireScope(principal, 'conversations:read');
      const { user } = principal;
      const channel = channels.get(user.id) ?? newChannel(user);
      if (isClosed) throw new AppError('unavailable', 'The server is stopping');
      if (channel.streams >= MAX_STREAMS || streams >= MAX_ALL_STREAMS)
        throw new AppError('rate_limited', 'Too many event streams are open: close some', { retryAfter: 10 });
      channels.set(user.id, channel);
      channel.user = user;
      const subscriber: Subscriber = { principal, push: send, end };
      streams += 1;
      channel.streams += 1;
      const begun = channel.telling.then(async () => {
        const missed = missedSince(channel, lastId);
        const ready = missed ? null : await state(channel);
        if (ready) push(subscriber, { id: idOf(channel), event: 'ready', data: JSON.stringify(ready) });
        for (const event of missed ?? []) push(subscriber, event);
        channel.subscribers.add(subscriber); // events of the meantime wait for their turn
      });
      channel.telling = begun.catch(() => {});
      await begun.catch(error => {
        leave(channel, subscriber);
        throw error;
      });
      return () => leave(channel, subscriber);
    },

    /** Whether the credential has expired since its stream began. */
    isOver: ({ expiresAt }: Principal): boolean => expiresAt !== undefined && clock.now() >= expiresAt,

    /** Ends all streams. */
    close(): void {
      isClosed = true;
      for (const { subscribers } of channels.values()) for (const { end } of [...subscribers]) end();
    },
  };

  function idOf({ last }: Channel): string {
    return `${epoch}-${last}`;
  }
}

function newChannel(user: User): Channel {
  return {
    user,
    subscribers: new Set(),
    streams: 0,
    kept: [],
    keptChars: 0,
    last: 0,
    telling: Promise.resolve(),
  };
}
