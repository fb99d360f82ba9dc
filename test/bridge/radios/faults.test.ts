import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { type Devices, startDevices } from '../../../bridge/devices/devices.ts';
import { builtInDrivers } from '../../../bridge/driver-host/drivers.ts';
import type { DeviceEvent } from '../../../bridge/events.ts';
import { createNobleRadio } from '../../../bridge/radios/noble/radio.ts';
import type { Board, Sound } from '../../../bridge/simulator/board.ts';
import {
  type AirDevice,
  type Controller,
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
/** The library that can use extended advertising. */
const EXTENDED = '@stoprocent/noble';
const LIBRARIES = ['@abandonware/noble', EXTENDED];
const log = pino({ level: 'silent' });
const drivers = await builtInDrivers();

interface Kind {
  /** Absent: either library, in turn. */
  library?: string;
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
  /** Time limit of a connection attempt, which is waited for where the adapter has not heard of it. */
  connectMs?: number;
  /** Sets it up on a device that is not connected yet. */
  of?(board: Board, controller: Controller): void;
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
function brokenBy(happens: (board: Board, controller: Controller) => void): Fault {
  let hasStruck = false;
  return {
    of(board, controller) {
      hasStruck = false;
      board.faults.packet = packet => {
        if (!hasStruck) setImmediate(happens, board, controller);
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

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const STRANGE_HANDLE = 0xee;

/** An event of the adapter. @param parameters in hex; `hh` stands for the handle of the connection, in two bytes */
const event = (code: number, parameters: string) => (handle: string) => {
  const bytes = hex(parameters.replaceAll('hh', handle));
  return Buffer.concat([Buffer.of(0x04, code, bytes.length), bytes]);
};
/** A message of the device on an L2CAP channel. */
const message = (channel: number, text: string) => (handle: string) => {
  const bytes = hex(text);
  const head = Buffer.of(4 + bytes.length, 0, bytes.length, 0, channel, 0);
  return Buffer.concat([Buffer.of(0x02), hex(handle.replace(/00$/, '20')), head, bytes]);
};
const raw = (text: string) => (handle: string) => hex(text.replaceAll('hh', handle.replace(/00$/, '20')));
const [SIGNALLING, ATT, PAIRING] = [5, 4, 6];
const ADDRESS_OF_STRANGER = '01 00 00 00 ee ff d0';

/** Packets that nobody asked for, or that make no sense, sent by adapters and devices while audio streams. */
const INTRUSIONS: Readonly<Record<string, (handle: string) => Buffer>> = {
  'a hardware error': event(0x10, '42'),
  'an overflow of its buffer': event(0x1a, '01'),
  'encryption that nobody asked for': event(0x08, '00 hh 01'),
  'encryption that failed': event(0x08, '05 hh 00'),
  "a vendor's event": event(0xff, '01 02 03'),
  'an unknown LE event': event(0x3e, '7f 00'),
  'an empty LE event': event(0x3e, ''),
  'packets sent on an unknown connection': event(0x13, '01 ee 00 01 00'),
  'more packets sent than there were': event(0x13, '01 hh ff 00'),
  'packets sent on no connection': event(0x13, '00'),
  'packets sent, cut off': event(0x13, '02 hh 01'),
  'the end of an unknown connection': event(0x05, '00 ee 00 13'),
  'a disconnection that failed': event(0x05, '0c hh 13'),
  'a disconnection without a reason': event(0x05, '00 hh'),
  'a connection of a stranger': event(0x3e, `01 00 ee 00 00 ${ADDRESS_OF_STRANGER} 18 00 00 00 90 01 00`),
  'a connection that failed': event(0x3e, `01 3e 00 00 00 ${ADDRESS_OF_STRANGER} 18 00 00 00 90 01 00`),
  'a connection, cut off': event(0x3e, '01 00 ee'),
  'the answer to an unknown command': event(0x0e, '01 99 fc 00'),
  'the refusal of an unknown command': event(0x0f, '0c 01 99 fc'),
  'an answer without a command': event(0x0e, '01 00 00'),
  'an answer, cut off': event(0x0e, '01'),
  'a signal strength of an unknown connection': event(0x0e, '01 05 14 02 ee 00 00'),
  'a report of no device': event(0x3e, '02 00'),
  'more reports than there is room for': event(0x3e, '02 09 00 01 01 02 03'),
  'connection parameters that were refused': event(0x3e, '03 3b hh 18 00 00 00 90 01'),
  'another data length': event(0x3e, '07 hh 1b 00 48 01 1b 00 48 01'),
  'another PHY': event(0x3e, '0c 00 hh 02 02'),
  'features of the device': event(0x3e, '04 00 hh ff 00 00 00 00 00 00 00'),
  'a request for a long-term key': event(0x3e, '05 hh 01 02 03 04 05 06 07 08 01 00'),
  'a request for connection parameters': event(0x3e, '06 hh 06 00 0c 00 00 00 90 01'),
  'a version of the device': event(0x0c, '00 hh 09 ff ff 00 00'),
  'a timeout of the authenticated payload': event(0x57, 'hh'),
  'an event, cut off': raw('04 3e 20 01'),
  'a packet of no bytes': raw(''),
  'a packet of one byte': raw('04'),
  'a packet of an unknown kind': raw('05 01 02 03'),
  'data of an unknown connection': raw('02 ee 20 05 00 01 00 04 00 1b'),
  'a beginning of three bytes': raw('02 hh 03 00 09 00 04'),
  'a continuation without its beginning': raw('02 40 10 03 00 01 02 03'),
  'a message on an unknown channel': message(0x40, '01 02 03'),
  'an empty notification': message(ATT, '1b'),
  'a notification of an unknown handle': message(ATT, '1b ff 7f aa'),
  'an indication': message(ATT, '1d ff 7f aa'),
  'an answer that nobody asked for': message(ATT, '0b 00'),
  'an error that nobody asked for': message(ATT, '01 0a 03 00 0e'),
  'a read of the host': message(ATT, '0a 03 00'),
  'a search at the host': message(ATT, '10 01 00 ff ff 00 28'),
  'an unknown request': message(ATT, '3e 01 02'),
  'an unknown command': message(ATT, 'fe 01 02'),
  'a request for a longer MTU': message(ATT, '02 05 02'),
  'a request for other parameters': message(SIGNALLING, '12 01 08 00 06 00 0c 00 00 00 90 01'),
  'a signalling command, cut off': message(SIGNALLING, '12 01 08 00 01'),
  'a wish for security': message(PAIRING, '0b 01'),
  'a request to pair': message(PAIRING, '01 03 00 01 10 00 01'),
  'an empty security message': message(PAIRING, ''),
  'a refusal to pair': message(PAIRING, '05 05'),
};

/** The adapter fails for a while, during which devices are lost. */
const PAUSE_MS = 400;
const ADAPTER_FAULTS: Readonly<Record<string, Fault>> = {
  'an adapter that is off for a while': brokenBy((_, controller) => {
    controller.setUp(false);
    setTimeout(() => controller.setUp(true), PAUSE_MS);
  }),
  'an adapter that answers nothing for a while': {
    connectMs: 10_000,
    ...brokenBy((board, controller) => {
      controller.setSilent(true);
      board.dropLink();
      setTimeout(() => controller.setSilent(false), PAUSE_MS);
    }),
  },
  'an adapter that refuses to scan for a while': brokenBy((board, controller) => {
    controller.refuseScan(0x0c);
    board.dropLink();
    setTimeout(() => controller.refuseScan(0), PAUSE_MS);
  }),
  'an adapter of Bluetooth 4.0': { controller: { dataLength: false } },
};

const intrusions = (): [string, Fault][] =>
  Object.entries(INTRUSIONS).map(([name, packet]) => [
    name,
    brokenBy((board, controller) => {
      const handle = controller.handleOf(board) ?? STRANGE_HANDLE;
      controller.inject(packet(`${handle.toString(16).padStart(2, '0')}00`));
    }),
  ]);

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
  { controller: options, connectMs = LIMITS.connectMs, of, strangers = 0 }: Fault,
): Session {
  sessions += 1;
  const library = kind.library ?? LIBRARIES[sessions % 2];
  const controller = createController({ extended: library === EXTENDED, ...options });
  const tail = (sessions + 0x10000).toString(16).slice(-4);
  const address = `c0:ff:ee:00:${tail.slice(0, 2)}:${tail.slice(2)}`;
  const board = kind.board({ sound: kind.sound, clock, address, loop: true });
  of?.(board, controller);
  for (let number = 0; number < strangers; number += 1) controller.add(stranger(number));
  controller.add(board);
  const told: DeviceEvent[] = [];
  const recordings: Recording[] = [];
  const devices = startDevices({
    radio: createNobleRadio({
      log,
      clock,
      load: simulatedNoble(controller, library),
      limits: { ...LIMITS, connectMs },
    }),
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
/**
 * In the whole run of tests, each kind of wearable gets one in so many of the faults, and the next kind the ones behind:
 * each fault is played with some kinds.
 */
const [EVERY, EVERY_SLOW] = [amount(3, 1), amount(12, 1)];

function faultsOf(requests: readonly string[], nth: number): [string, Fault][] {
  const each = (some: readonly string[], what: string, fate: Fate, always?: boolean) =>
    some.map((request): [string, Fault] => [
      `${what} at request ${request}`,
      requestFault(request, fate, always),
    ]);
  const some = <T>(all: readonly T[], every: number, from = 0) =>
    all.filter((_, index) => index % every === (from + nth) % every);
  return [
    ...some(Object.entries(wholeFaults()), EVERY),
    ...each(some(requests, EVERY), 'disconnected', 'drop'),
    ...each(some(requests, EVERY_SLOW), 'no answer', 'ignore'),
    ...each(some(requests, EVERY_SLOW, 1), 'an error', UNLIKELY_ERROR),
    ...each(some(requests, EVERY_SLOW, 2), 'always an error', UNLIKELY_ERROR, true),
  ];
}

const outcomes: Outcome[] = [];

/** Plays the faults, several at a time. @returns a line for each */
async function play(
  stage: Stage,
  kind: Kind,
  faults: readonly [string, Fault][],
  atOnce = AT_ONCE,
): Promise<string[]> {
  const waiting = [...faults];
  const lines: string[] = [];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [what, fault] = next;
      const outcome = await fateOf(stage, kind, fault);
      outcomes.push(outcome);
      lines.push(`${outcome.fate.padEnd(10)} ${what}${outcome.words && `: ${outcome.words}`}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return lines.toSorted();
}

for (const [nth, [name, kind]] of Object.entries(KINDS).entries())
  test.serial(`${name}: each fault is played`, async t => {
    const stage = await openStage(t);
    const requests = await requestsOf(stage, kind);
    const lines = await play(stage, kind, faultsOf(requests, nth));
    t.log(`${requests.length} requests\n${lines.join('\n')}`);
    t.true(requests.length > 5 && lines.some(line => line.startsWith('recovered')));
  });

test.serial('adapter failures and unrequested packets are played to both libraries', async t => {
  const stage = await openStage(t);
  const kind = KINDS.omi ?? t.fail();
  for (const library of LIBRARIES) {
    const faults = [...Object.entries(ADAPTER_FAULTS), ...intrusions()];
    const lines = await play(stage, { ...kind, library }, faults, faults.length);
    t.log(`${library}\n${lines.join('\n')}`);
    t.true(lines.every(line => !line.startsWith('neither')));
  }
});

test.serial('of all faults, nearly every one is recovered from or told in words', t => {
  const count = (fate: Outcome['fate']) => outcomes.filter(each => each.fate === fate).length;
  const summary = `${outcomes.length} faults: ${count('recovered')} recovered, ${count('told')} told, ${count('neither')} neither`;
  t.log(summary);
  t.true(outcomes.length >= LEAST_FAULTS, summary);
  t.true(count('recovered') + count('told') >= LEAST_SHARE * outcomes.length, summary);
});
