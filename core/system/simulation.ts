/** The simulated pendant of the bridge, played to the running server. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { User } from '../contract/model.ts';
import type { Keys } from '../domain/accounts/keys.ts';
import { type Child, startChild } from '../runtime/child.ts';
import { AppError } from '../runtime/errors.ts';

/** Silence that ends the conversation of the simulated pendant, in seconds. */
const CONVERSATION_TIMEOUT_S = 4;
/** The recording takes half a minute; a recogniser on a small machine may take longer. */
const LIMIT_MS = 300_000;

export interface SimulationState {
  isRunning: boolean;
  /** Why the last one ended before its conversation did; null: it did not. */
  error: string | null;
}

/**
 * Starts a bridge with a simulated pendant as a process of its own. It has a key of the account, and a directory, which
 * both go when the conversation has ended.
 */
export function createSimulation({
  keys,
  url,
  environment,
}: {
  keys: Pick<Keys, 'create' | 'remove'>;
  /** Where the server listens; null: it does not yet. */
  url(): string | null;
  /** Environment of the server; its own settings are left out. */
  environment: NodeJS.ProcessEnv;
}) {
  let state: SimulationState = { isRunning: false, error: null };
  let child: Child | null = null;
  let ended: Promise<void> = Promise.resolve();
  let cancel: () => void = () => {};

  async function play(user: User, core: string, cancelled: Promise<void>): Promise<void> {
    const dir = await mkdtemp(join(tmpdir(), 'earshot-simulation-'));
    const { record, key } = await keys.create(user.id, { name: 'Simulated pendant', scopes: ['listen'] });
    const finished = Promise.withResolvers<void>();
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new AppError('timeout', `no conversation was finished within ${LIMIT_MS / 1000} s`)),
      LIMIT_MS,
    );
    try {
      const bridge = { core, key, conversationTimeoutS: CONVERSATION_TIMEOUT_S, devices: [] };
      const config = join(dir, 'earshot.yaml');
      await writeFile(config, JSON.stringify({ bridge }), { mode: 0o600 });
      child = startChild({
        title: 'the simulated pendant',
        entry: 'bridge/bin.mjs',
        args: ['--simulate', '--json', '--config', config, '--data-dir', dir],
        env: withoutSettings(environment),
        onLine: line => isEnd(line) && finished.resolve(),
      });
      await Promise.race([finished.promise, child.died, late.promise, cancelled]);
    } finally {
      clearTimeout(timer);
      await child?.stop();
      child = null;
      await keys.remove(user.id, record.id);
      await rm(dir, { recursive: true, force: true });
    }
  }

  return {
    state: (): SimulationState => state,
    /** Begins; `state` tells of the end. `conflict` while one runs. */
    begin(user: User): void {
      const core = url();
      if (core === null) throw new AppError('unavailable', 'The server is starting: try again');
      if (state.isRunning) throw new AppError('conflict', 'A simulated pendant is playing already');
      const cancelling = Promise.withResolvers<void>();
      cancel = cancelling.resolve;
      state = { isRunning: true, error: null };
      ended = play(user, localAddress(core), cancelling.promise).then(
        () => {
          state = { isRunning: false, error: null };
        },
        error => {
          state = { isRunning: false, error: error instanceof Error ? error.message : String(error) };
        },
      );
    },
    /** Resolves once it is gone. */
    async stop(): Promise<void> {
      cancel();
      await ended;
    },
  };
}

/** Where a process of this machine reaches the server, as the bridge wants it. */
function localAddress(url: string): string {
  const address = new URL(url.replace(/^http/, 'ws'));
  if (address.hostname === '0.0.0.0') address.hostname = '127.0.0.1';
  if (address.hostname === '[::]') address.hostname = '[::1]';
  return address.href.replace(/\/$/, '');
}

/** The bridge of the simulation has settings of its own alone. */
function withoutSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('EARSHOT_')));
}

/** Whether the line tells that the conversation was processed. */
function isEnd(line: string): boolean {
  const event: unknown = JSON.parse(line);
  return Object(event).event === 'memory_created';
}
