import { waitAtMost } from '../../runtime/deadline.ts';
import { AppError, toAppError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';

/** Limits of a service. */
export interface Limits {
  /** Maximum concurrent sessions; further ones are refused. */
  connections: number;
  /** Maximum speech in one request. */
  seconds: number;
  /** Time after which a client is disconnected that should send something and does not. */
  idleMs: number;
}

/** One client, from its connection to its end. */
export interface Session {
  /** Whether the client has sent everything and waits for its answer. */
  readonly isFinishing: boolean;
  /** Sends the reason, and closes the connection. */
  fail(reason: AppError): void;
  closed: Promise<void>;
}

/** Time in which waiting clients still get their answers when the service stops. */
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
 * Disconnects a silent client.
 * @param isTurn returns whether the client has to send something
 * @returns functions to call at each message and at the end
 */
export function watchIdle(idleMs: number, isTurn: () => boolean, onIdle: (reason: AppError) => void) {
  const timer = setTimeout(() => {
    if (!isTurn()) timer.refresh();
    else onIdle(new AppError('too_slow', `Nothing was sent for ${idleMs / 1000} s: connect again to go on`));
  }, idleMs);
  return { alive: () => void timer.refresh(), end: () => clearTimeout(timer) };
}

/** Returns the error that a client may see; details are only logged. */
export function shownTo(client: string, thrown: unknown, log: Log): AppError {
  const error = toAppError(thrown);
  log[error.expose ? 'info' : 'error']({ client, err: error }, 'a request for recognition failed');
  return error.expose ? error : new AppError('internal', 'The recogniser failed; its log says why');
}
