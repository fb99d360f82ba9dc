import { waitAtMost } from '../../runtime/deadline.ts';
import { AppError, toAppError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';

/** Bounds of one of the services. */
export interface Limits {
  /** At once; one more is refused. */
  connections: number;
  /** Speech in one request. */
  seconds: number;
  /** A client that is to say something, and says nothing for so long, is cut off. */
  idleMs: number;
}

/** One client, from its connection to its end. */
export interface Session {
  /** All was said, and its answer is on its way. */
  readonly isFinishing: boolean;
  /** Tells the client why, and hangs up. */
  fail(reason: AppError): void;
  closed: Promise<void>;
}

/** A client that waits for its answer when the service stops still gets it within this. */
const DRAIN_MS = 5000;

export function createSessions({ connections }: Limits) {
  const open = new Set<Session>();
  let isStopping = false;

  return {
    /** @throws {AppError} `unavailable` */
    admit(): void {
      if (isStopping) throw stopping();
      if (open.size < connections) return;
      throw new AppError(
        'unavailable',
        `${connections} connections are served at once: try again later, or raise --connections`,
      );
    },
    add(session: Session): void {
      open.add(session);
      void session.closed.then(() => open.delete(session));
    },
    /** Never rejects. */
    async stop(clock: Parameters<typeof waitAtMost>[0]['clock']): Promise<void> {
      isStopping = true;
      const all = [...open];
      const closed = Promise.all(all.map(session => session.closed));
      for (const session of all) if (!session.isFinishing) session.fail(stopping());
      await waitAtMost({ clock, limitMs: DRAIN_MS }, closed);
      for (const session of open) session.fail(stopping());
    },
  };
}

function stopping(): AppError {
  return new AppError('unavailable', 'The recogniser is stopping: ask another one, or try again later');
}

/**
 * Cuts a silent client off.
 * @param isTurn whether it is the client that is to say something
 * @returns to be told of each sign of life, and at the end
 */
export function watchIdle(idleMs: number, isTurn: () => boolean, onIdle: (reason: AppError) => void) {
  const timer = setTimeout(() => {
    if (!isTurn()) timer.refresh();
    else onIdle(new AppError('too_slow', `Nothing was sent for ${idleMs / 1000} s: connect again to go on`));
  }, idleMs);
  return { alive: () => void timer.refresh(), end: () => clearTimeout(timer) };
}

/** An error as a client may see it; what it may not see is logged. */
export function shownTo(client: string, thrown: unknown, log: Log): AppError {
  const error = toAppError(thrown);
  log[error.expose ? 'info' : 'error']({ client, err: error }, 'a request for recognition failed');
  return error.expose ? error : new AppError('internal', 'The recogniser failed; its log says why');
}
