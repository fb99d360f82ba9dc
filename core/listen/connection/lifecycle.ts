import type { Log } from '../../runtime/log.ts';

export type ConnectionState =
  | 'connecting'
  | 'authenticating'
  | 'ready'
  | 'streaming'
  | 'processing'
  | 'closed';

export type ConnectionEvent =
  /** The upgrade was accepted. */
  | 'accepted'
  /** The user is known. */
  | 'authenticated'
  /** Refused or gone before its user was known. */
  | 'refused'
  /** Audio arrived. */
  | 'audio'
  /** Its conversation has ended, by silence or on request, and is being processed. */
  | 'ended'
  /** The client is gone or was dismissed, and everything it said is stored. */
  | 'closed';

/** States of a connection and the transitions between them; any other transition is a bug. */
export const LIFE: Readonly<
  Record<ConnectionState, Partial<Readonly<Record<ConnectionEvent, ConnectionState>>>>
> = {
  connecting: { accepted: 'authenticating', refused: 'closed' },
  authenticating: { authenticated: 'ready', refused: 'closed' },
  ready: { audio: 'streaming', ended: 'processing', closed: 'closed' },
  streaming: { audio: 'streaming', ended: 'processing', closed: 'closed' },
  processing: { audio: 'streaming', ended: 'processing', closed: 'closed' },
  closed: {},
};

export interface Lifecycle {
  readonly state: ConnectionState;
  on(event: ConnectionEvent): void;
}

/** @param counts open connections by state */
export function createLifecycle(counts: Map<string, number>, log: Log): Lifecycle {
  let state: ConnectionState = 'connecting';
  const count = (change: 1 | -1) => {
    if (state !== 'closed') counts.set(state, (counts.get(state) ?? 0) + change);
  };
  count(1);
  return {
    get state() {
      return state;
    },
    on(event) {
      const next = LIFE[state][event];
      if (!next)
        return log.error({ state, event }, 'this cannot happen to a connection: an error in Earshot');
      if (next === state) return;
      log[state === 'connecting' ? 'debug' : 'info']({ from: state, event }, `connection is ${next}`);
      count(-1);
      state = next;
      count(1);
    },
  };
}
