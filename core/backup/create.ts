import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../contract/model.ts';
import type { Storage } from '../contract/plugin.ts';
import { syncDirectory } from '../runtime/files.ts';
import { version } from '../runtime/version.ts';
import { DATABASE } from './archive.ts';
import { nameOf } from './names.ts';
import { runTask } from './task.ts';

export interface BackupRequest {
  dataDir: string;
  /** The configuration file, which is included in the backup; null: there is none. */
  configFile: string | null;
  storage: Pick<Storage, 'snapshot'>;
  clock: Pick<Clock, 'now'>;
  /** Directory of the backups. */
  to: string;
  /** age public keys; none: the backup is not encrypted. */
  recipients: readonly string[];
  /** True: the backup is restored for a trial before it gets its name. */
  rehearse?: boolean;
  signal: AbortSignal;
}

export interface Backup {
  file: string;
  bytes: number;
  /** Epoch ms. */
  createdAt: number;
  encrypted: boolean;
  files: number;
  /** Rows in the database. */
  rows: number;
  /** Databases of plugins that could not be read; those of Earshot's own plugins are indexes, which are rebuilt. */
  leftOut: string[];
  /** Why a trial that was asked for was not made: lack of room. */
  notRehearsed?: string;
}

const UNFINISHED = /^\.(.+)-(\d+)\.unfinished$/;
/** No backup takes this long: older drafts were left by another machine. */
const MAX_DRAFT_MS = 24 * 3_600_000;

/**
 * Makes a backup of a data directory, also of one that a server works on. It appears under its name when it is whole,
 * on the disk, and was read back; until then, nothing that was there before goes.
 *
 * The audio that waits for its text is taken first, and the database after it: what is transcribed in between is then
 * in both, and a restored server goes on where its database says.
 */
export async function createBackup(request: BackupRequest): Promise<Backup> {
  const { dataDir, configFile, storage, clock, to, recipients, rehearse, signal } = request;
  const createdAt = clock.now();
  const target = join(to, nameOf(createdAt, recipients.length > 0));
  await mkdir(to, { recursive: true, mode: 0o700 });
  await removeAbandoned(to, clock.now());
  const work = join(to, `.${hostname()}-${process.pid}.unfinished`);
  await mkdir(work, { mode: 0o700 });
  try {
    const { staged: files, held } = await runTask('stage', { dataDir, configFile, to, into: work }, signal);
    const snapshot = join(work, DATABASE);
    const rows = await storage.snapshot(snapshot);
    files.push({ path: DATABASE, from: snapshot, bytes: (await stat(snapshot)).size });
    signal.throwIfAborted();

    const draft = join(work, 'archive');
    const manifest = {
      format: 1 as const,
      version,
      createdAt: new Date(createdAt).toISOString(),
      rows,
    };
    const rehearsal = rehearse ? join(work, 'rehearsal') : null;
    const { bytes, notRehearsed } = await runTask(
      'archive',
      { files, manifest, recipients, target: draft, rehearsal },
      signal,
    );
    await rename(draft, target);
    await syncDirectory(to);
    return {
      ...{ file: target, bytes, createdAt, encrypted: recipients.length > 0, files: files.length },
      rows: Object.values(rows).reduce((sum, count) => sum + count, 0),
      leftOut: held,
      ...(notRehearsed !== undefined && { notRehearsed }),
    };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Removes drafts of processes that were killed. Others, such as another server, may be making a backup there as well. */
async function removeAbandoned(directory: string, now: number): Promise<void> {
  for (const name of await readdir(directory)) {
    const [, host, pid] = UNFINISHED.exec(name) ?? [];
    if (pid === undefined) continue;
    const path = join(directory, name);
    const changedAt = (await stat(path).catch(() => null))?.mtimeMs ?? now;
    const isOver = host === hostname() ? !isRunning(Number(pid)) : now - changedAt > MAX_DRAFT_MS;
    if (isOver) await rm(path, { recursive: true, force: true });
  }
}

/** Whether another process has this id. */
function isRunning(pid: number): boolean {
  if (pid === process.pid) return false; // of a process before this one, as in a container
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
