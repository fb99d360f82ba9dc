import type { Knex } from 'knex';

/** Adds a record of everything that an import from another product stored, so that it can be undone. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('foreign_imports', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('format').notNullable();
    table.text('name').notNullable();
    table.text('state').notNullable();
    table.text('counts').notNullable();
    table.bigInteger('started_at').notNullable();
    table.bigInteger('ended_at');
    table.primary(['user_id', 'id']);
  });
  await db.schema.createTable('foreign_items', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable();
    table.text('import_id').notNullable();
    table.text('kind').notNullable();
    table.primary(['user_id', 'id']);
    table.index(['user_id', 'import_id', 'id']);
    table
      .foreign(['user_id', 'import_id'])
      .references(['user_id', 'id'])
      .inTable('foreign_imports')
      .onDelete('CASCADE');
  });
}
