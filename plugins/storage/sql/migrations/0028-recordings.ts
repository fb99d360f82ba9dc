import type { Knex } from 'knex';

/** Adds audio files that become conversations and are stored beside the database until then. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('recordings', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('name').notNullable();
    table.bigInteger('bytes').notNullable();
    table.text('state').notNullable();
    table.text('error');
    table.bigInteger('started_at');
    table.bigInteger('ended_at');
    table.text('language').notNullable();
    table.text('source').notNullable();
    table.bigInteger('silence_ms').notNullable();
    table.bigInteger('duration_ms');
    table.bigInteger('heard_ms').notNullable();
    table.text('conversation_ids').notNullable();
    table.bigInteger('created_at').notNullable();
    table.bigInteger('updated_at').notNullable();
    table.primary(['user_id', 'id']);
    table.index(['user_id', 'created_at', 'id']);
  });
}
