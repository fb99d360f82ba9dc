import type { Knex } from 'knex';

/** Moments of conversations that their owners want to remember. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('marks', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('conversation_id').notNullable();
    table.bigInteger('at').notNullable();
    table.bigInteger('created_at').notNullable();
    table.primary(['user_id', 'id']);
    table
      .foreign(['user_id', 'conversation_id'])
      .references(['user_id', 'id'])
      .inTable('conversations')
      .onDelete('CASCADE');
    table.index(['user_id', 'conversation_id', 'at', 'id']);
  });
}
