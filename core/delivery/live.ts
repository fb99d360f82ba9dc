import type { Clock, Delivery, DeliveryAttempt, Hook } from '../contract/model.ts';
import type { Storage, Stores, WebhookEvent } from '../contract/plugin.ts';
import { segmentJson } from '../domain/conversations/conversation-json.ts';
import type { Conversations } from '../domain/conversations/conversations.ts';
import { waitAtMost } from '../runtime/deadline.ts';
import type { EventBus, Events } from '../runtime/events.ts';
import type { Log } from '../runtime/log.ts';
import type { DeliveryMetrics } from '../runtime/metrics.ts';
import type { Hear } from './answers.ts';
import { deliveryTo, render, type WebhookTypes } from './events.ts';
import { createLiveLog } from './live-log.ts';
import type { Sent, Target, Targets } from './targets.ts';

/** Age at which a live delivery is dropped as out of date. */
const LATE_MS = 30_000;
const PAUSES_MS = [1000, 5000];
/** Maximum queue length per target; the oldest entry is dropped. */
const MAX_WAITING = 32;
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
/** Lifetime of the cached list of webhooks, which another process may have changed. */
const KNOWN_MS = 30_000;
const MAX_KNOWN = 10_000;
/** Time that `close` allows running deliveries. */
const CLOSE_MS = 2000;

type LiveEvent = Extract<WebhookEvent, { trigger: 'segments' | 'audio' }>;

interface Item {
  delivery: Delivery;
  body: string | Uint8Array;
  attempts: DeliveryAttempt[];
  also: ((tx: Stores) => Promise<void>)[];
}

/** Kept for the lifetime of the process, because it records since when its target fails. */
interface Line {
  target: Target;
  /** Version of the webhook that the target was created from. */
  updatedAt: number;
  waiting: Item[];
  bytes: number;
  running: Promise<void> | null;
}

export type Live = ReturnType<typeof createLive>;

/**
 * Deliveries about the present moment. They wait in memory, in order, in a queue for each target: a target that does
 * not keep up loses the oldest, and delays nobody else. The outcome of each appears in the log a little later.
 */
export function createLive({
  storage,
  clock,
  events,
  targets,
  webhooks,
  conversations,
  hear,
  log,
  metrics,
}: {
  storage: Storage;
  clock: Clock;
  events: EventBus;
  targets: Targets;
  webhooks: WebhookTypes;
  conversations: Pick<Conversations, 'speakerNames'>;
  hear: Hear;
  log: Log;
  metrics: DeliveryMetrics;
}) {
  const known = new Map<string, { at: number; hooks: Hook[] | null; looking: Promise<Hook[]> }>();
  const lines = new Map<string, Line>();
  /** By user: events whose receivers are being looked up. */
  const telling = new Map<string, Promise<void>>();
  const liveLog = createLiveLog({ storage, clock, log });
  const closing = new AbortController();

  events.on('segments', said => inOrder(said, clock.now()));
  events.on('hooks.changed', ({ userId }) => forget(userId));
  metrics.watchLive(waiting);

  /** Returns the webhooks of the live types. A cached result is returned at once, and refreshed in the background. */
  function hooksOf(userId: string): { hooks: Hook[] | null; looking: Promise<Hook[]> } {
    const entry = known.get(userId);
    if (entry && clock.now() - entry.at < KNOWN_MS) return entry;
    if (known.size >= MAX_KNOWN) known.clear();
    const looking = storage.hooks.targets(userId, liveTypes()).catch((error): Hook[] => {
      log.warn({ err: error }, 'it could not be looked up who is to be told');
      return entry?.hooks ?? [];
    });
    const fresh = { at: clock.now(), hooks: entry?.hooks ?? null, looking };
    known.set(userId, fresh);
    looking.then(hooks => Object.assign(fresh, { hooks }));
    return fresh;
  }

  function forget(userId: string | null): void {
    if (userId === null) known.clear();
    else known.delete(userId);
  }

  function liveTypes(): string[] {
    return webhooks()
      .filter(({ trigger }) => trigger === 'segments' || trigger === 'audio')
      .map(({ type }) => type);
  }

  /** Looking up takes time; events of a user are still delivered in their order. */
  function inOrder(said: Events['segments'][0], now: number): void {
    const { userId } = said;
    const done = (telling.get(userId) ?? Promise.resolve())
      .then(() => tell(said, now))
      .catch(error => log.warn({ err: error, user: userId }, 'webhooks could not be told what is said'))
      .finally(() => {
        if (telling.get(userId) === done) telling.delete(userId);
      });
    telling.set(userId, done);
  }

  async function tell(said: Events['segments'][0], now: number): Promise<void> {
    const { userId, conversationId, segments } = said;
    const hooks = (await hooksOf(userId).looking).filter(({ seconds }) => seconds === null);
    const user = hooks.length > 0 ? await storage.users.get(userId) : null;
    if (!user) return;
    const nameOf = await conversations.speakerNames(user);
    const wire = segments.map(segment => segmentJson(segment, nameOf(segment)));
    for (const hook of hooks)
      push(hook, { trigger: 'segments', userId, conversationId, segments, wire }, now);
  }

  function push(hook: Hook, event: LiveEvent, now: number): void {
    const webhook = webhooks().find(({ type, trigger }) => type === hook.type && trigger === event.trigger);
    const request = webhook && !closing.signal.aborted ? render(webhook, event, log) : null;
    if (!webhook || !request) return;
    const { body } = request;
    const delivery = deliveryTo(hook, event, request, now);
    if (typeof body === 'string') delivery.body = body;
    const line = lineOf(hook);
    if (line.target.isOff) return; // a receiver that is still cached learns it soon
    line.waiting.push({ delivery, body, attempts: [], also: [] });
    line.bytes += body.length;
    while (line.waiting.length > 1 && (line.waiting.length > MAX_WAITING || line.bytes > MAX_WAITING_BYTES)) {
      const oldest = take(line);
      if (oldest) end(oldest, 'dropped');
    }
    line.running ??= run(line).finally(() => {
      line.running = null;
    });
  }

  function lineOf(hook: Hook): Line {
    const { id, updatedAt } = hook;
    const line = lines.get(id) ?? {
      target: targets.ofHook(hook),
      updatedAt,
      waiting: [],
      bytes: 0,
      running: null,
    };
    if (line.updatedAt !== updatedAt) Object.assign(line, { target: targets.ofHook(hook), updatedAt });
    lines.set(id, line);
    return line;
  }

  function take(line: Line): Item | undefined {
    const item = line.waiting.shift();
    if (item) line.bytes -= item.body.length;
    return item;
  }

  async function run(line: Line): Promise<void> {
    for (let item = take(line); item; item = take(line)) {
      if (line.target.isOff || isLate(item)) end(item, 'dropped');
      else await deliver(line.target, item).catch(error => abandon(item, error));
    }
  }

  function abandon(item: Item, error: unknown): void {
    if (!closing.signal.aborted) log.error({ err: error }, 'a live delivery was given up');
    end(item, 'dropped');
  }

  function isLate({ delivery }: Item): boolean {
    return clock.now() - delivery.createdAt >= LATE_MS;
  }

  async function deliver(target: Target, item: Item): Promise<void> {
    for (const pauseMs of [...PAUSES_MS, null]) {
      const sent = await attempt(target, item);
      if (sent.verdict === 'delivered') {
        hear(item.delivery, sent);
        return end(item, 'delivered');
      }
      const waitMs = Math.max(pauseMs ?? 0, (sent.retryAfter ?? 0) * 1000);
      const isLast = pauseMs === null || sent.verdict !== 'retry' || willBeLate(item, waitMs);
      metrics.attempted('live', isLast ? 'failed' : 'again', item.attempts.at(-1)?.tookMs ?? 0);
      if (isLast) return end(item, 'failed');
      await clock.sleep(waitMs, closing.signal);
    }
  }

  function willBeLate({ delivery }: Item, waitMs: number): boolean {
    return clock.now() + waitMs - delivery.createdAt >= LATE_MS;
  }

  async function attempt(target: Target, item: Item): Promise<Sent> {
    const { id, userId, query, contentType } = item.delivery;
    const at = clock.now();
    const sent = await target.send({ id, query, contentType, body: item.body }, closing.signal);
    const now = clock.now();
    const { status, error, answer } = sent;
    const number = item.attempts.length + 1;
    item.attempts.push({ deliveryId: id, userId, number, at, tookMs: now - at, status, error, answer });
    const step = targets.follow(target, sent, { at: now, isFirst: number === 1 && sent.verdict === 'retry' });
    if (step) item.also.push(step);
    return sent;
  }

  function end(item: Item, state: 'delivered' | 'failed' | 'dropped'): void {
    const { delivery, attempts, also } = item;
    const ended = { ...delivery, state, attempts: attempts.length, nextAt: null, endedAt: clock.now() };
    if (state === 'delivered') metrics.attempted('live', 'delivered', attempts.at(-1)?.tookMs ?? 0);
    if (state === 'dropped') metrics.attempted('live', 'dropped', 0);
    liveLog.add({ delivery: ended, attempts, also });
  }

  function waiting(): { count: number; bytes: number } {
    let [count, bytes] = [0, 0];
    for (const line of lines.values()) {
      count += line.waiting.length;
      bytes += line.bytes;
    }
    return { count, bytes };
  }

  return {
    /** Lists the receivers of a user's audio, with the seconds per piece; null: the look-up is running. */
    of(userId: string): { id: string; seconds: number }[] | null {
      const { hooks } = hooksOf(userId);
      return hooks?.flatMap(({ id, seconds }) => (seconds === null ? [] : [{ id, seconds }])) ?? null;
    },
    /** A piece of audio for one of these. */
    push(userId: string, hookId: string, piece: { sampleRate: number; pcm: Int16Array }): void {
      const hook = known.get(userId)?.hooks?.find(({ id }) => id === hookId);
      if (hook) push(hook, { trigger: 'audio', userId, ...piece }, clock.now());
    },
    /** Accepts no more events, sends what can be sent at once, and writes the log. */
    async close(): Promise<void> {
      const drained = Promise.all(telling.values()).then(() =>
        Promise.all([...lines.values()].map(({ running }) => running)),
      );
      await waitAtMost({ clock, limitMs: CLOSE_MS }, drained);
      closing.abort();
      await drained;
      await liveLog.close();
    },
  };
}
