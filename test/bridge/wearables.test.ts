import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../bridge/clock.ts';
import { driverChecks, parseTrace } from '../../bridge/conformance/driver.ts';
import { replay } from '../../bridge/conformance/replay.ts';
import { recordDevice } from '../../bridge/device-record.ts';
import type { Driver } from '../../bridge/driver.ts';
import { builtInDrivers } from '../../bridge/drivers.ts';
import { createRadio } from '../../bridge/radio.ts';
import type { Board, Sound } from '../../bridge/simulator/board.ts';
import { createController } from '../../bridge/simulator/controller.ts';
import { createFrames } from '../../bridge/simulator/frames.ts';
import type { ServiceSpec } from '../../bridge/simulator/gatt-server.ts';
import { recordsOf } from '../../bridge/simulator/omi-store.ts';
import { AUDIO_SERVICE, createPendant } from '../../bridge/simulator/pendant.ts';
import { PERIPHERALS, type PeripheralOptions } from '../../bridge/simulator/peripherals.ts';
import { simulatedNoble } from '../../bridge/simulator/simulator.ts';
import { amount } from '../helpers/thorough.ts';
import { aacSound, lc3Sound, opusSound, speech } from '../helpers/wearable-sound.ts';

process.setMaxListeners(100); // every library instance listens for the end of the process
const clock = createClock(Date.now);
const log = pino({ level: 'silent' });
const drivers = await builtInDrivers();
const TRACES = new URL('../fixtures/drivers/', import.meta.url).pathname;

/** Recording of each simulated wearable. Its trace in test/fixtures/drivers is made of the first seconds of it. */
interface Simulated {
  sound: Sound;
  board(options: PeripheralOptions): Board;
  seconds: number;
  /** Its driver; absent: of the same name. */
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
    board: ({ sound: _, ...options }) =>
      createPendant({
        ...options,
        name: 'OMI Glass',
        codecId: 21,
        frames: createFrames(speech, 21),
        services: usual => usual.map(withCamera),
      }),
    seconds: 1,
  },
  plaud: { sound: opusSound(80), board: PERIPHERALS.plaud, seconds: 2 },
  limitless: { sound: opusSound(80), board: PERIPHERALS.limitless, seconds: 3 },
  bee: { sound: aacSound(), board: PERIPHERALS.bee, seconds: 2 },
  owl: { sound: aacSound(), board: PERIPHERALS.owl, seconds: 2 },
};

function withCamera(service: ServiceSpec): ServiceSpec {
  if (service.uuid !== AUDIO_SERVICE) return service;
  const camera: ServiceSpec['characteristics'] = [
    { uuid: '19b10005-e8f2-537e-4f6c-d104768a1214', properties: ['notify'] },
    { uuid: '19b10006-e8f2-537e-4f6c-d104768a1214', properties: ['write'] },
  ];
  return { ...service, characteristics: [...service.characteristics, ...camera] };
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

async function record(t: ExecutionContext, name: string, { speed = 20 } = {}) {
  const wearable = WEARABLES[name];
  if (!wearable) throw new Error(`nothing plays ${name}`);
  const dir = await mkdtemp(join(tmpdir(), 'wearables-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const controller = createController();
  const board = wearable.board({ sound: wearable.sound, clock, speed });
  controller.add(board);
  t.teardown(board.stop);
  const file = join(dir, 'recorded.jsonl');
  await recordDevice({
    file,
    radio: createRadio({ log, clock, load: simulatedNoble(controller) }),
    drivers,
    only: [],
    seconds: wearable.seconds,
    limitMs: 60_000,
    origin: `the simulated ${name}, which plays tomorrow.wav; packed as docs/drivers.md says, not recorded from hardware`,
    clock,
    log,
  });
  return readFileSync(file, 'utf8');
}

/** `EARSHOT_TRACES=1 npx ava test/bridge/wearables.test.ts` makes traces that are missing. */
for (const name of Object.keys(WEARABLES)) {
  const file = join(TRACES, `${name}.trace.jsonl`);
  if (!process.env.EARSHOT_TRACES || existsSync(file)) continue;
  test.serial(`the trace of ${name} is made`, async t => {
    writeFileSync(file, await record(t, name, { speed: 1 }));
    t.true(existsSync(file));
  });
}

for (const name of Object.keys(WEARABLES))
  test.serial(
    `${name}: what the simulated wearable plays comes out of the Bluetooth library frame by frame`,
    async t => {
      const { live } = await replay(driverOf(name), parseTrace(await record(t, name)));
      const sound = WEARABLES[name]?.sound;
      const wrong = live.findIndex(
        ({ bytes }, index) => !Buffer.from(bytes).equals(sound?.at(index) ?? Buffer.alloc(0)),
      );
      t.is(wrong, -1, `frame ${wrong} is another one`);
      t.true(live.length >= Math.min(50, sound?.length ?? 0), `${live.length} frames`);
    },
  );

/** In the whole run in short; `npm run torture -- --tests` with a million for each driver. */
const MUTATIONS = amount(10_000, 1_000_000);

for (const name of Object.keys(WEARABLES))
  for (const { title, run } of driverChecks)
    test(`${name} ${title}`, async t => {
      await t.notThrowsAsync(run({ driver: driverOf(name), trace: traceOf(name), mutations: MUTATIONS }));
    });

test('every driver of the bridge has a trace and a simulated wearable', t => {
  const simulated = new Set(Object.entries(WEARABLES).map(([name, { driver = name }]) => driver));
  t.deepEqual(drivers.map(({ name }) => name).toSorted(), [...simulated].toSorted());
});
