import type { Log } from '../runtime/log.ts';

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
  /** Its user is known. */
  | 'authenticated'
  /** It was refused, or left, before its user was known. */
  | 'refused'
  /** Audio was taken in. */
  | 'audio'
  /** Its conversation has ended, by silence or because somebody asked for it, and is being processed. */
  | 'ended'
  /** Its client has gone, or was sent away, and what it said is stored. */
  | 'closed';

/** The life of a connection. What is not in it cannot happen. */
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

/** @param counts connections by state; those that are closed count no more */
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
