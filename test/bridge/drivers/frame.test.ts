import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import { replay } from '../../../bridge/conformance/replay.ts';
import type { Trace } from '../../../bridge/conformance/trace.ts';
import { startDevices } from '../../../bridge/devices/devices.ts';
import frame from '../../../bridge/drivers/frame.ts';
import type { DeviceEvent } from '../../../bridge/events.ts';
import { createNobleRadio } from '../../../bridge/radios/noble/radio.ts';
import { createController } from '../../../bridge/simulator/controller.ts';
import { simulatedNoble } from '../../../bridge/simulator/simulator.ts';
import type { Recording, RecordingInfo } from '../../../bridge/spool/recording.ts';
import { eventually } from '../../helpers/eventually.ts';
import { createGlasses } from '../../helpers/lua-glasses.ts';
import { lc3Sound, pcmSound } from '../../helpers/wearable-sound.ts';

process.setMaxListeners(100); // every library instance listens for the exit of the process
const clock = createClock(Date.now);
const log = pino({ level: 'silent' });
/** Clock that shortens the sleeps of the driver, of 1 s at most, and leaves time limits, which are longer, as they are. */
const hasty = {
  now: Date.now,
  sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms > 1000 ? ms : ms / 20, signal),
};

interface Heard extends RecordingInfo {
  frames: { hex: string; lostMs: number }[];
}

function setUp(t: ExecutionContext, model: 'Frame' | 'halo') {
  const sound = model === 'halo' ? lc3Sound() : pcmSound(8000, 10);
  const glasses = createGlasses(model, { sound, clock, loop: true });
  const controller = createController();
  controller.add(glasses);
  const heard: Heard[] = [];
  const told: DeviceEvent[] = [];
  const about: Record<string, unknown> = {};
  const devices = startDevices({
    radio: createNobleRadio({ log, clock, load: simulatedNoble(controller) }),
    drivers: [frame],
    only: [],
    begin(info) {
      const recording: Heard = { ...info, frames: [] };
      heard.push(recording);
      const sink: Partial<Recording> = {
        append: (bytes, lostMs) =>
          void recording.frames.push({ hex: Buffer.from(bytes).toString('hex'), lostMs }),
        async settled() {},
        end() {},
      };
      return sink as Recording; // what a sink needs of it
    },
    clock: hasty,
    log,
    onEvent(event) {
      if (event.event === 'device') told.push(event);
      if (event.event === 'about') Object.assign(about, event);
    },
    limits: { firstRetryMs: 10, maxRetryMs: 50, unfitMs: 60_000 },
  });
  t.teardown(async () => {
    await devices.stop();
    glasses.stop();
  });
  const count = () => heard.reduce((sum, { frames }) => sum + frames.length, 0);
  return { glasses, sound, heard, told, about, count };
}

for (const model of ['Frame', 'halo'] as const)
  test(`${model} is typed a program that sends its audio, frame by frame, and its battery level`, async t => {
    const { glasses, sound, heard, told, about, count } = setUp(t, model);
    await eventually(() => count() > 100 && told.some(({ battery }) => battery === 77));
    const { codec, sampleRate, frames } = heard[0] ?? t.fail();
    t.deepEqual([codec, sampleRate], model === 'halo' ? ['lc3_fs1030', 16_000] : ['pcm16', 8000]);
    t.deepEqual(
      frames.map(({ hex }) => hex),
      frames.map((_, index) => Buffer.from(sound.at(index % sound.length)).toString('hex')),
    );
    t.like(about, { model, firmware: 'v25.080.0838' });
    t.is(glasses.statements.length, 7);
    t.true(glasses.statements.every(statement => statement.length <= 182));
  });

test('a lost notification is counted, and one that comes twice is dropped', async t => {
  const { glasses, sound, heard, count } = setUp(t, 'halo');
  glasses.faults.packet = (packet, id) => (id === 10 ? [] : id === 20 ? [packet, packet] : [packet]);
  await eventually(() => count() > 150);
  const frames = heard[0]?.frames ?? [];
  const lost = 4; // frames in a notification
  const gap = frames.findIndex(({ lostMs }) => lostMs > 0);
  t.is(frames[gap]?.lostMs, lost * 10);
  t.deepEqual(
    frames.map(({ hex }) => hex),
    frames.map((_, index) => Buffer.from(sound.at(index < gap ? index : index + lost)).toString('hex')),
  );
});

test('another program on the glasses is ended first', async t => {
  const { glasses, count } = setUp(t, 'Frame');
  await eventually(() => count() > 20);
  // The program of this connection still runs when the next one begins, as after a loss that the glasses miss.
  glasses.runsOn = true;
  glasses.dropLink();
  const programs = () => glasses.statements.filter(statement => statement.startsWith('pcall')).length;
  await eventually(() => programs() === 2);
  const before = count();
  await eventually(() => count() > before + 20);
  t.is(programs(), 2);
});

test('a program that ends is started again, and given up with its words when it keeps ending', async t => {
  const { glasses, told, count } = setUp(t, 'Frame');
  await eventually(() => count() > 20);
  glasses.breakMicrophone('Microphone taken over by LE Audio');
  const before = count();
  await eventually(() => count() > before + 20);
  t.true(told.every(({ state }) => state !== 'unfit'));
  const timer = setInterval(() => glasses.breakMicrophone('Microphone taken over by LE Audio'), 5);
  await eventually(() => told.some(({ state }) => state === 'unfit'));
  clearInterval(timer);
  t.regex(told.at(-1)?.reason ?? '', /its program keeps ending: .*taken over by LE Audio/);
});

const CHARACTERISTICS = {
  '7a230001-5475-a6a4-654c-8431f6ad49c4/7a230002-5475-a6a4-654c-8431f6ad49c4': ['write'],
  '7a230001-5475-a6a4-654c-8431f6ad49c4/7a230003-5475-a6a4-654c-8431f6ad49c4': ['notify'],
};
const [COMMANDS = '', ANSWERS = ''] = Object.keys(CHARACTERISTICS);
const BREAK = { t: 0, write: COMMANDS, value: '03' };
const HELLO = {
  t: 1,
  write: COMMANDS,
  value: Buffer.from("print('earshot '..frame.HARDWARE_VERSION..' '..frame.FIRMWARE_VERSION)").toString(
    'hex',
  ),
};
/** Not written: the connection lasts until the driver gives up. */
const NEVER = { t: 3, write: COMMANDS, value: 'ff' };

function says(text: string, mtu = 247): Trace {
  const value = Buffer.from(text).toString('hex');
  return {
    ...{ device: 'Frame', origin: 'made by this test', mtu, characteristics: CHARACTERISTICS, expect: null },
    events: [BREAK, HELLO, { t: 2, notify: ANSWERS, value }, NEVER],
  };
}

test('glasses that refuse the program are reported with what they say, without control characters', async t => {
  const { error } = await replay(frame, says('[string "print"]:1: attempt to index nil\u001b[2J value'));
  t.is(
    error?.message,
    'it does not run the program that sends its audio: [string "print"]:1: attempt to index nil [2J value',
  );
});

test('a connection too short for the program is reported as such', async t => {
  const { error, writes } = await replay(frame, says('', 23));
  t.regex(error?.message ?? '', /too small: 23,/);
  t.deepEqual(writes, []);
});

test('of the bytes that control the glasses, only the one that ends a program may be written', t => {
  const [{ first = [] } = {}] = frame.writes;
  t.deepEqual(
    first.filter(byte => byte < 0x20),
    [0x03],
  );
});
