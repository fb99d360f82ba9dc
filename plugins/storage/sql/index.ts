import { resolve } from 'node:path';
import type { Plugin } from '../../../core/contract/plugin.ts';
import { diagnosePostgres, diagnoseSqlite } from './diagnosis.ts';
import { openPostgres, type PostgresOptions } from './postgres.ts';
import { openSqlite } from './sqlite.ts';
import { createStorage } from './storage.ts';

interface Options extends PostgresOptions {
  client: 'sqlite' | 'postgres';
  file: string;
}

export default {
  name: 'sql',
  api: 1,
  title: 'SQL database: SQLite, one file, for a home; Postgres where a server is at hand',
  options: z =>
    z.strictObject({
      client: z.enum(['sqlite', 'postgres']).default('sqlite').describe('Which database: sqlite, postgres'),
      file: z.string().min(1).default('earshot.db').describe('SQLite file, relative to the data directory'),
      url: z
        .url({ protocol: /^postgres(ql)?$/, error: 'must be postgres://user:password@host:port/database' })
        .refine(
          url => !URL.canParse(url) || new URL(url).pathname.length > 1,
          'names no database: postgres://…/database',
        )
        .optional()
        .meta({ secret: true })
        .describe('Connection URL of Postgres, instead of host to tls'),
      host: z
        .string()
        .min(1)
        .default('localhost')
        .describe('Host of Postgres: a name, an address, or the directory of its socket'),
      port: z.number().int().min(1).max(65535).default(5432).describe('Its TCP port'),
      database: z.string().min(1).default('earshot').describe('Name of an existing database'),
      user: z.string().min(1).default('earshot').describe('User that owns the database'),
      password: z
        .string()
        .min(1)
        .optional()
        .meta({ secret: true })
        .describe('Password of that user; absent: none'),
      tls: z
        .boolean()
        .default(false)
        .describe("Encrypted, with the server's certificate checked; for other ways see sslmode in url"),
      writers: z.number().int().min(1).max(100).default(8).describe('Connections to Postgres for writes'),
      readers: z.number().int().min(1).max(100).default(8).describe('Connections to Postgres for reads'),
      lockMs: z
        .number()
        .int()
        .min(10)
        .default(10_000)
        .describe('Longest wait of a statement for a lock of Postgres, in milliseconds'),
    }),
  async setup({ options, dataDir, onStop, ...context }) {
    const dialect =
      options.client === 'postgres'
        ? openPostgres(options, context)
        : openSqlite(resolve(dataDir, options.file), context);
    onStop(() => dialect.close());
    return { storage: await createStorage(dialect, context) };
  },
  diagnose: ({ options, ...context }) =>
    options.client === 'postgres'
      ? diagnosePostgres(options, context)
      : diagnoseSqlite(resolve(context.dataDir, options.file), context),
} satisfies Plugin<Options>;
