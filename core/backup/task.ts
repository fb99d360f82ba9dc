import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { extname, join } from 'node:path';
import { AppError, type ErrorCode, toAppError } from '../runtime/errors.ts';
import { lowerPriority } from '../runtime/priority.ts';

/** Work on large files, in a process of its own and at a lower priority: beside it, live speech must not wait. */
export type Task = 'stage' | 'archive' | 'rehearse';

type Answer = { result: unknown } | { error: { code: ErrorCode; message: string } };

/** Runs `<task>-main.ts`, and resolves to its result. Rejects with its error, or the reason of `signal`. */
export async function runTask<Result>(task: Task, request: object, signal: AbortSignal): Promise<Result> {
  signal.throwIfAborted();
  const entry = join(import.meta.dirname, `${task}-main${extname(import.meta.filename)}`);
  const child = fork(entry, [], { execArgv: [] });
  lowerPriority(child.pid);
  const end = () => child.kill('SIGKILL');
  signal.addEventListener('abort', end);
  try {
    const answer = await answerOf(child, request);
    if ('error' in answer) throw new AppError(answer.error.code, answer.error.message);
    return answer.result as Result;
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
export async function serveTask<Request>(work: (request: Request) => Promise<unknown>): Promise<void> {
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  const [request]: Request[] = await once(process, 'message');
  const answer: Answer = await work(request as Request).then(
    result => ({ result }),
    thrown => {
      const { code, message } = toAppError(thrown);
      return { error: { code, message } };
    },
  );
  process.send?.(answer, () => process.disconnect());
}
