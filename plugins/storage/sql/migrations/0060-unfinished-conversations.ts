import type { Knex } from 'knex';

/** Adds an index of conversations that are not finished: a few among all that an account has. */
export async function up(db: Knex): Promise<void> {
  await db.raw(`create index conversations_unfinished on conversations (user_id, created_at desc, id)
    where status in ('in_progress', 'processing')`);
}
