import type { PluginContext, PluginStateStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { one, PluginStates } from './models.ts';

const MAX_VALUE_BYTES = 64 * 1024;

export function pluginStateStore(
  { read, write }: Access,
  error: PluginContext<never>['error'],
): PluginStateStore {
  function encode(plugin: string, key: string, value: unknown): string {
    const json: string | undefined = JSON.stringify(value);
    if (json === undefined) throw error('invalid_request', `State ${plugin}/${key}: not a JSON value`);
    const bytes = Buffer.byteLength(json);
    if (bytes <= MAX_VALUE_BYTES) return json;
    throw error('too_large', `State ${plugin}/${key}: ${bytes} bytes, at most ${MAX_VALUE_BYTES} are kept`);
  }

  return {
    get: (plugin, key) =>
      read('pluginState.get', async db => {
        const row = await one(PluginStates.query(db).where({ plugin, key }));
        return row ? { value: JSON.parse(row.value), version: row.version } : null;
      }),
    compareAndSet: (plugin, key, version, value) =>
      write('pluginState.compareAndSet', async db => {
        const json = encode(plugin, key, value);
        const next = { plugin, key, value: json, version: version + 1 };
        if (version > 0) {
          return (await PluginStates.query(db).where({ plugin, key, version }).patch(next)) > 0;
        }
        const rows = await db(PluginStates.tableName)
          .insert(next)
          .onConflict(['plugin', 'key'])
          .ignore()
          .returning('version');
        return rows.length > 0;
      }),
    list: (plugin, prefix) =>
      read('pluginState.list', async db => {
        const rows = await PluginStates.query(db)
          .select('key')
          .where('plugin', plugin)
          .whereRaw('substr(key, 1, ?) = ?', [[...prefix].length, prefix]);
        return rows.map(({ key }) => key).sort();
      }),
    async delete(plugin, key) {
      await write('pluginState.delete', db => PluginStates.query(db).delete().where({ plugin, key }));
    },
  };
}
