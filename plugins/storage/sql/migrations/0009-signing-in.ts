import type { Knex } from 'knex';

/** Adds sign-in attempts. They have no owner, because the name typed may belong to no account. */
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
