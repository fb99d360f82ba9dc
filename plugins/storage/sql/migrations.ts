import type { Knex } from 'knex';
import type { PluginContext } from '../../../core/contract/plugin.ts';
import type { Dialect } from './dialect.ts';
import { up as first } from './migrations/0001-first.ts';
import { up as claims } from './migrations/0002-claims.ts';
import { up as folders } from './migrations/0003-folders.ts';
import { up as streamSetup } from './migrations/0004-stream-setup.ts';
import { up as memories } from './migrations/0005-memories.ts';
import { up as actionItems } from './migrations/0006-action-items.ts';
import { up as goals } from './migrations/0007-goals.ts';
import { up as keys } from './migrations/0008-keys.ts';
import { up as signingIn } from './migrations/0009-signing-in.ts';
import { up as corrections } from './migrations/0010-corrections.ts';
import { up as passages } from './migrations/0011-passages.ts';
import { up as outbound } from './migrations/0012-outbound.ts';
import { up as accounts } from './migrations/0013-accounts.ts';
import { up as memoryHistory } from './migrations/0014-memory-history.ts';
import { up as summaries } from './migrations/0015-summaries.ts';
import { up as chat } from './migrations/0016-chat.ts';
import { up as calendar } from './migrations/0017-calendar.ts';
import { up as translations } from './migrations/0018-translations.ts';
import { up as photos } from './migrations/0019-photos.ts';
import { up as voices } from './migrations/0023-voices.ts';
import { up as goalSuggestions } from './migrations/0025-goal-suggestions.ts';
import { up as recordings } from './migrations/0028-recordings.ts';
import { up as voiceAssignments } from './migrations/0029-voice-assignments.ts';
import { up as devices } from './migrations/0032-devices.ts';
import { up as foreignImports } from './migrations/0037-foreign-imports.ts';
import { up as listening } from './migrations/0048-listening.ts';
import { up as retention } from './migrations/0049-retention.ts';
import { up as accesses } from './migrations/0050-accesses.ts';
import { up as marks } from './migrations/0052-marks.ts';
import { up as sessions } from './migrations/0056-sessions.ts';
import { up as taskPlaces } from './migrations/0057-task-places.ts';
import { up as clips } from './migrations/0058-clips.ts';
import { up as places } from './migrations/0059-places.ts';
import { up as manyConversations } from './migrations/0060-many-conversations.ts';

/** One step of the schema. It runs in one transaction with all others that are due, and is never undone. */
export interface Migration {
  name: string;
  up(db: Knex): Promise<void>;
}

/** In order. Append only: databases store these names. */
export const MIGRATIONS: readonly Migration[] = [
  { name: '0001-first', up: first },
  { name: '0002-claims', up: claims },
  { name: '0003-folders', up: folders },
  { name: '0004-stream-setup', up: streamSetup },
  { name: '0005-memories', up: memories },
  { name: '0006-action-items', up: actionItems },
  { name: '0007-goals', up: goals },
  { name: '0008-keys', up: keys },
  { name: '0009-signing-in', up: signingIn },
  { name: '0010-corrections', up: corrections },
  { name: '0011-passages', up: passages },
  { name: '0012-outbound', up: outbound },
  { name: '0013-accounts', up: accounts },
  { name: '0014-memory-history', up: memoryHistory },
  { name: '0015-summaries', up: summaries },
  { name: '0017-calendar', up: calendar },
  { name: '0016-chat', up: chat },
  { name: '0019-photos', up: photos },
  { name: '0018-translations', up: translations },
  { name: '0023-voices', up: voices },
  { name: '0032-devices', up: devices },
  { name: '0028-recordings', up: recordings },
  { name: '0037-foreign-imports', up: foreignImports },
  { name: '0029-voice-assignments', up: voiceAssignments },
  { name: '0025-goal-suggestions', up: goalSuggestions },
  { name: '0048-listening', up: listening },
  { name: '0049-retention', up: retention },
  { name: '0050-accesses', up: accesses },
  { name: '0052-marks', up: marks },
  { name: '0056-sessions', up: sessions },
  { name: '0057-task-places', up: taskPlaces },
  { name: '0058-clips', up: clips },
  { name: '0059-places', up: places },
  { name: '0060-many-conversations', up: manyConversations },
];

type Context = Pick<PluginContext<never>, 'log' | 'clock' | 'error'>;

export interface Migrator {
  /** Rejects with `config_error` when a newer version has written the database. */
  check(): Promise<void>;
  state(): Promise<{ due: number; isEmpty: boolean }>;
  /** Versions are counts of migrations. */
  migrate(): Promise<{ from: number; to: number; backup: string | null }>;
}

export function createMigrator(
  dialect: Dialect,
  { log, clock, error }: Context,
  migrations: readonly Migration[] = MIGRATIONS,
): Migrator {
  const { writer, place } = dialect;

  async function done(): Promise<string[]> {
    if (!(await writer.schema.hasTable(TABLE))) return [];
    return (await writer<{ id: number; name: string }>(TABLE).orderBy('id')).map(({ name }) => name);
  }

  function refuseNewer(names: string[]): void {
    const known = new Set(migrations.map(({ name }) => name));
    const unknown = names.filter(name => !known.has(name)).at(-1);
    if (unknown === undefined) return;
    throw error(
      'config_error',
      `The ${place} was written by a newer Earshot (schema ${unknown}; this one knows up to ` +
        `${migrations.at(-1)?.name}). Update Earshot, or put back a backup from before the update`,
    );
  }

  async function check(): Promise<void> {
    refuseNewer(await done());
  }

  async function state() {
    const due = migrations.length - (await done()).length;
    return { due, isEmpty: !(await hasData(writer)) };
  }

  async function migrate() {
    const names = await done();
    refuseNewer(names);
    const [from, to] = [names.length, migrations.length];
    if (from === to) return { from, to, backup: null };
    const backup = (await hasData(writer)) ? await backUp(from) : null;
    // in one transaction with knex's own tables: a second process waits, and a killed one leaves no lock behind
    await writer.transaction(db =>
      db.migrate.latest({ tableName: TABLE, migrationSource: sourceOf(migrations) }),
    );
    log.info({ from, to, ...(backup && { backup }) }, 'database schema is up to date');
    return { from, to, backup };
  }

  async function backUp(version: number): Promise<string | null> {
    const time = new Date(clock.now()).toISOString().replaceAll(/[-:.]/g, '');
    try {
      return await dialect.backup(`${time}-v${version}`);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw error('unavailable', `Nothing was changed: the ${place} could not be backed up: ${reason}`, {
        cause,
      });
    }
  }

  return { check, state, migrate };
}

/** Holds the names of the migrations that ran. */
export const TABLE = 'migrations';
/** Tables maintained by knex. */
export const MIGRATION_TABLES: readonly string[] = [TABLE, `${TABLE}_lock`];

/** Looks at users only, since every other row belongs to one. */
async function hasData(db: Knex): Promise<boolean> {
  return (await db.schema.hasTable('users')) && (await db('users').first('id')) !== undefined;
}

/** Gives knex the list itself instead of a directory, so that it works from sources and from compiled JavaScript. */
function sourceOf(migrations: readonly Migration[]): Knex.MigrationSource<Migration> {
  return {
    getMigrations: async () => [...migrations],
    getMigrationName: ({ name }) => name,
    getMigration: async ({ up }) => ({ up, down: refuseDown }),
  };
}

async function refuseDown(): Promise<void> {
  throw new Error('Migrations only go forward: put back a backup instead');
}
