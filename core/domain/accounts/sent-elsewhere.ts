import type { Storage } from '../../contract/plugin.ts';
import type { CalendarSync } from '../calendar/calendar-sync.ts';

/** Describes what receivers of an account's data have, which nobody can take back; empty: it has no receivers. */
export async function sentElsewhere(
  storage: Storage,
  calendar: Pick<CalendarSync, 'get'>,
  userId: string,
): Promise<{ what: string; until: null }[]> {
  const receivers = await Promise.all([
    storage.hooks.list(userId),
    storage.installations.list(userId),
    storage.channelAddresses.list(userId),
  ]);
  const isSent = receivers.some(({ length }) => length > 0) || (await calendar.get(userId)) !== null;
  if (!isSent) return [];
  return [{ what: 'what webhooks, apps, notification services and calendars have received', until: null }];
}
