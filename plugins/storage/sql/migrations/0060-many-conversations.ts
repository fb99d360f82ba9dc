import type { Knex } from 'knex';

/**
 * Adds indexes for queries that would read all conversations of an account: for the few that are not finished, for those
 * with a position, and for the number in each folder.
 */
export async function up(db: Knex): Promise<void> {
  const order = 'user_id, created_at desc, id';
  await db.raw(`create index conversations_unfinished on conversations (${order})
    where status in ('in_progress', 'processing')`);
  await db.raw(`create index conversations_located on conversations (${order}) where latitude is not null`);
  await db.raw('drop index conversations_folder');
  await db.raw('create index conversations_folder on conversations (user_id, folder_id, discarded)');
}
