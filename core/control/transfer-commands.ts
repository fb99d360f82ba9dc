/** Commands for exports and imports of accounts: part of the table in `commands.ts`. */
import { createWriteStream } from 'node:fs';
import { access, link, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import type { Users } from '../domain/accounts/users.ts';
import type { AccountExport } from '../domain/export/export.ts';
import type { ForeignImports } from '../domain/foreign/foreign-imports.ts';
import type { TakeIn } from '../domain/foreign/take-in.ts';
import type { Accesses } from '../domain/privacy/accesses.ts';
import { AppError, toAppError } from '../runtime/errors.ts';

const user = z.string().trim().min(1).max(100);
const file = z.string().min(1).max(4096);
const Rows = z.record(z.string(), z.number());
const Foreign = z.object({
  id: z.string().nullable(),
  format: z.string(),
  /** Number of items that were imported before. */
  known: z.number(),
  leftOut: z.array(z.object({ what: z.string(), why: z.string(), count: z.number() })),
});

export const transferShapes = {
  /**
   * Starts to write all data of an account to a new file; `transfer.progress` reports on it. While that is
   * running, the same request again succeeds, so that a command that was interrupted can follow it.
   */
  'transfer.export': { args: z.object({ user, file }), result: z.object({}) },
  /**
   * Starts to import such a file, or data of another product: a file, a folder, or, with its key, an address.
   */
  'transfer.import': {
    args: z.object({ user, file, dryRun: z.boolean(), key: z.string().min(1).max(1000).nullable() }),
    result: z.object({}),
  },
  /** Starts to undo an import from another product. */
  'transfer.undo': { args: z.object({ user, id: z.string().min(1).max(100) }), result: z.object({}) },
  /** Imports from other products, the newest first. */
  'transfer.imports': {
    args: z.object({ user }),
    result: z.array(
      z.object({
        id: z.string(),
        format: z.string(),
        name: z.string(),
        state: z.string(),
        counts: Rows,
        startedAt: z.string(),
      }),
    ),
  },
  /**
   * Progress of the last one. `done`: bytes of an export, rows of an import. `rows`, by table or kind: once an import
   * has ended. `foreign`: result of an import from another product.
   */
  'transfer.progress': {
    args: z.object({}),
    result: z.object({
      running: z.boolean(),
      done: z.number(),
      rows: Rows.nullable(),
      foreign: Foreign.nullable(),
      error: z.string().nullable(),
    }),
  },
};
type Shapes = typeof transferShapes;
type Args<C extends keyof Shapes> = z.output<Shapes[C]['args']>;
type Progress = z.output<Shapes['transfer.progress']['result']>;

const NOTHING: Progress = { running: false, done: 0, rows: null, foreign: null, error: null };

export interface TransferServices {
  accesses: Pick<Accesses, 'record'>;
  users: Pick<Users, 'byName'>;
  accountExport: AccountExport;
  takeIn: TakeIn;
  foreignImports: ForeignImports;
}

export function transferCommands({
  users,
  accesses,
  accountExport,
  takeIn,
  foreignImports,
}: TransferServices) {
  let state: Progress = NOTHING;
  /** File and account of the export that is running: the same request again follows it. */
  let exporting: Args<'transfer.export'> | null = null;

  function begin(work: () => Promise<Pick<Progress, 'rows' | 'foreign'>>): void {
    if (state.running) throw new AppError('conflict', 'An export or import is running: wait for it');
    state = { ...NOTHING, running: true };
    work()
      .then(
        came => {
          state = { ...state, ...came, running: false };
        },
        error => {
          const { expose, message } = toAppError(error);
          const shown = expose ? message : `It failed: ${message}`;
          state = { ...state, running: false, error: shown };
        },
      )
      .finally(() => {
        exporting = null;
      });
  }

  return {
    async 'transfer.export'({ user, file }: Args<'transfer.export'>) {
      if (exporting?.user === user && exporting.file === file) return {};
      const account = await users.byName(user);
      await requireAbsent(file);
      begin(async () => {
        exporting = { user, file };
        await rm(draftOf(file), { force: true }); // left by a server that was killed
        const archive = accountExport.archive(account);
        const read = { operation: 'exportAccount', data: 'everything', subject: null };
        accesses.record({ userId: account.id, reader: 'server', readerId: null, via: 'server', ...read });
        archive.on('data', ({ length }: Buffer) => {
          state.done += length;
        });
        await writeNew(file, archive);
        return { rows: null, foreign: null };
      });
      return {};
    },
    async 'transfer.import'({ user, file, dryRun, key }: Args<'transfer.import'>) {
      const account = await users.byName(user);
      begin(() =>
        takeIn(account, file, {
          dryRun,
          key,
          onProgress: done => {
            state.done = done;
          },
        }),
      );
      return {};
    },
    async 'transfer.undo'({ user, id }: Args<'transfer.undo'>) {
      const account = await users.byName(user);
      begin(async () => ({ rows: await foreignImports.undo(account, id), foreign: null }));
      return {};
    },
    async 'transfer.imports'({ user }: Args<'transfer.imports'>) {
      const runs = await foreignImports.list(await users.byName(user));
      return runs.map(({ id, format, name, state, counts, startedAt }) => ({
        id,
        format,
        name,
        state,
        counts,
        startedAt: new Date(startedAt).toISOString(),
      }));
    },
    'transfer.progress': async () => state,
  };
}

async function requireAbsent(file: string): Promise<void> {
  const isThere = await access(file).then(
    () => true,
    () => false,
  );
  if (isThere) throw new AppError('conflict', `${file} is there already: name another file with --to`);
}

const draftOf = (file: string) => `${file}.unfinished`;

/** Writes a file completely or not at all, readable by its owner alone, and never replaces another file. */
async function writeNew(file: string, archive: NodeJS.ReadableStream): Promise<void> {
  const part = draftOf(file);
  try {
    await pipeline(archive, createWriteStream(part, { flags: 'wx', mode: 0o600, flush: true }));
    await link(part, file);
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('unavailable', `${file} could not be written: ${(cause as Error).message}`, { cause });
  } finally {
    await rm(part, { force: true });
  }
}
