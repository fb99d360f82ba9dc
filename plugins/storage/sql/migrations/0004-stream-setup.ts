import type { Knex } from 'knex';

export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('streams', table => {
    table.text('setup');
  });
}
