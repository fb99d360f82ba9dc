import type { Knex } from 'knex';

/** Adds audio that accounts keep; its files are stored beside the database. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('speech_settings', table => {
    table.integer('keep_audio_days');
  });
  await db.schema.createTable('clips', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('conversation_id').notNullable();
    table.bigInteger('started_at').notNullable();
    table.integer('duration_ms').notNullable();
    table.integer('bytes').notNullable();
    table.bigInteger('created_at').notNullable();
    table.primary(['user_id', 'id']);
    table
      .foreign(['user_id', 'conversation_id'])
      .references(['user_id', 'id'])
      .inTable('conversations')
      .onDelete('CASCADE');
    table.index(['user_id', 'conversation_id', 'started_at', 'id']);
    table.index(['user_id', 'started_at', 'id']);
  });
}
