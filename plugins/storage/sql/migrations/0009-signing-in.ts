import type { Knex } from 'knex';

/** Attempts belong to nobody: what was typed may be the name of no account. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('users', table => {
    table.bigInteger('signed_out_at');
  });
  await db.schema.createTable('attempts', table => {
    table.text('key').primary();
    table.integer('count').notNullable();
    table.bigInteger('until').notNullable().index();
  });
}
