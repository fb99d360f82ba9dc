import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import { startDevices } from '../../../bridge/devices/devices.ts';
import { createMemories } from '../../../bridge/devices/driver-memory.ts';
import limitless from '../../../bridge/drivers/limitless.ts';
import { openLedger } from '../../../bridge/drivers/limitless-pages.ts';
import { createNobleRadio } from '../../../bridge/radios/noble/radio.ts';
import { createController } from '../../../bridge/simulator/controller.ts';
import { createLimitless, pagesOf } from '../../../bridge/simulator/limitless.ts';
import { simulatedNoble } from '../../../bridge/simulator/simulator.ts';
import type { Recording } from '../../../bridge/spool/recording.ts';
import { openSpool } from '../../../bridge/spool/spool.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { eventually } from '../../helpers/eventually.ts';
import { opusSound } from '../../helpers/wearable-sound.ts';

process.setMaxListeners(100); // every library instance listens for the exit of the process
const clock = createClock(Date.now);
const log = pino({ level: 'silent' });
/** Clock that shortens the sleeps of the driver. */
const hasty = { now: Date.now, sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms / 100, signal) };
const sound = opusSound(80);
const SPOKEN_AT = Date.UTC(2026, 5, 1, 9);
const HOUR_MS = 3_600_000;
/** Prefix of the numbers in frames that it recorded out of range. */
const MARK = 0x5a000000;
const NUMBERS = Array.from({ length: 800 }, (_, index) => index);
/** Each frame is unique, and none occurs in live audio. */
const FRAMES = NUMBERS.map(index => {
  const frame = Buffer.from(sound.at(100));
  frame.writeUInt32LE(MARK + index, 40);
  return new Uint8Array(frame);
});

async function setUp(
  t: ExecutionContext,
  { pages = pagesOf(FRAMES, SPOKEN_AT), live = false, syncMs = 0 } = {},
) {
  const dir = await temporaryDirectory(t);
  const spool = await openSpool({ dir: join(dir, 'spool'), maxBytes: 64 * 1024 * 1024, clock, log });
  const pendant = createLimitless({ sound: live ? sound : null, loop: true, clock, stored: pages });
  const controller = createController();
  controller.add(pendant);
  const devices = startDevices({
    radio: createNobleRadio({ log, clock, load: simulatedNoble(controller) }),
    drivers: [limitless],
    only: [],
    begin(info) {
      const recording = spool.begin(info);
      const { settled } = recording;
      return Object.assign(recording, { settled: () => settled().finally(() => clock.sleep(syncMs)) });
    },
    room: spool.room,
    memoryOf: createMemories(join(dir, 'devices')).of,
    clock: hasty,
    log,
    onEvent() {},
    limits: { firstRetryMs: 10, maxRetryMs: 50 },
  });
  t.teardown(async () => {
    pendant.stop();
    await devices.stop();
    await spool.close();
  });
  const recordings = (isStored: boolean) =>
    spool
      .devices()
      .filter(device => device.endsWith('_stored') === isStored)
      .flatMap(device => spool.recordings(device));
  /** Numbers in a recording of the frames that it recorded out of range. */
  const numbersIn = (recording: Recording) =>
    (recording.read(recording.first, 1_000_000) ?? []).flatMap(({ bytes }) => {
      const number = bytes.readUInt32LE(40) - MARK;
      return number >= 0 && number < NUMBERS.length ? [number] : [];
    });
  const held = (isStored: boolean) => recordings(isStored).flatMap(numbersIn);
  /** The pendant has deleted all of its original pages. */
  const forgotten = () => eventually(() => pendant.pages.every(page => page >= pages.length));
  return { pendant, recordings, numbersIn, held, forgotten };
}

test('audio that a Limitless pendant recorded out of range is fetched completely, and only then deleted', async t => {
  const { pendant, held, forgotten } = await setUp(t);
  let isEarly = false;
  pendant.gate = page => {
    const here = held(true).length;
    isEarly ||= pendant.pages[0] !== undefined && pendant.pages[0] * 8 > here;
    return page >= 0;
  };
  await forgotten();
  t.deepEqual(held(true), NUMBERS);
  t.false(isEarly, 'it forgot what was not here');
});

test('after an interrupted download, or pages lost on the air, the missing ones are fetched; nothing is lost or duplicated', async t => {
  const { pendant, held, forgotten } = await setUp(t);
  const cuts = [5, 40, 77];
  const lost = new Set([8, 9, 60]);
  pendant.gate = page => {
    if (lost.delete(page)) return false;
    if (page !== cuts[0]) return true;
    cuts.shift();
    pendant.dropLink();
    return false;
  };
  await forgotten();
  t.is(cuts.length + lost.size, 0);
  t.deepEqual(
    held(true).toSorted((a, b) => a - b),
    NUMBERS,
  );
});

test('an interrupted download on a slow disk is not stored twice', async t => {
  const { pendant, held, forgotten } = await setUp(t, { syncMs: 150 }); // 15 s by the driver's clock
  const cuts = [21, 37, 58];
  pendant.gate = page => {
    if (page !== cuts[0]) return true;
    cuts.shift();
    pendant.dropLink();
    return false;
  };
  await forgotten();
  t.is(cuts.length, 0);
  t.deepEqual(
    held(true).toSorted((a, b) => a - b),
    NUMBERS,
  );
});

test('stored pages become recordings with their own times, while live audio continues', async t => {
  const pages = [
    ...pagesOf(FRAMES.slice(0, 400), SPOKEN_AT),
    ...pagesOf(FRAMES.slice(400), SPOKEN_AT + HOUR_MS),
  ];
  const { recordings, numbersIn, held, forgotten } = await setUp(t, { pages, live: true });
  await forgotten();
  await eventually(() => recordings(false).some(({ next }) => next > 50));
  // A page of live audio that was on its way when the fetch began is stored at its own time.
  const earlier = recordings(true).filter(recording => numbersIn(recording).length > 0);
  t.deepEqual(
    earlier.map(({ info }) => info.startedAtMs),
    [SPOKEN_AT, SPOKEN_AT + HOUR_MS],
  );
  t.deepEqual(held(true), NUMBERS);
  t.deepEqual(held(false), []);
});

test('pages are acknowledged up to the first missing one, whatever arrived before the pendant stated its range', async t => {
  const memory = createMemories(join(await temporaryDirectory(t), 'devices')).of('limitless_1');
  const ledger = openLedger(memory);
  for (const page of [50, 51]) ledger.add(page);
  t.is(ledger.missing, null);
  ledger.told({ oldest: 10, newest: 51 });
  t.is(ledger.missing, 10);
  for (const page of [10, 11, 13, 51, 11]) ledger.add(page);
  t.is(ledger.missing, 12);
  t.deepEqual(
    [12, 13, 14, 50].map(page => ledger.has(page)),
    [false, true, false, true],
  );
  await ledger.save();
  const later = openLedger(memory);
  later.told({ oldest: 10, newest: 60 });
  later.add(12);
  t.is(later.missing, 14);
  t.is(later.skip(), 36);
  t.is(later.missing, 52);
  later.told({ oldest: 0, newest: 3 });
  t.is(later.missing, 0, 'it counts anew');
  t.false(later.has(2));
});
