import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import type { Recording } from '../../../bridge/spool/recording.ts';
import { openSpool, type Spool } from '../../../bridge/spool/spool.ts';
import { decodeRecords, encodeRecord } from '../../../bridge/spool/spool-file.ts';

const STARTED_AT = Date.UTC(2026, 10, 2, 12);
const INFO = {
  clientDeviceId: 'omi_1',
  deviceName: 'Omi',
  source: 'omi',
  codec: 'opus_fs320',
  sampleRate: 16000,
  frameMs: 20,
  startedAtMs: STARTED_AT,
};

interface World {
  dir: string;
  open(maxBytes?: number): Promise<Spool>;
  warnings: string[];
  /** Advances by 20 ms each time an append reads the clock. */
  time: { now: number };
}

async function makeWorld(t: ExecutionContext): Promise<World> {
  const dir = await mkdtemp(join(tmpdir(), 'spool-'));
  const warnings: string[] = [];
  const log = pino({ level: 'warn' }, { write: line => warnings.push(JSON.parse(line).msg) });
  const time = { now: STARTED_AT };
  const clock = createClock(() => time.now);
  const spools: Spool[] = [];
  t.teardown(async () => {
    for (const spool of spools) await spool.close();
    await rm(dir, { recursive: true });
  });
  return {
    dir,
    warnings,
    time,
    async open(maxBytes = 1024 * 1024) {
      const spool = await openSpool({ dir, maxBytes, clock, log });
      spools.push(spool);
      return spool;
    },
  };
}

/** Frames of 80 bytes that start with their number. */
function fill({ time }: World, recording: Recording, count: number): void {
  for (let i = 0; i < count; i += 1) {
    const frame = Buffer.alloc(80, 0xb8);
    frame.writeUInt32LE(recording.next);
    recording.append(frame, 0);
    time.now += 20;
  }
}

/** Reads everything from a number on, in pieces. */
function readAll(recording: Recording, from: number) {
  const records = [];
  for (let at = from; ; ) {
    const batch = recording.read(at, 100);
    if (!batch || batch.length === 0) return records;
    records.push(...batch);
    at += batch.length;
  }
}

async function segmentFiles(dir: string): Promise<string[]> {
  const files = await readdir(dir, { recursive: true });
  return files
    .filter(file => file.endsWith('.log'))
    .sort()
    .map(file => join(dir, file));
}

const only = (spool: Spool) => spool.recordings('omi_1')[0] as Recording; // the tests contain one

test('messages are read in order, from any number on, while more are appended', async t => {
  const world = await makeWorld(t);
  const recording = (await world.open()).begin(INFO);
  fill(world, recording, 1000);
  t.is(recording.next, 1000);
  const read = readAll(recording, 250);
  t.is(read.length, 750);
  t.true(read.every(({ number, bytes }, i) => number === 250 + i && bytes.readUInt32LE() === 250 + i));
  t.deepEqual(recording.read(1000, 10), []);
  fill(world, recording, 1);
  t.like(recording.read(1000, 10)?.[0], { number: 1000, atMs: 20_000 });
});

test('a recording without messages leaves nothing on disk', async t => {
  const world = await makeWorld(t);
  const spool = await world.open();
  const recording = spool.begin(INFO);
  t.deepEqual(await readdir(world.dir), []);
  recording.end();
  t.deepEqual(spool.recordings('omi_1'), []);
});

test('a gap stays with the message after it', async t => {
  const world = await makeWorld(t);
  const recording = (await world.open()).begin(INFO);
  recording.append(Buffer.alloc(10), 0);
  recording.append(Buffer.alloc(10), 60);
  t.deepEqual(
    recording.read(0, 10)?.map(({ gapMs }) => gapMs),
    [0, 60],
  );
});

test('gaps with fractions of a millisecond are reported in whole ones whose sum stays correct', async t => {
  const world = await makeWorld(t);
  const recording = (await world.open()).begin(INFO);
  const gapMs = 47 / 16;
  let told = 0;
  let worst = 0;
  for (let i = 0; i < 5000; i++) {
    recording.append(Buffer.alloc(10), gapMs);
    told += recording.read(i, 1)?.[0]?.gapMs ?? Number.NaN;
    worst = Math.max(worst, Math.abs(told - (i + 1) * gapMs));
  }
  t.true(worst > 0 && worst <= 0.5, `${worst} ms`);
});

test('a frame that core would take for a keep-alive becomes a gap of its length', async t => {
  const world = await makeWorld(t);
  const recording = (await world.open()).begin(INFO);
  recording.append(Buffer.alloc(2), 0);
  recording.append(Buffer.alloc(1), 40);
  recording.append(Buffer.alloc(3), 0);
  t.deepEqual(
    recording.read(0, 10)?.map(({ number, gapMs }) => [number, gapMs]),
    [[0, 80]],
  );
});

test('acknowledged messages are deleted, and so is the recording when it has ended', async t => {
  const world = await makeWorld(t);
  const spool = await world.open(64 * 1024); // files of 4 KiB
  const recording = spool.begin(INFO);
  fill(world, recording, 200);
  const before = (await segmentFiles(world.dir)).length;
  recording.cut(100);
  t.true((await segmentFiles(world.dir)).length < before);
  t.is(readAll(recording, 100).length, 100);
  recording.end();
  recording.cut(199);
  t.is(readAll(recording, 199).length, 1);
  recording.cut(200);
  t.deepEqual(spool.recordings('omi_1'), []);
  t.deepEqual(await readdir(world.dir), []);
  t.is(spool.counts.bytes, 0);
});

test('an earlier process leaves its audio to the next one', async t => {
  const world = await makeWorld(t);
  const first = (await world.open()).begin(INFO);
  fill(world, first, 300);
  const spool = await world.open(); // nothing was closed
  t.deepEqual(spool.devices(), ['omi_1']);
  const recording = only(spool);
  t.like(recording, {
    stream: first.stream,
    base: 0,
    first: 0,
    next: 300,
    ended: true,
    streamStartedAtMs: STARTED_AT,
  });
  t.deepEqual(recording.info, first.info);
  t.deepEqual(readAll(recording, 0), readAll(first, 0));
  t.is(spool.counts.damaged, 0);
  t.true(spool.counts.bytes > 300 * 80);
});

test('a torn end is counted, and everything before it is kept', async t => {
  const world = await makeWorld(t);
  fill(world, (await world.open()).begin(INFO), 100);
  const [file = ''] = await segmentFiles(world.dir);
  await truncate(file, (await readFile(file)).length - 30);
  const spool = await world.open();
  t.is(spool.counts.damaged, 1);
  t.is(readAll(only(spool), 0).length, 99);
  t.regex(world.warnings.join(), /damaged audio/);
});

test('damage in the middle is counted, and the rest continues as a new stream at its own time', async t => {
  const world = await makeWorld(t);
  fill(world, (await world.open()).begin(INFO), 100);
  const [file = ''] = await segmentFiles(world.dir);
  const bytes = await readFile(file);
  bytes.fill(0xff, 4030, 4180); // records 40 and 41, of 100 bytes each
  await writeFile(file, bytes);
  const spool = await world.open();
  t.is(spool.counts.damaged, 1);
  const recording = only(spool);
  const { stream } = recording;
  t.is(readAll(recording, 0).length, 40);
  t.is(recording.read(40, 10), null);
  recording.skip(40);
  t.not(recording.stream, stream);
  t.is(recording.base, 42);
  t.is(recording.streamStartedAtMs, STARTED_AT + 42 * 20);
  t.is(readAll(recording, 42).length, 58);
  t.like(spool.counts, { dropped: 2, droppedMs: 40 });
});

test('garbage at the end, and unrelated files, do no harm', async t => {
  const world = await makeWorld(t);
  fill(world, (await world.open()).begin(INFO), 10);
  const [file = ''] = await segmentFiles(world.dir);
  await appendFile(file, Buffer.alloc(1000, 0x53));
  await mkdir(join(world.dir, '00000000000000-nonsense'));
  await writeFile(join(world.dir, '00000000000000-nonsense', 'meta.json'), '{"half":');
  const spool = await world.open();
  t.is(spool.counts.damaged, 2);
  t.is(readAll(only(spool), 0).length, 10);
});

test('over its limit the spool drops the oldest audio, counts it, reports it now and then, and stays below', async t => {
  const world = await makeWorld(t);
  const limit = 64 * 1024;
  const spool = await world.open(limit);
  const recording = spool.begin(INFO);
  const { stream } = recording;
  fill(world, recording, 3000);
  t.true(spool.counts.bytes <= limit);
  const onDisk = await Promise.all((await segmentFiles(world.dir)).map(file => readFile(file)));
  t.is(
    onDisk.reduce((sum, { length }) => sum + length, 0),
    spool.counts.bytes,
  );
  t.is(spool.counts.dropped, recording.first);
  t.is(spool.counts.droppedMs, recording.first * 20);
  t.true(recording.first > 2000);
  t.is(world.warnings.filter(warning => /spool is full/.test(warning)).length, 5); // once in 10 s, of 47 s
  // Core counts without gaps: the rest is a separate stream, at the time of its first message.
  t.not(recording.stream, stream);
  t.is(recording.base, recording.first);
  t.is(recording.streamStartedAtMs, STARTED_AT + recording.first * 20);
  t.is(recording.read(recording.first - 1, 1), null);
  t.is(readAll(recording, recording.first).length, 3000 - recording.first);
  const again = only(await world.open(limit));
  t.like(again, { stream: recording.stream, base: recording.base, next: 3000 });
});

test('the oldest recording is dropped first, whoever owns it', async t => {
  const world = await makeWorld(t);
  const spool = await world.open(64 * 1024);
  const old = spool.begin({ ...INFO, clientDeviceId: 'omi_2' });
  fill(world, old, 100);
  old.end();
  fill(world, spool.begin({ ...INFO, startedAtMs: world.time.now }), 650);
  t.deepEqual(spool.devices(), ['omi_1']);
  t.is(spool.counts.dropped, 100);
  fill(world, only(spool), 100);
  t.true(spool.counts.dropped > 100);
});

test('messages being sent to core are dropped without counting as lost', async t => {
  const world = await makeWorld(t);
  const spool = await world.open(64 * 1024);
  const recording = spool.begin(INFO);
  const { stream } = recording;
  fill(world, recording, 600);
  recording.sent(600);
  fill(world, recording, 200);
  t.true(recording.first > 0);
  t.like(recording, { stream, base: 0 });
  t.is(spool.counts.dropped, 0);
});

test('a smaller limit than before applies from the start', async t => {
  const world = await makeWorld(t);
  fill(world, (await world.open(1024 * 1024)).begin(INFO), 6000);
  const spool = await world.open(300 * 1024);
  t.true(spool.counts.bytes <= 300 * 1024);
  t.true(spool.counts.dropped > 0);
});

test('an unwritable directory costs the audio, not the bridge, and core is told of the loss', async t => {
  const world = await makeWorld(t);
  const spool = await world.open(64 * 1024);
  const recording = spool.begin(INFO);
  fill(world, recording, 41); // the next message starts a new file
  recording.cut(41);
  const [path = ''] = await readdir(world.dir);
  await rm(join(world.dir, path), { recursive: true });
  await writeFile(join(world.dir, path), 'in the way');
  fill(world, recording, 41);
  t.true(spool.counts.dropped > 0);
  t.regex(world.warnings.join(), /cannot be written to disk/);
  const lostMs = spool.counts.droppedMs;
  await rm(join(world.dir, path));
  await mkdir(join(world.dir, path));
  const { next } = recording;
  fill(world, recording, 1);
  t.is(recording.read(next, 1)?.[0]?.gapMs, lostMs);
});

test('a spool that cannot be written at all loses audio until it can', async t => {
  const world = await makeWorld(t);
  const spool = await world.open();
  await rm(world.dir, { recursive: true });
  await writeFile(world.dir, 'in the way');
  const recording = spool.begin(INFO);
  fill(world, recording, 3);
  t.like(recording, { next: 0 });
  t.like(spool.counts, { dropped: 3, droppedMs: 60, bytes: 0 });
  await rm(world.dir);
  await mkdir(world.dir);
  fill(world, recording, 2);
  t.deepEqual(
    readAll(recording, 0).map(({ gapMs }) => gapMs),
    [60, 0],
  );
  t.is(only(await world.open()).next, 2);
});

test('a full disk costs the oldest audio', async t => {
  const world = await makeWorld(t);
  const spool = await world.open(64 * 1024);
  const recording = spool.begin(INFO);
  fill(world, recording, 40);
  const [file = ''] = await segmentFiles(world.dir);
  await symlink('/dev/full', join(dirname(file), '0000000040.log'));
  fill(world, recording, 1);
  t.like(recording, { first: 40, next: 41, base: 40 });
  t.is(spool.counts.dropped, 40);
  t.is(readAll(recording, 40).length, 1);
});

test('a file of random bytes never throws and never yields a message', t => {
  const bytes = Buffer.alloc(100_000);
  for (let i = 0, seed = 1; i < bytes.length; i += 1) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    bytes[i] = seed >>> 24;
  }
  t.deepEqual(decodeRecords(bytes), { records: [], damaged: 1 });
});

test('a change of any single byte is detected', t => {
  const record = { number: 7, gapMs: 20, atMs: 140, bytes: Buffer.from('b8010203', 'hex') };
  const file = encodeRecord(record);
  t.deepEqual(decodeRecords(file).records, [record]);
  for (let at = 0; at < file.length; at += 1) {
    const changed = Buffer.from(file);
    changed[at] = (changed[at] ?? 0) ^ 0x10;
    t.deepEqual(decodeRecords(changed).records, [], `byte ${at}`);
  }
});

test('a recording that ends during a sync is on disk', async t => {
  const { open } = await makeWorld(t);
  const spool = await open();
  const settling = Array.from({ length: 200 }, () => {
    const recording = spool.begin(INFO);
    recording.append(Buffer.alloc(40, 1), 0);
    const settled = recording.settled();
    recording.end();
    return settled;
  });
  await t.notThrowsAsync(Promise.all(settling));
  await spool.close();
});
