import type { Knex } from 'knex';
import type { ActionItem, Conversation, Memory } from '../../../core/contract/model.ts';
import { ActionItems, Conversations, Folders, Memories, Users } from '../../../plugins/storage/sql/models.ts';

/** Rows per statement; SQLite accepts at most 500. */
const CHUNK = 250;
const MINUTE_MS = 60_000;
const NOW = Date.UTC(2026, 0, 1);
/** Number of other users, and their share of the rows. */
const OTHERS = 19;
const SHARE = 0.05;

/** Rows of each user. */
const ROWS = {
  [Conversations.tableName]: (userId: string, number: number) =>
    Conversations.fromJson(conversation(userId, number)).$toDatabaseJson(),
  [Memories.tableName]: (userId: string, number: number) =>
    Memories.fromJson(memory(userId, number)).$toDatabaseJson(),
  [ActionItems.tableName]: (userId: string, number: number) =>
    ActionItems.fromJson(actionItem(userId, number)).$toDatabaseJson(),
};

/** Creates this many conversations, memories and action items of one user among 20. */
export async function addRows(db: Knex, userId: string, count: number): Promise<void> {
  const folder = Folders.fromJson({
    ...{ id: idOf(0), userId, name: 'Work', description: null, color: '#3B82F6', icon: '💼' },
    ...{ order: 0, isDefault: false, isSystem: true, createdAt: NOW, updatedAt: NOW },
  });
  await db.transaction(async tx => {
    const others = await addUsers(tx);
    await tx(Folders.tableName).insert(folder.$toDatabaseJson());
    for (const [table, rowOf] of Object.entries(ROWS)) {
      for (let first = 1; first <= count; first += CHUNK) {
        const length = Math.min(CHUNK, count - first + 1);
        await tx(table).insert(Array.from({ length }, (_, at) => rowOf(userId, first + at)));
      }
      const columns = Object.keys(rowOf(userId, 1)).filter(column => column !== 'user_id');
      for (const other of others)
        await tx.raw(
          `insert into ${table} (user_id, ${columns})
           select ?, ${columns} from ${table} where user_id = ? and id <= ?`,
          [other, userId, idOf(Math.ceil(count * SHARE))],
        );
    }
  });
}

async function addUsers(db: Knex): Promise<string[]> {
  const ids = Array.from({ length: OTHERS }, (_, at) => idOf(at + 1));
  const user = {
    issuer: 'bench',
    createdAt: NOW,
    memoryAccess: true,
    signedOutAt: null,
    role: 'owner',
    disabledAt: null,
  } as const;
  const rows = ids.map((id, at) => ({
    ...{ id, name: `user ${at}`, nameKey: `user ${at}` },
    ...{ subject: id, ...user },
  }));
  await db(Users.tableName).insert(rows.map(row => Users.fromJson(row).$toDatabaseJson()));
  return ids;
}

/** In the form of a UUIDv7. */
export function idOf(number: number): string {
  return `01980000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`;
}

export function conversation(userId: string, number: number): Conversation {
  const createdAt = NOW + number * MINUTE_MS;
  const dueAt = createdAt + 60 * MINUTE_MS;
  return {
    id: idOf(number),
    userId,
    status: 'completed',
    createdAt,
    startedAt: createdAt + 1,
    finishedAt: createdAt + MINUTE_MS,
    structured: {
      title: `Planning the budget, part ${number}`,
      overview:
        'The budget for next year was gone through line by line; the garden gets less, and the journey is put off.',
      category: 'finance',
      emoji: '💰',
      actionItems: [{ description: 'Send the table to Eve', completed: false, dueAt }],
      events: [],
    },
    language: 'en',
    source: 'omi',
    deviceId: 'omi_0123456789ab',
    folderId: idOf(0),
    geolocation: null,
    discarded: false,
    starred: false,
    locked: false,
    timeoutMs: 120_000,
    lastActivityAt: createdAt + MINUTE_MS,
  };
}

function memory(userId: string, number: number): Memory {
  const createdAt = NOW + number * MINUTE_MS;
  return {
    id: idOf(number),
    userId,
    content: `Planned part ${number} of the budget with Eve, who would rather have a larger garden`,
    category: 'work',
    visibility: 'private',
    tags: ['budget'],
    createdAt,
    updatedAt: createdAt,
    manuallyAdded: false,
    scoring: `00_997_${createdAt / 1000}`,
    reviewed: false,
    userReview: true,
    edited: false,
    locked: false,
    topic: null,
    asOf: createdAt,
    sources: [],
    history: [],
  };
}

/** Every second one has a due date, every third is done. */
function actionItem(userId: string, number: number): ActionItem {
  const createdAt = NOW + number * MINUTE_MS;
  const completed = number % 3 === 0;
  return {
    id: idOf(number),
    userId,
    description: `Send part ${number} of the budget to Eve`,
    completed,
    createdAt,
    updatedAt: createdAt,
    dueAt: number % 2 === 0 ? createdAt + 60 * MINUTE_MS : null,
    completedAt: completed ? createdAt + MINUTE_MS : null,
    conversationId: null,
    segmentId: null,
    locked: false,
  };
}
