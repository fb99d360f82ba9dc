import type { AttemptCount, AttemptStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';

const TABLE = 'attempts';

interface AttemptRow extends AttemptCount {
  key: string;
}

export function attemptStore({ read, write }: Access): AttemptStore {
  return {
    add: (key, by, now, until) =>
      write('attempts.add', async db => {
        const ended = `${TABLE}.until <= ?`;
        const rows: AttemptCount[] = await db<AttemptRow>(TABLE)
          .insert({ key, count: by, until })
          .onConflict('key')
          .merge({
            count: db.raw(`case when ${ended} then 0 else ${TABLE}.count end + ?`, [now, by]),
            // a window that ends after one that starts now: the clock was set back
            until: db.raw(
              `case when ${ended} or ${TABLE}.until > excluded.until then excluded.until else ${TABLE}.until end`,
              [now],
            ),
          })
          .returning(['count', 'until']);
        return rows[0] as AttemptCount; // the row exists now
      }),
    get: (key, now) =>
      read('attempts.get', async db => {
        const row = await db<AttemptRow>(TABLE)
          .where({ key })
          .where('until', '>', now)
          .first('count', 'until');
        return row ?? null;
      }),
    async remove(key) {
      await write('attempts.remove', db => db(TABLE).where({ key }).delete());
    },
    async prune(now) {
      await write('attempts.prune', db => db(TABLE).where('until', '<=', now).delete());
    },
  };
}
