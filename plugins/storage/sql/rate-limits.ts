import type { RateLimitStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { one, RateLimits } from './models.ts';

/** knex joins the rows by `union all`, of which SQLite accepts 500. */
const ROWS_AT_ONCE = 250;

export function rateLimitStore({ read, write, atomic }: Access): RateLimitStore {
  return {
    get: (userId, subject, policy) =>
      read('rateLimits.get', db => one(RateLimits.query(db).where({ user_id: userId, subject, policy }))),
    async put(limits) {
      if (limits.length === 0) return;
      const rows = limits.map(limit => RateLimits.fromJson(limit).$toDatabaseJson());
      await atomic('rateLimits.put', async db => {
        for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
          await db(RateLimits.tableName)
            .insert(rows.slice(at, at + ROWS_AT_ONCE))
            .onConflict(['user_id', 'subject', 'policy'])
            .merge()
            .whereRaw('excluded.full_at > rate_limits.full_at');
      });
    },
    async removeFull(now) {
      await write('rateLimits.removeFull', db => RateLimits.query(db).delete().where('full_at', '<=', now));
    },
  };
}
