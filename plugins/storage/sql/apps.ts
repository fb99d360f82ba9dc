import type { AppStore, HookStore, InstallationStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { AppKeys, Apps, all, Hooks, Installations, one } from './models.ts';
import { first, oneOf, select } from './statements.ts';

const NEWEST = [{ column: 'created_at', order: 'desc' } as const, { column: 'id' }];

export function appStore({ read, write }: Access): AppStore {
  return {
    async insert(app) {
      await write('apps.insert', db => Apps.query(db).insert(app), 'This app exists already');
    },
    get: id => read('apps.get', db => one(Apps.query(db).where({ id }))),
    list: userId =>
      read('apps.list', db => {
        const query = Apps.query(db).orderBy(NEWEST);
        if (userId !== undefined) query.where('user_id', userId);
        return all(query);
      }),
    update: (userId, id, patch) =>
      write(
        'apps.update',
        async db => (await Apps.query(db).where({ user_id: userId, id }).patch(patch)) > 0,
      ),
    remove: (userId, id) =>
      write('apps.remove', async db => (await Apps.query(db).delete().where({ user_id: userId, id })) > 0),
    async insertKey(key) {
      await write('apps.insertKey', db => AppKeys.query(db).insert(key), 'This key exists already');
    },
    keyByHash: hash => read('apps.keyByHash', db => one(AppKeys.query(db).where({ hash }))),
    keys: (userId, appId) =>
      read('apps.keys', db =>
        all(AppKeys.query(db).where({ user_id: userId, app_id: appId }).orderBy(NEWEST)),
      ),
    removeKey: (userId, appId, id) =>
      write(
        'apps.removeKey',
        async db => (await AppKeys.query(db).delete().where({ user_id: userId, app_id: appId, id })) > 0,
      ),
  };
}

export function installationStore({ read, write }: Access): InstallationStore {
  return {
    async put(installation) {
      await write('installations.put', db =>
        db(Installations.tableName)
          .insert(Installations.fromJson(installation).$toDatabaseJson())
          .onConflict(['user_id', 'app_id'])
          .merge(),
      );
    },
    get: (userId, appId) =>
      read('installations.get', db =>
        first(db, Installations, [
          ['user_id = ?', userId],
          ['app_id = ?', appId],
        ]),
      ),
    list: userId =>
      read('installations.list', db =>
        all(
          Installations.query(db)
            .where('user_id', userId)
            .orderBy([{ column: 'installed_at', order: 'desc' }, { column: 'app_id' }]),
        ),
      ),
    remove: (userId, appId) =>
      write(
        'installations.remove',
        async db => (await Installations.query(db).delete().where({ user_id: userId, app_id: appId })) > 0,
      ),
  };
}

export function hookStore({ read, write }: Access): HookStore {
  return {
    async put(hook) {
      await write(
        'hooks.put',
        db =>
          db(Hooks.tableName)
            .insert(Hooks.fromJson(hook).$toDatabaseJson())
            .onConflict('id')
            .merge()
            .whereRaw('hooks.user_id = excluded.user_id'),
        'There is a webhook of this type and label already',
      );
    },
    get: (userId, id) => read('hooks.get', db => one(Hooks.query(db).where({ user_id: userId, id }))),
    target: id => read('hooks.target', db => first(db, Hooks, [['id = ?', id]])),
    list: userId =>
      read('hooks.list', db => all(Hooks.query(db).where('user_id', userId).orderBy(['created_at', 'id']))),
    targets: (userId, types) =>
      read('hooks.targets', db => {
        const [ofTypes, ...wanted] = oneOf('type', types);
        const found = `id in (select id from hooks where user_id = ? and app_id is null and ${ofTypes} union all
          select id from hooks where app_id in (select app_id from installations where user_id = ?) and ${ofTypes})`;
        return select(
          db,
          Hooks,
          [
            [found, userId, ...wanted, userId, ...wanted],
            ['enabled = ?', true],
          ],
          ['order by created_at, id'],
        );
      }),
    update: (userId, id, patch) =>
      write(
        'hooks.update',
        async db => (await Hooks.query(db).where({ user_id: userId, id }).patch(patch)) > 0,
      ),
    remove: (userId, id) =>
      write('hooks.remove', async db => (await Hooks.query(db).delete().where({ user_id: userId, id })) > 0),
  };
}
