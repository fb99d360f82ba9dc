import type { Knex } from 'knex';

/** Adds the sources and earlier texts of memories, and marks that recognise deleted ones. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('memories', table => {
    table.text('topic');
    table.bigInteger('as_of').notNullable().defaultTo(0);
    table.text('sources').notNullable().defaultTo('[]');
    table.text('history').notNullable().defaultTo('[]');
  });
  await db('memories').update({ as_of: db.ref('updated_at') });
  await db.raw('create index memories_topic on memories (user_id, topic, id) where topic is not null');
  await db.raw(
    'create index memories_unreviewed on memories (user_id, locked, scoring desc, id) where not reviewed',
  );
  await db.schema.createTable('forgotten_memories', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('salt').notNullable();
    table.text('words').notNullable();
    table.bigInteger('forgotten_at').notNullable();
    table.primary(['user_id', 'id']);
  });
  await db.raw('create index forgotten_newest on forgotten_memories (user_id, forgotten_at desc, id desc)');
}
