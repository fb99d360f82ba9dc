import type { Knex } from 'knex';

/** Adds the language of each segment, its translations, and the language that users prefer to read. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('segments', table => {
    table.text('language');
    table.text('translations');
  });
  await db.schema.createTable('speech_settings', table => {
    table.text('user_id').primary().references('id').inTable('users').onDelete('CASCADE');
    table.text('translate_to');
  });
}
