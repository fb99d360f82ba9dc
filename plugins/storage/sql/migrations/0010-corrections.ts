import type { Knex } from 'knex';

/** What people correct is found without a look at every row: the words of a person, the streams of a conversation. */
export async function up(db: Knex): Promise<void> {
  await db.raw('create index segments_person on segments (user_id, person_id) where person_id is not null');
  await db.raw('create index streams_conversation on streams (user_id, conversation_id)');
}
