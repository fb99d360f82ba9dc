import type { Knex } from 'knex';

/** Adds the browsers and programs that are signed in. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('sessions', table => {
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('id').notNullable();
    table.text('kind').notNullable();
    table.text('user_agent').notNullable();
    table.bigInteger('created_at').notNullable();
    table.bigInteger('last_used_at').notNullable();
    table.bigInteger('expires_at').notNullable();
    table.primary(['user_id', 'id']);
  });
}
