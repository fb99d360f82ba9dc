import type { Source } from './archive.ts';
import { runTask } from './task.ts';

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

/** Copies the files; the copies do not change any more. */
export function stageFiles(request: StagingRequest, signal: AbortSignal): Promise<StagedFiles> {
  return runTask('stage', request, signal);
}
