import type { Clock } from '../contract/model.ts';
import type { HomeDisplay, HomeEvent, HomeRequest, HomeState, Storage } from '../contract/plugin.ts';
import { deviceName } from '../domain/devices/device-json.ts';
import type { LoadedChannel } from '../domain/notifications/channel-addresses.ts';
import type { Notifications } from '../domain/notifications/notifications.ts';
import type { Listening } from '../domain/privacy/listening.ts';
import { wholeText } from '../domain/search/whole-text.ts';
import type { ActionItems } from '../domain/tasks/action-items.ts';
import { withinLimit } from '../runtime/deadline.ts';
import { AppError } from '../runtime/errors.ts';
import type { EventBus, Events } from '../runtime/events.ts';
import type { Log } from '../runtime/log.ts';

/** Homes of one channel. */
const MAX_HOMES = 10_000;
const MAX_TASKS = 1000;
/** Maximum number of waiting events; further ones are dropped. */
const MAX_EVENTS = 100;
/** Pause between two rounds of `show`, so that changes in quick succession are shown once. */
const PAUSE_MS = 250;
/** Silence after which a wearable counts as not talking. */
const TALKING_MS = 20_000;
/** Maximum requests of one account in a minute. */
const MAX_REQUESTS = 30;
const MINUTE_MS = 60_000;
const MAX_TASK_CHARS = 500;
/** Time limit for one call of a display. */
const LIMIT_MS = 15_000;

interface Home {
  id: string;
  userId: string;
  display: HomeDisplay;
}

/**
 * Keeps smart homes up to date. Each owner chooses which accounts a home shows, at an address of the channel. What
 * could not be shown is tried again each minute.
 */
export function createHomes({
  storage,
  notifications,
  actionItems,
  listening,
  events,
  outlets,
  clock,
  log,
}: {
  storage: Storage;
  notifications: Pick<Notifications, 'tell'>;
  actionItems: Pick<ActionItems, 'create' | 'edit' | 'list'>;
  listening: Pick<Listening, 'get' | 'pause' | 'resume'>;
  events: EventBus;
  /** Lists the channels that are available now. */
  outlets(): LoadedChannel[];
  clock: Clock;
  log: Log;
}) {
  const stopping = new AbortController();
  /** By id. */
  let homes = new Map<string, Home>();
  let homesOf = new Map<string, Home[]>();
  /** By the name of the channel: the address that it was started with. */
  const begun = new Map<string, { display: HomeDisplay; ids: string }>();
  /** Ids of homes that do not show the present state. */
  const due = new Set<string>();
  /** Ids of homes where `show` failed. */
  const unshown = new Set<string>();
  /** By id: when the schedule of pauses changes the state that a home shows (epoch ms). */
  const changesAt = new Map<string, number>();
  /** By account and wearable: until when it counts as talking. */
  const talking = new Map<string, number>();
  let mustRefresh = false;
  let showing: Promise<void> | null = null;
  let telling = Promise.resolve();
  let waiting = 0;

  function limited(what: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    return withinLimit({ clock, limitMs: LIMIT_MS, what }, stopping.signal, work);
  }

  // ── what is shown ───────────────────────────────────────────────────────────────────────────────────────────

  function wake(): void {
    if (showing || stopping.signal.aborted) return;
    showing = run()
      .catch(error => {
        if (!stopping.signal.aborted) log.warn({ err: error }, 'homes could not be read; it is tried again');
      })
      .finally(() => {
        showing = null;
        if (mustRefresh || due.size > 0) wake();
      });
  }

  async function run(): Promise<void> {
    while (mustRefresh || due.size > 0) {
      if (mustRefresh) {
        mustRefresh = false;
        await readHomes();
      }
      const round = [...due];
      due.clear();
      for (const id of round) await show(id);
      await clock.sleep(PAUSE_MS, stopping.signal);
    }
  }

  async function readHomes(): Promise<void> {
    const found = new Map<string, Home>();
    for (const { name, channel } of outlets()) {
      if (!channel.home) continue;
      const ofChannel = await homesAt(name, channel.home).catch((error): Home[] => {
        stopping.signal.throwIfAborted();
        log.warn({ err: error, channel: name }, 'homes could not be begun; it is tried again');
        return [];
      });
      for (const home of ofChannel) found.set(home.id, home);
    }
    homes = found;
    homesOf = Map.groupBy(found.values(), ({ userId }) => userId);
  }

  async function homesAt(name: string, display: HomeDisplay): Promise<Home[]> {
    const addresses = await storage.channelAddresses.targets(name, MAX_HOMES);
    const wanting = addresses.filter(({ address }) => display.wants(address));
    const ids = wanting.map(({ id }) => id);
    const before = begun.get(name);
    if (before?.display !== display || before.ids !== ids.join()) {
      const requested = (id: string, request: HomeRequest) => act(id, request);
      await limited(`answer of ${name}`, signal => display.begin(ids, requested, signal));
      begun.set(name, { display, ids: ids.join() });
      for (const id of ids) due.add(id);
    }
    return wanting.map(({ id, userId }) => ({ id, userId, display }));
  }

  async function show(id: string): Promise<void> {
    const home = homes.get(id);
    if (!home) return;
    try {
      const state = await stateOf(home);
      if (state) await limited('answer of the home', signal => home.display.show(id, state, signal));
    } catch (error) {
      stopping.signal.throwIfAborted();
      unshown.add(id);
      log.warn({ err: error, home: id }, 'a home could not be shown; it is tried again');
    }
  }

  async function stateOf({ id, userId }: Home): Promise<HomeState | null> {
    const user = await storage.users.get(userId);
    if (!user) return null;
    const over = { statuses: ['completed' as const], discarded: false, locked: false };
    const [lastConversation = null] = await storage.conversations.list(userId, {
      ...over,
      limit: 1,
      offset: 0,
    });
    const devices = await storage.devices.list(userId);
    const { state: listens } = await listening.get(userId);
    if (listens.until === null) changesAt.delete(id);
    else changesAt.set(id, listens.until);
    return {
      account: user.name,
      devices: devices.map(device => ({
        device,
        name: deviceName(device),
        isTalking: talking.has(`${userId} ${device.id}`),
      })),
      lastConversation,
      openTasks: await actionItems.list(userId, { completed: false, limit: MAX_TASKS, offset: 0 }),
      isListening: !listens.isPaused,
    };
  }

  function changed(userId: string): void {
    for (const { id } of homesOf.get(userId) ?? []) due.add(id);
    if (due.size > 0) wake();
  }

  // ── what happens ────────────────────────────────────────────────────────────────────────────────────────────

  function tell(userId: string, event: HomeEvent): void {
    for (const { id, display } of homesOf.get(userId) ?? []) {
      if (waiting >= MAX_EVENTS) {
        log.warn({ home: id }, 'an event was not told to a home: too many wait');
        return;
      }
      waiting += 1;
      telling = telling
        .then(() => limited('answer of the home', signal => display.tell(id, event, signal)))
        .catch(error => {
          if (!stopping.signal.aborted) log.warn({ err: error, home: id }, 'an event was not told to a home');
        })
        .finally(() => {
          waiting -= 1;
        });
    }
  }

  async function heard({ userId, conversationId, isReplaced }: Events['segments'][0]): Promise<void> {
    if (isReplaced || !homesOf.has(userId)) return;
    const conversation = await storage.conversations.get(userId, conversationId);
    if (conversation?.status !== 'in_progress' || conversation.deviceId === null) return; // or an old conversation is corrected
    const key = `${userId} ${conversation.deviceId}`;
    const isNew = !talking.has(key);
    talking.set(key, clock.now() + TALKING_MS);
    if (!isNew) return;
    changed(userId);
    for (let left = TALKING_MS; left > 0; left = (talking.get(key) ?? 0) - clock.now())
      await clock.sleep(left, stopping.signal);
    talking.delete(key);
    changed(userId);
  }

  function listen(): void {
    events.on('addresses.changed', refresh);
    events.on('changed', ({ userId, kind }) => {
      if (kind !== 'memory') changed(userId);
    });
    events.on('conversation.dropped', ({ userId }) => changed(userId));
    events.on('listening.changed', ({ userId }) => changed(userId));
    events.on('conversation.processed', ({ userId, conversation }) => {
      changed(userId);
      const { discarded, locked, status } = conversation;
      if (status === 'completed' && !discarded && !locked)
        tell(userId, { kind: 'conversation', conversation });
    });
    events.on('device.happened', ({ userId, device, happening }) => {
      const { kind, button, at } = happening;
      if (kind === 'button') tell(userId, { kind: 'button', deviceId: device.id, button, at });
      else changed(userId);
    });
    events.on('segments', said => {
      heard(said).catch(error => {
        if (!stopping.signal.aborted) log.warn({ err: error }, 'homes could not be told that somebody talks');
      });
    });
  }

  // ── what is asked for ───────────────────────────────────────────────────────────────────────────────────────

  async function act(id: string, request: HomeRequest): Promise<void> {
    const home = homes.get(id);
    if (!home || stopping.signal.aborted) return;
    const now = clock.now();
    try {
      const { count } = await storage.attempts.add(`home ${home.userId}`, 1, now, now + MINUTE_MS);
      if (count > MAX_REQUESTS)
        throw new AppError('rate_limited', `More than ${MAX_REQUESTS} requests in a minute`);
      await perform(home.userId, request);
    } catch (error) {
      log.warn({ err: error, home: id, request: request.kind }, 'what a home asked for was not done');
    }
  }

  async function perform(userId: string, request: HomeRequest): Promise<void> {
    if (request.kind === 'done') {
      await actionItems.edit(userId, request.id, { completed: true });
      return;
    }
    if (request.kind === 'listen') {
      await (request.isOn ? listening.resume(userId) : listening.pause(userId, null));
      return;
    }
    if (request.kind === 'task') {
      const description = wholeText(request.text, MAX_TASK_CHARS);
      if (description === '') return;
      await actionItems.create(userId, [{ description, completed: false, dueAt: null }]);
      return;
    }
    await notifications.tell(userId, {
      appId: null,
      event: 'home_message',
      rule: 'Your smart home sent it',
      title: 'Home',
      text: request.text,
    });
  }

  /** Finds out which homes exist, and shows what has not been shown, or has changed with time. */
  async function refresh(): Promise<void> {
    mustRefresh = true;
    for (const id of unshown) due.add(id);
    for (const [id, at] of changesAt) {
      if (at > clock.now()) continue;
      changesAt.delete(id);
      due.add(id);
    }
    unshown.clear();
    wake();
  }

  return {
    start(): void {
      listen();
      void refresh();
    },
    refresh,
    async stop(): Promise<void> {
      stopping.abort();
      await showing;
      await telling;
    },
  };
}
