import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import { recordDevice } from '../../../bridge/commands/device-record.ts';
import { driverChecks, parseTrace } from '../../../bridge/conformance/driver.ts';
import { replay } from '../../../bridge/conformance/replay.ts';
import type { Driver } from '../../../bridge/driver.ts';
import { builtInDrivers } from '../../../bridge/driver-host/drivers.ts';
import type { Radio } from '../../../bridge/radio.ts';
import { createBluezRadio } from '../../../bridge/radios/bluez/radio.ts';
import { createNobleRadio } from '../../../bridge/radios/noble/radio.ts';
import type { Board, Sound } from '../../../bridge/simulator/board.ts';
import { createController } from '../../../bridge/simulator/controller.ts';
import { createFrames } from '../../../bridge/simulator/frames.ts';
import { recordsOf } from '../../../bridge/simulator/omi-store.ts';
import { createPendant } from '../../../bridge/simulator/pendant.ts';
import { PERIPHERALS, type PeripheralOptions } from '../../../bridge/simulator/peripherals.ts';
import { simulatedNoble } from '../../../bridge/simulator/simulator.ts';
import { onTheAir, startBluez } from '../../helpers/bluez-service.ts';
import { createGlasses } from '../../helpers/lua-glasses.ts';
import { hasMessageBus, startMessageBus } from '../../helpers/message-bus.ts';
import { amount } from '../../helpers/thorough.ts';
import { aacSound, lc3Sound, opusSound, pcmSound, speech } from '../../helpers/wearable-sound.ts';

process.setMaxListeners(100); // every library instance listens for the exit of the process
const clock = createClock(Date.now);
const log = pino({ level: 'silent' });
const drivers = await builtInDrivers();
const TRACES = new URL('../../fixtures/drivers/', import.meta.url).pathname;

/**
 * Recording played by each simulated wearable. Its trace in test/fixtures/drivers contains the first seconds.
 */
interface Simulated {
  sound: Sound;
  board(options: PeripheralOptions): Board;
  seconds: number;
  /** Its driver; absent: the one with the same name. */
  driver?: string;
}

const WEARABLES: Record<string, Simulated> = {
  omi: {
    sound: createFrames(speech, 21),
    board: ({ sound: _, ...options }) =>
      createPendant({ ...options, codecId: 21, frames: createFrames(speech, 21) }),
    seconds: 1,
  },
  'omi-ring': {
    sound: createFrames(speech, 21),
    board: ({ sound: _, ...options }) =>
      createPendant({
        ...options,
        codecId: 21,
        frames: createFrames(speech, 21),
        stored: { generation: 'ring', records: recordsOf(opusFrames(150), 1_780_000_000, 20) },
      }),
    seconds: 4,
    driver: 'omi',
  },
  fieldy: { sound: opusSound(40), board: PERIPHERALS.fieldy, seconds: 1 },
  friend: { sound: lc3Sound(), board: PERIPHERALS.friend, seconds: 1 },
  'omi-glass': {
    sound: createFrames(speech, 21),
    board: glasses,
    seconds: 1,
  },
  plaud: { sound: opusSound(80), board: PERIPHERALS.plaud, seconds: 2 },
  limitless: { sound: opusSound(80), board: PERIPHERALS.limitless, seconds: 3 },
  bee: { sound: aacSound(), board: PERIPHERALS.bee, seconds: 2 },
  owl: { sound: aacSound(), board: PERIPHERALS.owl, seconds: 2 },
  frame: { sound: pcmSound(8000, 10), board: options => createGlasses('Frame', options), seconds: 1 },
  halo: { sound: lc3Sound(), board: options => createGlasses('halo', options), seconds: 1, driver: 'frame' },
};

/** The bytes of a photo; drivers only examine the first and the last ones. */
const PICTURE = Buffer.concat([
  Buffer.from('ffd8', 'hex'),
  Buffer.alloc(2000, 7),
  Buffer.from('ffd9', 'hex'),
]);
const PHOTO_EVERY_MS = 300;

function glasses({ sound: _, ...options }: PeripheralOptions): Board {
  const frames = createFrames(speech, 21);
  const device = createPendant({ ...options, name: 'OMI Glass', codecId: 21, frames, hasCamera: true });
  const timer = setInterval(() => device.takePhoto(PICTURE), PHOTO_EVERY_MS);
  const { stop } = device;
  return Object.assign(device, {
    stop() {
      clearInterval(timer);
      stop();
    },
  });
}

/** From the middle of the recording. */
function opusFrames(count: number): Uint8Array[] {
  const frames = createFrames(speech, 21);
  return Array.from({ length: count }, (_, index) => frames.at(100 + index));
}

function driverOf(wearable: string): Driver {
  const name = WEARABLES[wearable]?.driver ?? wearable;
  const driver = drivers.find(one => one.name === name);
  if (!driver) throw new Error(`there is no driver ${name}`);
  return driver;
}

function traceOf(name: string) {
  return parseTrace(readFileSync(join(TRACES, `${name}.trace.jsonl`), 'utf8'));
}

type Way = (t: ExecutionContext, board: Board) => Promise<Radio>;

async function overNoble(_t: ExecutionContext, board: Board): Promise<Radio> {
  const controller = createController();
  controller.add(board);
  return createNobleRadio({ log, clock, load: simulatedNoble(controller) });
}

/** A real message bus with a service that implements the D-Bus API of BlueZ. */
async function overBluez(t: ExecutionContext, board: Board): Promise<Radio> {
  const bus = await startMessageBus(t);
  const service = await startBluez(bus.address, [onTheAir(board)]);
  t.teardown(service.stop);
  return createBluezRadio({ address: bus.address, log, clock });
}

async function record(
  t: ExecutionContext,
  name: string,
  { speed = 20, way = overNoble, times = 1 }: { speed?: number; way?: Way; times?: number } = {},
) {
  const wearable = WEARABLES[name];
  if (!wearable) throw new Error(`nothing plays ${name}`);
  const dir = await mkdtemp(join(tmpdir(), 'wearables-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const board = wearable.board({ sound: wearable.sound, clock, speed });
  t.teardown(board.stop);
  const file = join(dir, 'recorded.jsonl');
  await recordDevice({
    file,
    radio: await way(t, board),
    drivers,
    only: [],
    seconds: wearable.seconds * times,
    limitMs: 60_000,
    origin: `the simulated ${name}, which plays tomorrow.wav; packed as docs/drivers.md says, not recorded from hardware`,
    clock,
    log,
  });
  return readFileSync(file, 'utf8');
}

/** `EARSHOT_TRACES=1 npx ava test/bridge/devices/wearables.test.ts` records missing traces. */
for (const name of Object.keys(WEARABLES)) {
  const file = join(TRACES, `${name}.trace.jsonl`);
  if (!process.env.EARSHOT_TRACES || existsSync(file)) continue;
  test.serial(`the trace of ${name} exists`, async t => {
    writeFileSync(file, await record(t, name, { speed: 1 }));
    t.true(existsSync(file));
  });
}

async function playsUnchanged(t: ExecutionContext, name: string, way: Way) {
  const sound = WEARABLES[name]?.sound;
  const least = Math.min(50, sound?.length ?? 0);
  const recorded = async (times: number) =>
    replay(driverOf(name), parseTrace(await record(t, name, { way, times })));
  let { live, stored } = await recorded(1);
  if (live.length < least) ({ live, stored } = await recorded(10)); // on a machine that is slow at the moment
  const wrong = live.findIndex(
    ({ bytes }, index) => !Buffer.from(bytes).equals(sound?.at(index) ?? Buffer.alloc(0)),
  );
  t.is(wrong, -1, `frame ${wrong} is another one`);
  t.true(live.length >= least, `${live.length} frames`);
  if (name === 'omi-ring') t.true(stored.length > 0);
}

for (const name of Object.keys(WEARABLES)) {
  test.serial(
    `${name}: the Bluetooth library delivers every frame that the simulated wearable plays`,
    playsUnchanged,
    name,
    overNoble,
  );
  (hasMessageBus() ? test.serial : test.serial.skip)(
    `${name}: what the simulated wearable plays comes out of bluetoothd's interface frame by frame`,
    playsUnchanged,
    name,
    overBluez,
  );
}

/** A short run; `npm run torture -- tests` runs a million for each driver. */
const MUTATIONS = amount(3000, 1_000_000);

for (const name of Object.keys(WEARABLES))
  for (const { title, run } of driverChecks)
    test(`${name} ${title}`, async t => {
      await t.notThrowsAsync(run({ driver: driverOf(name), trace: traceOf(name), mutations: MUTATIONS }));
    });

test('every driver of the bridge has a trace and a simulated wearable', t => {
  const simulated = new Set(Object.entries(WEARABLES).map(([name, { driver = name }]) => driver));
  simulated.add('lan-board'); // not Bluetooth: test/bridge/radios/lan.test.ts runs it with a simulated board
  t.deepEqual(drivers.map(({ name }) => name).toSorted(), [...simulated].toSorted());
});
