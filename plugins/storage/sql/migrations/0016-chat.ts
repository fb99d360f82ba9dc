import type { Knex } from 'knex';

/** Adds chats of users about what was said. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('chat_sessions', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('title').notNullable();
    table.bigInteger('created_at').notNullable();
    table.bigInteger('updated_at').notNullable();
    table.primary(['user_id', 'id']);
  });
  await db.raw('create index chat_sessions_newest on chat_sessions (user_id, updated_at desc, id desc)');
  await db.schema.createTable('chat_messages', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable();
    table.text('session_id').notNullable();
    table.text('sender').notNullable();
    table.text('text').notNullable();
    table.text('model');
    table.text('sources').notNullable();
    table.bigInteger('created_at').notNullable();
    table.primary(['user_id', 'id']);
    table.index(['user_id', 'session_id', 'id']);
    table
      .foreign(['user_id', 'session_id'])
      .references(['user_id', 'id'])
      .inTable('chat_sessions')
      .onDelete('CASCADE');
  });
}
