import type { GrantStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { Grants, one } from './models.ts';

export function grantStore({ read, write }: Access): GrantStore {
  return {
    async give(grants) {
      if (grants.length === 0) return;
      const rows = grants.map(grant => Grants.fromJson(grant).$toDatabaseJson());
      await write('grants.give', db => db(Grants.tableName).insert(rows).onConflict().ignore());
    },
    has: (userId, grantee, name) =>
      read(
        'grants.has',
        async db => (await one(Grants.query(db).where({ user_id: userId, grantee, name }))) !== null,
      ),
    async removeOf(userId, grantee) {
      await write('grants.removeOf', db => Grants.query(db).delete().where({ user_id: userId, grantee }));
    },
  };
}
