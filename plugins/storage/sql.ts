import { resolve } from 'node:path';
import type { Plugin } from '../../core/plugin.ts';
import { openSqlite } from './sql/sqlite.ts';
import { createStorage } from './sql/storage.ts';

interface Options {
  client: 'sqlite';
  file: string;
}

export default {
  name: 'sql',
  api: 1,
  title: 'SQL database: SQLite, one file, for a home',
  options: z =>
    z.strictObject({
      client: z.enum(['sqlite']).default('sqlite').describe('Which database'),
      file: z
        .string()
        .min(1)
        .default('earshot.db')
        .describe('The SQLite file, relative to the data directory'),
    }),
  async setup({ options, dataDir, onStop, ...context }) {
    const dialect = openSqlite(resolve(dataDir, options.file), context);
    onStop(() => dialect.close());
    return { storage: await createStorage(dialect, context) };
  },
} satisfies Plugin<Options>;
