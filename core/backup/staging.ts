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
  /** Paths of databases that their plugins have locked: indexes, which are rebuilt. */
  held: string[];
}
export type StagingAnswer = StagedFiles | { error: { code: ErrorCode; message: string } };

/** Copies the files in a separate process; the copies do not change any more. */
export async function stageFiles(request: StagingRequest, signal: AbortSignal): Promise<StagedFiles> {
  const child = fork(ENTRY, [JSON.stringify(request)], { execArgv: [], signal });
  // A process may exit before its answer is delivered: it has none only once its channel has ended.
  const ended = Promise.all([once(child, 'exit'), once(child, 'disconnect')]).then(([[status]]) => {
    throw new AppError(
      'internal',
      `The process that copies files for the backup exited with status ${status}`,
    );
  });
  ended.catch(() => {}); // it exits after its answer, too
  const [answer]: [StagingAnswer] = await Promise.race([
    once(child, 'message') as Promise<[StagingAnswer]>,
    ended,
  ]);
  if ('staged' in answer) return answer;
  throw new AppError(answer.error.code, answer.error.message);
}
