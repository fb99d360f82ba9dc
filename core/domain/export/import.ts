import { basename } from 'node:path';
import { promisify } from 'node:util';
import yauzl, { type Entry, type ZipFile } from 'yauzl';
import { z } from 'zod';
import type { Clock, ForeignImport, User } from '../../contract/model.ts';
import type { OwnedTable, Row, Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { newId } from '../ids.ts';
import { dataFile, FORMAT, LEFT_OUT, MANIFEST, REPLACEABLE } from './account-files.ts';

const MAX_MANIFEST_BYTES = 64 * 1024;
/** A row holds at most the text of a transcript. */
const MAX_LINE_CHARS = 32 * 1024 * 1024;
const MAX_ENTRIES = 2_000_000;
const BATCH = 250;
const OWNER = 'user_id';
/** When the account had been disabled before, in the counts of a run. */
const DISABLED_AT = 'disabled_at';
const MAX_RUNS = 100;

const Manifest = z.object({
  format: z.int(),
  earshot: z.string().max(100),
  account: z.string().max(1000),
  rows: z.record(z.string(), z.int().min(0)),
});
type Manifest = z.infer<typeof Manifest>;

const openZip = promisify<string, object, ZipFile>(yauzl.open);

interface Options {
  /** Writes everything, and takes it back. */
  dryRun?: boolean;
  /** Told of each batch that was written. */
  onProgress?(written: { table: string; rows: number }): void;
}

export type AccountImport = ReturnType<typeof createAccountImport>;

/** Marks the run that is an archive of Earshot's own. */
const OWN_FORMAT = 'Earshot';

/**
 * Takes archives of `createAccountExport` into accounts that have nothing yet: all of it or nothing. Rows are written in
 * small transactions, between which others write. Until the last one the account is disabled, so nobody sees a part.
 */
export function createAccountImport({ storage, clock }: { storage: Storage; clock: Clock }) {
  /**
   * @returns the number of rows by table
   * @throws {AppError} `invalid_request` that names the file and the line, `conflict` where the account is not empty
   */
  async function take(
    user: User,
    file: string,
    { dryRun = false, onProgress = () => {} }: Options = {},
  ): Promise<Record<string, number>> {
    const archive = await openArchive(file);
    try {
      await requireEmpty(storage, user);
      const run = await begin(user, basename(file));
      const before = await takeSettings(user.id);
      let counts: Record<string, number>;
      try {
        counts = await writeAll(await storage.owned(), archive, user, onProgress);
        if (!dryRun) await noteMemories(storage, clock, user.id);
      } catch (error) {
        await takeBack(run, before);
        throw error;
      }
      if (dryRun) await takeBack(run, before);
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

  /** Makes the account what it was, with all of the archive or nothing of it. */
  async function end(run: ForeignImport, state: 'done' | 'undone', counts: Record<string, number>) {
    const { userId, id } = run;
    await storage.transaction('end import', async tx => {
      await tx.users.update(userId, { disabledAt: run.counts[DISABLED_AT] ?? null });
      await tx.foreignImports.update(userId, id, { state, counts, endedAt: clock.now() });
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

  /** @param settings that the account had; absent: they are lost, and those of a new account count */
  async function takeBack(run: ForeignImport, settings?: ReadonlyMap<string, Row[]>): Promise<void> {
    const tables = await storage.owned();
    for (const table of tables.toReversed())
      if (LEFT_OUT[table.name] === undefined) await table.clear(run.userId);
    for (const table of tables) {
      const rows = settings?.get(table.name);
      if (rows) await table.write(rows);
    }
    await end(run, 'undone', {});
  }

  /** Takes back what a server that was killed has written of an archive. Runs before anybody is served. */
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
          `The account ${user.name} is not empty: it has ${name}. Add one for what is in the file: earshot user add NAME`,
        );
  }
}

type Archive = Awaited<ReturnType<typeof openArchive>>;

async function writeAll(
  tables: OwnedTable[],
  archive: Archive,
  user: User,
  onProgress: NonNullable<Options['onProgress']>,
): Promise<Record<string, number>> {
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
    const rows = await writeTable(table, archive, user, onProgress);
    if (rows !== expected)
      throw wrong(`${dataFile(table.name)} has ${rows} rows, and ${MANIFEST} says ${expected}`);
    counts[table.name] = rows;
  }
  return counts;
}

async function writeTable(
  table: OwnedTable,
  archive: Archive,
  user: User,
  onProgress: NonNullable<Options['onProgress']>,
): Promise<number> {
  let number = 0;
  let batch: Row[] = [];
  const write = async () => {
    await table.write(batch).catch(cause => {
      throw wrong(
        `${dataFile(table.name)}, lines ${number - batch.length + 1} to ${number}, cannot be stored`,
        cause,
      );
    });
    onProgress({ table: table.name, rows: batch.length });
    batch = [];
  };
  for await (const line of archive.lines(dataFile(table.name))) {
    number += 1;
    batch.push(table.storable(rowOf(table, line, number, user)));
    if (batch.length === BATCH) await write();
  }
  if (batch.length > 0) await write();
  return number;
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
  for (let after: string | null = null; ; ) {
    const memories = await storage.memories.page(userId, after, BATCH);
    await storage.embeddings.note(memories.map(({ id }) => ({ userId, id, changedAt: clock.now() })));
    if (memories.length < BATCH) return;
    after = memories.at(-1)?.id ?? null;
  }
}

async function openArchive(file: string) {
  const zip = await openZip(file, { lazyEntries: true, autoClose: false }).catch(cause => {
    throw wrong('it is no ZIP archive, or cannot be read', cause);
  });
  try {
    const entries = await entriesOf(zip);
    const manifest = await readManifest(zip, entries.get(MANIFEST));
    return {
      manifest,
      lines: (path: string) => linesOf(zip, path, entries.get(path)),
      close: () => zip.close(),
    };
  } catch (error) {
    zip.close();
    throw error;
  }
}

/** Lists the entries that an import reads. */
async function entriesOf(zip: ZipFile): Promise<Map<string, Entry>> {
  if (zip.entryCount > MAX_ENTRIES) throw wrong(`it has more than ${MAX_ENTRIES} files`);
  const entries = new Map<string, Entry>();
  await new Promise<void>((resolve, reject) => {
    zip.on('entry', (entry: Entry) => {
      if (entry.fileName === MANIFEST || entry.fileName.startsWith('data/'))
        entries.set(entry.fileName, entry);
      zip.readEntry();
    });
    zip.once('end', resolve);
    zip.once('error', cause => reject(wrong('the archive is damaged', cause)));
    zip.readEntry();
  });
  return entries;
}

async function readManifest(zip: ZipFile, entry: Entry | undefined): Promise<Manifest> {
  if (!entry) throw wrong(`it has no ${MANIFEST}: it is no export of Earshot`);
  if (entry.uncompressedSize > MAX_MANIFEST_BYTES) throw wrong(`${MANIFEST} is too large`);
  let text = '';
  for await (const line of linesOf(zip, MANIFEST, entry)) text += line;
  const parsed = Manifest.safeParse(fromJson(text));
  if (!parsed.success) throw wrong(`${MANIFEST} is not what an export of Earshot has`);
  if (parsed.data.format !== FORMAT)
    throw wrong(`its format is ${parsed.data.format}, and this version reads ${FORMAT}`);
  return parsed.data;
}

async function* linesOf(zip: ZipFile, path: string, entry: Entry | undefined): AsyncGenerator<string> {
  if (!entry) throw wrong(`${path} is missing`);
  const open = promisify<Entry, NodeJS.ReadableStream>(zip.openReadStream.bind(zip));
  try {
    const input = await open(entry);
    input.setEncoding('utf8');
    let rest = '';
    for await (const chunk of input) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MAX_LINE_CHARS) throw wrong(`${path} has a line that is too long`);
      yield* lines;
    }
    if (rest !== '') yield rest;
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw wrong(`${path} is damaged`, cause);
  }
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function wrong(what: string, cause?: unknown): AppError {
  return new AppError('invalid_request', `The file cannot be imported: ${what}. Nothing was changed`, {
    cause,
  });
}
