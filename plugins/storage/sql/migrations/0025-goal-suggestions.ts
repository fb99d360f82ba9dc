import type { Knex } from 'knex';

/** Adds changes of goals that conversations suggest, and the owners' answers. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('goal_suggestions', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable();
    table.text('goal_id').notNullable();
    table.text('conversation_id').notNullable();
    table.text('segment_ids').notNullable();
    table.text('text').notNullable();
    table.double('value').notNullable();
    table.boolean('adds').notNullable();
    table.text('state').notNullable();
    table.bigInteger('created_at').notNullable();
    table.primary(['user_id', 'id']);
    table.index(['user_id', 'conversation_id', 'id']);
    table.index(['user_id', 'goal_id']);
    table.foreign(['user_id', 'goal_id']).references(['user_id', 'id']).inTable('goals').onDelete('CASCADE');
    table
      .foreign(['user_id', 'conversation_id'])
      .references(['user_id', 'id'])
      .inTable('conversations')
      .onDelete('CASCADE');
  });
  await db.raw(
    "create index goal_suggestions_open on goal_suggestions (user_id, created_at desc, id) where state = 'open'",
  );
}
