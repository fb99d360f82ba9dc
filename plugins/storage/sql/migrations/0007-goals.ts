import type { Knex } from 'knex';

export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('goals', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('title').notNullable();
    table.text('desired_outcome');
    table.text('why_it_matters');
    table.text('success_criteria').notNullable();
    table.bigInteger('horizon_at');
    table.text('goal_type').notNullable();
    table.double('start_value').notNullable();
    table.double('current_value').notNullable();
    table.double('target_value');
    table.double('min_value');
    table.double('max_value');
    table.text('unit');
    table.boolean('paused').notNullable();
    table.boolean('reached').notNullable();
    table.bigInteger('created_at').notNullable();
    table.bigInteger('updated_at').notNullable();
    table.primary(['user_id', 'id']);
  });
  await db.raw('create index goals_newest on goals (user_id, created_at desc, id)');
  await db.raw(
    'create index goals_active on goals (user_id, created_at desc, id) where not paused and not reached',
  );
  await db.schema.createTable('goal_progress', table => {
    table.text('user_id').notNullable();
    table.text('goal_id').notNullable();
    table.integer('day').notNullable();
    table.double('value').notNullable();
    table.bigInteger('recorded_at').notNullable();
    table.primary(['user_id', 'goal_id', 'day']);
    table.foreign(['user_id', 'goal_id']).references(['user_id', 'id']).inTable('goals').onDelete('CASCADE');
  });
}
