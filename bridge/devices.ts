import type { Logger } from 'pino';
import { type Backoff, createBackoff } from './backoff.ts';
import type { Clock } from './clock.ts';
import type { Driver } from './driver.ts';
import type { DeviceCounts, OnEvent } from './events.ts';
import type { Advertisement, Radio } from './radio.ts';
import type { Recording, RecordingInfo } from './recording.ts';
import { plainUuid } from './uuid.ts';
import { listen, Unfit, type Wearable } from './wearable.ts';

export interface DevicesOptions {
  radio: Radio;
  drivers: Driver[];
  /** Names or addresses; empty: every wearable that a driver knows. */
  only: string[];
  /** Opens a place for what one connection will record. */
  begin(info: RecordingInfo): Recording;
  clock: Clock;
  log: Logger;
  onEvent: OnEvent;
  limits?: Partial<DeviceLimits>;
}

export interface DeviceLimits {
  /** After the first failed connection; doubles. A link lost while it streamed is made again at once. */
  firstRetryMs: number;
  maxRetryMs: number;
  /** A device that will not do (unknown codec, no audio) is looked at again after this. */
  unfitMs: number;
  /** A subscribed device that sends nothing for so long is connected anew. */
  silentMs: number;
  /** Scanning costs air time: while all known wearables stream, so long between two looks around. */
  restMs: number;
  /** How long such a look takes. */
  lookMs: number;
}

const LIMITS: DeviceLimits = {
  firstRetryMs: 1000,
  maxRetryMs: 60_000,
  unfitMs: 600_000,
  silentMs: 30_000,
  restMs: 30_000,
  lookMs: 10_000,
};

export interface Devices {
  counts(): DeviceCounts[];
  /** Ends every connection in good order. */
  stop(): Promise<void>;
}

interface Known extends Wearable {
  /** The radio's name for it. */
  id: string;
  backoff: Backoff;
  /** Not to be connected before this instant. */
  notBeforeMs: number;
  /** The connection that is being made or used. */
  busy: Promise<void> | null;
  streaming: boolean;
  connections: number;
}

/** Finds wearables, keeps a connection to each, and hands on their audio. */
export function startDevices(options: DevicesOptions): Devices {
  const { radio, drivers, only, begin, clock, log, onEvent } = options;
  const limits = { ...LIMITS, ...options.limits };
  const known = new Map<string, Known>();
  const leftAlone = new Set<string>();
  const stopping = new AbortController();
  const { signal } = stopping;
  let lostOne = new AbortController();

  const allStream = () => known.size > 0 && [...known.values()].every(({ streaming }) => streaming);

  async function run(): Promise<void> {
    while (!signal.aborted && radio.state.name !== 'closed') {
      if (allStream())
        await clock.sleep(limits.restMs, AbortSignal.any([signal, lostOne.signal])).catch(() => {});
      await look();
    }
  }

  /** Until stopped; or, when all is well, for a while. */
  async function look(): Promise<void> {
    const looking = new AbortController();
    const timer = setInterval(() => {
      if (allStream()) looking.abort();
    }, limits.lookMs);
    for await (const sighting of radio.scan(AbortSignal.any([signal, looking.signal]))) meet(sighting);
    clearInterval(timer);
  }

  /** A lost wearable is connected again when it is next seen: a request to one out of reach would block all others. */
  function meet(sighting: Advertisement): void {
    const device = known.get(sighting.id) ?? recognise(sighting);
    if (!device || device.busy || clock.now() < device.notBeforeMs) return;
    device.busy = serve(device).finally(() => {
      device.busy = null;
      device.streaming = false;
      lostOne.abort();
      lostOne = new AbortController();
    });
  }

  function recognise(sighting: Advertisement): Known | null {
    const { id, address } = sighting;
    const driver = drivers.find(({ match }) => matches(match, sighting));
    if (!driver) return null;
    const name = sighting.name || address;
    if (!isWanted(only, sighting)) {
      if (!leftAlone.has(id))
        log.info({ name, address }, 'wearable left alone: bridge.devices does not name it');
      leftAlone.add(id);
      return null;
    }
    const device: Known = {
      id,
      address,
      name,
      driver,
      counts: { packets: 0, frames: 0, lost: 0, duplicates: 0, malformed: 0, resets: 0 },
      backoff: createBackoff({ firstMs: limits.firstRetryMs, maxMs: limits.maxRetryMs }),
      notBeforeMs: 0,
      busy: null,
      streaming: false,
      connections: 0,
    };
    known.set(id, device);
    return device;
  }

  /** One connection, from the attempt to its end. Never rejects. */
  async function serve(device: Known): Promise<void> {
    try {
      const link = await radio.connect(device.id, { signal });
      const ended = await listen({
        wearable: device,
        link,
        begin,
        clock,
        log,
        silentMs: limits.silentMs,
        onStreaming: status => streaming(device, status),
      }).finally(link.disconnect);
      if (ended.heard) device.backoff.reset();
      else device.notBeforeMs = clock.now() + device.backoff.next();
      log.info({ device: device.name, reason: ended.reason }, 'wearable disconnected');
      tell(device, 'disconnected', { reason: ended.reason });
    } catch (error) {
      if (!signal.aborted) failed(device, error);
    }
  }

  function streaming(device: Known, status: { codec: string; battery: number | null }): void {
    if (!device.streaming) {
      log.info({ device: device.name, ...status }, 'wearable streams');
      device.connections += 1;
    }
    device.streaming = true;
    tell(device, 'streaming', status);
  }

  function failed(device: Known, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    const isUnfit = error instanceof Unfit;
    const waitMs = isUnfit ? limits.unfitMs : device.backoff.next();
    device.notBeforeMs = clock.now() + waitMs;
    const what = isUnfit ? 'the wearable cannot be used' : 'no connection to the wearable';
    log.warn({ device: device.name, retryInMs: waitMs }, `${what}: ${reason}`);
    tell(device, isUnfit ? 'unfit' : 'disconnected', { reason });
  }

  function tell(
    { name, address }: Known,
    state: 'streaming' | 'disconnected' | 'unfit',
    more: { codec?: string; battery?: number | null; reason?: string },
  ): void {
    onEvent({ event: 'device', name, address, state, codec: null, battery: null, reason: null, ...more });
  }

  const running = run();
  return {
    counts: () =>
      [...known.values()].map(({ name, streaming, connections, counts }) => ({
        ...{ name, streaming, connections },
        ...counts,
      })),
    async stop() {
      stopping.abort();
      await running;
      await radio.close(); // ends the links, and with them what listens to them
      await Promise.all([...known.values()].map(({ busy }) => busy));
    },
  };
}

function matches(
  { serviceUuids = [], namePrefixes = [] }: Driver['match'],
  sighting: Advertisement,
): boolean {
  const advertised = new Set(sighting.serviceUuids.map(plainUuid));
  if (serviceUuids.some(uuid => advertised.has(plainUuid(uuid)))) return true;
  const name = sighting.name.toLowerCase();
  return namePrefixes.some(prefix => name.startsWith(prefix.toLowerCase()));
}

function isWanted(only: string[], { name, address, id }: Advertisement): boolean {
  if (only.length === 0) return true;
  const wanted = only.map(entry => entry.trim().toLowerCase());
  return [name, address, id].some(mine => mine !== '' && wanted.includes(mine.toLowerCase()));
}
