import type { Knex } from 'knex';

/**
 * Gives accounts a role, lets them be disabled, makes their names differ by more than case, and allows several hooks of
 * a type per user.
 */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('users', table => {
    table.text('name_key').notNullable().defaultTo('');
    table.text('role').notNullable().defaultTo('owner');
    table.bigInteger('disabled_at');
  });
  await nameKeys(db);
  await db.raw('create unique index users_named on users (name_key)');
  await db.schema.alterTable('hooks', table => {
    table.text('label').notNullable().defaultTo('');
  });
  await db.raw('drop index hooks_of_user');
  await db.raw('create unique index hooks_of_user on hooks (user_id, type, label) where app_id is null');
}

/** Numbers names that differ by case alone, except the oldest, as in "Ada (2)". */
async function nameKeys(db: Knex): Promise<void> {
  const users: { id: string; name: string }[] = await db('users')
    .orderBy(['created_at', 'id'])
    .select('id', 'name');
  const taken = new Set<string>();
  const kept = users.filter(user => !taken.has(keyOf(user.name)) && taken.add(keyOf(user.name)));
  for (const { id, name } of kept)
    await db('users')
      .where({ id })
      .update({ name_key: keyOf(name) });
  for (const { id, name } of users.filter(user => !kept.includes(user))) {
    let number = 2;
    while (taken.has(keyOf(`${name} (${number})`))) number += 1;
    const free = `${name} (${number})`;
    taken.add(keyOf(free));
    await db('users')
      .where({ id })
      .update({ name: free, name_key: keyOf(free) });
  }
}

function keyOf(name: string): string {
  return name.normalize('NFKC').toLowerCase();
}
