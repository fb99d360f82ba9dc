import type { Knex } from 'knex';

/** A claim outlives what it was taken for: so it names no conversation. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('claims', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.bigInteger('created_at').notNullable();
    table.primary(['user_id', 'id']);
  });
}
