import type { Logger } from 'pino';
import { PROXY_SETTINGS, UPGRADE_REQUIRED } from '../core/listen/protocol.ts';
import { type Backoff, createBackoff } from './backoff.ts';
import type { Clock } from './clock.ts';
import type { BridgeEvent, OnEvent } from './events.ts';
import { type KeySource, MAKE_KEY } from './key.ts';
import type { Recording } from './recording.ts';
import type { Spool } from './spool.ts';
import { type Ending, runSession, type SessionLimits } from './uplink-session.ts';

export interface UplinkLimits extends SessionLimits {
  /** The first wait after a lost connection; doubles. */
  firstRetryMs: number;
  maxRetryMs: number;
  /** After a refusal that time alone does not cure. */
  slowRetryMs: number;
  /** Before core is asked whether it has got all of an ended recording. */
  confirmMs: number;
}

const LIMITS: UplinkLimits = {
  helloMs: 10_000,
  keepAliveMs: 30_000,
  pingMs: 15_000,
  finalAckMs: 5000,
  maxBufferedBytes: 256 * 1024,
  firstRetryMs: 500,
  maxRetryMs: 60_000,
  slowRetryMs: 120_000,
  confirmMs: 10_000,
};

/** Meaning of a close: whether time alone cures it, and the message. */
interface Meaning {
  retry: 'soon' | 'slow';
  say: string;
}

const CLOSES: Readonly<Record<number, Meaning>> = {
  1000: { retry: 'soon', say: 'core closed the connection' },
  1001: { retry: 'soon', say: 'core is going away' },
  1003: { retry: 'slow', say: 'core does not take this kind of audio; is it older than the bridge?' },
  1006: {
    retry: 'soon',
    say: 'core cannot be reached; does it run there, and does its setting host let this machine in?',
  },
  1008: { retry: 'slow', say: 'core refuses this connection' },
  1009: { retry: 'slow', say: 'core finds a message too long' },
  1011: { retry: 'soon', say: 'core failed' },
  1012: { retry: 'soon', say: 'core is restarting' },
  1013: { retry: 'soon', say: 'core asks to come again later' },
};
const OTHER_CLOSE: Meaning = { retry: 'soon', say: 'core closed the connection' };

const REFUSALS: Readonly<Record<number, Meaning>> = {
  401: {
    retry: 'slow',
    say: `core does not know the API key of the bridge; ${MAKE_KEY}`,
  },
  403: {
    retry: 'slow',
    say: `the API key of the bridge may not send audio; ${MAKE_KEY}`,
  },
  404: { retry: 'slow', say: 'there is no /v4/listen at this address; check bridge.core' },
  [UPGRADE_REQUIRED]: {
    retry: 'slow',
    say: `the proxy in front of core does not pass on the headers Upgrade and Connection; in its configuration nginx needs: ${PROXY_SETTINGS}`,
  },
};
const OTHER_REFUSAL: Meaning = { retry: 'soon', say: 'core refuses connections for now' };

/** Carries what the spool holds of one wearable to core: one recording after the other, oldest first. */
export interface Uplink {
  /** Connections that were made, and those that failed: refused, or broken before their end. */
  readonly counts: Readonly<{ connections: number; failures: number }>;
  /** Sends what is there, then closes; what is not confirmed stays in the spool. */
  stop(): Promise<void>;
}

/** `ws://host:port`, asked for before each connection. Waits until it is known; rejects only when aborted. */
export type CoreAddress = (signal: AbortSignal) => Promise<string>;

export function startUplink({
  clientDeviceId,
  spool,
  core,
  keys,
  conversationTimeoutS,
  clock,
  log,
  onEvent,
  limits: given = {},
}: {
  clientDeviceId: string;
  spool: Spool;
  core: CoreAddress;
  keys: KeySource;
  conversationTimeoutS: number;
  clock: Clock;
  log: Logger;
  onEvent: OnEvent;
  limits?: Partial<UplinkLimits>;
}): Uplink {
  const limits = { ...LIMITS, ...given };
  const stopping = new AbortController();
  const backoff = createBackoff({ firstMs: limits.firstRetryMs, maxMs: limits.maxRetryMs });
  /** Ended recordings that were sent as a whole: when to ask for what is not confirmed, and how long to wait then. */
  const unconfirmed = new WeakMap<Recording, { askAtMs: number; backoff: Backoff }>();
  const counts = { connections: 0, failures: 0 };
  let told = '';

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const recording = pick();
      if (recording) await carry(recording).catch(failed);
      else await somethingNew();
    }
  }

  /** A key that cannot be kept, or that no header can hold: nothing that a connection would tell. */
  async function failed(error: unknown): Promise<void> {
    if (stopping.signal.aborted) return;
    const reason = error instanceof Error ? error.message : String(error);
    log.error({ retryInMs: limits.slowRetryMs }, `cannot connect to core: ${reason}`);
    await pause(limits.slowRetryMs);
  }

  const pause = (ms: number) => clock.sleep(ms, stopping.signal).catch(() => {});

  /** Recordings that hold something, and when it is time for each. */
  function waiting(): { recording: Recording; atMs: number }[] {
    return spool
      .recordings(clientDeviceId)
      .filter(({ next, first }) => next > first)
      .map(recording => ({ recording, atMs: unconfirmed.get(recording)?.askAtMs ?? 0 }));
  }

  function pick(): Recording | undefined {
    return waiting().find(({ atMs }) => atMs <= clock.now())?.recording;
  }

  /** Until the spool has something new, or it is time to ask for confirmations. */
  async function somethingNew(): Promise<void> {
    const waits = waiting().map(({ atMs }) => atMs - clock.now());
    const waking = new AbortController();
    const unwatch = spool.watch(clientDeviceId, () => {
      if (pick()) waking.abort();
    });
    const signal = AbortSignal.any([waking.signal, stopping.signal]);
    await clock.sleep(Math.max(0, Math.min(...waits, limits.maxRetryMs)), signal).catch(() => {});
    unwatch();
  }

  async function carry(recording: Recording): Promise<void> {
    const device = recording.info.deviceName;
    const address = await core(stopping.signal);
    const key = await keys.get(stopping.signal);
    const ending = await runSession(
      {
        core: address,
        key,
        recording,
        conversationTimeoutS,
        clock,
        limits,
        signal: stopping.signal,
        events: {
          onHello(received) {
            told = '';
            counts.connections += 1;
            log.info({ device, stream: recording.stream, received }, 'connected to core');
            onEvent({ event: 'connected', device, stream: recording.stream, received });
          },
          onSegments: segments => onEvent({ event: 'segments', device, segments }),
          onMessage: ({ type, ...rest }) => onEvent({ event: type, device, ...rest } as BridgeEvent), // as the type says
        },
      },
      listener => spool.watch(clientDeviceId, listener),
    );
    await conclude(recording, ending, address);
  }

  async function conclude(recording: Recording, ending: Ending, core: string): Promise<void> {
    const device = recording.info.deviceName;
    if (ending.kind === 'restart') return pause(limits.firstRetryMs);
    if (ending.kind === 'sent') {
      backoff.reset();
      onEvent({ event: 'disconnected', device, code: 1000, reason: 'all sent', retryInMs: 0 });
      askLater(recording);
      return;
    }
    counts.failures += 1;
    if (ending.kind === 'closed' && ending.confirmed) backoff.reset();
    const { retry, say } = meaningOf(ending);
    const hasOther = ending.kind === 'refused' && ending.status === 401 && keys.refused();
    const ownMs = retry === 'slow' && !hasOther ? limits.slowRetryMs : backoff.next();
    const retryInMs = Math.max(ownMs, ending.kind === 'refused' ? (ending.retryAfterMs ?? 0) : 0);
    const code = ending.kind === 'closed' ? ending.code : ending.status;
    const reason = ending.kind === 'closed' && ending.reason ? `${say} (${ending.reason})` : say;
    tell(retry, { device, core, code, retryInMs }, reason);
    onEvent({ event: 'disconnected', device, code, reason, retryInMs });
    await pause(retryInMs);
  }

  /** Once for each new reason; the same one again is not news. */
  function tell(retry: Meaning['retry'], fields: object, reason: string): void {
    if (stopping.signal.aborted) return;
    const level = told === reason ? 'debug' : retry === 'slow' ? 'error' : 'warn';
    told = reason;
    log[level](fields, `${reason}; audio is kept on disk meanwhile`);
  }

  function askLater(recording: Recording): void {
    const waits =
      unconfirmed.get(recording)?.backoff ??
      createBackoff({ firstMs: limits.confirmMs, maxMs: limits.slowRetryMs });
    unconfirmed.set(recording, { askAtMs: clock.now() + waits.next(), backoff: waits });
  }

  const running = run();
  return {
    counts,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

function meaningOf(ending: Extract<Ending, { kind: 'refused' | 'closed' }>): Meaning {
  if (ending.kind === 'closed') return CLOSES[ending.code] ?? OTHER_CLOSE;
  return REFUSALS[ending.status] ?? OTHER_REFUSAL;
}
