import type { Logger } from 'pino';
import { type Backoff, createBackoff } from '../backoff.ts';
import type { Clock } from '../clock.ts';
import type { Button, Driver, DriverMemory } from '../driver.ts';
import { matches } from '../driver-host/matching.ts';
import type { DeviceCounts, DeviceEvent, OnEvent } from '../events.ts';
import { Unfit } from '../guard.ts';
import type { Link } from '../link.ts';
import type { Advertisement, Radio } from '../radio.ts';
import type { BridgeRequest } from '../requests.ts';
import type { Recording, RecordingInfo } from '../spool/recording.ts';
import type { Controls } from './controls.ts';
import { createMemories } from './driver-memory.ts';
import {
  type Identified,
  listen,
  type PhotoNews,
  type Wearable,
  type WearableNews,
  type WearableStatus,
} from './wearable.ts';

export interface DevicesOptions {
  radio: Radio;
  /** Drivers in the order in which they are tried. */
  drivers: readonly Driver[];
  /** Names or addresses; empty: every wearable that a driver knows. */
  only: string[];
  /** Returns the owner's name for the device at this address; undefined: none. */
  nameOf?(address: string): string | undefined;
  /** Opens the recordings of one connection. */
  begin(info: RecordingInfo): Recording;
  /** Resolves when the spool has room for more stored audio; absent: always. */
  room?(): Promise<void>;
  /** Persistent small values of a device, by its id; absent: kept only in memory. */
  memoryOf?(clientDeviceId: string): DriverMemory;
  /** Stores a photo of a device; absent: photos are dropped. */
  keepPhoto?(device: Pick<Known, 'name'> & Identified, photo: PhotoNews): Promise<void>;
  /** Called with the device's id when a button was pressed. */
  onButton?(clientDeviceId: string, button: Button): void;
  /** Wraps a connection for its driver, for instance to record its traffic. */
  through?(link: Link): Link;
  clock: Clock;
  log: Logger;
  onEvent: OnEvent;
  limits?: Partial<DeviceLimits>;
}

export interface DeviceLimits {
  /** Wait after the first failed connection; it doubles. A link that is lost while it streams is restored at once. */
  firstRetryMs: number;
  maxRetryMs: number;
  /** Wait before another look at an unsuitable device (unknown codec, no audio). */
  unfitMs: number;
  /** Time without any packet after which a subscribed device is reported as quiet. */
  silentMs: number;
  /** Time without any packet after which a subscribed device is asked whether it is still there. */
  probeMs: number;
  /**
   * Delay before connecting a weak device, for each dB below a strong signal, so that a nearer bridge can take it
   * first.
   */
  yieldMsPerDb: number;
  /** Interval between scans while all known wearables stream, because scanning costs air time. */
  restMs: number;
  /** Duration of such a scan. */
  lookMs: number;
}

const LIMITS: DeviceLimits = {
  firstRetryMs: 1000,
  maxRetryMs: 60_000,
  unfitMs: 600_000,
  silentMs: 30_000,
  probeMs: 10_000,
  yieldMsPerDb: 20,
  restMs: 30_000,
  lookMs: 10_000,
};

const STRONG_DBM = -60;
/** A device that did not advertise for this long counts as new. */
const SILENCE_MS = 60_000;

/** Maximum number of known devices: anybody can advertise as a wearable, under ever new addresses. */
const MAX_KNOWN = 256;

/** State of one wearable, for reports. */
export interface DeviceStatus extends Identified {
  name: string;
  state: WearableStatus['state'] | 'disconnected';
  reason: string | null;
  codec: string | null;
  battery: number | null;
  model: string | null;
  firmware: string | null;
  storageFreeBytes: number | null;
  /** dBm. */
  rssi: number | null;
  frames: number;
  lost: number;
}

export interface Devices {
  counts(): DeviceCounts[];
  /**
   * Carries out a control of a connected wearable. Resolves to lines for the person who asked.
   * @throws Error in words
   */
  control(request: BridgeRequest): Promise<string[]>;
  /** Reports each device that was connected since the start; the signal is measured now. */
  statuses(): Promise<DeviceStatus[]>;
  /** Ends every connection properly. */
  stop(): Promise<void>;
}

interface Known extends Wearable {
  /** The radio's name for it. */
  id: string;
  backoff: Backoff;
  /** Earliest time of the next connection. */
  notBeforeMs: number;
  /** Time of the first and the last advertisement. */
  heardSinceMs: number;
  heardAtMs: number;
  /** The present connection, or the attempt at one. */
  busy: Promise<void> | null;
  /** Whether it is connected and subscribed. */
  streaming: boolean;
  /** Whether it sends nothing. */
  quiet: boolean;
  link: Link | null;
  controls: Controls | null;
  status: Pick<WearableStatus, 'state' | 'codec' | 'battery'>;
  /** Reason for its state. */
  reason: string | null;
  facts: { model: string | null; firmware: string | null; storageFreeBytes: number | null };
  connections: number;
  /** Total time between its connections, up to `lostAtMs`. */
  notConnectedMs: number;
  /** End of its last connection; null: it is connected, or never was. */
  lostAtMs: number | null;
}

/** Finds wearables, keeps a connection to each, and forwards their audio. */
export function startDevices(options: DevicesOptions): Devices {
  const { radio, drivers, only, begin, clock, log, onEvent } = options;
  const limits = { ...LIMITS, ...options.limits };
  const known = new Map<string, Known>();
  const leftAlone = new Set<string>();
  const memories = createMemories(null);
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

  /** Scans until stopped or, if all wearables are connected, for a limited time. */
  async function look(): Promise<void> {
    const looking = new AbortController();
    const timer = setInterval(() => {
      if (allStream()) looking.abort();
    }, limits.lookMs);
    for await (const sighting of radio.scan(AbortSignal.any([signal, looking.signal]))) meet(sighting);
    clearInterval(timer);
  }

  /**
   * Reconnects a lost wearable when it advertises again: an attempt while it is out of range would block all others.
   */
  function meet(sighting: Advertisement): void {
    const device = known.get(sighting.id) ?? recognise(sighting);
    if (!device || device.busy || !isOurs(device, sighting.rssi)) return;
    if (clock.now() < device.notBeforeMs) return;
    device.busy = serve(device).finally(() => {
      device.busy = null;
      device.link = null;
      device.controls = null;
      device.heardAtMs = 0;
      device.quiet = false;
      if (device.streaming) device.lostAtMs = clock.now();
      device.streaming = false;
      lostOne.abort();
      lostOne = new AbortController();
    });
  }

  /** False: another bridge with a better signal may take it first; it then stops advertising. */
  function isOurs(device: Known, rssi: number): boolean {
    const now = clock.now();
    if (now - device.heardAtMs > SILENCE_MS) device.heardSinceMs = now;
    device.heardAtMs = now;
    return now - device.heardSinceMs >= (Math.max(0, STRONG_DBM - rssi) || 0) * limits.yieldMsPerDb;
  }

  function recognise(sighting: Advertisement): Known | null {
    const { id, address } = sighting;
    const candidates = drivers.filter(({ match }) => matches(match, sighting));
    if (candidates.length === 0) return null;
    const name = options.nameOf?.(address) ?? (sighting.name || address);
    if (!isWanted(only, sighting)) {
      if (!leftAlone.has(id))
        log.info({ name, address }, 'wearable ignored: bridge.devices does not list it');
      leftAlone.add(id);
      if (leftAlone.size > MAX_KNOWN) leftAlone.delete(leftAlone.values().next().value ?? '');
      return null;
    }
    forgetOne();
    const device: Known = {
      id,
      address,
      name,
      candidates,
      counts: { packets: 0, frames: 0, lost: 0, duplicates: 0, malformed: 0, resets: 0 },
      keepsBatterySecret: false,
      identified: null,
      introduced: false,
      link: null,
      controls: null,
      status: { state: 'streaming', codec: '', battery: null },
      reason: null,
      facts: { model: null, firmware: null, storageFreeBytes: null },
      backoff: createBackoff({ firstMs: limits.firstRetryMs, maxMs: limits.maxRetryMs }),
      notBeforeMs: 0,
      heardSinceMs: 0,
      heardAtMs: 0,
      busy: null,
      streaming: false,
      quiet: false,
      connections: 0,
      notConnectedMs: 0,
      lostAtMs: null,
    };
    known.set(id, device);
    return device;
  }

  /** Drops a device to make room: the first that never streamed, else the first that is not connected. */
  function forgetOne(): void {
    if (known.size < MAX_KNOWN) return;
    const idle = [...known.values()].filter(({ busy }) => !busy);
    const gone = idle.find(({ connections }) => connections === 0) ?? idle[0];
    if (gone) known.delete(gone.id);
  }

  /** One connection, from the attempt to its end. Never rejects. */
  async function serve(device: Known): Promise<void> {
    try {
      const connected = await radio.connect(device.id, { signal });
      const link = options.through?.(connected) ?? connected;
      device.link = link;
      const ended = await listen({
        wearable: device,
        link,
        begin,
        room: options.room ?? (async () => {}),
        memoryOf: options.memoryOf ?? memories.of,
        clock,
        log,
        silentMs: limits.silentMs,
        probeMs: limits.probeMs,
        onStatus: status => changed(device, status),
        onControls(controls) {
          device.controls = controls;
        },
        onNews: news => toldNews(device, news),
      }).finally(link.disconnect);
      if (ended.worked) device.backoff.reset();
      else device.notBeforeMs = clock.now() + device.backoff.next();
      device.reason = ended.reason;
      log.info({ device: device.name, reason: ended.reason }, 'wearable disconnected');
      tell(device, 'disconnected', { reason: ended.reason });
    } catch (error) {
      if (!signal.aborted) failed(device, error);
    }
  }

  function changed(device: Known, status: WearableStatus): void {
    const { state, reason, codec, battery } = status;
    const isNew = !device.streaming;
    const wasQuiet = device.quiet;
    device.streaming = true;
    device.quiet = state !== 'streaming';
    device.status = { state, codec, battery };
    device.reason = reason;
    const awayMs = isNew ? connectedAgain(device) : null;
    if (isNew) log.info({ device: device.name, codec, battery, awayMs }, 'wearable streams');
    else if (device.quiet && !wasQuiet) log.info({ device: device.name }, `wearable is quiet: ${reason}`);
    else if (wasQuiet && !device.quiet) log.info({ device: device.name }, 'wearable streams again');
    tell(device, device.quiet ? 'quiet' : 'streaming', { codec, battery, reason, awayMs });
  }

  async function toldNews({ name, identified, facts }: Known, news: WearableNews): Promise<void> {
    if (news.kind === 'photo') {
      if (identified) await options.keepPhoto?.({ name, ...identified }, news);
      onEvent({ event: 'photo', device: name, bytes: news.jpeg.length });
    } else if (news.kind === 'button') {
      if (identified) options.onButton?.(identified.clientDeviceId, news.button);
      onEvent({ event: 'button', device: name, button: news.button });
    } else if (news.kind === 'progress')
      onEvent({ event: 'stored_audio', device: name, bytes: news.bytes, ofBytes: news.ofBytes });
    else {
      const known = Object.entries(news.facts).filter(([, value]) => value !== null);
      Object.assign(facts, Object.fromEntries(known));
      onEvent({ event: 'about', device: name, ...news.facts });
    }
  }

  /** Returns the time without connection; null: this is its first one. */
  function connectedAgain(device: Known): number | null {
    device.connections += 1;
    const awayMs = device.lostAtMs === null ? null : Math.max(0, clock.now() - device.lostAtMs);
    device.notConnectedMs += awayMs ?? 0;
    device.lostAtMs = null;
    return awayMs;
  }

  function failed(device: Known, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    device.reason = reason;
    const isUnfit = error instanceof Unfit;
    const waitMs = isUnfit ? limits.unfitMs : device.backoff.next();
    device.notBeforeMs = clock.now() + waitMs;
    const what = isUnfit ? 'the wearable cannot be used' : 'no connection to the wearable';
    log.warn({ device: device.name, retryInMs: waitMs }, `${what}: ${reason}`);
    tell(device, isUnfit ? 'unfit' : 'disconnected', { reason });
  }

  function tell(
    { name, address }: Known,
    state: DeviceEvent['state'],
    more: Partial<Pick<DeviceEvent, 'codec' | 'battery' | 'reason' | 'awayMs'>>,
  ): void {
    const nothing = { codec: null, battery: null, reason: null, awayMs: null };
    onEvent({ event: 'device', name, address, state, ...nothing, ...more });
  }

  const running = run();
  return {
    counts: () =>
      [...known.values()].map(
        ({ name, streaming, quiet, connections, notConnectedMs, lostAtMs, counts }) => ({
          name,
          streaming,
          quiet,
          connections,
          notConnectedMs: notConnectedMs + (lostAtMs === null ? 0 : Math.max(0, clock.now() - lostAtMs)),
          ...counts,
        }),
      ),
    control: request => control([...known.values()], request),
    async statuses() {
      const all = await Promise.all([...known.values()].map(statusOf));
      return all.filter(status => status !== null);
    },
    async stop() {
      stopping.abort();
      await running;
      await radio.close(); // ends the links, and thereby all listeners on them
      await Promise.all([...known.values()].map(({ busy }) => busy));
    },
  };
}

async function control(all: readonly Known[], { device, control, value }: BridgeRequest): Promise<string[]> {
  const connected = all.filter(({ controls }) => controls !== null);
  const asked = device?.toLowerCase();
  const chosen = connected.filter(
    ({ name, address }) => asked === undefined || [name, address].some(mine => mine.toLowerCase() === asked),
  );
  if (chosen.length === 0) throw new Error(noneOf(device, connected));
  if (control === undefined) return (await Promise.all(chosen.map(described))).flat();
  const [one, ...others] = chosen;
  if (others.length > 0 || !one?.controls)
    throw new Error(`several wearables are called ${JSON.stringify(device)}: give an address`);
  await one.controls.use(control, value ?? '');
  return [`${one.name}: ${control} ${value}`];
}

function noneOf(device: string | undefined, connected: readonly Known[]): string {
  if (connected.length === 0) return 'no wearable is connected';
  const names = connected.map(({ name }) => name).join(', ');
  return `no connected wearable is called ${JSON.stringify(device)}; there are ${names}`;
}

async function described({ name, address, controls }: Known): Promise<string[]> {
  const offered = (await controls?.list()) ?? [];
  if (offered.length === 0) return [`${name} (${address}) has no controls`];
  return [
    `${name} (${address})`,
    ...offered.map(
      ({ name: what, title, values, value }) =>
        `  ${what.padEnd(16)}${values.padEnd(22)}${title}${value === null ? '' : `; set to ${value}`}`,
    ),
  ];
}

async function statusOf(device: Known): Promise<DeviceStatus | null> {
  const { identified, name, status, streaming, reason, facts, counts, link } = device;
  if (!identified) return null;
  return {
    ...identified,
    name,
    state: streaming ? status.state : 'disconnected',
    reason,
    codec: status.codec || null,
    battery: status.battery,
    ...facts,
    rssi: streaming && link ? await link.signal() : null,
    frames: counts.frames,
    lost: Math.round(counts.lost),
  };
}

function isWanted(only: string[], { name, address, id, isAdmitted }: Advertisement): boolean {
  if (only.length === 0 || isAdmitted) return true;
  const wanted = only.map(entry => entry.trim().toLowerCase());
  return [name, address, id].some(mine => mine !== '' && wanted.includes(mine.toLowerCase()));
}
