import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { extname, join } from 'node:path';
import { AppError, type ErrorCode, toAppError } from '../runtime/errors.ts';
import { lowerPriority } from '../runtime/priority.ts';
import type { Manifest, Source } from './archive.ts';

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
/** The copies do not change any more. */
export interface StagedFiles {
  staged: Staged[];
  /** Paths of databases that their plugins have locked: indexes, which are rebuilt. */
  held: string[];
}

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

/** The archive, written to disk and read back. */
export interface Archived {
  bytes: number;
  /** Why the trial was not made: lack of room. */
  notRehearsed?: string;
}

/** Work on large files, in a process of its own and at a lower priority: beside it, live speech must not wait. */
interface Tasks {
  stage: { request: StagingRequest; result: StagedFiles };
  archive: { request: ArchivingRequest; result: Archived };
  rehearse: { request: { file: string; identity: null; into: string }; result: unknown };
}

type Answer = { result: unknown } | { error: { code: ErrorCode; message: string } };

/** Runs `<task>-main.ts`, and resolves to its result. Rejects with its error, or the reason of `signal`. */
export async function runTask<Name extends keyof Tasks>(
  task: Name,
  request: Tasks[Name]['request'],
  signal: AbortSignal,
): Promise<Tasks[Name]['result']> {
  signal.throwIfAborted();
  const entry = join(import.meta.dirname, `${task}-main${extname(import.meta.filename)}`);
  const child = fork(entry, [], { execArgv: [] });
  lowerPriority(child.pid);
  const end = () => child.kill('SIGKILL');
  signal.addEventListener('abort', end);
  try {
    const answer = await answerOf(child, request);
    if ('error' in answer) throw new AppError(answer.error.code, answer.error.message);
    return answer.result as Tasks[Name]['result']; // of this version's own process
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', end);
  }
}

async function answerOf(child: ChildProcess, request: object): Promise<Answer> {
  const answered: Promise<Answer[]> = once(child, 'message');
  answered.catch(() => {}); // a process that cannot be started is reported by `ended`, too
  // A process may exit before its answer is delivered: it has none only once its channel has ended.
  const ended = Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
  child.send(request, () => {}); // where that fails, it has exited
  const [answer] = await Promise.race([answered, ended.then(() => [])]);
  await ended; // its files are closed
  if (answer) return answer;
  throw new AppError('internal', `A process of the backup ended with ${child.signalCode ?? child.exitCode}`);
}

/** Does what `runTask` requests, in its process, which ends when the server does: the next one uses the same directory. */
export async function serveTask<Name extends keyof Tasks>(
  work: (request: Tasks[Name]['request']) => Promise<Tasks[Name]['result']>,
): Promise<void> {
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  const [request] = await once(process, 'message');
  const answer: Answer = await work(request).then(
    result => ({ result }),
    thrown => {
      const { code, message } = toAppError(thrown);
      return { error: { code, message } };
    },
  );
  process.send?.(answer, () => process.disconnect());
}
