import type { Knex } from 'knex';

/** The secret links by which calendars read an account's tasks and events, and the calendars that tasks are kept in. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('calendar_links', table => {
    table.text('user_id').primary().references('id').inTable('users').onDelete('CASCADE');
    table.text('hash').notNullable().unique();
    table.text('hint').notNullable();
    table.bigInteger('created_at').notNullable();
  });
  await db.schema.createTable('calendars', table => {
    table.text('user_id').primary().references('id').inTable('users').onDelete('CASCADE');
    table.text('plugin').notNullable();
    table.text('address').notNullable();
    table.boolean('enabled').notNullable();
    table.text('off_reason');
    table.bigInteger('failing_since');
    table.bigInteger('created_at').notNullable();
    table.bigInteger('synced_at');
  });
  await db.schema.createTable('calendar_tasks', table => {
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('task_id').notNullable();
    table.text('version').notNullable();
    table.bigInteger('agreed_at').notNullable();
    table.primary(['user_id', 'task_id']);
  });
}
