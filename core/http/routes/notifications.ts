import { z } from 'zod';
import type { Notification } from '../../contract/model.ts';
import { isId } from '../../domain/ids.ts';
import type { Notifications } from '../../domain/notifications/notifications.ts';
import { inPagesBefore, mapPages } from '../../domain/pages.ts';
import { toIso, toIsoOrNull } from '../../runtime/iso.ts';
import { optional, text } from '../fields.ts';
import { boolean, integer, word } from '../query.ts';
import { type Route, route } from '../route.ts';

const LIST = '/v1/notifications';
const DEFAULT_LIMIT = 25;
const MAX_LIMIT = 1000;
const MAX_IDS = 1000;
const MAX_ID_CHARS = 100;

const dateTime = z.iso.datetime();

const NotificationJson = z
  .object({
    id: z.string(),
    app_id: z.string().nullable().describe('Id of the app that sent it; null: the server itself'),
    app_name: z.string().nullable(),
    event: z
      .string()
      .describe(
        'Event that caused it: action_item_update, action_item_delete, action_item_reminder, app_message, proactive, hook_message, hook_off, day_summary, device_battery_low, home_message, disk_low, disk_full, backup_failed',
      ),
    rule: z.string().describe('Reason for sending it, for people'),
    title: z.string(),
    text: z.string(),
    data: z.record(z.string(), z.unknown()).describe('Ids and times of its subject, for programs'),
    created_at: dateTime,
    read_at: dateTime.nullable(),
    silence: z
      .enum(['muted', 'budget', 'no_channel'])
      .nullable()
      .describe('Reason for which no channel got it; null: one did, or will at held_until'),
    held_until: dateTime.nullable().describe('Time until which quiet hours or the digest hold it'),
  })
  .meta({ id: 'Notification' });

const READ_EXAMPLE = { all: true };
const ReadBody = z
  .object({
    ids: optional(z.array(z.string().max(MAX_ID_CHARS)).max(MAX_IDS), undefined),
    all: optional(z.boolean(), false).describe('Mark all, instead of these'),
  })
  .refine(({ ids, all }) => all || ids !== undefined, {
    message: 'ids, or all: true',
    params: { type: 'missing' },
  })
  .meta({ id: 'NotificationsRead', override: { examples: [READ_EXAMPLE] } });

const MUTE_EXAMPLE = { event: 'day_summary' };
const MuteBody = z
  .object({
    app_id: optional(text(), undefined).describe('Id of the app to mute'),
    event: optional(text({ max: 100 }), undefined).describe('Event of the server itself to mute'),
  })
  .refine(({ app_id: app, event }) => app !== undefined || event !== undefined, {
    message: 'app_id, event, or both',
    params: { type: 'missing' },
  })
  .meta({ id: 'NotificationsMute', override: { examples: [MUTE_EXAMPLE] } });
const Done = z.object({ success: z.literal(true) });

/** Lists the muted names; an app id that is not a valid id matches no app and is left out. */
function namesIn({ app_id: app, event }: z.output<typeof MuteBody>): string[] {
  return [...(app !== undefined && isId(app) ? [app] : []), ...(event === undefined ? [] : [event])];
}

/** A user's inbox of notifications. */
export function notificationRoutes(notifications: Notifications): Route[] {
  const common = { tag: 'Notifications', credential: 'idToken', params: z.object({}) } as const;

  /** Looks up the name of each app once a page. */
  async function present(page: Notification[]) {
    const names = new Map<string | null, string | null>();
    for (const { appId } of page)
      if (appId !== null && !names.has(appId)) names.set(appId, await notifications.appName(appId));
    return page.map(notification => notificationJson(notification, names.get(notification.appId) ?? null));
  }

  return [
    route({
      ...common,
      method: 'get',
      id: 'listNotifications',
      path: LIST,
      summary: 'List notifications of all channels, newest first',
      query: z.object({
        limit: integer({ from: 1, to: MAX_LIMIT, absent: DEFAULT_LIMIT }),
        before: word().meta({ description: 'Id of a notification: only earlier ones' }),
        unread: boolean().meta({ description: 'True: unread ones only; false: read ones only' }),
        app_id: word().meta({ description: 'Only notifications of this app' }),
      }),
      response: z.array(NotificationJson),
      async handle({ principal: { user }, query: { limit, before: beforeId, ...filter } }) {
        const { unread, app_id: appId } = filter;
        const load = (part: typeof page) => notifications.list(user.id, { ...part, unread, appId });
        const page = { limit, beforeId };
        return mapPages(await inPagesBefore(load, page), present);
      },
    }),
    route({
      ...common,
      method: 'post',
      id: 'readNotifications',
      path: `${LIST}/read`,
      summary: 'Mark notifications as read',
      query: z.object({}),
      body: ReadBody,
      response: z.object({
        read: z.int().describe('Number of notifications that were unread'),
        unread: z.int().describe('Number of unread notifications left'),
      }),
      handle: ({ principal: { user }, body: { ids, all } }) =>
        notifications.markRead(user.id, all ? 'all' : (ids ?? [])),
    }),
    route({
      ...common,
      method: 'post',
      id: 'muteNotifications',
      path: `${LIST}/mute`,
      summary: 'Mute an app or an event; the inbox still receives it',
      query: z.object({}),
      body: MuteBody,
      response: Done,
      async handle({ principal: { user }, body }) {
        await notifications.mute(user.id, namesIn(body));
        return { success: true as const };
      },
    }),
    route({
      ...common,
      method: 'delete',
      id: 'unmuteNotifications',
      path: `${LIST}/mute`,
      summary: 'Unmute an app or an event',
      query: z.object({}),
      body: MuteBody,
      response: Done,
      async handle({ principal: { user }, body }) {
        await notifications.unmute(user.id, namesIn(body));
        return { success: true as const };
      },
    }),
  ];
}

function notificationJson(
  { appId, createdAt, readAt, heldUntil, ...notification }: Notification,
  appName: string | null,
): z.input<typeof NotificationJson> {
  const { id, event, rule, title, text, data, silence } = notification;
  return {
    id,
    app_id: appId,
    app_name: appName,
    event,
    rule,
    title,
    text,
    data,
    silence,
    created_at: toIso(createdAt),
    read_at: toIsoOrNull(readAt),
    held_until: toIsoOrNull(heldUntil),
  };
}
