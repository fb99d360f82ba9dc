import type { GoalSuggestionStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { all, GoalSuggestions, one } from './models.ts';

export function goalSuggestionStore({ read, write }: Access): GoalSuggestionStore {
  return {
    async insert(suggestion) {
      await write(
        'goalSuggestions.insert',
        db => GoalSuggestions.query(db).insert(suggestion),
        'This suggestion exists already',
      );
    },
    get: (userId, id) =>
      read('goalSuggestions.get', db => one(GoalSuggestions.query(db).where({ user_id: userId, id }))),
    open: (userId, limit) =>
      read('goalSuggestions.open', db =>
        all(
          GoalSuggestions.query(db)
            .where('user_id', userId)
            .whereRaw("state = 'open'") // matches the index
            .orderBy([{ column: 'created_at', order: 'desc' }, { column: 'id' }])
            .limit(limit),
        ),
      ),
    ofConversation: (userId, conversationId, limit) =>
      read('goalSuggestions.ofConversation', db =>
        all(
          GoalSuggestions.query(db)
            .where({ user_id: userId, conversation_id: conversationId })
            .orderBy('id')
            .limit(limit),
        ),
      ),
    update: (userId, id, patch, from) =>
      write('goalSuggestions.update', async db => {
        const query = GoalSuggestions.query(db).where({ user_id: userId, id });
        if (from !== undefined) query.where('state', from);
        return (await query.patch(patch)) > 0;
      }),
    remove: (userId, id) =>
      write(
        'goalSuggestions.remove',
        async db => (await GoalSuggestions.query(db).delete().where({ user_id: userId, id })) > 0,
      ),
  };
}
