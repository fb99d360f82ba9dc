import type { QueryBuilder } from 'objection';
import type { ActionItemFilter, ActionItemStore } from '../../../core/plugin.ts';
import type { Access } from './access.ts';
import { ActionItems, all, one } from './models.ts';

/** As the index has it, or the rows would be sorted. */
const ORDER = 'completed, (due_at is null), due_at, created_at desc, id';

export function actionItemStore({ read, write }: Access): ActionItemStore {
  return {
    async insert(items) {
      if (items.length === 0) return;
      const rows = items.map(item => ActionItems.fromJson(item).$toDatabaseJson());
      await write(
        'actionItems.insert',
        db => db(ActionItems.tableName).insert(rows),
        'This action item exists already',
      );
    },
    get: (userId, id) =>
      read('actionItems.get', db => one(ActionItems.query(db).where({ user_id: userId, id }))),
    list: (userId, filter) =>
      read('actionItems.list', db =>
        all(
          filtered(ActionItems.query(db).where('user_id', userId), filter)
            .orderByRaw(ORDER)
            .limit(filter.limit)
            .offset(filter.offset),
        ),
      ),
    update: (userId, id, patch) =>
      write(
        'actionItems.update',
        async db => (await ActionItems.query(db).where({ user_id: userId, id }).patch(patch)) > 0,
      ),
    remove: (userId, id) =>
      write(
        'actionItems.remove',
        async db => (await ActionItems.query(db).delete().where({ user_id: userId, id })) > 0,
      ),
    async moveAll(userId, fromConversation, toConversation) {
      await write('actionItems.moveAll', db =>
        ActionItems.query(db)
          .where({ user_id: userId, conversation_id: fromConversation })
          .patch({ conversationId: toConversation }),
      );
    },
  };
}

type ActionItemQuery = QueryBuilder<InstanceType<typeof ActionItems>>;

function filtered(query: ActionItemQuery, filter: ActionItemFilter): ActionItemQuery {
  const { conversationId, createdFrom, createdTo } = filter;
  for (const flag of ['locked', 'completed'] as const) {
    const wanted = filter[flag];
    if (wanted !== undefined) query.where(flag, wanted);
  }
  if (conversationId !== undefined) query.where('conversation_id', conversationId);
  if (createdFrom !== undefined) query.where('created_at', '>=', createdFrom);
  if (createdTo !== undefined) query.where('created_at', '<=', createdTo);
  return query;
}
