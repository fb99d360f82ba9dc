import type { Knex } from 'knex';
import { createWordIndex } from '../word-index.ts';

export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('users', table => {
    table.boolean('memory_access').notNullable().defaultTo(true);
  });
  await memories(db);
  await vectors(db);
  await orderedLists(db);
}

async function memories(db: Knex): Promise<void> {
  await db.schema.createTable('memories', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('content').notNullable();
    table.text('words').notNullable();
    table.text('category').notNullable();
    table.text('visibility').notNullable();
    table.text('tags').notNullable();
    table.bigInteger('created_at').notNullable();
    table.bigInteger('updated_at').notNullable();
    table.boolean('manually_added').notNullable();
    table.text('scoring').notNullable();
    table.boolean('reviewed').notNullable();
    table.boolean('user_review');
    table.boolean('edited').notNullable();
    table.boolean('locked').notNullable();
    table.primary(['user_id', 'id']);
  });
  await db.raw('create index memories_best on memories (user_id, locked, scoring desc, id)');
  await db.raw('create index memories_of on memories (user_id, locked, category, scoring desc, id)');
  await createWordIndex(db, 'memories');
}

/** A pending change of vectors outlives its memory, which may be deleted before the change is applied. */
async function vectors(db: Knex): Promise<void> {
  await db.schema.createTable('memory_changes', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.bigInteger('changed_at').notNullable();
    table.primary(['user_id', 'id']);
  });
  await db.schema.createTable('embeddings', table => {
    table.text('user_id').primary().references('id').inTable('users').onDelete('CASCADE');
    table.text('space').notNullable();
    table.text('cursor');
  });
}

/** Adds the sort keys of these lists to their index. */
async function orderedLists(db: Knex): Promise<void> {
  await db.raw('create index folders_ordered on folders (user_id, "order", id)');
  await db.raw('create index keys_newest on keys (user_id, created_at desc, id)');
  await db.raw('create index segments_ordered on segments (user_id, conversation_id, start, id)');
  await db.schema.alterTable('segments', table => {
    table.dropIndex(['user_id', 'conversation_id', 'start']);
  });
  await db.raw('create index jobs_due on jobs (state, due_at, id, kind)');
  await db.schema.alterTable('jobs', table => {
    table.dropIndex(['kind', 'state', 'due_at']);
  });
}
