import type { GoalStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { all, Goals, one, Progress } from './models.ts';

export function goalStore({ read, write }: Access): GoalStore {
  return {
    async insert(goal) {
      await write('goals.insert', db => Goals.query(db).insert(goal), 'This goal exists already');
    },
    get: (userId, id) => read('goals.get', db => one(Goals.query(db).where({ user_id: userId, id }))),
    list: (userId, { active, limit, offset = 0 }) =>
      read('goals.list', db => {
        const query = Goals.query(db).where('user_id', userId);
        if (active) query.whereRaw('not paused and not reached'); // matches the index
        query.orderBy([{ column: 'created_at', order: 'desc' }, { column: 'id' }]);
        return all(query.limit(limit).offset(offset));
      }),
    update: (userId, id, patch) =>
      write(
        'goals.update',
        async db => (await Goals.query(db).where({ user_id: userId, id }).patch(patch)) > 0,
      ),
    remove: (userId, id) =>
      write('goals.remove', async db => (await Goals.query(db).delete().where({ user_id: userId, id })) > 0),
    async record(progress) {
      await write('goals.record', db =>
        db(Progress.tableName)
          .insert(Progress.fromJson(progress).$toDatabaseJson())
          .onConflict(['user_id', 'goal_id', 'day'])
          .merge(),
      );
    },
    progress: (userId, goalId, fromDay) =>
      read('goals.progress', db =>
        all(
          Progress.query(db)
            .where({ user_id: userId, goal_id: goalId })
            .where('day', '>=', fromDay)
            .orderBy('day'),
        ),
      ),
    async forgetProgress(userId, goalId, beforeDay) {
      await write('goals.forgetProgress', db =>
        Progress.query(db).delete().where({ user_id: userId, goal_id: goalId }).where('day', '<', beforeDay),
      );
    },
  };
}
