import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import type { Clock } from './clock.ts';
import type { Decoded, Driver, PacketCounts, WireFormat } from './driver.ts';
import { checkDecoded, checkDecoder } from './driver-check.ts';
import { LinkLostError } from './guard.ts';
import type { Link } from './link.ts';
import type { Recording, RecordingInfo } from './recording.ts';

/** A device that a driver recognised. */
export interface Wearable {
  address: string;
  name: string;
  driver: Driver;
  /** Over all its connections. */
  counts: PacketCounts;
  /** Asking it for its battery level has stalled or ended a connection before: it is not asked again. */
  keepsBatterySecret: boolean;
}

export interface WearableStatus {
  state: 'streaming' | 'quiet';
  codec: string;
  /** Percent; null where the device does not tell. */
  battery: number | null;
  /** Why it is quiet. */
  reason: string | null;
}

export interface ListenOptions {
  wearable: Wearable;
  link: Link;
  /** Opens a place for what this connection records. */
  begin(info: RecordingInfo): Recording;
  clock: Clock;
  log: Logger;
  /** Without any packet for so long it is told as quiet. */
  silentMs: number;
  /** Without any packet for so long it is asked whether it is still there. */
  probeMs: number;
  /** Called again whenever something of it changes. */
  onStatus(status: WearableStatus): void;
}

/** The device will not do, and trying again soon is no use. */
export class Unfit extends Error {}

/**
 * Subscribes, and stores audio until the link is gone. Nothing comes between connecting and subscribing, since what
 * a connected device says to nobody is lost.
 * @returns why it ended, and whether the connection was of any use
 * @throws Unfit, or what the link throws
 */
export async function listen(options: ListenOptions): Promise<{ reason: string; worked: boolean }> {
  const { wearable, link, log, onStatus } = options;
  const { audio, match, name } = wearable.driver;
  if (!(await link.has(match.confirm.service, match.confirm.characteristic)))
    throw new Unfit(
      `it has no characteristic ${match.confirm.characteristic}, so it is not what ${name} knows`,
    );
  const format = await readFormat(wearable.driver, link);
  const status: WearableStatus = { state: 'streaming', codec: format.codec, battery: null, reason: null };
  let isSubscribed = false;
  const change = (news: Partial<WearableStatus>) => {
    Object.assign(status, news);
    if (isSubscribed) onStatus({ ...status });
  };
  const intake = createIntake(options, format, change);
  try {
    await link.subscribe(audio.service, audio.characteristic, intake.push);
    if (link.mtu < audio.minMtu) log.warn({ device: wearable.name, mtu: link.mtu }, smallMtu(audio.minMtu));
    const battery = await watchBattery(options, percent => change({ battery: percent }));
    isSubscribed = true;
    change({ battery });
    const reason = await intake.over();
    return { reason, worked: intake.worked() };
  } finally {
    intake.end();
  }
}

async function readFormat({ name, audio: { codec } }: Driver, link: Link): Promise<WireFormat> {
  const id = (await link.read(codec.service, codec.characteristic))[0] ?? -1;
  const format = codec.values[id];
  if (format) return format;
  throw new Unfit(
    `its codec ${id} is not known to the driver ${name} (known: ${Object.keys(codec.values).join(', ')})`,
  );
}

function smallMtu(minMtu: number): string {
  return `the connection carries too little at a time: the wearable sends no audio below an MTU of ${minMtu}; an adapter with Bluetooth 4.2 or newer helps`;
}

/** Nothing of this costs the connection, and what did once is not tried again. */
async function watchBattery(
  { wearable, link, log }: ListenOptions,
  onLevel: (percent: number | null) => void,
): Promise<number | null> {
  const { battery } = wearable.driver;
  if (!battery || wearable.keepsBatterySecret) return null;
  const { service, characteristic } = battery;
  const optional = { optional: true };
  const refused = (error: unknown) => {
    if (error instanceof LinkLostError) wearable.keepsBatterySecret = true;
    log.debug({ device: wearable.name, err: error }, 'no battery level');
    return null;
  };
  if (!(await link.has(service, characteristic, optional).catch(refused))) return null;
  const level = await link.read(service, characteristic, optional).catch(refused);
  if (!wearable.keepsBatterySecret)
    await link.subscribe(service, characteristic, data => onLevel(data[0] ?? null), optional).catch(refused);
  return level?.[0] ?? null;
}

/** From notifications to the spool. The recording begins with the first frame of the connection. */
function createIntake(
  { wearable, link, begin, clock, silentMs, probeMs }: ListenOptions,
  format: WireFormat,
  change: (news: Partial<WearableStatus>) => void,
) {
  const { driver, counts } = wearable;
  const { codec } = driver.audio;
  const decoder = makeDecoder(driver, format, link);
  const counted = { ...decoder.counts };
  const ended = new AbortController();
  let recording: Recording | null = null;
  let broken: unknown = null;
  let heardAt = clock.now();
  let isQuiet = false;
  let answered = false;

  function store({ frames }: Decoded): void {
    for (const { bytes, lostBefore } of frames) {
      recording ??= begin(describe(wearable, format, clock.now()));
      recording.append(bytes, lostBefore * format.frameMs);
    }
    for (const key of Object.keys(counted) as (keyof PacketCounts)[]) {
      counts[key] += decoder.counts[key] - counted[key];
      counted[key] = decoder.counts[key];
    }
  }

  /** Decoders do not throw; one that does, as somebody else's may, must not take the bridge along. */
  function decode(step: () => Decoded): void {
    if (broken) return;
    try {
      store(checkDecoded(step()));
    } catch (error) {
      broken = error;
      ended.abort();
    }
  }

  return {
    push(packet: Buffer) {
      heardAt = clock.now();
      if (isQuiet) change({ state: 'streaming', reason: null });
      isQuiet = false;
      decode(() => decoder.push(packet));
    },
    worked: () => recording !== null || answered,
    /** Resolves with the reason when the link is gone. A device that only says nothing may be asleep or muted. */
    async over(): Promise<string> {
      void link.closed.then(() => ended.abort());
      for (;;) {
        await clock.sleep(probeMs, ended.signal).catch(() => {});
        if (broken) throw new Unfit(`the driver ${driver.name} failed: ${messageOf(broken)}`);
        const quietMs = clock.now() - heardAt;
        if (!ended.signal.aborted && quietMs >= probeMs)
          await link.probe(codec.service, codec.characteristic);
        if (ended.signal.aborted) return link.closed;
        answered = true;
        if (isQuiet || quietMs < silentMs) continue;
        isQuiet = true;
        change({ state: 'quiet', reason: whyQuiet(recording !== null, link) });
      }
    },
    end() {
      decode(() => decoder.flush());
      recording?.end();
    },
  };
}

function makeDecoder(driver: Driver, format: WireFormat, link: Link) {
  try {
    return checkDecoder(driver.createDecoder(format, link));
  } catch (error) {
    throw new Unfit(`the driver ${driver.name} failed: ${messageOf(error)}`);
  }
}

function whyQuiet(hasSentBefore: boolean, { hasDataLength }: Link): string {
  if (hasSentBefore || hasDataLength !== false)
    return 'it is connected and sends nothing: its microphone may be asleep or muted';
  return 'it is connected and sends nothing: this adapter has no data length extension (it is of Bluetooth 4.0 or 4.1), without which some pendants never send audio; use an adapter of Bluetooth 4.2 or newer';
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The id hides the address, yet stays the same for ever. */
function describe(
  { address, name, driver }: Wearable,
  format: WireFormat,
  startedAtMs: number,
): RecordingInfo {
  const source = driver.source ?? driver.name;
  const hash = createHash('sha256').update(address).digest('hex').slice(0, 12);
  return { clientDeviceId: `${source}_${hash}`, deviceName: name, source, ...format, startedAtMs };
}
