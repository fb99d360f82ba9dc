import type { Knex } from 'knex';

/**
 * Adds indexes for corrections, which find the segments of a person and the streams of a conversation without a scan.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw('create index segments_person on segments (user_id, person_id) where person_id is not null');
  await db.raw('create index streams_conversation on streams (user_id, conversation_id)');
}
