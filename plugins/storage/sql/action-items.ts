import type { ActionItemFilter, ActionItemStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { ActionItems } from './models.ts';
import { type Clause, first, given, insert, keyOf, select } from './statements.ts';

/** Matches the index; otherwise the rows would have to be sorted. */
const ORDER = 'completed, (due_at is null), due_at, created_at desc, id';

export function actionItemStore({ read, write, atomic }: Access): ActionItemStore {
  return {
    async insert(items) {
      if (items.length === 0) return;
      await atomic(
        'actionItems.insert',
        db => insert(db, ActionItems, items),
        'This action item exists already',
      );
    },
    get: (userId, id) => read('actionItems.get', db => first(db, ActionItems, keyOf(userId, id))),
    list: (userId, filter) =>
      read('actionItems.list', db =>
        select(
          db,
          ActionItems,
          [['user_id = ?', userId], ...conditions(filter)],
          [`order by ${ORDER} limit ? offset ?`, filter.limit, filter.offset],
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

function conditions(filter: ActionItemFilter): (Clause | undefined)[] {
  const { locked, completed, conversationId, createdFrom, createdTo, dueFrom, dueTo } = filter;
  return [
    given('locked = ?', locked),
    given('completed = ?', completed),
    given('conversation_id = ?', conversationId),
    given('created_at >= ?', createdFrom),
    given('created_at <= ?', createdTo),
    given('due_at >= ?', dueFrom),
    given('due_at <= ?', dueTo),
  ];
}
