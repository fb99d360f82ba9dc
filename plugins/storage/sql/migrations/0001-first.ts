import type { Knex } from 'knex';

/**
 * Rows of a user have the user's id in their primary and foreign keys: the id of another user's row is free for
 * everyone else, and no segment can refer to another user's conversation.
 */
export async function up(db: Knex): Promise<void> {
  await accounts(db);
  await recordings(db);
  await machinery(db);
}

function owned(table: Knex.CreateTableBuilder): void {
  table.text('id').notNullable();
  table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
  table.primary(['user_id', 'id']);
}

async function accounts(db: Knex): Promise<void> {
  await db.schema.createTable('users', table => {
    table.text('id').primary();
    table.text('name').notNullable().unique();
    table.text('issuer').notNullable();
    table.text('subject').notNullable();
    table.bigInteger('created_at').notNullable();
    table.unique(['issuer', 'subject']);
  });
  await db.schema.createTable('keys', table => {
    owned(table);
    table.text('name').notNullable();
    table.text('hash').notNullable().unique();
    table.text('hint').notNullable();
    table.text('scopes').notNullable();
    table.bigInteger('created_at').notNullable();
    table.index(['user_id', 'created_at']);
  });
  await db.schema.createTable('people', table => {
    owned(table);
    table.text('name').notNullable();
    table.bigInteger('created_at').notNullable();
  });
}

async function recordings(db: Knex): Promise<void> {
  await db.schema.createTable('conversations', table => {
    owned(table);
    table.text('status').notNullable();
    table.bigInteger('created_at').notNullable();
    table.bigInteger('started_at');
    table.bigInteger('finished_at');
    table.text('structured').notNullable();
    table.text('category').notNullable();
    table.text('language');
    table.text('source').notNullable();
    table.text('device_id');
    table.text('folder_id');
    table.text('geolocation');
    table.boolean('discarded').notNullable();
    table.boolean('starred').notNullable();
    table.boolean('locked').notNullable();
    table.bigInteger('timeout_ms').notNullable();
    table.bigInteger('last_activity_at').notNullable();
  });
  await db.raw('create index conversations_newest on conversations (user_id, created_at desc, id)');
  await db.raw(
    `create index conversations_open on conversations (user_id, source, device_id, created_at desc)
     where status = 'in_progress'`,
  );
  await db.schema.createTable('segments', table => {
    owned(table);
    table.text('conversation_id').notNullable();
    table.text('text').notNullable();
    table.double('start').notNullable();
    table.double('end').notNullable();
    table.text('speaker').notNullable();
    table.integer('speaker_id').notNullable();
    table.boolean('is_user').notNullable();
    table.text('person_id');
    table.text('stt_provider');
    table.index(['user_id', 'conversation_id', 'start']);
    table.index(['user_id', 'conversation_id', 'end']);
    table
      .foreign(['user_id', 'conversation_id'])
      .references(['user_id', 'id'])
      .inTable('conversations')
      .onDelete('CASCADE');
  });
  await db.schema.createTable('streams', table => {
    owned(table);
    table.text('client_stream');
    table.integer('channel').notNullable();
    table.text('conversation_id').notNullable(); // may outlive it, so no foreign key
    table.text('source').notNullable();
    table.text('device_id');
    table.text('codec').notNullable();
    table.bigInteger('anchor_at');
    table.bigInteger('through').notNullable();
    table.bigInteger('received').notNullable();
    table.bigInteger('received_sample').notNullable();
    table.unique(['user_id', 'client_stream', 'channel']);
  });
}

async function machinery(db: Knex): Promise<void> {
  await db.schema.createTable('jobs', table => {
    table.text('id').primary();
    table.text('kind').notNullable();
    table.text('key').notNullable();
    table.text('payload').notNullable();
    table.text('state').notNullable();
    table.bigInteger('run_at').notNullable();
    table.bigInteger('due_at').notNullable();
    table.bigInteger('again_at');
    table.integer('attempts').notNullable();
    table.text('lease');
    table.text('error');
    table.bigInteger('created_at').notNullable();
    table.index(['kind', 'state', 'due_at']);
  });
  await db.raw(`create unique index jobs_unfinished on jobs (kind, key) where state = 'open'`);
  await db.schema.createTable('plugin_state', table => {
    table.text('plugin').notNullable();
    table.text('key').notNullable();
    table.text('value').notNullable();
    table.bigInteger('version').notNullable();
    table.primary(['plugin', 'key']);
  });
}
