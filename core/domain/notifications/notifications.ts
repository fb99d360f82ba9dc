import { z } from 'zod';
import type {
  ChannelAddress,
  Clock,
  Delivery,
  Notification,
  NotificationSettings,
} from '../../contract/model.ts';
import type { NotificationFilter, NotificationMessage, Storage, Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { EventBus } from '../../runtime/events.ts';
import type { JobHandler } from '../../runtime/jobs.ts';
import { deliverIn, lookAtDayIn } from '../apps/deliveries.ts';
import { isId, newId } from '../ids.ts';
import { wholeText } from '../search/whole-text.ts';
import { createMuteLinks, type Mute } from './mute-links.ts';
import {
  edited,
  heldUntil,
  muteNameOf,
  type NotificationDefaults,
  type SettingsEdit,
  settingsOf,
} from './notification-settings.ts';

/** Job that sends held notifications at their time; its key is the user. */
export const RELEASE_JOB = 'notification.release';

/** Notification to send. */
export interface Telling {
  /** App that sends it; null: the server itself. */
  appId: string | null;
  event: string;
  /** Explanation for people: the rule that caused it. */
  rule: string;
  title: string;
  /** Untrusted text. */
  text: string;
  data?: Record<string, unknown>;
}

const MAX_TITLE_CHARS = 200;
const MAX_TEXT_CHARS = 4000;
const HOUR_MS = 3_600_000;
/** Maximum number of notifications from quiet hours that are sent one by one; more are sent as one. */
const MAX_SINGLE = 5;
/** Number that is released in one run; the rest follows at once. */
const MAX_RELEASED = 200;
const MAX_LINE_CHARS = 200;
const LATEST = Number.MAX_SAFE_INTEGER;
const SELF = 'Earshot';

/** Priority by event; other events are `normal`. A `high` one would be useless in tomorrow's digest. */
const URGENCY: Readonly<Record<string, NotificationMessage['urgency']>> = {
  action_item_reminder: 'high',
  disk_full: 'high',
  action_item_delete: 'low',
  day_summary: 'low',
  digest: 'low',
};

/** Names of the server's own events, for people. */
const WORDS: Readonly<Record<string, string>> = {
  action_item_update: 'due dates that are set or changed',
  action_item_delete: 'due dates that are no more',
  action_item_reminder: 'tasks that are due',
  hook_off: 'webhooks that are switched off',
  hook_message: 'what your own webhooks say',
  day_summary: 'what a day brought',
  device_battery_low: 'wearables that need charging',
  home_message: 'what your smart home says',
  disk_low: 'a disk of the server that is almost full',
  disk_full: 'a disk of the server that is full',
  backup_failed: 'backups of the server that failed',
};

export type Notifications = ReturnType<typeof createNotifications>;

/**
 * Notifications to users: they are kept in the inbox, and sent to the user's channels according to the settings.
 * Nothing else notifies users.
 */
export function createNotifications({
  storage,
  clock,
  events,
  defaults,
  publicUrl,
}: {
  storage: Storage;
  clock: Clock;
  events: EventBus;
  defaults: NotificationDefaults;
  /** Public address of the server, without a slash at its end; null: not configured. */
  publicUrl: string | null;
}) {
  const links = createMuteLinks();
  const isUrgent = ({ event }: Pick<Notification, 'event'>) => URGENCY[event] === 'high';

  /** The same within a transaction of the caller. */
  async function tellIn(tx: Stores, userId: string, telling: Telling): Promise<Notification> {
    const now = clock.now();
    const settings = await settingsOf(tx, userId, defaults);
    const notification: Notification = {
      id: newId(now),
      userId,
      appId: telling.appId,
      event: telling.event,
      rule: telling.rule,
      title: wholeText(telling.title, MAX_TITLE_CHARS).replaceAll('\n', ' '),
      text: wholeText(telling.text, MAX_TEXT_CHARS),
      data: telling.data ?? {},
      createdAt: now,
      readAt: null,
      silence: await silenceOf(tx, settings, telling, now),
      heldUntil: null,
    };
    if (notification.silence === null) notification.heldUntil = heldUntil(settings, now, isUrgent(telling));
    await tx.notifications.insert(notification);
    if (notification.heldUntil !== null) await releaseAt(tx, userId, notification.heldUntil);
    else if (notification.silence === null) await sendEach(tx, [notification]);
    return notification;
  }

  async function silenceOf(
    tx: Stores,
    { userId, muted, budgets }: NotificationSettings,
    telling: Telling,
    now: number,
  ): Promise<Notification['silence']> {
    if (muted.includes(muteNameOf(telling))) return 'muted';
    if (!(await addressesIn(tx, userId)).length) return 'no_channel';
    const { appId } = telling;
    if (appId === null) return null;
    const { count } = await tx.attempts.add(`notified ${userId} ${appId}`, 1, now, now + HOUR_MS);
    return count > (budgets[appId] ?? defaults.perAppPerHour) ? 'budget' : null;
  }

  async function addressesIn(tx: Stores, userId: string) {
    return (await tx.channelAddresses.list(userId)).filter(({ enabled }) => enabled);
  }

  async function sendEach(tx: Stores, notifications: readonly Notification[]): Promise<void> {
    for (const notification of notifications) {
      const { userId, appId } = notification;
      const app = await nameOf(tx, appId);
      const muteUrl = await muteUrlOf(tx, { userId, name: muteNameOf(notification) });
      const message = { ...messageOf(notification), userId, appId, app, muteUrl };
      await sendIn(tx, message, await addressesIn(tx, userId), clock.now());
    }
  }

  async function nameOf(tx: Stores, appId: string | null): Promise<string> {
    if (appId === null) return SELF;
    return (await tx.apps.get(appId))?.name ?? 'an app that is gone';
  }

  async function muteUrlOf(tx: Stores, mute: Mute): Promise<string | null> {
    if (publicUrl === null) return null;
    return `${publicUrl}/v1/notifications/mute?token=${await links.tokenOf(tx, mute)}`;
  }

  function releaseAt(tx: Stores, userId: string, at: number): Promise<void> {
    return tx.jobs.enqueue({ kind: RELEASE_JOB, key: userId, runAt: at, payload: { userId } });
  }

  /** Sends what may be sent under the present settings, and schedules the next look at the rest. */
  async function releaseIn(tx: Stores, userId: string): Promise<void> {
    const now = clock.now();
    const settings = await settingsOf(tx, userId, defaults);
    const held = await tx.notifications.held(userId, LATEST, MAX_RELEASED);
    const isReachable = (await addressesIn(tx, userId)).length > 0;
    const ready: Notification[] = [];
    const later: number[] = [];
    for (const notification of held) {
      const { id } = notification;
      const silence = silenceOfHeld(settings, notification, isReachable);
      const until = silence === null ? keptUntil(settings, notification, now) : null;
      await tx.notifications.update(userId, id, { silence, heldUntil: until });
      if (until !== null) later.push(until);
      else if (silence === null) ready.push(notification);
    }
    const areMore = held.length === MAX_RELEASED && later.length < held.length;
    if (areMore) later.push(now); // all that follow must wait, too
    await sendTogether(tx, ready, settings.digestAt !== null);
    if (later.length > 0) await releaseAt(tx, userId, Math.min(...later));
  }

  function keptUntil(settings: NotificationSettings, held: Notification, now: number): number | null {
    const until = heldUntil(settings, held.createdAt, isUrgent(held));
    if (until !== null && until > now) return until;
    return heldUntil({ ...settings, digestAt: null }, now, true); // its time has come, but may be within quiet hours
  }

  async function sendTogether(tx: Stores, ready: readonly Notification[], isDigest: boolean): Promise<void> {
    const [first] = ready;
    if (!first) return;
    const urgent = ready.filter(isUrgent);
    const others = ready.filter(notification => !isUrgent(notification));
    const apart = isDigest ? others.length === 1 : others.length <= MAX_SINGLE;
    await sendEach(tx, apart ? [...urgent, ...others] : urgent);
    if (apart || others.length === 0) return;
    const gathered = await gather(tx, others, isDigest);
    await sendIn(tx, gathered, await addressesIn(tx, first.userId), clock.now());
  }

  async function gather(tx: Stores, notifications: readonly Notification[], isDigest: boolean) {
    const now = clock.now();
    const lines: string[] = [];
    for (const { appId, title, text } of notifications) {
      const said = [title, text.replace(/\s+/g, ' ')].filter(part => part !== '').join(': ');
      const from = appId === null ? '' : `${await nameOf(tx, appId)}: `;
      lines.push(`• ${wholeText(from + said, MAX_LINE_CHARS)}`);
    }
    return {
      id: newId(now),
      userId: notifications[0]?.userId ?? '',
      appId: null,
      app: SELF,
      event: 'digest',
      rule: isDigest ? 'Gathered by your daily digest' : 'Gathered during your quiet hours',
      title: `${notifications.length} notifications`,
      text: wholeText(lines.join('\n'), MAX_TEXT_CHARS),
      at: now,
      urgency: 'low' as const,
      muteUrl: null,
      data: { notification_ids: notifications.map(({ id }) => id) },
    };
  }

  const Payload = z.object({ userId: z.string() });

  return {
    tellIn,

    async tell(userId: string, telling: Telling): Promise<Notification> {
      const told = await storage.transaction('tell', tx => tellIn(tx, userId, telling));
      return told;
    },

    /** Handler of `RELEASE_JOB`. */
    release: (async job => {
      const { userId } = Payload.parse(job.payload);
      return { commit: tx => releaseIn(tx, userId) };
    }) satisfies JobHandler,

    /** Newest first. An unknown id to start from gives none. */
    async list(userId: string, filter: NotificationFilter): Promise<Notification[]> {
      const { beforeId, appId } = filter;
      if ([beforeId, appId].some(id => id !== undefined && !isId(id))) return [];
      return storage.notifications.list(userId, filter);
    },

    /** Marks notifications as read. Resolves to how many were unread before, and how many still are. */
    async markRead(
      userId: string,
      ids: readonly string[] | 'all',
    ): Promise<{ read: number; unread: number }> {
      const known = ids === 'all' ? ids : ids.filter(isId);
      const read = await storage.notifications.markRead(userId, known, clock.now());
      return { read, unread: await storage.notifications.countUnread(userId) };
    },

    /** Returns the name of an app; null if it was deleted. */
    appName: async (id: string): Promise<string | null> => (await storage.apps.get(id))?.name ?? null,

    settings: (userId: string): Promise<NotificationSettings> => settingsOf(storage, userId, defaults),

    /** Changes the settings, and reschedules held notifications. `invalid_request`. */
    async changeSettings(userId: string, changes: SettingsEdit): Promise<NotificationSettings> {
      return change(userId, before => edited(before, changes));
    },

    /** Mutes these apps, and these events of the server itself. */
    mute: (userId: string, names: readonly string[]): Promise<NotificationSettings> =>
      change(userId, before => edited(before, { muted: [...before.muted, ...names] })),

    unmute: (userId: string, names: readonly string[]): Promise<NotificationSettings> =>
      change(userId, before => edited(before, { muted: before.muted.filter(name => !names.includes(name)) })),

    /** Describes the target of a mute link for people, and mutes it. `not_found`. */
    async muteLink(token: string): Promise<{ what: string; mute(): Promise<void> }> {
      const { userId, name } = await links.read(storage, token);
      if (!(await storage.users.get(userId))) throw new AppError('not_found', 'This account is gone');
      const app = isId(name) ? await storage.apps.get(name) : null;
      const what = isId(name) ? `“${app?.name ?? 'an app that is gone'}”` : (WORDS[name] ?? `“${name}”`);
      return {
        what,
        async mute() {
          await change(userId, before => edited(before, { muted: [...before.muted, name] }));
        },
      };
    },

    /** Deletes notifications that are older than this (epoch ms). */
    async prune(before: number): Promise<void> {
      while ((await storage.notifications.prune(before, MAX_RELEASED)) === MAX_RELEASED);
    },
  };

  async function change(
    userId: string,
    edit: (before: NotificationSettings) => NotificationSettings,
  ): Promise<NotificationSettings> {
    const now = clock.now();
    let isZoneNew = false;
    const after = await storage.transaction('change notification settings', async tx => {
      const before = await settingsOf(tx, userId, defaults);
      const settings = edit(before);
      isZoneNew = settings.timeZone !== before.timeZone;
      await tx.notifications.putSettings(settings);
      if ((await tx.notifications.held(userId, LATEST, 1)).length > 0) await releaseAt(tx, userId, now);
      await lookAtDayIn(tx, userId, now);
      return settings;
    });
    if (isZoneNew) events.emit('zone.changed', { userId });
    return after;
  }
}

/** A message to each of these addresses. */
function sendIn(
  tx: Stores,
  { userId, appId, ...body }: NotificationMessage & { userId: string; appId: string | null },
  addresses: readonly ChannelAddress[],
  now: number,
): Promise<void> {
  const deliveries = addresses.map(
    (address): Delivery => ({
      id: newId(now),
      userId,
      targetKind: 'channel',
      targetId: address.id,
      appId,
      type: body.event,
      subject: body.id,
      state: 'pending',
      query: '',
      contentType: 'application/json',
      body: JSON.stringify(body),
      attempts: 0,
      nextAt: now,
      createdAt: now,
      endedAt: null,
      replayOf: null,
    }),
  );
  return deliverIn(tx, deliveries);
}

/** Checks settings that changed while a notification was held. */
function silenceOfHeld(
  { muted }: NotificationSettings,
  held: Notification,
  isReachable: boolean,
): Notification['silence'] {
  if (muted.includes(muteNameOf(held))) return 'muted';
  return isReachable ? null : 'no_channel';
}

function messageOf({
  id,
  title,
  text,
  createdAt,
  event,
  rule,
  data,
}: Notification): Omit<NotificationMessage, 'app' | 'muteUrl'> {
  return { id, title, text, at: createdAt, event, rule, urgency: URGENCY[event] ?? 'normal', data };
}
