import type { Knex } from 'knex';

/** In which language each segment was said, what it is in others, and what users want to read. */
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
