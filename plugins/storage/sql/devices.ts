import type { DeviceStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { Devices, one } from './models.ts';
import { select } from './statements.ts';

export function deviceStore({ read, write }: Access): DeviceStore {
  return {
    async put(device) {
      await write('devices.put', db =>
        db(Devices.tableName)
          .insert(Devices.fromJson(device).$toDatabaseJson())
          .onConflict(['user_id', 'id'])
          .merge(),
      );
    },
    get: (userId, id) => read('devices.get', db => one(Devices.query(db).where({ user_id: userId, id }))),
    list: userId =>
      read('devices.list', db => select(db, Devices, [['user_id = ?', userId]], ['order by created_at, id'])),
    silent: (before, limit) =>
      read('devices.silent', db =>
        select(
          db,
          Devices,
          [
            ['state <> ?', 'disconnected'],
            ['reported_at < ?', before],
          ],
          ['order by reported_at, id limit ?', limit],
        ),
      ),
    remove: (userId, id) =>
      write(
        'devices.remove',
        async db => (await Devices.query(db).delete().where({ user_id: userId, id })) > 0,
      ),
  };
}
