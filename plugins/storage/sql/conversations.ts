import { setImmediate as othersTurn } from 'node:timers/promises';
import type { Knex } from 'knex';
import type { Segment } from '../../../core/contract/model.ts';
import type {
  ConversationFilter,
  ConversationStore,
  ExpiryFilter,
  Near,
  SegmentStore,
} from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { Conversations, Segments, type Value } from './models.ts';
import { removePassages } from './passages.ts';
import {
  type Clause,
  count,
  first,
  given,
  insert,
  joined,
  keyOf,
  oneOf,
  run,
  select,
  update,
  upsert,
} from './statements.ts';

export function conversationStore({ read, write, atomic }: Access): ConversationStore {
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
          [['user_id = ?', userId], ...conditions(userId, filter)],
          ['order by created_at desc, id limit ? offset ?', filter.limit, filter.offset],
        ),
      ),
    positions: (userId, filter) =>
      read('conversations.positions', async db => {
        const where = joined([
          ['user_id = ?', userId],
          ['latitude is not null'],
          ...conditions(userId, filter),
        ]);
        const sql = `select geolocation, coalesce(started_at, created_at) as at from conversations
          where ${where.sql} order by created_at desc, id limit ? offset ?`;
        const { rows } = await run(db, sql, [...where.values, filter.limit, filter.offset]);
        return rows.map(row => ({ ...JSON.parse(String(row.geolocation)), at: Number(row.at) }));
      }),
    findOpen: (userId, source, deviceId) =>
      read('conversations.findOpen', db =>
        first(
          db,
          Conversations,
          [
            ['user_id = ?', userId],
            ['source = ?', source],
            deviceId === null ? ['device_id is null'] : ['device_id = ?', deviceId],
            ["status = 'in_progress'"], // as its index has it: a parameter would make SQLite read all rows
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
      atomic('conversations.remove', async db => {
        await removePassages(statement => statement(db), userId, id);
        await removeSegments(db, userId, id);
        return (await Conversations.query(db).delete().where({ user_id: userId, id })) > 0;
      }),
    expired: (userId, filter, limit) =>
      read('conversations.expired', db =>
        select(db, Conversations, ended(userId, filter), ['order by created_at, id limit ?', limit]),
      ),
    countExpired: (userId, filter) =>
      read('conversations.countExpired', db => count(db, Conversations, ended(userId, filter))),
    async refile(userId, fromFolder, toFolder) {
      await write('conversations.refile', db =>
        Conversations.query(db)
          .where({ user_id: userId, folder_id: fromFolder })
          .patch({ folderId: toFolder }),
      );
    },
  };
}

/** Selects conversations that ended before an instant. */
function ended(userId: string, filter: ExpiryFilter): Clause[] {
  return [...expirable(userId, filter), ['coalesce(finished_at, last_activity_at) < ?', filter.before]];
}

/** Selects conversations that retention may delete, whatever their age. */
export function expirable(userId: string, { folderId, otherThan, keepStarred }: ExpiryFilter): Clause[] {
  const clauses: Clause[] = [
    ['user_id = ?', userId],
    [`status in ('completed', 'failed')`],
    ['locked = ?', false],
  ];
  if (keepStarred) clauses.push(['starred = ?', false]);
  if (folderId !== null) clauses.push(['folder_id = ?', folderId]);
  else if (otherThan.length > 0)
    clauses.push([`(folder_id is null or folder_id not in (${otherThan.map(() => '?')}))`, ...otherThan]);
  return clauses;
}

/** Deletes segments in batches before their conversation: a cascade over many rows would block the thread. */
async function removeSegments(db: Knex, userId: string, conversationId: string): Promise<void> {
  const sql = `delete from segments where user_id = ? and id in
    (select id from segments where user_id = ? and conversation_id = ? limit ${ROWS_AT_ONCE})`;
  while ((await run(db, sql, [userId, userId, conversationId])).changes === ROWS_AT_ONCE) await othersTurn();
}

const SPOKEN_BY = 'id in (select conversation_id from segments where user_id = ? and person_id = ?)';

/** The condition of the index `conversations_unfinished`. */
const UNFINISHED = "status in ('in_progress', 'processing')";

function conditions(userId: string, filter: ConversationFilter): (Clause | undefined)[] {
  const { ids, statuses, categories, folderId, createdFrom, createdTo, startedFrom, startedTo } = filter;
  return [
    ids && oneOf('id', ids),
    statuses && oneOf('status', statuses),
    statuses?.every(status => status === 'in_progress' || status === 'processing') ? [UNFINISHED] : undefined,
    categories && oneOf('category', categories),
    given('folder_id = ?', folderId),
    given('source = ?', filter.source),
    filter.personId === undefined ? undefined : [SPOKEN_BY, userId, filter.personId],
    filter.near && within(filter.near),
    given('created_at >= ?', createdFrom),
    given('created_at <= ?', createdTo),
    given('started_at >= ?', startedFrom),
    given('started_at <= ?', startedTo),
    given('discarded = ?', filter.discarded),
    given('locked = ?', filter.locked),
    given('starred = ?', filter.starred),
  ];
}

/** Mean length of a degree of latitude. */
const METRES_PER_DEGREE = 111_195;

/**
 * Compares with a circle on the flat map that has its scale at the circle's centre: off by far less than a position
 * is, up to some 50 km. Longitudes are compared across the 180th meridian as well.
 */
function within({ latitude, longitude, radiusM }: Near): Clause {
  const radius = radiusM / METRES_PER_DEGREE;
  const narrowing = Math.cos((latitude * Math.PI) / 180) ** 2;
  const onMap = '(latitude - ?) * (latitude - ?) + (longitude - ?) * (longitude - ?) * ? <= ?';
  const circle = (east: number) => [latitude, latitude, east, east, narrowing, radius * radius];
  return [
    `latitude between ? and ? and (${onMap} or ${onMap})`,
    ...[latitude - radius, latitude + radius],
    ...circle(longitude),
    ...circle(longitude > 0 ? longitude - 360 : longitude + 360),
  ];
}

/** SQLite accepts at most 500 terms in a compound SELECT. */
const ROWS_A_STATEMENT = 250;
/** Rows moved or deleted by one statement, so that other work can run in between. */
const ROWS_AT_ONCE = 200;
/** Rows whose texts are measured by one statement. */
const ROWS_MEASURED = 500;

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
    async move(userId, from, { to, seconds, since }) {
      await atomic('segments.move', async db => {
        const ids = await idsOf(db, userId, from, since);
        for (let first = 0; first < ids.length; first += ROWS_AT_ONCE) {
          if (first > 0) await othersTurn();
          const some = ids.slice(first, first + ROWS_AT_ONCE);
          const sql = `update segments set conversation_id = ?, start = ${LATER('start')}, "end" = ${LATER('"end"')}
            where user_id = ? and id in (${some.map(() => '?')})`;
          await run(db, sql, [to, seconds, seconds, seconds, seconds, userId, ...some]);
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
    page: (userId, conversationId, after, limit) =>
      read('segments.page', db =>
        select(
          db,
          Segments,
          [
            ['user_id = ?', userId],
            ['conversation_id = ?', conversationId],
            after ? ['(start, id) > (?, ?)', after.start, after.id] : undefined,
          ],
          ['order by start, id limit ?', limit],
        ),
      ),
    get: (userId, id) => read('segments.get', db => first(db, Segments, keyOf(userId, id))),
    size: (userId, conversationId) =>
      read('segments.size', async db => {
        const size = { segments: 0, textBytes: 0 };
        for (let after: Value[] = []; ; await othersTurn()) {
          const sql = `select start, id, octet_length(text) as bytes from segments
            where user_id = ? and conversation_id = ? ${after.length > 0 ? 'and (start, id) > (?, ?)' : ''}
            order by start, id limit ${ROWS_MEASURED}`;
          const { rows } = await run(db, sql, [userId, conversationId, ...after]);
          size.segments += rows.length;
          for (const { bytes } of rows) size.textBytes += Number(bytes);
          const last = rows.at(-1);
          if (!last || rows.length < ROWS_MEASURED) return size;
          after = [Number(last.start), String(last.id)];
        }
      }),
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
    async forgetPerson(userId, personId, other) {
      await write('segments.forgetPerson', db =>
        Segments.query(db)
          .where({ user_id: userId, person_id: personId })
          .patch({ personId: other ?? null }),
      );
    },
    ofSpeaker: (userId, conversationId, speakerId) =>
      read('segments.ofSpeaker', db =>
        select(
          db,
          Segments,
          [
            ['user_id = ?', userId],
            ['conversation_id = ?', conversationId],
            ['speaker_id = ?', speakerId],
          ],
          ['order by start, id'],
        ),
      ),
    translated: (userId, id, text, translations) =>
      write(
        'segments.translated',
        async db =>
          (await Segments.query(db).where({ user_id: userId, id, text }).patch({ translations })) > 0,
      ),
  };
}

/** In whole milliseconds, never negative. */
const LATER = (column: string) =>
  `case when ${column} + ? > 0 then round((${column} + ?) * 1000) / 1000 else 0 end`;

/** Reads all ids before any row changes its position. */
async function idsOf(
  db: Knex,
  userId: string,
  conversationId: string,
  since: Pick<Segment, 'start' | 'id'> | undefined,
): Promise<string[]> {
  const where = `user_id = ? and conversation_id = ? ${since ? 'and (start, id) >= (?, ?)' : ''}`;
  const sql = `select id from segments where ${where} order by start, id`;
  const { rows } = await run(db, sql, [userId, conversationId, ...(since ? [since.start, since.id] : [])]);
  return rows.map(({ id }) => String(id));
}

/** Keeps the last segment of each id: a statement must not write a row twice. */
function segmentRows(segments: Segment[]): object[] {
  const byId = new Map(segments.map(segment => [`${segment.userId} ${segment.id}`, segment]));
  return [...byId.values()].map(segment => Segments.fromJson(segment).$toDatabaseJson());
}
