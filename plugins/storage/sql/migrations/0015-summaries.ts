import type { Knex } from 'knex';

/** Adds summary templates and the language of summaries. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('summary_templates', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('name').notNullable();
    table.text('instructions').notNullable();
    table.text('categories').notNullable();
    table.bigInteger('created_at').notNullable();
    table.bigInteger('updated_at').notNullable();
    table.primary(['user_id', 'id']);
  });
  await db.schema.createTable('summary_settings', table => {
    table.text('user_id').primary().references('id').inTable('users').onDelete('CASCADE');
    table.text('language');
  });
}
