import type { Knex } from 'knex';

/**
 * Adds tasks, with indexes in the order of the lists, for all tasks and for one conversation, so that no list is
 * sorted.
 */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('action_items', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('description').notNullable();
    table.boolean('completed').notNullable();
    table.bigInteger('created_at').notNullable();
    table.bigInteger('updated_at').notNullable();
    table.bigInteger('due_at');
    table.bigInteger('completed_at');
    table.text('conversation_id'); // may outlive it, so no foreign key
    table.boolean('locked').notNullable();
    table.primary(['user_id', 'id']);
  });
  const order = 'locked, completed, (due_at is null), due_at, created_at desc, id';
  await db.raw(`create index action_items_order on action_items (user_id, ${order})`);
  await db.raw(`create index action_items_heard on action_items (user_id, conversation_id, ${order})`);
}
