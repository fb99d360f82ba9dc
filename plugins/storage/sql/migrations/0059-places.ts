import type { Knex } from 'knex';

/** Adds places with a name, and positions of conversations as columns, so that they can be searched. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('places', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('name').notNullable();
    table.double('latitude').notNullable();
    table.double('longitude').notNullable();
    table.bigInteger('created_at').notNullable();
    table.primary(['user_id', 'id']);
    table.index(['user_id', 'created_at', 'id']);
  });
  await db.schema.alterTable('conversations', table => {
    table.double('latitude');
    table.double('longitude');
  });
  await fill(db);
  await db.raw(
    'create index conversations_place on conversations (user_id, latitude) where latitude is not null',
  );
}

async function fill(db: Knex): Promise<void> {
  const found: { user_id: string; id: string; geolocation: string }[] = await db('conversations')
    .whereNotNull('geolocation')
    .select('user_id', 'id', 'geolocation');
  for (const { user_id, id, geolocation } of found) {
    const { latitude, longitude } = JSON.parse(geolocation);
    await db('conversations').where({ user_id, id }).update({ latitude, longitude });
  }
}
