import type { Knex } from 'knex';

/** Adds the secret links by which calendar programs read an account's events and tasks. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('calendar_links', table => {
    table.text('user_id').primary().references('id').inTable('users').onDelete('CASCADE');
    table.text('hash').notNullable().unique();
    table.text('hint').notNullable();
    table.bigInteger('created_at').notNullable();
  });
}
