import type { Knex } from 'knex';

/** Adds photos of wearables, whose files are stored beside the database. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('photos', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('conversation_id').notNullable();
    table.bigInteger('taken_at').notNullable();
    table.bigInteger('created_at').notNullable();
    table.integer('width').notNullable();
    table.integer('height').notNullable();
    table.bigInteger('bytes').notNullable();
    table.text('description');
    table.boolean('discarded').notNullable();
    table.primary(['user_id', 'id']);
    table
      .foreign(['user_id', 'conversation_id'])
      .references(['user_id', 'id'])
      .inTable('conversations')
      .onDelete('CASCADE');
    table.index(['user_id', 'conversation_id', 'taken_at', 'id']);
  });
}
