import type { Knex } from 'knex';

export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('keys', table => {
    table.bigInteger('last_used_at');
  });
  await grants(db);
  await db.schema.createTable('rate_limits', table => {
    table.text('user_id').notNullable(); // may be deleted before a process writes its count, so no foreign key
    table.text('subject').notNullable();
    table.text('policy').notNullable();
    table.bigInteger('full_at').notNullable();
    table.primary(['user_id', 'subject', 'policy']);
    table.index('full_at');
  });
}

/** Gives existing keys the scopes that new ones get. */
async function grants(db: Knex): Promise<void> {
  await db.schema.createTable('grants', table => {
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('grantee').notNullable();
    table.text('name').notNullable();
    table.bigInteger('created_at').notNullable();
    table.primary(['user_id', 'grantee', 'name']);
  });
  for (const name of ['memories:read', 'memories:write'])
    await db.raw(
      `insert into grants (user_id, grantee, name, created_at)
       select user_id, id, ?, created_at from keys where scopes like ?`,
      [name, `%"${name}"%`],
    );
}
