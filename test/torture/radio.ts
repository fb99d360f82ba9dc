import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { createClock } from '../../bridge/clock.ts';
import { startDevices } from '../../bridge/devices/devices.ts';
import omi from '../../bridge/drivers/omi.ts';
import type { RadioCounts } from '../../bridge/radio.ts';
import { createNobleRadio } from '../../bridge/radios/noble/radio.ts';
import { type Controller, createController } from '../../bridge/simulator/controller.ts';
import { createPendant, type Pendant } from '../../bridge/simulator/pendant.ts';
import { encodeReport } from '../../bridge/simulator/reports.ts';
import { simulatedNoble } from '../../bridge/simulator/simulator.ts';
import type { Recording, RecordingInfo } from '../../bridge/spool/recording.ts';
import { openSpool } from '../../bridge/spool/spool.ts';
import { garbageCollector, held } from '../helpers/memory.ts';
import { mutator } from '../helpers/mutations.ts';
import type { Stage } from './run.ts';

export interface RadioPlan {
  seed: number;
  packets: number;
}

export interface RadioReport extends RadioCounts {
  packets: number;
  /** Number of times that the pendant connected. */
  connections: number;
  /** Whether packets that the pendant sent after the injection were received. */
  heardAfterwards: boolean;
  /** Growth of memory between the first tenth and the end. */
  grownBytes: number;
}

export const LIBRARIES = ['@abandonware/noble', '@stoprocent/noble'];

const clock = createClock(Date.now);
const log = pino({ level: 'silent' });
const BATCH = 100;
/**
 * Packets between reconnections of the pendant: an injected packet may have ended the connection for the bridge only.
 */
const DROP_EVERY = 5000;
const PATIENCE_MS = 300;
const FRAME = Buffer.alloc(60, 0xb8);
const MOST_GROWN_BYTES = 8 * 1024 * 1024;
const RECOVERY_MS = 60_000;
/** Short limits, so that each is reached often. */
const LIMITS = {
  radio: {
    attMs: 100,
    connectMs: 50,
    disconnectMs: 50,
    rescanMs: 500,
    askAgainMs: 20,
    scanRetryMs: 10,
    renewMs: 5,
  },
  devices: {
    firstRetryMs: 10,
    maxRetryMs: 50,
    unfitMs: 50,
    probeMs: 50,
    silentMs: 100,
    restMs: 20,
    lookMs: 20,
  },
};

/**
 * Injects packets into the real Bluetooth library that no radio should ever send, while a pendant streams through it.
 */
export async function radioTorture(
  { say, teardown }: Pick<Stage, 'say' | 'teardown'>,
  library: string,
  { seed, packets }: RadioPlan,
): Promise<RadioReport> {
  const dir = await mkdtemp(join(tmpdir(), 'radio-torture-'));
  teardown(() => rm(dir, { recursive: true, force: true }));
  const spool = await openSpool({ dir, maxBytes: 1024 * 1024, clock, log });
  const controller = createController({ extended: library === '@stoprocent/noble' });
  const pendant = createPendant({ codecId: 21, frames: null, clock });
  controller.add(pendant);
  const radio = createNobleRadio({
    log,
    clock,
    load: simulatedNoble(controller, library),
    limits: LIMITS.radio,
  });
  const latest: Recording[] = [];
  /** Confirms everything recorded before; otherwise the spool would grow, as it should. */
  const begin = (info: RecordingInfo) => {
    for (const recording of latest.splice(0)) recording.cut(recording.next);
    const recording = spool.begin(info);
    latest.push(recording);
    return recording;
  };
  const devices = startDevices({
    ...{ radio, drivers: [omi], only: [], begin, clock, log },
    onEvent() {},
    limits: LIMITS.devices,
  });
  /** The only one that can connect: mutated advertisements rename it, and make others of its name. */
  const own = () => devices.counts().sort((one, other) => other.connections - one.connections)[0];
  const collect = garbageCollector();
  const gauge = async () => {
    for (let i = 0; i < 3; i += 1) await turn();
    collect();
    return held();
  };

  /** Waits for a connection, which most packets should meet. */
  const connected = async () => {
    const endAt = clock.now() + PATIENCE_MS;
    while (!own()?.streaming && clock.now() < endAt) await clock.sleep(1);
  };
  const packet = radioPackets(seed, controller, pendant);
  let before = 0;
  for (let sent = 0; sent < packets; sent += BATCH) {
    for (let i = 0; i < BATCH; i += 1) controller.inject(packet());
    pendant.notifyAudio(audio(sent / BATCH));
    await turn();
    await turn();
    if (sent % DROP_EVERY === 0) {
      pendant.dropLink();
      await connected();
    }
    if (before === 0 && sent >= packets / 10) before = await gauge();
    if (sent % 100_000 === 0 && sent > 0)
      say(`${library}: ${sent} packets, ${radio.counts.restarts} restarts`);
  }
  const grownBytes = (await gauge()) - before;
  pendant.dropLink();
  const heardAfterwards = await isHeard(pendant, () => own()?.frames ?? 0);
  const connections = own()?.connections ?? 0;
  await devices.stop();
  await spool.close();
  return { packets, connections, heardAfterwards, grownBytes, ...radio.counts };
}

export function isUnharmed({ heardAfterwards, grownBytes, connections }: RadioReport): boolean {
  return heardAfterwards && connections > 0 && grownBytes <= MOST_GROWN_BYTES;
}

/** Whether audio arrives within a minute. */
async function isHeard(pendant: Pendant, frames: () => number): Promise<boolean> {
  const endAt = clock.now() + RECOVERY_MS;
  for (let number = 0, seen = frames(); clock.now() < endAt; number += 1) {
    if (frames() > seen + 20) return true;
    pendant.notifyAudio(audio(number));
    await clock.sleep(1);
  }
  return false;
}

function audio(number: number): Buffer {
  return Buffer.concat([Buffer.from([number & 0xff, (number >> 8) & 0xff, 0]), FRAME]);
}

/** Creates mutated packets; data packets name the open connection. */
function radioPackets(seed: number, controller: Controller, pendant: Pendant): () => Uint8Array {
  const ofStrangers = mutator(fromTheAir(pendant), seed);
  const ofAdapter = mutator(fromTheAdapter(), seed + 1);
  let count = 0;
  return () => {
    count += 1;
    const packets = count % ADAPTER_EVERY === 0 ? ofAdapter : ofStrangers;
    const packet = Buffer.from(packets.next().message.subarray(0, MOST_BYTES));
    const handle = controller.handleOf(pendant);
    if (packet[0] === 0x02 && packet.length > 2 && handle !== undefined)
      packet.writeUInt16LE((packet.readUInt16LE(1) & 0xf000) | handle, 1);
    return packet;
  };
}

/** Packets per false event of the adapter, which are rare in reality and end all connections. */
const ADAPTER_EVERY = 200;
/** Largest HCI data packet in bytes. */
const MOST_BYTES = 1024;

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const event = (code: number, parameters: string) =>
  Buffer.concat([hex('04'), Buffer.of(code, hex(parameters).length), hex(parameters)]);

function fromTheAir(pendant: Pendant): Buffer[] {
  const reports = [false, true].flatMap(extended => [
    ...[pendant.address, 'd0:00:00:00:00:01'].flatMap(address => [
      encodeReport(extended, 0, address, pendant.advertisement() ?? Buffer.alloc(0)),
      encodeReport(extended, 4, address, pendant.scanResponse()),
    ]),
    ...[
      '02 01 06 02 0a 04',
      '02 01 06 04 16 0f 18 57',
      '06 20 01 02 03 04 05',
      '12 21 00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff 01',
    ].map(data => encodeReport(extended, 0, 'd0:00:00:00:00:02', hex(data))),
  ]);
  const carried = (channel: number, message: string) => {
    const bytes = hex(message);
    return Buffer.concat([Buffer.of(2, 0x40, 0x20, 4 + bytes.length, 0, bytes.length, 0, channel, 0), bytes]);
  };
  return [
    ...reports,
    ...[
      '1b 03 00 01 00 00 b8 01',
      '1d 03 00 01 00 00 b8',
      '01 10 01 00 0a',
      '03 f2 01',
      '05 01 04 00 02 29',
    ].map(message => carried(4, message)),
    ...[
      '09 07 02 00 12 03 00 19 2a',
      '0b 57',
      '11 06 01 00 09 00 0f 18',
      '13',
      '02 17 00',
      '01 0a 03 00 0f',
    ].map(message => carried(4, message)),
    ...['12 01 08 00 06 00 0c 00 00 00 90 01', '13 01 02 00 00 00'].map(message => carried(5, message)),
    ...['02 03 00 01 10 00 01', `03 ${'aa'.repeat(16)}`, `04 ${'bb'.repeat(16)}`, '05 03', '0b 01'].map(
      message => carried(6, message),
    ),
    hex('02 40 10 05 00 01 02 03 04 05'), // the rest of a message
  ];
}

function fromTheAdapter(): Buffer[] {
  return [
    event(0x05, '00 41 00 13'),
    event(0x08, '00 40 00 01'),
    event(0x13, '01 40 00 01 00'),
    event(0x0f, '00 01 0d 20'),
    event(0x0f, '0c 01 0d 20'),
    event(0x0e, '01 00 00'),
    ...[
      '01 03 0c 00',
      '01 01 10 00 09 00 00 09 ff ff 00 00',
      '01 09 10 00 55 44 33 22 11 00',
      '01 02 20 00 1b 00 04',
    ].map(parameters => event(0x0e, parameters)),
    ...[
      '01 0b 20 00',
      '01 0c 20 00',
      '01 0c 20 0c',
      '01 42 20 00',
      '01 05 14 00 40 00 ce',
      '01 03 20 00 20 10 00 00 00 00 00 00',
    ].map(parameters => event(0x0e, parameters)),
    event(0x3e, '01 00 42 00 00 01 03 00 00 00 00 d0 18 00 00 00 90 01 00'),
    event(0x3e, '01 3e 00 00 00 01 01 00 00 ee ff c0 18 00 00 00 90 01 00'),
    event(0x3e, `0a 00 43 00 00 01 04 00 00 00 00 d0 ${'00'.repeat(12)} 18 00 00 00 90 01 00`),
    event(0x3e, '03 00 40 00 18 00 00 00 90 01'),
    event(0x3e, '07 40 00 fb 00 90 42 fb 00 90 42'),
    hex('01 0c 20 02 01 00'),
  ];
}
