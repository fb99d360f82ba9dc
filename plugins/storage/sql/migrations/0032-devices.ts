import type { Knex } from 'knex';

/** Adds the wearables of each account as bridges report them. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('devices', table => {
    table.text('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE');
    table.text('id').notNullable();
    table.text('name');
    table.text('advertised_name').notNullable();
    table.text('source').notNullable();
    table.text('driver').notNullable();
    table.text('model');
    table.text('firmware');
    table.text('state').notNullable();
    table.text('reason');
    table.text('codec');
    table.integer('battery');
    table.boolean('low_battery').notNullable();
    table.integer('rssi');
    table.bigInteger('storage_free_bytes');
    table.bigInteger('frames').notNullable();
    table.bigInteger('lost').notNullable();
    table.text('notes').notNullable();
    table.text('bridge_id').notNullable();
    table.text('bridge_name').notNullable();
    table.text('bridge_version');
    table.bigInteger('connected_at');
    table.bigInteger('last_seen_at').notNullable();
    table.bigInteger('reported_at').notNullable();
    table.bigInteger('button_at');
    table.bigInteger('created_at').notNullable();
    table.primary(['user_id', 'id']);
    table.index(['state', 'reported_at'], 'devices_silent');
  });
}
