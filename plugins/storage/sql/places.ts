import type { PlaceStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { Places } from './models.ts';
import { first, insert, keyOf, select, update } from './statements.ts';

export function placeStore({ read, write }: Access): PlaceStore {
  return {
    async insert(place) {
      await write('places.insert', db => insert(db, Places, [place]), 'This place exists already');
    },
    get: (userId, id) => read('places.get', db => first(db, Places, keyOf(userId, id))),
    list: userId =>
      read('places.list', db => select(db, Places, [['user_id = ?', userId]], ['order by created_at, id'])),
    rename: (userId, id, name) =>
      write('places.rename', async db => (await update(db, Places, { name }, keyOf(userId, id))) > 0),
    remove: (userId, id) =>
      write(
        'places.remove',
        async db => (await Places.query(db).delete().where({ user_id: userId, id })) > 0,
      ),
  };
}
