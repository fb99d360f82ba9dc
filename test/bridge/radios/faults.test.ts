import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { type Devices, startDevices } from '../../../bridge/devices/devices.ts';
import { builtInDrivers } from '../../../bridge/driver-host/drivers.ts';
import type { DeviceEvent } from '../../../bridge/events.ts';
import { createNobleRadio } from '../../../bridge/radios/noble/radio.ts';
import type { Board, Sound } from '../../../bridge/simulator/board.ts';
import {
  type AirDevice,
  type ControllerOptions,
  createController,
} from '../../../bridge/simulator/controller.ts';
import { createFrames } from '../../../bridge/simulator/frames.ts';
import { recordsOf } from '../../../bridge/simulator/omi-store.ts';
import { createPendant } from '../../../bridge/simulator/pendant.ts';
import { PERIPHERALS, type PeripheralOptions } from '../../../bridge/simulator/peripherals.ts';
import { simulatedNoble } from '../../../bridge/simulator/simulator.ts';
import type { Recording } from '../../../bridge/spool/recording.ts';
import { openSpool, type Spool } from '../../../bridge/spool/spool.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { eventually } from '../../helpers/eventually.ts';
import { fastClock } from '../../helpers/fast-clock.ts';
import { createGlasses } from '../../helpers/lua-glasses.ts';
import { amount } from '../../helpers/thorough.ts';
import { aacSound, lc3Sound, opusSound, pcmSound, speech } from '../../helpers/wearable-sound.ts';

// Each fault of the simulator with each kind of wearable, over the libraries' own code: all audio comes through
// afterwards, or the bridge says in words why it does not.

process.setMaxListeners(0); // every library instance listens for the end of the process
const LIBRARIES = ['@abandonware/noble', '@stoprocent/noble'];
const log = pino({ level: 'silent' });
const drivers = await builtInDrivers();

interface Kind {
  sound: Sound;
  board(options: PeripheralOptions): Board;
}

const omiSound = createFrames(speech, 21);
const omi = (more: object) => (options: PeripheralOptions) =>
  createPendant({ ...options, ...more, codecId: 21, frames: omiSound });
const records = recordsOf(
  Array.from({ length: 100 }, (_, index) => omiSound.at(index)),
  1_780_000_000,
  20,
);
const KINDS: Readonly<Record<string, Kind>> = {
  omi: { sound: omiSound, board: omi({}) },
  'omi with storage': { sound: omiSound, board: omi({ stored: { generation: 'ring', records } }) },
  'omi-glass': { sound: omiSound, board: omi({ name: 'OMI Glass', hasCamera: true }) },
  fieldy: { sound: opusSound(40), board: PERIPHERALS.fieldy },
  friend: { sound: lc3Sound(), board: PERIPHERALS.friend },
  owl: { sound: aacSound(), board: PERIPHERALS.owl },
  bee: { sound: aacSound(), board: PERIPHERALS.bee },
  plaud: { sound: opusSound(80), board: PERIPHERALS.plaud },
  limitless: { sound: opusSound(80), board: PERIPHERALS.limitless },
  frame: { sound: pcmSound(8000, 10), board: options => createGlasses('Frame', options) },
  halo: { sound: lc3Sound(), board: options => createGlasses('halo', options) },
};

interface Fault {
  controller?: ControllerOptions;
  /** Sets it up on a device that is not connected yet. */
  of?(board: Board): void;
  /** Devices that only advertise. */
  strangers?: number;
  /** It has happened; absent: from the beginning on. */
  hasStruck?(): boolean;
  /** Words that may take the place of audio; absent: audio must come. */
  told?: RegExp;
}

const WRITE_REQUEST = 0x12;

/** Frames that must come through after the fault. */
const ENOUGH = 12;

const once = <T>(first: T, later: T) => {
  let isFirst = true;
  return (): T => {
    const value = isFirst ? first : later;
    isFirst = false;
    return value;
  };
};
const everyTenth = (out: (packet: Buffer) => Buffer[]) => (board: Board) => {
  board.faults.packet = (packet, id) => (id % 10 === 3 ? out(packet) : [packet]);
};

/** Something that happens once, at the first packet of audio. */
function brokenBy(happens: (board: Board) => void): Fault {
  let hasStruck = false;
  return {
    of(board) {
      hasStruck = false;
      board.faults.packet = packet => {
        if (!hasStruck) setImmediate(happens, board);
        hasStruck = true;
        return [packet];
      };
    },
    hasStruck: () => hasStruck,
  };
}

const wholeFaults = (): Record<string, Fault> => ({
  'connections reported by the enhanced event': { controller: { enhanced: true } },
  'connections reported by the legacy event': { controller: { enhanced: false } },
  'packets confirmed late': { controller: { congestionMs: 60 } },
  'audio before the answer that starts it': {
    of: ({ faults }) => {
      faults.answerMs = 60;
    },
  },
  '200 foreign advertisers': { strangers: 200 },
  'an MTU of 23': {
    of: ({ faults }) => {
      faults.ownMtuMs = 1e6;
    },
    told: /MTU/,
  },
  'an MTU that the device asks for late': {
    of: ({ faults }) => {
      faults.ownMtuMs = 100;
    },
    told: /MTU/,
  },
  'messages in parts of one byte': { controller: { parts: [1] } },
  'messages in parts of 1 to 27 bytes': {
    controller: { parts: Array.from({ length: 27 }, (_, index) => index + 1) },
  },
  'the first part of a message of three bytes': { controller: { parts: [3, 24, 2, 25] } },
  'a connection that is not established': {
    of: ({ faults }) => {
      const attempt = once<'accept' | number>(0x3e, 'accept');
      Object.defineProperty(faults, 'attempt', { get: attempt });
    },
  },
  'each tenth packet lost': { of: everyTenth(() => []) },
  'each tenth packet twice': { of: everyTenth(packet => [packet, packet]) },
  'a microphone that sleeps': {
    of: ({ faults }) => {
      faults.asleep = true;
    },
    told: /asleep|muted/,
  },
  'a device that must bond': {
    of({ faults }) {
      faults.pairing = 0x05;
      faults.request = pdu => (pdu[0] === WRITE_REQUEST ? 0x05 : 'answer');
    },
    told: /pairing failed.*set bridge\.radios to \[bluez\]/,
  },
  'a link lost without a word': brokenBy(board => board.slipAway()),
  'a link closed by the device while it streams': brokenBy(board => board.dropLink(0x13)),
});

/** Time limits of the radio: short, as what is not answered waits for them; and long enough for a busy machine. */
const LIMITS = { attMs: 4000, connectMs: 60_000, disconnectMs: 2000 };
const SPEED = 20;

interface Session {
  board: Board;
  devices: Devices;
  told: DeviceEvent[];
  /** Live recordings, one for each connection that carried audio. */
  recordings: readonly Recording[];
  close(): Promise<void>;
}

interface Stage {
  spool: Spool;
  clock: ReturnType<typeof fastClock>;
}

async function openStage(t: ExecutionContext): Promise<Stage> {
  const clock = fastClock(t);
  clock.hasten(SPEED);
  const spool = await openSpool({ dir: await temporaryDirectory(t), maxBytes: 2 ** 28, clock, log });
  t.teardown(spool.close);
  return { spool, clock };
}

let sessions = 0;

/** One bridge and one wearable, each with a radio of its own. */
function connect(
  { spool, clock }: Stage,
  kind: Kind,
  { controller: options, of, strangers = 0 }: Fault,
): Session {
  sessions += 1;
  const library = LIBRARIES[sessions % 2];
  const controller = createController({ extended: sessions % 2 === 1, ...options });
  const tail = (sessions + 0x10000).toString(16).slice(-4);
  const address = `c0:ff:ee:00:${tail.slice(0, 2)}:${tail.slice(2)}`;
  const board = kind.board({ sound: kind.sound, clock, address, loop: true });
  of?.(board);
  for (let number = 0; number < strangers; number += 1) controller.add(stranger(number));
  controller.add(board);
  const told: DeviceEvent[] = [];
  const recordings: Recording[] = [];
  const devices = startDevices({
    radio: createNobleRadio({ log, clock, load: simulatedNoble(controller, library), limits: LIMITS }),
    ...{ drivers, only: [], clock, log },
    begin(info) {
      const recording = spool.begin(info);
      if (!info.stored) recordings.push(recording);
      return recording;
    },
    onEvent: event => event.event === 'device' && told.push(event),
    limits: { firstRetryMs: 200, maxRetryMs: 1000, silentMs: 15_000, unfitMs: 5000 },
  });
  return {
    board,
    devices,
    told,
    recordings,
    async close() {
      board.stop();
      await devices.stop();
    },
  };
}

function stranger(number: number): AirDevice {
  const tail = [number >> 8, number & 0xff].map(byte => byte.toString(16).padStart(2, '0')).join(':');
  return {
    address: `d0:00:00:00:${tail}`,
    advertisement: () => Buffer.from('020106020a04', 'hex'),
    scanResponse: () => Buffer.from('0409546167', 'hex'),
    attempt: () => 'ignore',
    connected() {},
    disconnected() {},
    receive: () => null,
  };
}

const countOf = ({ recordings }: Session) => recordings.reduce((sum, { base, next }) => sum + next - base, 0);

/** Frames of the last connection that are none of those played. */
function foreignFrames({ recordings }: Session, { sound }: Kind): number {
  const played = new Set(Array.from({ length: sound.length }, (_, index) => hexOf(sound.at(index))));
  const last = recordings.at(-1);
  const held = last?.read(last.first, 1_000_000) ?? [];
  return held.filter(({ bytes }) => !played.has(hexOf(bytes))).length;
}

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

interface Outcome {
  fate: 'recovered' | 'told' | 'neither';
  words: string;
}

/** Beyond it there is no hope. */
const PATIENCE_MS = 120_000;

async function fateOf(stage: Stage, kind: Kind, fault: Fault): Promise<Outcome> {
  const session = connect(stage, kind, fault);
  const { hasStruck = () => true, told } = fault;
  const until = performance.now() + PATIENCE_MS;
  let before: number | null = null;
  let words = '';
  try {
    await eventually(() => {
      if (before === null && hasStruck()) before = countOf(session);
      words = session.told.findLast(({ reason }) => reason !== null && told?.test(reason))?.reason ?? '';
      const isBack = before !== null && countOf(session) >= before + ENOUGH;
      return words !== '' || isBack || performance.now() > until;
    });
    const heard = session.told
      .map(({ state, reason }) => `${state}: ${reason}`)
      .slice(-3)
      .join(' | ');
    if (words !== '') return { fate: 'told', words };
    if (before === null || countOf(session) < before + ENOUGH)
      return { fate: 'neither', words: before === null ? `it did not happen; ${heard}` : heard };
    const foreign = foreignFrames(session, kind);
    return foreign > 0
      ? { fate: 'neither', words: `${foreign} frames are none of its own` }
      : { fate: 'recovered', words: '' };
  } finally {
    await session.close();
  }
}

const WRITES = new Set([WRITE_REQUEST, 0x52]);
const MTU_REQUEST = 0x02;

/** Made so often, a request keeps the connection alive or confirms audio, for as long as there is one. */
const ALWAYS_FROM = 3;

/** Names each request of a connection, so that it is found again in another one: what is written may differ. */
function createNames() {
  const seen = new Map<string, number>();
  return (pdu: Buffer): string => {
    if (pdu[0] === MTU_REQUEST) seen.clear(); // the first of each connection
    const what = hexOf(WRITES.has(pdu[0] ?? 0) ? pdu.subarray(0, 3) : pdu);
    const count = (seen.get(what) ?? 0) + 1;
    seen.set(what, count);
    return count === 1 ? what : `${what} (${Math.min(count, ALWAYS_FROM)})`;
  };
}

const SETTLED_LOOKS = 15;

/** Every request of connecting and starting. */
async function requestsOf(stage: Stage, kind: Kind): Promise<string[]> {
  const requests: string[] = [];
  const session = connect(stage, kind, {
    of({ faults }) {
      const nameOf = createNames();
      faults.request = pdu => {
        const name = nameOf(pdu);
        if (!name.endsWith(` (${ALWAYS_FROM})`)) requests.push(name);
        return 'answer';
      };
    },
  });
  let looks = 0;
  let count = 0;
  await eventually(() => {
    looks = requests.length === count && countOf(session) >= ENOUGH ? looks + 1 : 0;
    count = requests.length;
    return looks > SETTLED_LOOKS;
  });
  await session.close();
  return requests;
}

type Fate = ReturnType<Board['faults']['request']>;

/** A device that refuses a longer MTU once has the shortest for as long as it is connected. */
function toldOf(request: string, always: boolean): Pick<Fault, 'told'> {
  if (request.startsWith(MTU_REQUEST.toString(16).padStart(2, '0'))) return { told: /MTU/ };
  return always ? { told: /refuse/ } : {};
}

/** @param always each time, not only the first */
function requestFault(request: string, fate: Fate, always = false): Fault {
  let hasStruck = false;
  return {
    of({ faults }) {
      const nameOf = createNames();
      faults.request = pdu => {
        if (nameOf(pdu) !== request || (hasStruck && !always)) return 'answer';
        hasStruck = true;
        return fate;
      };
    },
    hasStruck: () => hasStruck,
    ...(typeof fate === 'number' && toldOf(request, always)),
  };
}

const UNLIKELY_ERROR = 0x0e;
const AT_ONCE = 24;
const LEAST_FAULTS = 98;
const LEAST_SHARE = 0.95;
/** In the whole run of tests, the slower request faults are played for each so-manieth request. */
const EVERY = amount(6, 1);

function faultsOf(requests: readonly string[]): [string, Fault][] {
  const each = (some: readonly string[], what: string, fate: Fate, always?: boolean) =>
    some.map((request): [string, Fault] => [
      `${what} at request ${request}`,
      requestFault(request, fate, always),
    ]);
  const some = (from: number) => requests.filter((_, index) => index % EVERY === from % EVERY);
  return [
    ...Object.entries(wholeFaults()),
    ...each(requests, 'disconnected', 'drop'),
    ...each(some(0), 'no answer', 'ignore'),
    ...each(some(1), 'an error', UNLIKELY_ERROR),
    ...each(some(2), 'always an error', UNLIKELY_ERROR, true),
  ];
}

const outcomes: Outcome[] = [];

for (const [name, kind] of Object.entries(KINDS))
  test.serial(`${name}: each fault is played`, async t => {
    const stage = await openStage(t);
    const requests = await requestsOf(stage, kind);
    const waiting = faultsOf(requests);
    const lines: string[] = [];
    const work = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const [what, fault] = next;
        const outcome = await fateOf(stage, kind, fault);
        outcomes.push(outcome);
        lines.push(`${outcome.fate.padEnd(10)} ${what}${outcome.words && `: ${outcome.words}`}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    t.log(`${requests.length} requests\n${lines.toSorted().join('\n')}`);
    t.true(requests.length > 5 && lines.some(line => line.startsWith('recovered')));
  });

test.serial('of all faults, nearly every one is recovered from or told in words', t => {
  const count = (fate: Outcome['fate']) => outcomes.filter(each => each.fate === fate).length;
  const summary = `${outcomes.length} faults: ${count('recovered')} recovered, ${count('told')} told, ${count('neither')} neither`;
  t.log(summary);
  t.true(outcomes.length >= LEAST_FAULTS, summary);
  t.true(count('recovered') + count('told') >= LEAST_SHARE * outcomes.length, summary);
});
