import { basename } from 'node:path';
import { z } from 'zod';
import type { Clock, ForeignImport, User } from '../../contract/model.ts';
import type { OwnedTable, Row, Storage, Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { newId } from '../ids.ts';
import { pagesById } from '../pages.ts';
import { DESCRIBE_JOB } from '../photos/photos.ts';
import { RECORDING_JOB } from '../recordings/recordings.ts';
import { dataFile, LEFT_OUT, MANIFEST, REPLACEABLE } from './account-files.ts';
import { type AccountMedia, checkMedia, isTaken, type MediaKind, writeMedia } from './account-media.ts';
import { type Archive, fromJson, openArchive, wrong } from './archive-file.ts';

const BATCH = 250;
const OWNER = 'user_id';
/** When the account had been disabled before, in the counts of a run. */
const DISABLED_AT = 'disabled_at';
const MAX_RUNS = 100;

interface Options {
  /** True: writes everything, and removes it again. */
  dryRun?: boolean;
  /** Called with each batch that was written. */
  onProgress?(written: { table: string; rows: number }): void;
}

export type AccountImport = ReturnType<typeof createAccountImport>;

/** Marks the run that is an archive of Earshot's own. */
export const OWN_FORMAT = 'Earshot';

/**
 * Takes archives of `createAccountExport` into accounts that have nothing yet: all of it or nothing. Rows are written in
 * small transactions, between which others write. Until the last one the account is disabled, so nobody sees a part.
 */
export function createAccountImport({
  storage,
  clock,
  media,
}: {
  storage: Storage;
  clock: Clock;
  media: AccountMedia;
}) {
  /**
   * @returns the number of rows by table
   * @throws {AppError} `invalid_request` that names the file and the line, `conflict` where the account is not empty
   */
  async function take(
    user: User,
    file: string,
    { dryRun = false, onProgress = () => {} }: Options = {},
  ): Promise<Record<string, number>> {
    const archive = await openArchive(file, media.kinds);
    try {
      await requireEmpty(storage, user);
      const refusal = await media.refusal(archive.sizes());
      if (refusal !== null) throw wrong(refusal);
      const run = await begin(user, basename(file));
      const before = await takeSettings(user.id);
      let counts: Record<string, number>;
      try {
        counts = await writeAll(await storage.owned(), { archive, user, media, dryRun, onProgress });
        if (!dryRun) await noteMemories(storage, clock, user.id);
      } catch (error) {
        await takeBack(run, before);
        throw error;
      }
      if (dryRun) await takeBack(run, before, counts);
      else await end(run, 'done', counts);
      return counts;
    } finally {
      archive.close();
    }
  }

  /** Disables the account, and notes in the run whether it had been. */
  async function begin(user: User, name: string): Promise<ForeignImport> {
    const now = clock.now();
    const run: ForeignImport = {
      ...{ id: newId(now), userId: user.id, format: OWN_FORMAT, name, state: 'running' },
      ...{ counts: user.disabledAt === null ? {} : { [DISABLED_AT]: user.disabledAt } },
      ...{ startedAt: now, endedAt: null },
    };
    await storage.transaction('begin import', async tx => {
      await tx.foreignImports.insert(run);
      await tx.users.update(user.id, { disabledAt: now });
    });
    return run;
  }

  /** Enables the account again, with the whole archive or nothing of it. */
  async function end(run: ForeignImport, state: ForeignImport['state'], counts: Record<string, number>) {
    const { userId, id } = run;
    const work = state === 'done' ? await workOf(storage, userId, clock.now()) : [];
    await storage.transaction('end import', async tx => {
      await tx.users.update(userId, { disabledAt: run.counts[DISABLED_AT] ?? null });
      await tx.foreignImports.update(userId, id, { state, counts, endedAt: clock.now() });
      for (const job of work) await tx.jobs.enqueue(job);
    });
  }

  /** Removes the settings that an archive may replace, and answers them. */
  async function takeSettings(userId: string): Promise<Map<string, Row[]>> {
    const settings = new Map<string, Row[]>();
    for (const table of await storage.owned()) {
      if (!REPLACEABLE.has(table.name)) continue;
      for await (const page of table.rows(userId))
        settings.set(table.name, [...(settings.get(table.name) ?? []), ...page]);
      await table.clear(userId);
    }
    return settings;
  }

  /**
   * @param settings that the account had; absent: they are lost, and those of a new account count
   * @param checked rows by table, of a dry run that found no fault
   */
  async function takeBack(
    run: ForeignImport,
    settings?: ReadonlyMap<string, Row[]>,
    checked?: Record<string, number>,
  ): Promise<void> {
    const tables = await storage.owned();
    await media.removeAll(run.userId, await storage.streams.ids(run.userId));
    for (const table of tables.toReversed())
      if (LEFT_OUT[table.name] === undefined) await table.clear(run.userId);
    for (const table of tables) {
      const rows = settings?.get(table.name);
      if (rows) await table.write(rows);
    }
    await end(run, checked ? 'checked' : 'failed', checked ?? {});
  }

  /** Removes what a server that was killed has written of an archive. Runs before any request is served. */
  async function recover(): Promise<void> {
    for (const { id, disabledAt } of await storage.users.list()) {
      if (disabledAt === null) continue;
      const runs = await storage.foreignImports.list(id, MAX_RUNS);
      for (const run of runs) if (run.format === OWN_FORMAT && run.state === 'running') await takeBack(run);
    }
  }

  return { take, recover };
}

async function requireEmpty(storage: Storage, user: User): Promise<void> {
  for (const { name, rows } of await storage.owned()) {
    if (LEFT_OUT[name] !== undefined || REPLACEABLE.has(name)) continue;
    for await (const page of rows(user.id))
      if (page.length > 0)
        throw new AppError(
          'conflict',
          `The account ${user.name} is not empty: it has ${name.replaceAll('_', ' ')}. Create another account for the archive: earshot user add NAME`,
        );
  }
}

interface Writing {
  archive: Archive;
  user: User;
  media: AccountMedia;
  dryRun: boolean;
  onProgress: NonNullable<Options['onProgress']>;
}

async function writeAll(tables: OwnedTable[], writing: Writing): Promise<Record<string, number>> {
  const { archive } = writing;
  const unknown = Object.keys(archive.manifest.rows).filter(
    name => !tables.some(table => table.name === name),
  );
  if (unknown.length > 0)
    throw wrong(
      `it has ${unknown.join(', ')}, which this version does not know: update Earshot (${archive.manifest.earshot} made it)`,
    );
  const counts: Record<string, number> = {};
  for (const table of tables) {
    const expected = archive.manifest.rows[table.name];
    if (expected === undefined || LEFT_OUT[table.name] !== undefined) continue;
    const rows = await writeTable(table, writing);
    if (rows !== expected)
      throw wrong(`${dataFile(table.name)} has ${rows} rows, and ${MANIFEST} says ${expected}`);
    counts[table.name] = rows;
  }
  return counts;
}

async function writeTable(table: OwnedTable, writing: Writing): Promise<number> {
  const { archive, user, media, onProgress } = writing;
  const kind = media.kinds.find(each => each.table === table.name);
  let number = 0;
  let batch: Row[] = [];
  let files: string[] = [];
  const write = async () => {
    await table.write(batch).catch(cause => {
      throw wrong(
        `${dataFile(table.name)}, lines ${number - batch.length + 1} to ${number}, cannot be stored`,
        cause,
      );
    });
    if (kind) for (const name of files) await writeFile(kind, name, writing); // after their rows: files without are swept
    onProgress({ table: table.name, rows: batch.length });
    batch = [];
    files = [];
  };
  for await (const line of archive.lines(dataFile(table.name))) {
    number += 1;
    const row = rowOf(table, line, number, user);
    const names = kind ? filesOfRow(kind, row, archive, `${dataFile(table.name)}, line ${number}`) : [];
    if (kind && (await isOfAnother(kind, names, user))) continue;
    batch.push(table.storable(row));
    files.push(...names);
    if (batch.length === BATCH) await write();
  }
  if (batch.length > 0) await write();
  return number;
}

function filesOfRow(kind: MediaKind, row: Row, archive: Archive, where: string): readonly string[] {
  const names = kind.wanted(row, archive.filesOf(kind, String(row.id)));
  if (!names) throw wrong(`${where}: its file in ${kind.folder}/ is missing`);
  const bytes = names.reduce((sum, name) => sum + archive.bytesOf(kind, name), 0);
  if (kind.bytes !== undefined && names.length > 0 && row[kind.bytes] !== bytes)
    throw wrong(`${where}: its files in ${kind.folder}/ have ${bytes} bytes, and not ${row[kind.bytes]}`);
  return names;
}

/** Whether the audio of a stream is on this server already: that of the account that was exported here. */
async function isOfAnother(kind: MediaKind, names: readonly string[], user: User): Promise<boolean> {
  if (kind.table !== 'streams') return false;
  for (const name of names) if (await isTaken(kind.pathOf(user.id, name))) return true;
  return false;
}

async function writeFile(kind: MediaKind, name: string, { archive, user, dryRun }: Writing): Promise<void> {
  const source = await archive.open(kind, name);
  const work = dryRun
    ? checkMedia(source, kind.begins)
    : writeMedia(source, kind.pathOf(user.id, name), kind.begins);
  await work.catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOSPC') throw wrong('the disk of the server is full', cause);
    throw wrong(`${kind.folder}/${name} is damaged, or cannot be stored`, cause);
  });
}

type Work = Parameters<Stores['jobs']['enqueue']>[0];

/** Lists jobs of what came: recordings without text, photos without a description. */
async function workOf(storage: Storage, userId: string, now: number): Promise<Work[]> {
  const work: Work[] = [];
  const kinds = { recordings: RECORDING_JOB, photos: DESCRIBE_JOB } as const;
  for (const { name, rows } of await storage.owned()) {
    if (name !== 'recordings' && name !== 'photos') continue;
    for await (const page of rows(userId))
      for (const { id, state, description, discarded } of page) {
        if (
          name === 'recordings'
            ? state !== 'waiting' && state !== 'running'
            : description !== null || discarded
        )
          continue;
        const payload = { userId, ...(name === 'recordings' ? { recordingId: id } : { photoId: id }) };
        // with the account: beside the one that was exported, the same ids occur twice
        work.push({ kind: kinds[name], key: `${id} ${userId}`, runAt: now, payload });
      }
  }
  return work;
}

function rowOf(table: OwnedTable, line: string, number: number, user: User): Row {
  const where = `${dataFile(table.name)}, line ${number}`;
  const row = z.record(z.string(), z.unknown()).safeParse(fromJson(line));
  if (!row.success) throw wrong(`${where}, is no JSON object`);
  const owned = { ...row.data, [OWNER]: user.id };
  const column = table.unfit(owned);
  if (column !== null)
    throw wrong(
      `${where}: ${column} is missing, unknown or of the wrong type. Another version of Earshot may have made it`,
    );
  return owned as Row; // as `unfit` says
}

/** Vectors follow: they are not in the archive. */
async function noteMemories(storage: Storage, clock: Clock, userId: string): Promise<void> {
  const pages = pagesById((after, limit) => storage.memories.page(userId, after, limit), BATCH);
  for await (const memories of pages)
    await storage.embeddings.note(memories.map(({ id }) => ({ userId, id, changedAt: clock.now() })));
}
