import type { Logger } from 'pino';
import { PROXY_SETTINGS, UPGRADE_REQUIRED } from '../../core/listen/protocol.ts';
import { type Backoff, createBackoff } from '../backoff.ts';
import type { Clock } from '../clock.ts';
import type { BridgeEvent, OnEvent } from '../events.ts';
import type { PhotoQueue, WaitingPhoto } from '../spool/photos.ts';
import type { Recording } from '../spool/recording.ts';
import type { Spool } from '../spool/spool.ts';
import { type KeySource, MAKE_KEY } from './key.ts';
import { createPhotoCarrier, type PhotoLimits } from './uplink-photos.ts';
import type { Ending, SessionLimits } from './uplink-session.ts';

export interface UplinkLimits extends SessionLimits, PhotoLimits {
  /** First pause after a lost connection; doubles. */
  firstRetryMs: number;
  maxRetryMs: number;
  /** Pause after a refusal that somebody has to resolve. */
  slowRetryMs: number;
  /** First pause before missing confirmations of an ended recording are requested. */
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
  photoMs: 90_000,
};

/** Meaning of a close code: whether it is temporary, and the message. */
interface Meaning {
  retry: 'soon' | 'slow';
  say: string;
}

const CLOSES: Readonly<Record<number, Meaning>> = {
  1000: { retry: 'soon', say: 'core closed the connection' },
  1001: { retry: 'soon', say: 'core is shutting down' },
  1003: { retry: 'slow', say: 'core does not accept this kind of audio; is it older than the bridge?' },
  1006: {
    retry: 'soon',
    say: 'core cannot be reached; does it run there, and does its setting host allow connections from this machine?',
  },
  1008: { retry: 'slow', say: 'core refuses this connection' },
  1009: { retry: 'slow', say: 'core rejected a message that is too long' },
  1011: { retry: 'soon', say: 'core failed' },
  1012: { retry: 'soon', say: 'core is restarting' },
  1013: { retry: 'soon', say: 'core asks the bridge to retry later' },
};
const OTHER_CLOSE: Meaning = { retry: 'soon', say: 'core closed the connection' };

const REFUSALS: Readonly<Record<number, Meaning>> = {
  401: {
    retry: 'slow',
    say: `core does not accept the API key of the bridge; ${MAKE_KEY}`,
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

/**
 * Uploads the spooled recordings of one wearable to core, one at a time and oldest first, and its photos beside them.
 */
export interface Uplink {
  /** Number of connections, and of those that were refused or lost. */
  readonly counts: Readonly<{ connections: number; failures: number }>;
  /** Sends what the spool holds, then closes. What core does not confirm stays in the spool. */
  stop(): Promise<void>;
}

/** Returns `ws://host:port`. Called before each connection; may wait until it is known. Rejects only when aborted. */
export type CoreAddress = (signal: AbortSignal) => Promise<string>;

export function startUplink({
  clientDeviceId,
  spool,
  photos,
  core,
  keys,
  language = 'en',
  conversationTimeoutS,
  clock,
  log,
  onEvent,
  limits: given = {},
}: {
  clientDeviceId: string;
  spool: Spool;
  /** Absent: the wearable has no camera. */
  photos?: PhotoQueue;
  core: CoreAddress;
  keys: KeySource;
  /** Language code of the speech, or `multi`. */
  language?: string;
  conversationTimeoutS: number;
  clock: Clock;
  log: Logger;
  onEvent: OnEvent;
  limits?: Partial<UplinkLimits>;
}): Uplink {
  const limits = { ...LIMITS, ...given };
  const stopping = new AbortController();
  const backoff = createBackoff({ firstMs: limits.firstRetryMs, maxMs: limits.maxRetryMs });
  /** Ended recordings that were sent completely: when to request missing confirmations, and the pause after that. */
  const unconfirmed = new WeakMap<Recording, { askAtMs: number; backoff: Backoff }>();
  const counts = { connections: 0, failures: 0 };
  const carrier = photos && createPhotoCarrier({ photos, clientDeviceId, clock, log, limits });
  let told = '';

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const recording = pick();
      const photo = recording ? null : carrier?.due(Number.POSITIVE_INFINITY);
      if (recording) await carry(recording).catch(failed);
      else if (photo) await carryPhotos(photo).catch(failed);
      else await somethingNew();
    }
  }

  /** Reports that the key cannot be stored or is no valid header, which no connection would show. */
  async function failed(error: unknown): Promise<void> {
    if (stopping.signal.aborted) return;
    const reason = error instanceof Error ? error.message : String(error);
    log.error({ retryInMs: limits.slowRetryMs }, `cannot connect to core: ${reason}`);
    await pause(limits.slowRetryMs);
  }

  const pause = (ms: number) => clock.sleep(ms, stopping.signal).catch(() => {});

  /** Returns recordings that are not empty, and when each is to be sent. */
  function waiting(): { recording: Recording; atMs: number }[] {
    return spool
      .recordings(clientDeviceId)
      .filter(({ next, first }) => next > first)
      .map(recording => ({ recording, atMs: unconfirmed.get(recording)?.askAtMs ?? 0 }));
  }

  function pick(): Recording | undefined {
    return waiting().find(({ atMs }) => atMs <= clock.now())?.recording;
  }

  /** Waits for new audio or photos, or for the next time to request confirmations or to retry photos. */
  async function somethingNew(): Promise<void> {
    const waits = waiting().map(({ atMs }) => atMs - clock.now());
    if (carrier && photos.first(clientDeviceId)) waits.push(carrier.heldMs());
    const waking = new AbortController();
    const unwatch = watch(() => {
      if (pick() || carrier?.due(Number.POSITIVE_INFINITY)) waking.abort();
    });
    const signal = AbortSignal.any([waking.signal, stopping.signal]);
    await clock.sleep(Math.max(0, Math.min(...waits, limits.maxRetryMs)), signal).catch(() => {});
    unwatch();
  }

  function watch(listener: () => void): () => void {
    const ends = [spool.watch(clientDeviceId, listener), photos?.watch(clientDeviceId, listener)];
    return () => {
      for (const end of ends) end?.();
    };
  }

  /** Sends photos of one conversation when there is no audio that they could be sent with. */
  async function carryPhotos({ deviceName, source, atMs }: WaitingPhoto): Promise<void> {
    const format = { codec: 'pcm16', sampleRate: 16_000, frameMs: 10 };
    const empty = spool.begin({ clientDeviceId, deviceName, source, ...format, startedAtMs: atMs });
    empty.end();
    await carry(empty, photos?.lastWithin(clientDeviceId, conversationTimeoutS * 1000));
  }

  /** @param photosUpToMs photos taken by then need not wait for audio */
  async function carry(recording: Recording, photosUpToMs = 0): Promise<void> {
    const device = recording.info.deviceName;
    const address = await core(stopping.signal);
    const key = await keys.get(stopping.signal);
    // Loaded once there is something to send: a bridge that waits does without it.
    const { runSession } = await import('./uplink-session.ts');
    const ending = await runSession(
      {
        core: address,
        key,
        recording,
        ...(carrier ? { photos: { carrier, upToMs: photosUpToMs } } : {}),
        language,
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
          onMessage: ({ type, ...rest }) => onEvent({ event: type, device, ...rest } as BridgeEvent), // see `FromCore`
        },
      },
      watch,
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

  /** Logs a reason unless it is the same as before. */
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
