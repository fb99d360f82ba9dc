import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Diagnosis, DiagnosisContext } from '../../../core/contract/plugin.ts';
import { MIGRATIONS, TABLE } from './migrations.ts';
import { openPostgres, type PostgresOptions } from './postgres.ts';
import type { SqliteState } from './sqlite-diagnosis-main.ts';

type Context = Omit<DiagnosisContext<never>, 'options'>;

const ENTRY = fileURLToPath(
  new URL(`./sqlite-diagnosis-main${extname(import.meta.filename)}`, import.meta.url),
);
const HOUR_MS = 3_600_000;

// ── SQLite ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** Reads the whole file and writes nothing; a running server may have it open. */
export async function diagnoseSqlite(file: string, { clock, signal }: Context): Promise<Diagnosis[]> {
  const found = await stat(file).catch(() => null);
  const log = await stat(`${file}-wal`).catch(() => null);
  if (!found?.size && log?.size) return [lost(file, await latestBackup(file))];
  if (!found) return [note('file', `${file} does not exist yet; the first start creates it`)];
  const backup = await latestBackup(file);
  const state = await read(file, signal);
  const backups = tellBackup(backup, clock.now());
  if ('failed' in state) return [broken(file, state.failed, backup), backups];
  const { version, problems, migrations } = state;
  if (problems.length > 0) return [broken(file, problems.join('; '), backup), backups];
  const size = `${(found.size / 1e6).toFixed(1)} MB`;
  return [good('file', `${file}: sound, ${size}, SQLite ${version}`), judgeSchema(migrations), backups];
}

async function read(file: string, signal: AbortSignal): Promise<SqliteState | { failed: string }> {
  const child = fork(ENTRY, [file], { signal, killSignal: 'SIGKILL', stdio: 'ignore' });
  // A process may exit before its last message arrives; all have arrived once its channel is closed.
  const died = Promise.all([once(child, 'exit'), once(child, 'disconnect')]).then(([[code, name]]) => ({
    failed: `reading it ended with ${name ?? code}`,
  }));
  const told = once(child, 'message').then(([state]) => state);
  try {
    return await Promise.race([told, died]);
  } finally {
    child.kill('SIGKILL');
  }
}

interface Backup {
  path: string;
  at: number;
}

async function latestBackup(file: string): Promise<Backup | null> {
  const directory = join(dirname(file), 'backups');
  const names = await readdir(directory).catch(() => []);
  const own = names.filter(name => name.startsWith(`${basename(file, '.db')}-`) && name.endsWith('.db'));
  const name = own.sort().at(-1);
  if (name === undefined) return null;
  const path = join(directory, name);
  return { path, at: (await stat(path)).mtimeMs };
}

function tellBackup(backup: Backup | null, now: number): Diagnosis {
  if (backup === null)
    return note('copy before a migration', 'none yet: it is made when a newer version changes the database');
  return note(
    'copy before a migration',
    `${backup.path}, ${Math.round((now - backup.at) / HOUR_MS)} hours old`,
  );
}

function lost(file: string, backup: Backup | null): Diagnosis {
  const cure = `put back the file that belongs to the log; or move ${file}-wal away, and ${copyOf(backup, file)}`;
  return bad('file', `${file} is missing or empty, and its write-ahead log is there`, cure);
}

function copyOf(backup: Backup | null, file: string): string {
  return backup ? `cp ${backup.path} ${file}` : 'put back a copy of your own';
}

function broken(file: string, reason: string, backup: Backup | null): Diagnosis {
  const copy = copyOf(backup, file);
  return bad(
    'file',
    `${file} is damaged: ${reason}`,
    `stop Earshot, move it away with its -wal, and ${copy}`,
  );
}

// ── Postgres ────────────────────────────────────────────────────────────────────────────────────────────────────

export async function diagnosePostgres(options: PostgresOptions, context: Context): Promise<Diagnosis[]> {
  const dialect = openPostgres({ ...options, readers: 1, writers: 1 }, context);
  const { reader, place } = dialect;
  try {
    const version: { rows: { server_version: string }[] } = await reader.raw('show server_version');
    const hasTable = await reader.schema.hasTable(TABLE);
    const names = hasTable
      ? await reader<{ id: number; name: string }>(TABLE).orderBy('id').pluck('name')
      : [];
    return [
      good('server', `${place}: Postgres ${version.rows[0]?.server_version}`),
      judgeSchema(names),
      note('backup', 'its operator makes them: pg_dump'),
    ];
  } catch (error) {
    const [reason = '', cure = 'look at the log of Postgres'] = dialect.explain(error).split('. ');
    return [bad('server', `the ${place} cannot be used: ${reason}`, cure)];
  } finally {
    await dialect.close();
  }
}

// ── both ────────────────────────────────────────────────────────────────────────────────────────────────────────

function judgeSchema(names: readonly string[]): Diagnosis {
  const unknown = names.find(name => !MIGRATIONS.some(migration => migration.name === name));
  if (unknown !== undefined) {
    const cure = 'update Earshot, or put back a backup from before the update';
    return bad('schema', `a newer Earshot has written it (${unknown})`, cure);
  }
  const due = MIGRATIONS.length - names.length;
  if (due === 0) return good('schema', `version ${names.length}, up to date`);
  return note('schema', `version ${names.length}; the next start brings it to ${MIGRATIONS.length}`);
}

function good(what: string, detail: string): Diagnosis {
  return { what, level: 'good', detail, cure: null };
}

function note(what: string, detail: string): Diagnosis {
  return { what, level: 'note', detail, cure: null };
}

function bad(what: string, detail: string, cure: string): Diagnosis {
  return { what, level: 'bad', detail, cure };
}
