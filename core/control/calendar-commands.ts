/** Commands for calendars: part of the table in `commands.ts`. */
import { z } from 'zod';
import type { Users } from '../domain/accounts/users.ts';
import type { CalendarLinks } from '../domain/calendar/calendar-links.ts';
import type { CalendarAccount, CalendarSync } from '../domain/calendar/calendar-sync.ts';

const user = z.string().trim().min(1).max(100);
const instant = z.iso.datetime();
const Account = z.object({
  service: z.string(),
  /** Without its secrets. */
  address: z.record(z.string(), z.unknown()),
  name: z.string(),
  connectedAt: instant,
  syncedAt: instant.nullable(),
  failure: z.string().nullable(),
});

export const calendarShapes = {
  /** The previous link stops working. */
  'calendar.link': {
    args: z.object({ user }),
    result: z.object({ path: z.string(), url: z.string().nullable() }),
  },
  'calendar.unlink': { args: z.object({ user }), result: z.object({}) },
  /** Replaces the previous calendar. */
  'calendar.connect': {
    args: z.object({
      user,
      service: z.string().min(1).max(100),
      address: z.record(z.string().max(100), z.unknown()),
    }),
    result: Account,
  },
  'calendar.account': { args: z.object({ user }), result: Account.nullable() },
  'calendar.disconnect': { args: z.object({ user }), result: z.object({}) },
  /** Synchronises the calendar now. */
  'calendar.sync': { args: z.object({ user }), result: z.object({}) },
};
type Args<C extends keyof typeof calendarShapes> = z.output<(typeof calendarShapes)[C]['args']>;

export interface CalendarServices {
  users: Pick<Users, 'byName'>;
  calendarLinks: Pick<CalendarLinks, 'renew' | 'remove'>;
  calendarSync: Pick<CalendarSync, 'connect' | 'get' | 'disconnect' | 'syncNow'>;
}

export function calendarCommands({ users, calendarLinks, calendarSync }: CalendarServices) {
  return {
    async 'calendar.link'({ user }: Args<'calendar.link'>) {
      const { path, url } = await calendarLinks.renew((await users.byName(user)).id);
      return { path, url };
    },
    async 'calendar.unlink'({ user }: Args<'calendar.unlink'>) {
      await calendarLinks.remove((await users.byName(user)).id);
      return {};
    },
    async 'calendar.connect'({ user, service, address }: Args<'calendar.connect'>) {
      const { id } = await users.byName(user);
      return accountJson(await calendarSync.connect(id, { service, address }));
    },
    async 'calendar.account'({ user }: Args<'calendar.account'>) {
      const account = await calendarSync.get((await users.byName(user)).id);
      return account && accountJson(account);
    },
    async 'calendar.disconnect'({ user }: Args<'calendar.disconnect'>) {
      await calendarSync.disconnect((await users.byName(user)).id);
      return {};
    },
    async 'calendar.sync'({ user }: Args<'calendar.sync'>) {
      await calendarSync.syncNow((await users.byName(user)).id);
      return {};
    },
  };
}

function accountJson({ outlet, address, name, connectedAt, syncedAt, failure }: CalendarAccount) {
  return {
    service: outlet,
    address,
    name,
    failure,
    connectedAt: new Date(connectedAt).toISOString(),
    syncedAt: syncedAt === null ? null : new Date(syncedAt).toISOString(),
  };
}
