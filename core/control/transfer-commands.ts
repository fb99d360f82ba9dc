/** Commands for exports and imports of accounts: part of the table in `commands.ts`. */
import { createWriteStream } from 'node:fs';
import { access, link, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import type { Users } from '../domain/accounts/users.ts';
import type { AccountExport } from '../domain/export/export.ts';
import type { AccountImport } from '../domain/export/import.ts';
import { AppError, toAppError } from '../runtime/errors.ts';

const user = z.string().trim().min(1).max(100);
const file = z.string().min(1).max(4096);
const Rows = z.record(z.string(), z.number());

export const transferShapes = {
  /** Begins to write everything that an account owns to a new file; `transfer.progress` tells how it goes. */
  'transfer.export': { args: z.object({ user, file }), result: z.object({}) },
  /** Begins to take such a file into an account that is empty. */
  'transfer.import': { args: z.object({ user, file, dryRun: z.boolean() }), result: z.object({}) },
  /** Progress of the last one. `done`: bytes of an export, rows of an import. `rows`, by table: once an import has ended. */
  'transfer.progress': {
    args: z.object({}),
    result: z.object({
      running: z.boolean(),
      done: z.number(),
      rows: Rows.nullable(),
      error: z.string().nullable(),
    }),
  },
};
type Shapes = typeof transferShapes;
type Args<C extends keyof Shapes> = z.output<Shapes[C]['args']>;
type Progress = z.output<Shapes['transfer.progress']['result']>;

export interface TransferServices {
  users: Pick<Users, 'byName'>;
  accountExport: AccountExport;
  accountImport: AccountImport;
}

export function transferCommands({ users, accountExport, accountImport }: TransferServices) {
  let state: Progress = { running: false, done: 0, rows: null, error: null };

  function begin(work: () => Promise<Record<string, number> | null>): void {
    if (state.running) throw new AppError('conflict', 'An export or import is running: wait for it');
    state = { running: true, done: 0, rows: null, error: null };
    work().then(
      rows => {
        state = { ...state, running: false, rows };
      },
      error => {
        const { expose, message } = toAppError(error);
        const shown = expose ? message : `It failed: ${message}`;
        state = { ...state, running: false, error: shown };
      },
    );
  }

  return {
    async 'transfer.export'({ user, file }: Args<'transfer.export'>) {
      const account = await users.byName(user);
      await requireAbsent(file);
      begin(async () => {
        const archive = accountExport.archive(account);
        archive.on('data', ({ length }: Buffer) => {
          state.done += length;
        });
        await writeNew(file, archive);
        return null;
      });
      return {};
    },
    async 'transfer.import'({ user, file, dryRun }: Args<'transfer.import'>) {
      const account = await users.byName(user);
      begin(() =>
        accountImport(account, file, {
          dryRun,
          onProgress: ({ rows }) => {
            state.done += rows;
          },
        }),
      );
      return {};
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

/** Whole or not at all, for its owner alone; never in the place of another file. */
async function writeNew(file: string, archive: NodeJS.ReadableStream): Promise<void> {
  const part = `${file}.part`;
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
