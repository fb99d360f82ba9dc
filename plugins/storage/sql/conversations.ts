import type { Segment } from '../../../core/model.ts';
import type { ConversationFilter, ConversationStore, SegmentStore } from '../../../core/plugin.ts';
import type { Access } from './access.ts';
import { Conversations, Segments } from './models.ts';
import { type Clause, first, given, insert, keyOf, oneOf, select, update, upsert } from './statements.ts';

export function conversationStore({ read, write }: Access): ConversationStore {
  return {
    async insert(conversation) {
      await write(
        'conversations.insert',
        db => insert(db, Conversations, [conversation]),
        `The conversation ${conversation.id} exists already`,
      );
    },
    get: (userId, id) => read('conversations.get', db => first(db, Conversations, keyOf(userId, id))),
    list: (userId, filter) =>
      read('conversations.list', db =>
        select(
          db,
          Conversations,
          [['user_id = ?', userId], ...conditions(filter)],
          ['order by created_at desc, id limit ? offset ?', filter.limit, filter.offset],
        ),
      ),
    findOpen: (userId, source, deviceId) =>
      read('conversations.findOpen', db =>
        first(
          db,
          Conversations,
          [
            ['user_id = ?', userId],
            ['source = ?', source],
            deviceId === null ? ['device_id is null'] : ['device_id = ?', deviceId],
            ['status = ?', 'in_progress'],
          ],
          ['order by created_at desc, id desc limit 1'],
        ),
      ),
    update: (userId, id, patch, ifStatus) =>
      write('conversations.update', async db => {
        const where = [...keyOf(userId, id), given('status = ?', ifStatus)];
        if (Object.keys(patch).length === 0) return (await select(db, Conversations, where)).length > 0;
        return (await update(db, Conversations, patch, where)) > 0;
      }),
    remove: (userId, id) =>
      write('conversations.remove', async db => {
        return (await Conversations.query(db).delete().where({ user_id: userId, id })) > 0;
      }),
    async refile(userId, fromFolder, toFolder) {
      await write('conversations.refile', db =>
        Conversations.query(db)
          .where({ user_id: userId, folder_id: fromFolder })
          .patch({ folderId: toFolder }),
      );
    },
  };
}

function conditions(filter: ConversationFilter): (Clause | undefined)[] {
  const { ids, statuses, categories, folderId, createdFrom, createdTo } = filter;
  return [
    ids && oneOf('id', ids),
    statuses && oneOf('status', statuses),
    categories && oneOf('category', categories),
    given('folder_id = ?', folderId),
    given('created_at >= ?', createdFrom),
    given('created_at <= ?', createdTo),
    given('discarded = ?', filter.discarded),
    given('locked = ?', filter.locked),
    given('starred = ?', filter.starred),
  ];
}

/** SQLite takes at most 500 of them. */
const ROWS_A_STATEMENT = 250;

export function segmentStore({ read, write, atomic }: Access): SegmentStore {
  return {
    async upsert(segments) {
      if (segments.length === 0) return;
      const [only] = segments;
      if (only && segments.length === 1)
        return write('segments.upsert', db => upsert(db, Segments, only, ['user_id', 'id']));
      const rows = segmentRows(segments);
      await atomic('segments.upsert', async db => {
        for (let first = 0; first < rows.length; first += ROWS_A_STATEMENT) {
          const some = rows.slice(first, first + ROWS_A_STATEMENT);
          await db(Segments.tableName).insert(some).onConflict(['user_id', 'id']).merge();
        }
      });
    },
    list: (userId, conversationIds) =>
      read('segments.list', db =>
        select(
          db,
          Segments,
          [['user_id = ?', userId], oneOf('conversation_id', conversationIds)],
          ['order by start, id'],
        ),
      ),
    last: (userId, conversationId) =>
      read('segments.last', db =>
        first(
          db,
          Segments,
          [
            ['user_id = ?', userId],
            ['conversation_id = ?', conversationId],
          ],
          ['order by "end" desc, id desc limit 1'],
        ),
      ),
    count: (userId, conversationId) =>
      read('segments.count', db =>
        Segments.query(db).where({ user_id: userId, conversation_id: conversationId }).resultSize(),
      ),
    async forgetPerson(userId, personId) {
      await write('segments.forgetPerson', db =>
        Segments.query(db).where({ user_id: userId, person_id: personId }).patch({ personId: null }),
      );
    },
  };
}

/** The last one of an id counts: a statement may not write a row twice. */
function segmentRows(segments: Segment[]): object[] {
  const byId = new Map(segments.map(segment => [`${segment.userId} ${segment.id}`, segment]));
  return [...byId.values()].map(segment => Segments.fromJson(segment).$toDatabaseJson());
}
