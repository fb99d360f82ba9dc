import type { Manifest } from './archive.ts';
import type { Staged } from './staging.ts';
import { runTask } from './task.ts';

/** Files of a backup, which do not change any more, as one archive. */
export interface ArchivingRequest {
  files: readonly Staged[];
  manifest: Omit<Manifest, 'files'>;
  /** age public keys; none: the archive is not encrypted. */
  recipients: readonly string[];
  /** Path of the archive, which must not be there. */
  target: string;
  /** Directory in which the archive is restored for a trial; null: it is only read. */
  rehearsal: string | null;
}

export interface Archived {
  bytes: number;
  /** Why the trial was not made: lack of room. */
  notRehearsed?: string;
}

/** Writes the archive to disk, and reads it back. */
export function archiveFiles(request: ArchivingRequest, signal: AbortSignal): Promise<Archived> {
  return runTask('archive', request, signal);
}
