import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import type { Clock } from './clock.ts';
import type { Decoded, Driver, PacketCounts, WireFormat } from './driver.ts';
import type { Link } from './link.ts';
import type { Recording, RecordingInfo } from './recording.ts';

/** A device that a driver recognised. */
export interface Wearable {
  address: string;
  name: string;
  driver: Driver;
  /** Over all its connections. */
  counts: PacketCounts;
}

export interface ListenOptions {
  wearable: Wearable;
  link: Link;
  /** Opens a place for what this connection records. */
  begin(info: RecordingInfo): Recording;
  clock: Clock;
  log: Logger;
  /** Without any packet for so long, the connection is given up. */
  silentMs: number;
  /** It streams; called again when the battery level changes. Percent, null where the device does not tell. */
  onStreaming(status: { codec: string; battery: number | null }): void;
}

/** The device will not do, and trying again soon is no use. */
export class Unfit extends Error {}

/**
 * Subscribes, and stores audio until the link is gone. Nothing comes between connecting and subscribing, since what
 * a connected device says to nobody is lost.
 * @returns why it ended, and whether there was any audio
 * @throws Unfit, or what the link throws
 */
export async function listen(options: ListenOptions): Promise<{ reason: string; heard: boolean }> {
  const { wearable, link, log, onStreaming } = options;
  const { audio, match, name } = wearable.driver;
  if (!(await link.has(match.confirm.service, match.confirm.characteristic)))
    throw new Unfit(
      `it has no characteristic ${match.confirm.characteristic}, so it is not what ${name} knows`,
    );
  const format = await readFormat(wearable.driver, link);
  const intake = createIntake(options, format);
  try {
    await link.subscribe(audio.service, audio.characteristic, intake.push);
    if (link.mtu < audio.minMtu) log.warn({ device: wearable.name, mtu: link.mtu }, smallMtu(audio.minMtu));
    const tell = (battery: number | null) => onStreaming({ codec: format.codec, battery });
    tell(await watchBattery(options, tell));
    const reason = await intake.over();
    return { reason, heard: intake.heard() };
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

async function watchBattery(
  { wearable, link, log }: ListenOptions,
  onLevel: (percent: number | null) => void,
): Promise<number | null> {
  const { battery } = wearable.driver;
  if (!battery || !(await link.has(battery.service, battery.characteristic))) return null;
  try {
    const level = (await link.read(battery.service, battery.characteristic))[0] ?? null;
    await link.subscribe(battery.service, battery.characteristic, data => onLevel(data[0] ?? null));
    return level;
  } catch (error) {
    log.debug({ device: wearable.name, err: error }, 'no battery level');
    return null;
  }
}

/** From notifications to the spool. The recording begins with the first frame of the connection. */
function createIntake({ wearable, link, begin, clock, silentMs }: ListenOptions, format: WireFormat) {
  const { driver, counts } = wearable;
  const decoder = driver.createDecoder(format, link);
  const counted = { ...decoder.counts };
  const ended = new AbortController();
  let recording: Recording | null = null;
  let broken: unknown = null;
  let heardAt = clock.now();

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
      store(step());
    } catch (error) {
      broken = error;
      ended.abort();
    }
  }

  return {
    push(packet: Buffer) {
      heardAt = clock.now();
      decode(() => decoder.push(packet));
    },
    heard: () => recording !== null,
    /** Resolves with the reason when the link is gone, or the device has been silent for too long. */
    async over(): Promise<string> {
      void link.closed.then(() => ended.abort());
      for (;;) {
        const quietMs = clock.now() - heardAt;
        if (quietMs >= silentMs) return `it sent nothing for ${Math.round(quietMs / 1000)} s`;
        await clock.sleep(silentMs - quietMs, ended.signal).catch(() => {});
        if (broken) throw new Unfit(`the driver ${driver.name} failed: ${messageOf(broken)}`);
        if (ended.signal.aborted) return link.closed;
      }
    },
    end() {
      decode(() => decoder.flush());
      recording?.end();
    },
  };
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
