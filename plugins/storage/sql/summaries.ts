import type { SummaryStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { all, one, putOfUser, SummarySettings, SummaryTemplates } from './models.ts';

export function summaryStore({ read, write }: Access): SummaryStore {
  return {
    async insert(template) {
      await write(
        'summaries.insert',
        db => SummaryTemplates.query(db).insert(template),
        'This summary template exists already',
      );
    },
    get: (userId, id) =>
      read('summaries.get', db => one(SummaryTemplates.query(db).where({ user_id: userId, id }))),
    list: userId =>
      read('summaries.list', db =>
        all(SummaryTemplates.query(db).where('user_id', userId).orderBy(['created_at', 'id'])),
      ),
    update: (userId, id, patch) =>
      write(
        'summaries.update',
        async db => (await SummaryTemplates.query(db).where({ user_id: userId, id }).patch(patch)) > 0,
      ),
    remove: (userId, id) =>
      write(
        'summaries.remove',
        async db => (await SummaryTemplates.query(db).delete().where({ user_id: userId, id })) > 0,
      ),
    settings: userId =>
      read('summaries.settings', db => one(SummarySettings.query(db).where('user_id', userId))),
    async putSettings(settings) {
      await write('summaries.putSettings', db => putOfUser(db, SummarySettings, settings));
    },
  };
}
