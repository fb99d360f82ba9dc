import { fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError, type ErrorCode } from '../runtime/errors.ts';
import type { Source } from './archive.ts';

const ENTRY = fileURLToPath(new URL(`./staging-main${extname(import.meta.filename)}`, import.meta.url));

/** Plan of a copy: a data directory without its database. */
export interface StagingRequest {
  dataDir: string;
  configFile: string | null;
  /** Directory of the backups: never part of one. */
  to: string;
  /** An empty directory for the copies. */
  into: string;
}

export type Staged = Omit<Source, 'sha256'>;
export interface StagedFiles {
  staged: Staged[];
  /** Paths of databases that their plugins let no other process read: indexes that are made anew. */
  held: string[];
}
export type StagingAnswer = StagedFiles | { error: { code: ErrorCode; message: string } };

/** Copies of the files, which nobody changes any more; in a process of its own. */
export async function stageFiles(request: StagingRequest, signal: AbortSignal): Promise<StagedFiles> {
  const child = fork(ENTRY, [JSON.stringify(request)], { execArgv: [], signal });
  // A process may be gone before its answer is here: that is so once its channel has ended.
  const ended = Promise.all([once(child, 'exit'), once(child, 'disconnect')]).then(([[status]]) => {
    throw new AppError(
      'internal',
      `The process that copies files for the backup exited with status ${status}`,
    );
  });
  ended.catch(() => {}); // it ends after its answer, too
  const [answer]: [StagingAnswer] = await Promise.race([
    once(child, 'message') as Promise<[StagingAnswer]>,
    ended,
  ]);
  if ('staged' in answer) return answer;
  throw new AppError(answer.error.code, answer.error.message);
}
