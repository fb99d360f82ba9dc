import type { CalendarLinkStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { CalendarLinks, one, putOfUser, Users } from './models.ts';
import { pair } from './statements.ts';

const linkAndUser = pair(CalendarLinks, Users, { on: 'their.id = own.user_id', where: 'own.hash = ?' });

export function calendarLinkStore({ read, write }: Access): CalendarLinkStore {
  return {
    async put(link) {
      await write('calendarLinks.put', db => putOfUser(db, CalendarLinks, link), 'This link exists already');
    },
    get: userId => read('calendarLinks.get', db => one(CalendarLinks.query(db).where({ user_id: userId }))),
    byHash: hash =>
      read('calendarLinks.byHash', async db => {
        const [link, user] = (await linkAndUser(db, hash)) ?? [];
        return link && user ? { link, user } : null;
      }),
    remove: userId =>
      write(
        'calendarLinks.remove',
        async db => (await CalendarLinks.query(db).delete().where({ user_id: userId })) > 0,
      ),
  };
}
