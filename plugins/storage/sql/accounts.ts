import type { KeyStore, PersonStore, UserStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { all, Keys, one, People, Users } from './models.ts';
import { first, pair } from './statements.ts';

export function userStore({ read, write }: Access): UserStore {
  return {
    async insert(user) {
      await write(
        'users.insert',
        db => Users.query(db).insert(user),
        `The account "${user.name}" exists already`,
      );
    },
    get: id => read('users.get', db => first(db, Users, [['id = ?', id]])),
    byName: key => read('users.byName', db => one(Users.query(db).where({ name_key: key }))),
    byIdentity: (issuer, subject) =>
      read('users.byIdentity', db => one(Users.query(db).where({ issuer, subject }))),
    list: () => read('users.list', db => all(Users.query(db).orderBy(['created_at', 'id']))),
    setMemoryAccess: (id, isOpen) =>
      write(
        'users.setMemoryAccess',
        async db => (await Users.query(db).where({ id }).patch({ memoryAccess: isOpen })) > 0,
      ),
    update: (id, patch) =>
      write(
        'users.update',
        async db => (await Users.query(db).patch(patch).where({ id })) > 0,
        'The name is taken already',
      ),
    remove: id => write('users.remove', async db => (await Users.query(db).delete().where({ id })) > 0),
  };
}

const keyAndUser = pair(Keys, Users, { on: 'their.id = own.user_id', where: 'own.hash = ?' });

export function keyStore({ read, write, atomic }: Access): KeyStore {
  return {
    async insert(key) {
      await write('keys.insert', db => Keys.query(db).insert(key), 'This key exists already');
    },
    get: (userId, id) => read('keys.get', db => one(Keys.query(db).where({ user_id: userId, id }))),
    byHash: hash =>
      read('keys.byHash', async db => {
        const [key, user] = (await keyAndUser(db, hash)) ?? [];
        return key && user ? { key, user } : null;
      }),
    list: userId =>
      read('keys.list', db =>
        all(
          Keys.query(db)
            .where('user_id', userId)
            .orderBy([{ column: 'created_at', order: 'desc' }, { column: 'id' }]),
        ),
      ),
    replace: (userId, id, { hash, hint }) =>
      write(
        'keys.replace',
        async db => (await Keys.query(db).patch({ hash, hint }).where({ user_id: userId, id })) > 0,
        'This key exists already',
      ),
    async used(uses) {
      if (uses.length === 0) return;
      await atomic('keys.used', async db => {
        for (const { userId, id, at } of uses)
          await Keys.query(db)
            .patch({ lastUsedAt: at })
            .where({ user_id: userId, id })
            .whereRaw('coalesce(last_used_at, 0) < ?', at);
      });
    },
    remove: (userId, id) =>
      write('keys.remove', async db => (await Keys.query(db).delete().where({ user_id: userId, id })) > 0),
  };
}

export function personStore({ read, write }: Access): PersonStore {
  return {
    async insert(person) {
      await write('people.insert', db => People.query(db).insert(person), 'This person exists already');
    },
    get: (userId, id) => read('people.get', db => one(People.query(db).where({ user_id: userId, id }))),
    rename: (userId, id, name) =>
      write(
        'people.rename',
        async db => (await People.query(db).where({ user_id: userId, id }).patch({ name })) > 0,
      ),
    remove: (userId, id) =>
      write(
        'people.remove',
        async db => (await People.query(db).delete().where({ user_id: userId, id })) > 0,
      ),
    async removeUnnamed(userId, ids) {
      await write('people.removeUnnamed', db => {
        const people = db('people').where('user_id', userId).whereIn('id', ids);
        for (const table of ['segments', 'voices', 'voice_samples'])
          people.whereNotExists(
            db(table).where(`${table}.user_id`, userId).whereRaw('??.person_id = people.id', [table]),
          );
        return people.delete();
      });
    },
    list: userId =>
      read('people.list', db => all(People.query(db).where('user_id', userId).orderBy(['created_at', 'id']))),
  };
}
