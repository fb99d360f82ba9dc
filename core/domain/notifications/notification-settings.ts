/** Notification settings of users: which messages they get, and when. */

import type { Notification, NotificationSettings } from '../../contract/model.ts';
import type { Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { isTimeZone, nextTime, spanEnd } from '../wall-clock.ts';

/** The operator's defaults for users without settings of their own. */
export interface NotificationDefaults {
  timeZone: string;
  /** Default maximum of one app's notifications to one user in an hour. */
  perAppPerHour: number;
  daySummaryAt: number | null;
}

export type SettingsEdit = Partial<Omit<NotificationSettings, 'userId'>>;

/** Maximum entries in the list of muted names, and in the limits per app. */
const MAX_ENTRIES = 200;
const MAX_NAME_CHARS = 100;
const MAX_BUDGET = 1000;
const DAY_MINUTES = 24 * 60;

export async function settingsOf(
  { notifications }: Pick<Stores, 'notifications'>,
  userId: string,
  { timeZone, daySummaryAt }: NotificationDefaults,
): Promise<NotificationSettings> {
  const stored = await notifications.settings(userId);
  return (
    stored ?? { userId, timeZone, quietHours: null, digestAt: null, muted: [], budgets: {}, daySummaryAt }
  );
}

/** `invalid_request`, with the field and the allowed values. */
export function edited(before: NotificationSettings, changes: SettingsEdit): NotificationSettings {
  const after = { ...before, ...changes };
  const { timeZone, quietHours, digestAt, daySummaryAt, muted, budgets } = after;
  if (!isTimeZone(timeZone)) throw invalid('time_zone', 'should be an IANA time zone, such as Europe/Berlin');
  if (quietHours && !(isMinute(quietHours.from) && isMinute(quietHours.to)))
    throw invalid('quiet_hours', 'should be from and to, as HH:MM');
  if (quietHours && quietHours.from === quietHours.to)
    throw invalid('quiet_hours', 'should end at another time than they begin; null: never quiet');
  if (digestAt !== null && !isMinute(digestAt)) throw invalid('digest_at', 'should be HH:MM');
  if (daySummaryAt !== null && !isMinute(daySummaryAt)) throw invalid('day_summary_at', 'should be HH:MM');
  if (muted.length > MAX_ENTRIES || muted.some(name => name === '' || name.length > MAX_NAME_CHARS))
    throw invalid('muted', `should be at most ${MAX_ENTRIES} ids of apps, or events`);
  const entries = Object.entries(budgets);
  const fit = ([app, most]: [string, number]) =>
    app.length <= MAX_NAME_CHARS && Number.isInteger(most) && most >= 0 && most <= MAX_BUDGET;
  if (entries.length > MAX_ENTRIES || !entries.every(fit))
    throw invalid(
      'budgets',
      `should be at most ${MAX_ENTRIES} apps, each with 0 to ${MAX_BUDGET} in an hour`,
    );
  return { ...after, muted: [...new Set(muted)] };
}

function isMinute(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < DAY_MINUTES;
}

function invalid(field: string, what: string): AppError {
  const issues = [{ loc: ['body', field], msg: `${field} ${what}`, type: 'value_error' }];
  return new AppError('invalid_request', `${field} ${what}`, { issues });
}

/** Returns the name that mutes a message: its app, or, from the server itself, its event. */
export function muteNameOf({ appId, event }: Pick<Notification, 'appId' | 'event'>): string {
  return appId ?? event;
}

/**
 * Returns the time until which a notification is held: for the digest, unless it would be useless by then, and in any
 * case to the end of quiet hours. Null: it is sent now.
 */
export function heldUntil(
  { timeZone, quietHours, digestAt }: NotificationSettings,
  at: number,
  isUrgent: boolean,
): number | null {
  const digest = digestAt === null || isUrgent ? null : nextTime(at, digestAt, timeZone);
  return (quietHours && spanEnd(digest ?? at, quietHours, timeZone)) ?? digest;
}
