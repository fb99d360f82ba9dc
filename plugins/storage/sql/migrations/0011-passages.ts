import type { Knex } from 'knex';
import { putPassages } from '../passages.ts';
import { createWordIndex } from '../word-index.ts';

export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('passages', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable();
    table.text('conversation_id').notNullable();
    table.text('text').notNullable();
    table.text('words').notNullable();
    table.boolean('locked').notNullable();
    table.primary(['user_id', 'id']);
    table.index(['user_id', 'conversation_id']);
    table
      .foreign(['user_id', 'conversation_id'])
      .references(['user_id', 'id'])
      .inTable('conversations')
      .onDelete('CASCADE');
  });
  await createWordIndex(db, 'passages');
  await db.raw('create index people_oldest on people (user_id, created_at, id)');
  await fill(db);
}

/** Fills the table from existing conversations, as the domain does for new ones. */
async function fill(db: Knex): Promise<void> {
  const shown = { status: 'completed', discarded: false };
  const found: { user_id: string; id: string; structured: string }[] = await db('conversations')
    .where(shown)
    .select('user_id', 'id', 'structured');
  for (const { user_id: userId, id: conversationId, structured } of found) {
    const { title, overview } = JSON.parse(structured);
    const said: { text: string }[] = await db('segments')
      .where({ user_id: userId, conversation_id: conversationId })
      .orderBy(['start', 'id'])
      .select('text');
    await putPassages(statement => statement(db), {
      userId,
      conversationId,
      texts: [title, overview, ...said.map(({ text }) => text)],
    });
  }
}
