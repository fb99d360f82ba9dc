import type { Knex } from 'knex';

export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('folders', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('name').notNullable();
    table.text('description');
    table.text('color').notNullable();
    table.text('icon').notNullable();
    table.integer('order').notNullable();
    table.boolean('is_default').notNullable();
    table.boolean('is_system').notNullable();
    table.bigInteger('created_at').notNullable();
    table.bigInteger('updated_at').notNullable();
    table.primary(['user_id', 'id']);
  });
  await db.raw('create unique index folders_system on folders (user_id, name) where is_system');
  await db.raw('create index conversations_folder on conversations (user_id, folder_id)');
}
