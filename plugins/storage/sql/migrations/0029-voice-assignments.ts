import type { Knex } from 'knex';

/** Adds assignments of voices to people, with the previous values as long as they can be undone. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('voice_assignments', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('conversation_id').notNullable();
    table.integer('speaker_id').notNullable();
    table.boolean('is_user').notNullable();
    table.text('person_id');
    table.bigInteger('since');
    table.text('state').notNullable();
    table.integer('conversations').notNullable();
    table.integer('segments').notNullable();
    table.bigInteger('created_at').notNullable();
    table.primary(['user_id', 'id']);
  });
  await db.schema.createTable('voice_changes', table => {
    table.text('user_id').notNullable();
    table.text('assignment_id').notNullable();
    table.text('conversation_id').notNullable();
    table.integer('speaker_id').notNullable();
    table.boolean('is_user').notNullable();
    table.text('person_id');
    table.boolean('is_chosen').notNullable();
    table.text('segments').notNullable();
    table.primary(['user_id', 'assignment_id', 'conversation_id', 'speaker_id']);
    table
      .foreign(['user_id', 'assignment_id'])
      .references(['user_id', 'id'])
      .inTable('voice_assignments')
      .onDelete('CASCADE');
    table
      .foreign(['user_id', 'conversation_id'])
      .references(['user_id', 'id'])
      .inTable('conversations')
      .onDelete('CASCADE');
  });
}
