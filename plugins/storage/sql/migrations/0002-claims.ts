import type { Knex } from 'knex';

/** Adds claims. A claim outlives its conversation and therefore names none. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('claims', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.bigInteger('created_at').notNullable();
    table.primary(['user_id', 'id']);
  });
}
