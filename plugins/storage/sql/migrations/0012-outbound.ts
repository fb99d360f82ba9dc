import type { Knex } from 'knex';

/** Adds what leaves the server: apps and webhooks, deliveries to them, and notifications. */
export async function up(db: Knex): Promise<void> {
  await apps(db);
  await hooks(db);
  await deliveries(db);
  await notifications(db);
}

async function apps(db: Knex): Promise<void> {
  await db.schema.createTable('apps', table => {
    table.text('id').primary();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('name').notNullable();
    table.text('description').notNullable();
    table.text('capabilities').notNullable();
    table.text('triggers_on').notNullable();
    table.text('webhook_url');
    table.text('setup_completed_url');
    table.text('actions').notNullable();
    table.text('notification_scopes').notNullable();
    table.bigInteger('created_at').notNullable();
    table.bigInteger('updated_at').notNullable();
  });
  await db.raw('create index apps_newest on apps (created_at desc, id)');
  await db.raw('create index apps_owned on apps (user_id, created_at desc, id)');
  await db.schema.createTable('app_keys', table => {
    table.text('id').notNullable();
    table.text('app_id').notNullable().references('id').inTable('apps').onDelete('CASCADE');
    table.text('user_id').notNullable();
    table.text('hash').notNullable().unique();
    table.text('hint').notNullable();
    table.bigInteger('created_at').notNullable();
    table.primary(['app_id', 'id']);
  });
  await db.schema.createTable('installations', table => {
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('app_id').notNullable().references('id').inTable('apps').onDelete('CASCADE');
    table.text('scopes').notNullable();
    table.text('actions').notNullable();
    table.bigInteger('installed_at').notNullable();
    table.primary(['user_id', 'app_id']);
    table.index('app_id');
  });
}

/** One hook of each type per user and per app. */
async function hooks(db: Knex): Promise<void> {
  await db.schema.createTable('hooks', table => {
    table.text('id').primary();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('app_id').references('id').inTable('apps').onDelete('CASCADE');
    table.text('type').notNullable();
    table.text('url').notNullable();
    table.double('seconds');
    table.boolean('enabled').notNullable();
    table.text('off_reason');
    table.bigInteger('failing_since');
    table.text('secret').notNullable();
    table.text('old_secret');
    table.bigInteger('old_secret_until');
    table.bigInteger('created_at').notNullable();
    table.bigInteger('updated_at').notNullable();
    table.index(['user_id', 'created_at', 'id']);
  });
  await db.raw('create unique index hooks_of_user on hooks (user_id, type) where app_id is null');
  await db.raw('create unique index hooks_of_app on hooks (app_id, type) where app_id is not null');
}

/** Every list of the log follows an index, newest last. Deliveries outlive their targets. */
async function deliveries(db: Knex): Promise<void> {
  await db.schema.createTable('deliveries', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('target_kind').notNullable();
    table.text('target_id').notNullable();
    table.text('app_id');
    table.text('type').notNullable();
    table.text('subject').notNullable();
    table.text('state').notNullable();
    table.integer('attempts').notNullable();
    table.bigInteger('next_at');
    table.bigInteger('created_at').notNullable();
    table.bigInteger('ended_at');
    table.text('replay_of');
    table.text('query').notNullable();
    table.text('content_type').notNullable();
    table.text('body'); // last, because lists do not read it
    table.primary(['user_id', 'id']);
    table.index(['user_id', 'subject']);
    table.index(['user_id', 'target_id', 'id']);
    table.index(['user_id', 'state', 'id']);
    table.index(['user_id', 'target_id', 'state', 'id']);
  });
  const ofApps: Record<string, string> = {
    deliveries_app: 'app_id, id',
    deliveries_app_state: 'app_id, state, id',
    deliveries_app_target: 'target_id, id',
    deliveries_app_target_state: 'target_id, state, id',
  };
  for (const [name, columns] of Object.entries(ofApps))
    await db.raw(`create index ${name} on deliveries (${columns}) where app_id is not null`);
  await db.raw(`create index deliveries_due on deliveries (target_id, next_at, id) where state = 'pending'`);
  await db.raw(`create index deliveries_over on deliveries (created_at) where state <> 'pending'`);
  await db.schema.createTable('delivery_attempts', table => {
    table.text('user_id').notNullable();
    table.text('delivery_id').notNullable();
    table.integer('number').notNullable();
    table.bigInteger('at').notNullable();
    table.integer('took_ms').notNullable();
    table.integer('status');
    table.text('error');
    table.text('answer');
    table.primary(['user_id', 'delivery_id', 'number']);
    table
      .foreign(['user_id', 'delivery_id'])
      .references(['user_id', 'id'])
      .inTable('deliveries')
      .onDelete('CASCADE');
  });
}

async function notifications(db: Knex): Promise<void> {
  await db.schema.createTable('notifications', table => {
    table.text('id').notNullable();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('app_id'); // may outlive it, so no foreign key
    table.text('event').notNullable();
    table.text('rule').notNullable();
    table.text('title').notNullable();
    table.text('text').notNullable();
    table.text('data').notNullable();
    table.bigInteger('created_at').notNullable().index();
    table.bigInteger('read_at');
    table.text('silence');
    table.bigInteger('held_until');
    table.primary(['user_id', 'id']);
    table.index(['user_id', 'app_id', 'id']);
  });
  await db.raw('create index notifications_unread on notifications (user_id, id) where read_at is null');
  await db.raw(
    'create index notifications_held on notifications (user_id, held_until, id) where held_until is not null',
  );
  await db.schema.createTable('notification_settings', table => {
    table.text('user_id').primary().references('id').inTable('users').onDelete('CASCADE');
    table.text('time_zone').notNullable();
    table.text('quiet_hours');
    table.integer('digest_at');
    table.text('muted').notNullable();
    table.text('budgets').notNullable();
    table.integer('day_summary_at');
  });
  await db.schema.createTable('channel_addresses', table => {
    table.text('id').primary();
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('channel').notNullable();
    table.text('label').notNullable();
    table.text('address').notNullable();
    table.boolean('enabled').notNullable();
    table.text('off_reason');
    table.bigInteger('failing_since');
    table.bigInteger('created_at').notNullable();
    table.index(['user_id', 'created_at', 'id']);
  });
}
