import type { Knex } from 'knex';

/** Adds each user's pauses of listening. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('listening_settings', table => {
    table.text('user_id').primary().references('id').inTable('users').onDelete('CASCADE');
    table.text('schedule').notNullable();
    table.text('exceptions').notNullable();
  });
}
