import type { Clock } from '../clock.ts';
import type { DriverLink } from '../devices/device-link.ts';
import type { OpenSink } from '../devices/sink.ts';
import type {
  ButtonSource,
  Decoded,
  Driver,
  PacketCounts,
  PacketDecoder,
  Ref,
  Step,
  Stream,
  Track,
  WireFormat,
} from '../driver.ts';
import { createFraming } from '../framing/framing.ts';
import { Unfit } from '../guard.ts';
import { checkDecoded, checkDecoder } from './driver-check.ts';

export interface DeclaredOptions {
  driver: Driver;
  link: DriverLink;
  sink: OpenSink;
  /** Over all connections of the wearable. */
  counts: PacketCounts;
  clock: Clock;
  signal: AbortSignal;
  /** Called once subscribed: audio arrives from now on. */
  onListening(format: WireFormat): void;
  /** Called for each notification of audio. */
  onPacket(): void;
  /** True: reading it has stalled or ended a connection before. */
  keepsBatterySecret(): boolean;
  onBatterySecret(): void;
}

/**
 * Number of notifications without a single frame after which the description counts as wrong, or the device as
 * encrypting.
 */
const HOPELESS_PACKETS = 200;
const ATT_HEADER_BYTES = 3;

/**
 * Runs a declared stream until the link is gone. It subscribes right after connecting, because audio sent before that
 * is lost.
 */
export async function listenTo(stream: Stream, options: DeclaredOptions): Promise<void> {
  const { driver, link, sink, signal } = options;
  const format = await readFormat(driver, stream, link);
  const track = sink.quietly(format);
  const intake = createIntake(options, stream, format, track);
  try {
    await link.listen(stream.audio, intake.push);
    await setTime(stream, options);
    for (const step of stream.start ?? []) await take(step, options);
    for (const source of stream.buttons ?? []) await watchButton(source, options);
    await watchBattery(stream, options);
    options.onListening(format);
    await Promise.race([intake.failed, keepAlive(stream, options), until(signal)]);
  } finally {
    intake.end();
    if (!signal.aborted) for (const step of stream.stop ?? []) await take(step, options).catch(() => {});
  }
}

/** Explains a connection whose notifications are too short for the device's audio. Null: they are long enough. */
export function smallMtu({ mtu }: { mtu: number }, { minMtu = 0 }: Pick<Stream, 'minMtu'>): string | null {
  if (mtu >= minMtu) return null;
  return `the MTU of the connection is too small: ${mtu}, and the audio of this wearable needs ${minMtu}; use an adapter with Bluetooth 4.2 or newer`;
}

async function readFormat(driver: Driver, { format }: Stream, link: DriverLink): Promise<WireFormat> {
  if (!('from' in format)) return format;
  const id = (await link.read(format.from))[format.at ?? 0] ?? -1;
  const known = format.values[id];
  if (known) return known;
  const ids = Object.keys(format.values).join(', ');
  throw new Unfit(`its codec ${id} is not known to the driver ${driver.name} (known: ${ids})`);
}

/** Decodes notifications into the track. */
function createIntake(options: DeclaredOptions, stream: Stream, format: WireFormat, track: Track) {
  const { driver, link, counts } = options;
  const decoder = makeDecoder(driver, stream, format, link.mtu);
  const counted = { ...decoder.counts };
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => {});
  let isBroken = false;
  /** Notifications that were cut off. */
  let cut = 0;

  function store({ frames }: Decoded): void {
    for (const { bytes, lostBefore } of frames) track.frame(bytes, { lostBefore });
    for (const key of Object.keys(counted) as (keyof PacketCounts)[]) {
      counts[key] += decoder.counts[key] - counted[key];
      counted[key] = decoder.counts[key];
    }
    if (counted.frames === 0 && counted.packets === HOPELESS_PACKETS) throw new Unfit(NO_FRAMES);
  }

  /** Drops a notification that the MTU cut off. */
  function dropCut(reason: string): void {
    counts.packets += 1;
    counts.malformed += 1;
    cut += 1;
    if (cut === HOPELESS_PACKETS) failure.reject(new Unfit(reason));
  }

  /** A third-party decoder that throws must not end the bridge. */
  function decode(step: () => Decoded): void {
    if (isBroken) return;
    try {
      const decoded = step();
      store(driver.createDecoder ? checkDecoded(decoded) : decoded);
    } catch (error) {
      isBroken = true;
      failure.reject(error);
    }
  }

  return {
    push(packet: Uint8Array) {
      options.onPacket();
      const tooSmall = packet.length === link.mtu - ATT_HEADER_BYTES ? smallMtu(link, stream) : null;
      if (tooSmall) dropCut(tooSmall);
      else decode(() => decoder.push(packet));
    },
    /** Rejects when the decoder fails. */
    failed: failure.promise,
    end() {
      decode(decoder.flush);
      track.end();
    },
  };
}

const NO_FRAMES = `none of its first ${HOPELESS_PACKETS} notifications holds a frame as the driver describes it: the device may encrypt its audio, or be of another kind`;

function makeDecoder(driver: Driver, { framing }: Stream, format: WireFormat, mtu: number): PacketDecoder {
  if (driver.createDecoder) return checkDecoder(driver.createDecoder(format, { mtu }));
  if (framing) return createFraming(framing, format, { mtu });
  throw new Unfit(`the driver ${driver.name} has neither framing nor createDecoder`);
}

async function setTime({ time }: Stream, { link, clock }: DeclaredOptions): Promise<void> {
  if (!time || (await link.properties(time)).size === 0) return;
  await link.write(time, timeBytes(time, clock.now()));
}

function timeBytes({ unit, bytes, endian = 'le' }: NonNullable<Stream['time']>, nowMs: number): Uint8Array {
  const value = unit === 's' ? Math.floor(nowMs / 1000) : nowMs;
  const little = Array.from({ length: bytes }, (_, index) => Math.floor(value / 256 ** index) & 0xff);
  return Uint8Array.from(endian === 'le' ? little : little.reverse());
}

async function take(step: Step, { link, clock, signal }: DeclaredOptions): Promise<void> {
  if ('waitMs' in step) return clock.sleep(step.waitMs, signal);
  const { write, hex, response, optional } = step;
  if (optional && (await link.properties(write)).size === 0) return;
  await link.write(
    write,
    Buffer.from(hex.replaceAll(' ', ''), 'hex'),
    response === undefined ? {} : { response },
  );
}

/** Writes the keep-alive until the link is gone; rejects when the device refuses it. */
async function keepAlive({ keepAlive: wanted }: Stream, options: DeclaredOptions): Promise<void> {
  const { clock, signal } = options;
  if (!wanted) return until(signal);
  while (!signal.aborted) {
    await clock.sleep(wanted.everyMs, signal).catch(() => {});
    if (!signal.aborted) await take(wanted.step, options);
  }
}

async function watchButton(source: ButtonSource, { link, sink }: DeclaredOptions): Promise<void> {
  const onData = (bytes: Uint8Array) => {
    const button = source.map[numberIn(bytes, source)];
    if (button) sink.button(button);
  };
  await link.listen(source, onData, { optional: true });
}

function numberIn(bytes: Uint8Array, { at = 0, type }: ButtonSource): number {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (type === 'u8') return buffer[at] ?? -1;
  return buffer.length < at + 4 ? -1 : buffer.readInt32LE(at);
}

/** Failures do not end the connection, and a failed operation is not repeated. */
async function watchBattery({ battery }: Stream, options: DeclaredOptions): Promise<void> {
  const { link, sink } = options;
  if (!battery || options.keepsBatterySecret()) return;
  const level = (bytes: Uint8Array) => bytes[battery.at ?? 0] ?? null;
  const ref: Ref = battery;
  const read = await link.read(ref, { optional: true });
  if (read) sink.battery(level(read));
  if (!link.isStalled) await link.listen(ref, bytes => sink.battery(level(bytes)), { optional: true });
  if (link.isStalled) options.onBatterySecret();
}

function until(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }));
}
