/** Two bridges in two rooms, and one pendant whose wearer walks between them. */
import { join } from 'node:path';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import { identityOf } from '../../../bridge/devices/sink.ts';
import omi from '../../../bridge/drivers/omi.ts';
import type { Counts } from '../../../bridge/events.ts';
import { type Bridge, startBridge } from '../../../bridge/main.ts';
import { type AirDevice, type Controller, createController } from '../../../bridge/simulator/controller.ts';
import { createPendant, type Pendant } from '../../../bridge/simulator/pendant.ts';
import { simulatedNoble } from '../../../bridge/simulator/simulator.ts';
import { ConfigSchema } from '../../../config/schema.ts';
import { CODE_MS } from '../code.ts';
import type { Dice } from '../dice.ts';
import { createTalk, FRAME_MS, type Said } from './talk.ts';

export interface SimulationOptions {
  core: string;
  key: string;
  dir: string;
  hours: number;
  /** Speed of simulated time relative to core's, which is real. */
  speed: number;
}

/** A bridge with its own adapter. */
export interface Room {
  readonly controller: Controller;
  readonly bridge: Bridge;
  /** Bytes on its disk that wait for core. */
  readonly waitingBytes: number;
  /** Restarts cleanly, on the same data. */
  restart(): Promise<void>;
}

export interface Simulation {
  readonly rooms: readonly [Room, Room];
  readonly pendant: Pendant;
  /** The wearer walks into the other room. */
  move(): void;
  /** The room in which the pendant is connected, otherwise that of its wearer. */
  receiver(): Room;
  /** Sets the cause of disconnects from now on. */
  setCause(cause: string): void;
  /** Switches the pendant off. */
  switchOff(): void;
  isAllSent(): boolean;
  stop(): Promise<void>;
  report(): SimulationReport;
}

export interface SimulationReport {
  /** The pendant's id in core. */
  deviceId: string;
  said: readonly Said[];
  /** Time without a connection, by the cause of the disconnect. */
  apartMs: Record<string, number>;
  connections: number;
  /** Frames missing between two others of one connection: sent by the pendant, and counted by the bridges. */
  holes: { made: number; counted: number };
  duplicates: { made: number; counted: number };
  /** Audio that the bridges dropped from their disks. */
  droppedMs: number;
  /** Bytes that wait for core at the end. */
  leftBytes: number;
  bridges: Totals[];
}

/** Counts of one bridge, summed over its restarts. */
export interface Totals {
  lost: number;
  duplicates: number;
  droppedMs: number;
  /** Restarts of the Bluetooth library. */
  restarts: number;
  /** Connections to core. */
  connections: number;
  failures: number;
}

/** Until each fault has occurred once. */
const SPARE_HOURS = 2;
const NEAR_DBM = -50;
const FAR_DBM = -88;
/** Shares of packets: lost by the radio, in bursts, and duplicated. */
const BURSTS = 0.0005;
const LONGEST_BURST = 15;
const TWICE = 0.0005;
/** Share of pauses that end a conversation. */
const LONG_PAUSES = 0.0015;
const LONG_PAUSE_MS = 150_000;

const LIBRARIES = ['@abandonware/noble', '@stoprocent/noble'];
const clock = createClock(() => Date.now()); // which is simulated by then
const log = pino({ level: process.env.DAYS_LOG ?? 'silent' }, pino.destination(2));

export async function createSimulation(options: SimulationOptions, dice: Dice): Promise<Simulation> {
  const talk = createTalk({
    now: clock.now,
    most: Math.ceil(((options.hours + SPARE_HOURS) * 3_600_000) / CODE_MS),
    longPauseMs: () => (dice.next() < LONG_PAUSES ? LONG_PAUSE_MS : 0),
  });
  const frames = { length: Number.POSITIVE_INFINITY, frameMs: FRAME_MS, at: talk.next };
  const pendant = createPendant({ codecId: 21, frames, clock });
  const apartMs: Record<string, number> = {};
  let room = 0;
  let connectedIn: number | null = null;
  let cause = 'the beginning';
  let apart: { since: number; cause: string } | null = { since: clock.now(), cause };
  let connections = 0;
  let burst = 0;
  const holes = { made: 0, pending: 0, isOpen: false };
  const twice = { made: 0 };

  pendant.faults.packet = packet => {
    if (apart) apartMs[apart.cause] = (apartMs[apart.cause] ?? 0) + clock.now() - apart.since;
    apart = null;
    if (burst === 0 && dice.next() < BURSTS) burst = dice.between(1, LONGEST_BURST);
    if (burst > 0) {
      burst -= 1;
      holes.pending += 1;
      talk.lose();
      return [];
    }
    if (holes.isOpen) holes.made += holes.pending;
    holes.pending = 0;
    holes.isOpen = true;
    if (dice.next() >= TWICE) return [packet];
    twice.made += 1;
    return [packet, packet];
  };

  /** The pendant, as received in one room. */
  const heardIn = (mine: number): AirDevice =>
    Object.create(pendant, {
      advertisement: { value: () => (connectedIn === null ? pendant.advertisement() : null) },
      attempt: { value: () => (connectedIn === null ? pendant.attempt() : 'ignore') },
      signalDbm: { get: () => (room === mine ? NEAR_DBM : FAR_DBM) },
      connected: {
        value(link: Parameters<AirDevice['connected']>[0]) {
          connectedIn = mine;
          connections += 1;
          burst = 0;
          holes.isOpen = false;
          holes.pending = 0;
          pendant.connected(link);
        },
      },
      disconnected: {
        value() {
          pendant.disconnected();
          connectedIn = null;
          talk.cut(cause);
          apart ??= { since: clock.now(), cause };
        },
      },
    });

  const rooms = [await openRoom(options, 0, heardIn(0)), await openRoom(options, 1, heardIn(1))] as const;

  return {
    rooms,
    pendant,
    move() {
      room = 1 - room;
    },
    receiver: () => rooms[(connectedIn ?? room) as 0 | 1],
    setCause(name) {
      cause = name;
    },
    switchOff() {
      cause = 'the end';
      pendant.vanish();
    },
    isAllSent: () => rooms.every(({ waitingBytes }) => waitingBytes === 0),
    async stop() {
      for (const { bridge } of rooms) await bridge.stop();
    },
    report() {
      const counted = (what: keyof Totals) => rooms.reduce((sum, { totals }) => sum + totals()[what], 0);
      return {
        deviceId: identityOf({ address: pendant.address, name: '' }, omi.name).clientDeviceId,
        said: talk.all(),
        apartMs,
        connections,
        holes: { made: holes.made, counted: counted('lost') },
        duplicates: { made: twice.made, counted: counted('duplicates') },
        droppedMs: counted('droppedMs'),
        leftBytes: rooms.reduce((sum, { waitingBytes }) => sum + waitingBytes, 0),
        bridges: rooms.map(({ totals }) => totals()),
      };
    },
  };
}

interface OpenRoom extends Room {
  totals(): Totals;
}

const NOTHING: Totals = { lost: 0, duplicates: 0, droppedMs: 0, restarts: 0, connections: 0, failures: 0 };

function totalsOf(before: Totals, counts: Counts | null): Totals {
  const total = { ...before };
  for (const { lost, duplicates } of counts?.devices ?? []) {
    total.lost += lost;
    total.duplicates += duplicates;
  }
  total.droppedMs += counts?.spool.droppedMs ?? 0;
  total.restarts += counts?.radio.restarts ?? 0;
  total.connections += counts?.core.connections ?? 0;
  total.failures += counts?.core.failures ?? 0;
  return total;
}

async function openRoom(options: SimulationOptions, number: number, device: AirDevice): Promise<OpenRoom> {
  const { core, key, dir, speed } = options;
  const controller = createController({ advertisingMs: 250, extended: number === 1 });
  controller.add(device);
  const config = ConfigSchema.parse({
    dataDir: join(dir, `bridge-${number}`),
    bridge: { core, key, name: `Room ${number}` },
  });
  let before = NOTHING;
  let counts: Counts | null = null;
  /** Reported whenever it changes. */
  let waitingBytes = 0;

  const start = () =>
    startBridge({
      config,
      log,
      clock,
      load: simulatedNoble(controller, LIBRARIES[number]),
      onEvent(event) {
        if (event.event !== 'counts') return;
        counts = event;
        waitingBytes = event.spool.bytes;
      },
      limits: {
        countsMs: 1000,
        // Core answers in real time.
        uplink: { helloMs: 10_000 * speed, pingMs: 15_000 * speed, finalAckMs: 2000 * speed },
      },
    });
  let bridge = await start();

  return {
    controller,
    get bridge() {
      return bridge;
    },
    get waitingBytes() {
      return waitingBytes;
    },
    totals: () => totalsOf(before, counts),
    async restart() {
      await bridge.stop();
      before = totalsOf(before, counts);
      counts = null;
      bridge = await start();
    },
  };
}
