import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Transformer } from '@napi-rs/image';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import { type CameraPhoto, createPhotoAssembler, orientedJpeg } from '../../../bridge/framing/photo.ts';
import { type BridgeOptions, startBridge } from '../../../bridge/main.ts';
import { createController } from '../../../bridge/simulator/controller.ts';
import { createFrames } from '../../../bridge/simulator/frames.ts';
import { createPendant, type PendantOptions } from '../../../bridge/simulator/pendant.ts';
import { simulatedNoble } from '../../../bridge/simulator/simulator.ts';
import { openPhotos } from '../../../bridge/spool/photos.ts';
import { openSpool } from '../../../bridge/spool/spool.ts';
import { fixedKey } from '../../../bridge/uplink/key.ts';
import { startUplink, type UplinkLimits } from '../../../bridge/uplink/uplink.ts';
import { ConfigSchema } from '../../../config/schema.ts';
import { callControl, controlPath } from '../../../core/control/control.ts';
import { coreProcess } from '../../helpers/core-process.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startListenServer } from '../../helpers/listen-server.ts';
import { drawn } from '../../helpers/photo.ts';
import { speech } from '../../helpers/wearable-sound.ts';

process.setMaxListeners(100); // every library instance listens for the exit of the process
const clock = createClock(Date.now);
const log = pino({ level: 'silent' });
const MINUTE_MS = 60_000;
const TAKEN_AT = Date.UTC(2026, 10, 2, 12);
const LINE_END = 0x0a;

// ── chunks ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const END = Buffer.from('ffff', 'hex');
const piece = (index: number, ...bytes: number[]) => Buffer.from([index & 255, index >> 8, ...bytes]);

function assembled(packets: readonly Uint8Array[]) {
  let malformed = 0;
  const assemble = createPhotoAssembler(() => {
    malformed += 1;
  });
  const photos = packets.flatMap(packet => assemble(packet) ?? []);
  return {
    photos: photos.map(({ jpeg, ...rest }) => ({ ...rest, hex: Buffer.from(jpeg).toString('hex') })),
    malformed,
  };
}

test('chunks become a photo with its orientation; firmware without that field mounts the camera upside down', t => {
  const rest = [piece(1, 3, 4), piece(2, 0xff, 0xd9, 0, 0), END];
  t.deepEqual(assembled([piece(0, 1, 0xff, 0xd8, 1), ...rest, piece(0, 0xff, 0xd8, 1), ...rest]), {
    photos: [
      { quarterTurns: 1, hex: 'ffd8010304ffd9' },
      { quarterTurns: 2, hex: 'ffd8010304ffd9' },
    ],
    malformed: 0,
  });
});

test('a photo without one of its chunks, its start or its end is dropped', t => {
  const [first, second, last] = [piece(0, 2, 0xff, 0xd8, 1), piece(1, 7), piece(2, 0xff, 0xd9)];
  const endless = Array.from({ length: 2000 }, (_, index) => piece(index, ...Array(200).fill(7)));
  const wrong: [string, Uint8Array[], number][] = [
    ['a piece in the middle', [first, last, END], 1],
    ['the last piece', [first, second, END], 1],
    ['the end', [first, second, last, first], 1],
    ['the first piece', [second, last, END], 0],
    ['nothing but an end', [END, END], 0],
    ['no JPEG', [piece(0, 2, 9, 9), piece(1, 0xff, 0xd9), END], 1],
    ['too short for a number', [Buffer.alloc(1), Buffer.alloc(0)], 2],
    ['too long', [...endless, END], 1],
  ];
  for (const [title, packets, malformed] of wrong)
    t.deepEqual(assembled(packets), { photos: [], malformed }, title);
  t.is(assembled([first, last, first, second, last, END]).photos.length, 1, 'the next one is whole');
});

/** Bright at the top, dark at the bottom. */
async function shaded(): Promise<Buffer> {
  const pixels = new Uint8Array(64 * 48 * 4).fill(255);
  for (let at = 64 * 24; at < 64 * 48; at++) pixels.fill(10, at * 4, at * 4 + 3);
  return Transformer.fromRgbaPixels(pixels, 64, 48).jpeg(90);
}

test('a photo states its rotation, so that it is upright afterwards', async t => {
  const jpeg = await shaded();
  for (const [quarterTurns, size, top] of [
    [0, [64, 48], 'bright'],
    [1, [48, 64], 'even'],
    [2, [64, 48], 'dark'],
    [3, [48, 64], 'even'],
  ] as const) {
    const upright = new Transformer(
      await new Transformer(Buffer.from(orientedJpeg({ jpeg, quarterTurns }))).rotate().png(),
    );
    const { width, height } = await upright.metadata();
    t.deepEqual([width, height], [...size]);
    const gray = await new Transformer(await upright.grayscale().png()).rawPixels();
    const row = gray.subarray(0, width * (gray.length / (width * height)));
    const mean = row.reduce((sum, level) => sum + level, 0) / row.length;
    t.is(mean > 200 ? 'bright' : mean < 60 ? 'dark' : 'even', top, `${quarterTurns} quarter turns: ${mean}`);
  }
});

// ── on disk ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const about = (number: number, clientDeviceId = 'glass_1') => ({
  clientDeviceId,
  deviceName: 'Glasses',
  source: 'openglass',
  atMs: TAKEN_AT + number * MINUTE_MS,
});
const photoOf = (number: number): CameraPhoto => ({
  jpeg: Buffer.from([LINE_END, number, LINE_END]),
  quarterTurns: 0,
});

test('photos survive the process, in order; beyond their maximum number the oldest is dropped', async t => {
  const dir = await temporaryDirectory(t);
  const before = await openPhotos({ dir, log, maxWaiting: 3 });
  for (const number of [1, 2, 3, 4]) await before.add(about(number), photoOf(number));
  t.deepEqual(before.counts, { waiting: 3, dropped: 1, refused: 0 });
  await writeFile(join(dir, 'stray.photo.new'), 'half of one');
  await writeFile(join(dir, (await readdir(dir)).sort()[0] ?? ''), 'no line of JSON');
  const after = await openPhotos({ dir, log });
  t.deepEqual(after.devices(), ['glass_1']);
  const seen: number[] = [];
  for (let photo = after.first('glass_1'); photo; photo = after.first('glass_1')) {
    t.deepEqual(await photo.jpeg(), Buffer.from(photoOf((photo.atMs - TAKEN_AT) / MINUTE_MS).jpeg));
    seen.push((photo.atMs - TAKEN_AT) / MINUTE_MS);
    await after.stored(photo);
  }
  t.deepEqual(seen, [3, 4]);
  t.deepEqual(await readdir(dir), []);
});

// ── to core ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const QUICK: Partial<UplinkLimits> = {
  firstRetryMs: 10,
  maxRetryMs: 20,
  finalAckMs: 50,
  confirmMs: 10,
  slowRetryMs: 30,
};

async function setUp(t: ExecutionContext, limits: Partial<UplinkLimits> = {}) {
  const dir = await temporaryDirectory(t);
  const spool = await openSpool({ dir: join(dir, 'spool'), maxBytes: 16 * 1024 * 1024, clock, log });
  const photos = await openPhotos({ dir: join(dir, 'photos'), log });
  const server = await startListenServer();
  t.teardown(server.kill);
  t.teardown(spool.close);
  function start() {
    const uplink = startUplink({
      clientDeviceId: 'glass_1',
      spool,
      photos,
      core: async () => server.url,
      keys: fixedKey('k'),
      conversationTimeoutS: 120,
      clock,
      log,
      onEvent() {},
      limits: { ...QUICK, ...limits },
    });
    t.teardown(uplink.stop);
    return uplink;
  }
  return { spool, photos, server, start };
}

const takenAt = (number: number) => new Date(TAKEN_AT + number * MINUTE_MS).toISOString();

test('without audio, photos are sent in connections of their own, separated where more than a silence apart', async t => {
  const { photos, server, start } = await setUp(t);
  for (const number of [1, 2, 10]) await photos.add(about(number), photoOf(number));
  await photos.add(about(1, 'glass_2'), photoOf(5));
  start();
  await eventually(() => photos.counts.waiting === 1);
  t.deepEqual(
    server.photos.map(photo => [photo.takenAt, [...photo.jpeg][1], photo.query.client_device_id]),
    [1, 2, 10].map(number => [takenAt(number), number, 'glass_1']),
  );
  t.deepEqual(
    server.connections.map(({ query }) => query.started_at),
    [TAKEN_AT + MINUTE_MS, TAKEN_AT + 10 * MINUTE_MS],
  );
  t.deepEqual(photos.devices(), ['glass_2'], 'which belongs to another wearable');
});

test('a photo is sent between the audio before it and the audio after it, in chunks', async t => {
  const { spool, photos, server, start } = await setUp(t);
  const recording = spool.begin({
    ...{ clientDeviceId: 'glass_1', deviceName: 'Glasses', source: 'openglass' },
    ...{ codec: 'opus_fs320', sampleRate: 16_000, frameMs: 20, startedAtMs: clock.now() - 1000 },
  });
  const jpeg = Buffer.alloc(100_000, 7);
  recording.append(Buffer.alloc(40, 1), 0);
  start();
  await eventually(() => server.connections.length === 1);
  await photos.add({ ...about(0), atMs: clock.now() }, { jpeg, quarterTurns: 0 });
  await eventually(() => photos.counts.waiting === 0);
  recording.append(Buffer.alloc(40, 2), 0);
  await eventually(() => [...server.streams.values()][0]?.messages.length === 2);
  t.is(server.connections.length, 1, 'on the connection that there is');
  t.deepEqual(
    server.photos.map(({ behind }) => behind),
    [1],
  );
  t.true(server.photos[0]?.jpeg.equals(jpeg));
  recording.end();
});

test('a photo that core cannot read is dropped after three attempts; one that core has no space for waits', async t => {
  const { photos, server, start } = await setUp(t);
  const refuse = (code: string) => (id: string) => ({ type: 'error', code, message: `image "${id}": why` });
  let isFull = true;
  server.answerPhoto = id => {
    if (isFull) return refuse('photos_full')(id);
    return refuse('invalid_image')(id);
  };
  await photos.add(about(1), photoOf(1));
  start();
  await eventually(() => server.photos.length >= 5);
  t.is(photos.counts.waiting, 1);
  const before = server.photos.length;
  isFull = false;
  await eventually(() => photos.counts.waiting === 0);
  t.true(server.photos.length - before >= 3);
  t.like(photos.counts, { refused: 1, dropped: 0 });
});

test('a photo without an acknowledgement is sent again', async t => {
  const { photos, server, start } = await setUp(t);
  server.answerPhoto = () => {
    server.answerPhoto = id => ({ type: 'photo_processing', temp_id: id, photo_id: 'p' });
    server.connections.at(-1)?.socket.terminate();
    return null;
  };
  await photos.add(about(1), photoOf(1));
  start();
  await eventually(() => photos.counts.waiting === 0);
  const ids = server.photos.map(({ id }) => id);
  t.is(ids.length, 2);
  t.is(new Set(ids).size, 1);
});

test('a core that does not answer delays neither audio nor the end of the bridge', async t => {
  const { spool, photos, server, start } = await setUp(t, { photoMs: 600_000 });
  server.answerPhoto = () => null;
  const recording = spool.begin({
    ...{ clientDeviceId: 'glass_1', deviceName: 'Glasses', source: 'openglass' },
    ...{ codec: 'opus_fs320', sampleRate: 16_000, frameMs: 20, startedAtMs: clock.now() },
  });
  await photos.add(about(1), photoOf(1));
  recording.append(Buffer.alloc(40, 1), 0);
  const uplink = start();
  await eventually(() => server.photos.length === 1);
  for (let number = 0; number < 10; number += 1) recording.append(Buffer.alloc(40, 2), 0);
  await eventually(() => [...server.streams.values()][0]?.messages.length === 11);
  await uplink.stop();
  t.is(photos.counts.waiting, 1);
});

// ── end to end ──────────────────────────────────────────────────────────────────────────────────────────────────────

function glasses(t: ExecutionContext, options: Partial<PendantOptions> = {}) {
  const frames = createFrames(speech, 21);
  const device = createPendant({
    name: 'OMI Glass',
    codecId: 21,
    frames,
    loop: true,
    hasCamera: true,
    clock,
    ...options,
  });
  t.teardown(device.stop);
  const controller = createController();
  controller.add(device);
  return { device, load: simulatedNoble(controller) };
}

async function bridge(
  t: ExecutionContext,
  core: { url: string; key: string },
  options: Partial<BridgeOptions>,
) {
  const config = ConfigSchema.parse({
    dataDir: await temporaryDirectory(t),
    bridge: { core: core.url.replace('http', 'ws'), key: core.key },
  });
  const running = await startBridge({ config, log, clock, limits: { uplink: QUICK }, ...options });
  let stopped = false;
  const stop = async () => {
    if (!stopped) await running.stop();
    stopped = true;
  };
  t.teardown(stop);
  return { config, stop };
}

test('photos of simulated glasses are stored upright by a core process, also those taken while it was down and the bridge restarted', async t => {
  const core = await coreProcess(t, {
    stt: ['prompt'],
    plugins: { prompt: { use: `${import.meta.dirname}/../../fixtures/plugins/prompt-stt.ts` } },
  });
  const made = await callControl(controlPath(core.dataDir), 'token', { user: 'owner' });
  if (made === 'absent') throw new Error('the server does not answer');
  const ask = async (path: string) =>
    fetch(core.url + path, { headers: { Authorization: `Bearer ${made.token}` } });
  const { device, load } = glasses(t);
  const conversations = new Set<string>();
  const taken: number[] = [];
  let look = () => {};
  const first = await bridge(t, core, {
    load,
    onEvent(event) {
      if (event.event === 'conversation_session') conversations.add(event.conversation_id);
      if (event.event !== 'photo') return;
      taken.push(Date.now());
      look();
    },
  });
  const arrived = (count: number) =>
    new Promise<void>(resolve => {
      look = () => taken.length >= count && resolve();
      look();
    });
  await eventually(() => device.played > 0);
  device.takePhoto(await shaded());
  await arrived(1);
  const stored = async () => {
    const rows = await Promise.all(
      [...conversations].map(
        async id =>
          (await (await ask(`/v1/conversations/${id}/photos`)).json()) as {
            id: string;
            created_at: string;
          }[],
      ),
    );
    return rows.flat();
  };
  const [photo] = await eventually(stored, all => all.length === 1);
  const upright = await new Transformer(
    Buffer.from(await (await ask(`/v1/photos/${photo?.id}`)).arrayBuffer()),
  )
    .grayscale()
    .png();
  const pixels = await new Transformer(upright).rawPixels();
  t.true((pixels[0] ?? 255) < 60, 'what was below is above');

  await core.kill();
  device.takePhoto(await drawn(64, 48).jpeg(90));
  device.takePhoto(await drawn(64, 64).jpeg(90), null);
  await arrived(3);
  device.vanish();
  await first.stop();
  await core.start();
  const nobody = createController();
  await bridge(t, core, {
    config: first.config,
    load: simulatedNoble(nobody),
    onEvent: event => event.event === 'conversation_session' && conversations.add(event.conversation_id),
  });
  const all = await eventually(stored, rows => rows.length === 3);
  const times = all.map(({ created_at }) => Date.parse(created_at)).toSorted();
  for (const [index, at] of times.entries())
    t.true(
      Math.abs(at - (taken[index] ?? 0)) < MINUTE_MS && at <= (taken[index] ?? 0),
      `${at} ${taken[index]}`,
    );
});
