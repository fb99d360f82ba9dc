import type { Knex } from 'knex';
import type { Conversation } from '../../../core/model.ts';
import { Conversations, Folders } from '../../../plugins/storage/sql/models.ts';

/** Rows of one statement; SQLite takes at most 500 of them. */
const CHUNK = 250;
const MINUTE_MS = 60_000;
const NOW = Date.UTC(2026, 0, 1);

/** So many conversations of one user, as the pipeline leaves them: completed, and in a folder. */
export async function addConversations(db: Knex, userId: string, count: number): Promise<void> {
  const folder = Folders.fromJson({
    ...{ id: idOf(0), userId, name: 'Work', description: null, color: '#3B82F6', icon: '💼' },
    ...{ order: 0, isDefault: false, isSystem: true, createdAt: NOW, updatedAt: NOW },
  });
  await db.transaction(async tx => {
    await tx(Folders.tableName).insert(folder.$toDatabaseJson());
    for (let first = 1; first <= count; first += CHUNK) {
      const numbers = Array.from({ length: Math.min(CHUNK, count - first + 1) }, (_, at) => first + at);
      const rows = numbers.map(number =>
        Conversations.fromJson(conversation(userId, number)).$toDatabaseJson(),
      );
      await tx(Conversations.tableName).insert(rows);
    }
  });
}

/** In the form of a UUIDv7. */
export function idOf(number: number): string {
  return `01980000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`;
}

function conversation(userId: string, number: number): Conversation {
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
