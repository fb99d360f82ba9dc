import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import { startDevices } from '../../../bridge/devices/devices.ts';
import { createMemories } from '../../../bridge/devices/driver-memory.ts';
import omi from '../../../bridge/drivers/omi.ts';
import type { BridgeEvent } from '../../../bridge/events.ts';
import { createNobleRadio } from '../../../bridge/radios/noble/radio.ts';
import { createController } from '../../../bridge/simulator/controller.ts';
import { createFrames } from '../../../bridge/simulator/frames.ts';
import { type Generation, recordsOf } from '../../../bridge/simulator/omi-store.ts';
import { createPendant } from '../../../bridge/simulator/pendant.ts';
import { simulatedNoble } from '../../../bridge/simulator/simulator.ts';
import { readWav } from '../../../bridge/simulator/wav.ts';
import { openSpool, type Spool } from '../../../bridge/spool/spool.ts';

process.setMaxListeners(100); // every library instance listens for the exit of the process
const clock = createClock(Date.now);
/** Clock that shortens the sleeps of drivers and the allowed silence of a device. */
const hasty = { now: Date.now, sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms / 20, signal) };
const samples = await readWav(new URL('../../fixtures/tomorrow.wav', import.meta.url).pathname);
const sound = createFrames(samples, 21);
const FRAMES = Array.from({ length: 1500 }, (_, index) => sound.at(index % sound.length));
const UNCONNECTED_MTU = 23;
const SPOKEN_AT_S = 1_780_000_000;
const GENERATIONS: Generation[] = ['single', 'files', 'ring'];

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** All stored audio in the spool, in the order of arrival. */
function heldBy(spool: Spool): string[] {
  return spool
    .devices()
    .filter(device => device.endsWith('_stored'))
    .flatMap(device => spool.recordings(device))
    .flatMap(recording => recording.read(recording.first, 1_000_000) ?? [])
    .map(({ bytes }) => hex(bytes));
}

async function setUp(
  t: ExecutionContext,
  generation: Generation,
  times: { from: number; at: number }[] = [],
) {
  const warnings: string[] = [];
  const watchers = new Set<() => void>();
  const happened = () => {
    for (const look of [...watchers]) look();
  };
  const log = pino(
    { level: 'warn' },
    {
      write(line) {
        warnings.push(JSON.parse(line).reason ?? '');
        happened();
      },
    },
  );
  const dir = await mkdtemp(join(tmpdir(), 'stored-'));
  const spool = await openSpool({ dir: join(dir, 'spool'), maxBytes: 64 * 1024 * 1024, clock, log });
  const controller = createController();
  const spans = times.length > 0 ? times : [{ from: 0, at: SPOKEN_AT_S }];
  const records = spans.flatMap(({ from, at }, index) =>
    recordsOf(FRAMES.slice(from, spans[index + 1]?.from ?? FRAMES.length), at, 20),
  );
  const pendant = createPendant({
    codecId: 21,
    frames: sound,
    loop: true,
    clock,
    maxMtu: 517,
    stored: { generation, records },
  });
  controller.add(pendant);
  const events: BridgeEvent[] = [];
  const memories = createMemories(join(dir, 'devices'));
  const devices = startDevices({
    radio: createNobleRadio({ log, clock, load: simulatedNoble(controller) }),
    drivers: [omi],
    only: [],
    begin: info => spool.begin(info),
    room: spool.room,
    memoryOf: memories.of,
    clock: hasty,
    log,
    onEvent(event) {
      events.push(event);
      happened();
    },
    limits: { firstRetryMs: 10, maxRetryMs: 50 },
  });
  t.teardown(async () => {
    pendant.stop();
    await devices.stop();
    await spool.close();
    await rm(dir, { recursive: true });
  });
  const until = (fits: () => boolean) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (!fits()) return;
      watchers.delete(look);
      resolve();
    };
    watchers.add(look);
    look();
    return promise;
  };
  const { store } = pendant;
  if (!store) throw new Error('the pendant stores nothing');
  return { spool, pendant, store, events, until, warnings };
}

/** The pendant deletes only after the last of its records is reported as fetched. */
function emptied(events: readonly BridgeEvent[]): boolean {
  return events.some(event => event.event === 'stored_audio' && event.bytes === event.ofBytes);
}

async function forgotten(store: { left: number }): Promise<void> {
  while (store.left > 0) await clock.sleep(5);
}

for (const generation of GENERATIONS) {
  test.serial(
    `${generation}: audio that a pendant recorded out of range is fetched completely, and only then deleted`,
    async t => {
      const { spool, store, events, until } = await setUp(t, generation);
      await until(() => emptied(events));
      await forgotten(store);
      t.deepEqual(heldBy(spool), FRAMES.map(hex));
      const progress = events.filter(event => event.event === 'stored_audio');
      t.true(progress.length > 1);
      const free = events.flatMap(event => (event.event === 'about' ? [event.storageFreeBytes] : []));
      t.true(free.includes(generation === 'ring' ? 123_456_789 : null), 'how much room it has left');
    },
  );

  test.serial(
    `${generation}: a download interrupted anywhere continues, and nothing is lost or duplicated`,
    async t => {
      const { spool, pendant, store, events, until } = await setUp(t, generation);
      let notifications = 0;
      const cuts = [1, 3, 40, 150]; // of all 180 blocks, and the answers
      store.gate = () => {
        if (pendant.mtu === UNCONNECTED_MTU) return false; // the rest of the interrupted download
        notifications += 1;
        if (notifications !== cuts[0]) return true;
        cuts.shift();
        notifications = 0;
        t.true(store.left > 0, 'it forgot what was not fetched');
        pendant.dropLink();
        return false;
      };
      await until(() => emptied(events) && cuts.length === 0);
      await forgotten(store);
      t.deepEqual(heldBy(spool), FRAMES.map(hex));
    },
  );
}

test.serial('speech of different times becomes recordings with those times', async t => {
  const hourLater = SPOKEN_AT_S + 3600;
  const { spool, store, events, until } = await setUp(t, 'ring', [
    { from: 0, at: SPOKEN_AT_S },
    { from: 500, at: SPOKEN_AT_S + 60 },
    { from: 1000, at: hourLater },
  ]);
  await until(() => emptied(events));
  await forgotten(store);
  const recordings = spool
    .devices()
    .flatMap(device => spool.recordings(device))
    .filter(({ info }) => info.stored);
  // The first of each minute: on a machine that stalls, the rest of one is fetched again as a separate
  // recording.
  const starts = recordings.map(({ info }) => info.startedAtMs);
  t.deepEqual(
    starts.filter((at, index) => Math.floor(at / 60_000) !== Math.floor((starts[index - 1] ?? 0) / 60_000)),
    [SPOKEN_AT_S * 1000, hourLater * 1000],
  );
  // Ten seconds of speech, then fifty of silence.
  const gaps = recordings[0]?.read(0, 10_000)?.filter(({ gapMs }) => gapMs > 0) ?? [];
  t.is(gaps.length, 1);
  t.true(Math.abs((gaps[0]?.gapMs ?? 0) - 50_000) < 2000, `${gaps[0]?.gapMs}`);
});

test.serial('live audio continues while stored audio is fetched, under a separate name', async t => {
  const { spool, store, events, until } = await setUp(t, 'ring');
  await until(() => emptied(events));
  await forgotten(store);
  const devices = spool.devices();
  t.is(devices.length, 2);
  const live = devices.find(device => !device.endsWith('_stored')) ?? '';
  t.true(devices.includes(`${live}_stored`));
  t.true(spool.recordings(live).some(({ next }) => next > 0));
});

test.serial('records with a part lost on the air are not deleted, and fetched again', async t => {
  const { spool, store, events, until, warnings } = await setUp(t, 'ring');
  const whole = store.left;
  let notifications = 0;
  store.gate = () => {
    notifications += 1;
    return notifications !== 20; // in the middle of the first records
  };
  await until(() => warnings.some(reason => /the rest was lost/.test(reason)));
  t.is(store.left, whole);
  t.deepEqual(heldBy(spool), []);
  await until(() => emptied(events));
  await forgotten(store);
  t.deepEqual(heldBy(spool), FRAMES.map(hex));
});
