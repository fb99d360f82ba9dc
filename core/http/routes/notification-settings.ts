import { z } from 'zod';
import type { NotificationSettings } from '../../contract/model.ts';
import type { SettingsEdit } from '../../domain/notifications/notification-settings.ts';
import type { Notifications } from '../../domain/notifications/notifications.ts';
import { timeOfDay } from '../../domain/wall-clock.ts';
import { someOf, text, timeField } from '../fields.ts';
import { type Route, route } from '../route.ts';

const PATH = '/v1/notifications/settings';
/** Maximum number of apps and events that settings may name. */
const MAX_NAMES = 1000;
const MAX_NAME_CHARS = 100;
const time = z.string().regex(/^\d\d:\d\d$/);

const SettingsJson = z
  .object({
    time_zone: z.string().describe('IANA name'),
    quiet_hours: z.object({ from: time, to: time }).nullable(),
    digest_at: time.nullable(),
    day_summary_at: time.nullable(),
    muted: z.array(z.string()),
    budgets: z.record(z.string(), z.int()),
  })
  .meta({ id: 'NotificationSettings' });

const EXAMPLE = { time_zone: 'Europe/Berlin', quiet_hours: { from: '22:00', to: '07:00' } };

const Edit = someOf({
  time_zone: text({ max: 100 }).exactOptional().describe('IANA name'),
  quiet_hours: z
    .object({ from: timeField(), to: timeField() })
    .nullable()
    .exactOptional()
    .describe('Quiet hours, in which notifications are held; null: never'),
  digest_at: timeField()
    .nullable()
    .exactOptional()
    .describe('Time at which all notifications of a day are sent in one message; null: each at once'),
  day_summary_at: timeField().nullable().exactOptional().describe('Time of the daily summary; null: never'),
  muted: z
    .array(text({ max: MAX_NAME_CHARS }))
    .max(MAX_NAMES)
    .exactOptional()
    .describe('Muted app ids, and muted events of the server itself'),
  budgets: z
    .record(z.string().max(MAX_NAME_CHARS), z.int())
    .meta({ maxProperties: MAX_NAMES })
    .exactOptional()
    .describe('Messages per hour by app id; other apps have the limit of the server'),
}).meta({ id: 'NotificationSettingsEdit', override: { examples: [EXAMPLE] } });

/** Notification settings of users. */
export function notificationSettingsRoutes(notifications: Notifications): Route[] {
  const common = {
    ...({ tag: 'Notifications', credential: 'idToken', path: PATH } as const),
    params: z.object({}),
    query: z.object({}),
    response: SettingsJson,
  };
  return [
    route({
      ...common,
      method: 'get',
      id: 'getNotificationSettings',
      summary: 'Get the notification settings',
      handle: async ({ principal: { user } }) => settingsJson(await notifications.settings(user.id)),
    }),
    route({
      ...common,
      method: 'patch',
      id: 'updateNotificationSettings',
      summary: 'Change the notification settings; held notifications are judged anew',
      body: Edit,
      handle: async ({ principal: { user }, body }) =>
        settingsJson(await notifications.changeSettings(user.id, toEdit(body))),
    }),
  ];
}

const NAMES = {
  time_zone: 'timeZone',
  quiet_hours: 'quietHours',
  digest_at: 'digestAt',
  day_summary_at: 'daySummaryAt',
  muted: 'muted',
  budgets: 'budgets',
} as const satisfies Record<keyof z.output<typeof Edit>, keyof SettingsEdit>;

/** Converts a body; absent fields stay absent. */
function toEdit(body: z.output<typeof Edit>): SettingsEdit {
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [NAMES[name as keyof typeof NAMES], value]),
  );
}

function settingsJson(settings: NotificationSettings): z.input<typeof SettingsJson> {
  const { timeZone, quietHours, digestAt, daySummaryAt, muted, budgets } = settings;
  return {
    time_zone: timeZone,
    quiet_hours: quietHours && { from: timeOfDay(quietHours.from), to: timeOfDay(quietHours.to) },
    digest_at: digestAt === null ? null : timeOfDay(digestAt),
    day_summary_at: daySummaryAt === null ? null : timeOfDay(daySummaryAt),
    muted,
    budgets,
  };
}
