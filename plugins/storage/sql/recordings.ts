import type { RecordingStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { all, one, Recordings } from './models.ts';

export function recordingStore({ read, write }: Access): RecordingStore {
  return {
    async insert(recording) {
      await write(
        'recordings.insert',
        db => Recordings.query(db).insert(recording),
        'This recording exists already',
      );
    },
    get: (userId, id) =>
      read('recordings.get', db => one(Recordings.query(db).where({ user_id: userId, id }))),
    list: (userId, { limit, offset }) =>
      read('recordings.list', db =>
        all(
          Recordings.query(db)
            .where('user_id', userId)
            .orderBy([
              { column: 'created_at', order: 'desc' },
              { column: 'id', order: 'desc' },
            ])
            .limit(limit)
            .offset(offset),
        ),
      ),
    waiting: userId =>
      read('recordings.waiting', async db => {
        const waiting = db(Recordings.tableName)
          .where('user_id', userId)
          .whereIn('state', ['waiting', 'running']);
        const row = await waiting.sum('bytes as bytes').count('* as recordings').first();
        return { recordings: Number(row?.recordings ?? 0), bytes: Number(row?.bytes ?? 0) };
      }),
    update: (userId, id, patch) =>
      write(
        'recordings.update',
        async db => (await Recordings.query(db).where({ user_id: userId, id }).patch(patch)) > 0,
      ),
    remove: (userId, id) =>
      write(
        'recordings.remove',
        async db => (await Recordings.query(db).delete().where({ user_id: userId, id })) > 0,
      ),
    async prune(before) {
      await write('recordings.prune', db =>
        Recordings.query(db).delete().whereIn('state', ['done', 'failed']).where('updated_at', '<', before),
      );
    },
  };
}
