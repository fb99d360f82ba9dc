/** Commands for calendars: part of the table in `commands.ts`. */
import { z } from 'zod';
import type { Users } from '../domain/accounts/users.ts';
import type { CalendarLinks } from '../domain/calendar/calendar-links.ts';

const user = z.string().trim().min(1).max(100);

export const calendarShapes = {
  /** The link of before is refused from then on. */
  'calendar.link': {
    args: z.object({ user }),
    result: z.object({ path: z.string(), url: z.string().nullable() }),
  },
  'calendar.unlink': { args: z.object({ user }), result: z.object({}) },
};
type Args<C extends keyof typeof calendarShapes> = z.output<(typeof calendarShapes)[C]['args']>;

export interface CalendarServices {
  users: Pick<Users, 'byName'>;
  calendarLinks: Pick<CalendarLinks, 'renew' | 'remove'>;
}

export function calendarCommands({ users, calendarLinks }: CalendarServices) {
  return {
    async 'calendar.link'({ user }: Args<'calendar.link'>) {
      const { path, url } = await calendarLinks.renew((await users.byName(user)).id);
      return { path, url };
    },
    async 'calendar.unlink'({ user }: Args<'calendar.unlink'>) {
      await calendarLinks.remove((await users.byName(user)).id);
      return {};
    },
  };
}
