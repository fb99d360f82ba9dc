export interface Clock {
  /** UTC epoch milliseconds. */
  now(): number;
  /** Resolves after `ms`, rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A piece of durable work. `key` is unique among the unfinished jobs of its kind. */
export interface Job {
  id: string;
  kind: string;
  key: string;
  payload: Record<string, unknown>;
  runAt: number;
  /** Number of runs since the last one without a failure, including this one. */
  attempts: number;
  /** Proves possession of the lease; changes with every claim. */
  lease: string;
}

export interface JobCount {
  kind: string;
  /** `failed` waits for its next attempt, `waiting` for its time; `running` holds a lease; `dead` was given up. */
  state: 'waiting' | 'due' | 'running' | 'failed' | 'dead';
  count: number;
}

/** Health as `/healthz` reports it. */
export interface Health {
  /** `degraded`: it serves, but something that is configured does not work. `failing`: it cannot serve. */
  status: 'ok' | 'degraded' | 'failing';
  /** Names of failing parts; empty while the server starts or stops. */
  parts: string[];
}
