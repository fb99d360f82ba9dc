import type { Knex } from 'knex';

/** Adds the log of who has read each user's data. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('accesses', table => {
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('id').notNullable();
    table.bigInteger('first_at').notNullable();
    table.bigInteger('last_at').notNullable();
    table.integer('count').notNullable();
    table.text('reader').notNullable();
    table.text('reader_id');
    table.text('via').notNullable();
    table.text('operation').notNullable();
    table.text('data').notNullable();
    table.text('subject');
    table.primary(['user_id', 'id']);
    table.index(['last_at'], 'accesses_old');
  });
}
