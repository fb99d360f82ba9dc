import type { Knex } from 'knex';

/** Adds speakers of conversations and voice samples, deleted along with the conversation, person or account. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('segments', table => {
    table.boolean('profile_compared').notNullable().defaultTo(false);
  });
  await db.schema.alterTable('speech_settings', table => {
    table.boolean('label_voices').notNullable().defaultTo(true);
  });
  await db.schema.createTable('voices', table => {
    table.text('user_id').notNullable();
    table.text('conversation_id').notNullable();
    table.integer('speaker_id').notNullable();
    table.text('space');
    table.text('vector');
    table.double('seconds').notNullable();
    table.boolean('is_user').notNullable();
    table.text('person_id');
    table.boolean('is_chosen').notNullable();
    table.bigInteger('updated_at').notNullable();
    table.primary(['user_id', 'conversation_id', 'speaker_id']);
    table
      .foreign(['user_id', 'conversation_id'])
      .references(['user_id', 'id'])
      .inTable('conversations')
      .onDelete('CASCADE');
  });
  await db.schema.createTable('voice_samples', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('person_id');
    table.text('space').notNullable();
    table.text('vector').notNullable();
    table.double('seconds').notNullable();
    table.text('conversation_id');
    table.integer('speaker_id');
    table.bigInteger('created_at').notNullable();
    table.primary(['user_id', 'id']);
    table
      .foreign(['user_id', 'person_id'])
      .references(['user_id', 'id'])
      .inTable('people')
      .onDelete('CASCADE');
  });
}
