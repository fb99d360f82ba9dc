import type { Knex } from 'knex';

/** Adds each user's retention periods. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('retention_settings', table => {
    table.text('user_id').primary().references('id').inTable('users').onDelete('CASCADE');
    table.boolean('keep_starred').notNullable();
    table.text('rules').notNullable();
  });
}
