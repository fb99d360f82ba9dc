import type { Knex } from 'knex';

/** Adds the segment in which an action item was heard. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('action_items', table => {
    table.text('segment_id');
  });
}
