import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { type Disk, type DiskFile, openDisk } from '../../../../core/listen/spool/disk.ts';
import {
  type Entry,
  type HeldStream,
  openSpool,
  type Spool,
  type SpoolLimits,
} from '../../../../core/listen/spool/spool.ts';
import { manualClock } from '../../../helpers/manual-clock.ts';

const MiB = 1024 * 1024;
const UNMEASURED = { synced() {} };
const LIMITS = { maxBytes: 1024 * 1024, maxBytesPerUser: 512 * 1024, minFreeBytes: 1024 };
const USER = '018f0000-0000-7000-8000-00000000000a';
const OTHER = '018f0000-0000-7000-8000-00000000000b';
const A = { id: '018f0000-0000-7000-8000-000000000001', userId: USER };
const B = { id: '018f0000-0000-7000-8000-000000000002', userId: USER };
const C = { id: '018f0000-0000-7000-8000-000000000003', userId: OTHER };

interface World {
  disk: Disk;
  dir: string;
  /** As after a kill: nothing is closed. */
  start(limits?: Partial<SpoolLimits>): Promise<Spool>;
  /** Advances time until everything is on disk. */
  sync(): Promise<void>;
  clock: ReturnType<typeof manualClock>;
  /** Duration of each sync in ms. */
  synced: number[];
}

async function makeWorld(t: ExecutionContext, wrap: (disk: Disk) => Disk = disk => disk): Promise<World> {
  const dir = await mkdtemp(join(tmpdir(), 'spool-'));
  const clock = manualClock();
  const synced: number[] = [];
  const plain = await openDisk(dir);
  const made: DiskFile[] = [];
  const disk = wrap({
    ...plain,
    async create(name) {
      const file = await plain.create(name);
      made.push(file);
      return file;
    },
  });
  let latest: Spool;
  t.teardown(async () => {
    await latest.close();
    for (const file of made) await file.close(); // those of killed spools; closed ones accept it
    await rm(dir, { recursive: true });
  });
  return {
    dir,
    disk,
    clock,
    synced,
    async start(limits) {
      latest = await openSpool({
        metrics: { synced: ms => synced.push(ms) },
        disk,
        clock,
        log: pino({ level: 'silent' }),
        limits: { ...LIMITS, ...limits },
      });
      return latest;
    },
    async sync() {
      while (latest.counts.pendingBytes > 0) {
        clock.advance(200);
        await turn();
      }
    },
  };
}

function audio(number: number, { gapMs = 0, length = 40 } = {}): Entry {
  return { kind: 'audio', number, gapMs, at: 1000 + number, bytes: Buffer.alloc(length, number) };
}

async function send(stream: Pick<HeldStream, 'append'>, from: number, to: number, length = 40) {
  for (let number = from; number < to; number++) await stream.append(audio(number, { length }));
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function numbers(entries: AsyncIterable<Entry | 'pause'>): Promise<number[]> {
  const found: number[] = [];
  for await (const entry of entries)
    if (entry !== 'pause' && entry.kind === 'audio') found.push(entry.number);
  return found;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

test('data that was appended and synced is read back after a kill, with its gaps and ends', async t => {
  const world = await makeWorld(t);
  const stream = (await world.start()).open(A, 0);
  await stream.append(audio(0));
  await stream.append(audio(1, { gapMs: 500, length: 0 }));
  await stream.append({ kind: 'finish', number: 2, at: 1002 });
  await world.sync();

  const again = await world.start();
  t.deepEqual(again.left(), [A]);
  const reopened = again.open(A, 0);
  t.is(reopened.next, 2);
  reopened.end();
  const entries = await collect(reopened.read(0));
  t.deepEqual(entries, [
    { ...audio(0), at: 1000 },
    { ...audio(1, { gapMs: 500, length: 0 }), at: 1000 },
    { kind: 'finish', number: 2, at: 1000 },
  ]);
});

test('messages keep their numbers across a kill, also after numbers that their client never sent', async t => {
  const world = await makeWorld(t);
  const stream = (await world.start()).open(A, 0);
  await send(stream, 0, 3);
  await send(stream, 7, 9);
  await stream.append({ kind: 'finish', number: 9, at: 1009 });
  await send(stream, 20, 21);
  await world.sync();

  const again = (await world.start()).open(A, 0);
  t.is(again.next, 21);
  again.end();
  const entries = await collect(again.read(0));
  t.deepEqual(
    entries.map(entry => entry !== 'pause' && [entry.kind, entry.number]),
    [...[0, 1, 2, 7, 8].map(number => ['audio', number]), ['finish', 9], ['audio', 20]],
  );
});

test('data is durable once it is synced, and one sync serves every stream', async t => {
  let syncs = 0;
  const world = await makeWorld(t, disk => ({
    ...disk,
    async create(name) {
      const file = await disk.create(name);
      return {
        ...file,
        async sync() {
          await file.sync();
          syncs += 1;
        },
      };
    },
  }));
  const spool = await world.start();
  const streams = [A, B, C].map(name => spool.open(name, 0));
  for (const stream of streams) await send(stream, 0, 10);
  t.deepEqual(
    streams.map(({ durable }) => durable),
    [0, 0, 0],
  );
  let told = 0;
  for (const stream of streams)
    stream.onSynced(() => {
      told += 1;
    });
  await world.sync();
  t.deepEqual(
    streams.map(({ durable }) => durable),
    [10, 10, 10],
  );
  t.is(told, 3);
  t.is(syncs, 1);
});

test('a reader receives records in order until the stream ends', async t => {
  const world = await makeWorld(t);
  const stream = (await world.start()).open(A, 0);
  const read = numbers(stream.read(0));
  await send(stream, 0, 5);
  await world.sync();
  await send(stream, 5, 8);
  stream.end();
  t.deepEqual(await read, range(0, 8));
});

test('a reader that is far behind reads from disk, and catches up', async t => {
  const world = await makeWorld(t);
  const stream = (await world.start()).open(A, 0);
  for (let from = 0; from < 300; from += 30) {
    await send(stream, from, from + 30, 1000);
    await world.sync();
  }
  const read = numbers(stream.read(120));
  await send(stream, 300, 310);
  stream.end();
  t.deepEqual((await read).slice(-190), range(120, 310));
});

test('a reader at the end is told of a pause, and one that is behind is not', async t => {
  const world = await makeWorld(t);
  const stream = (await world.start()).open(A, 0);
  const reader = stream.read(0);
  await send(stream, 0, 1);
  stream.pause();
  await send(stream, 1, 2);
  t.is((await reader.next()).value === 'pause', false);
  t.is((await reader.next()).value === 'pause', false);
  stream.pause();
  t.is((await reader.next()).value, 'pause');
});

test('files are deleted once everything in them is settled, and not before', async t => {
  const world = await makeWorld(t);
  const spool = await world.start();
  const streams = [spool.open(A, 0), spool.open(B, 0)];
  for (const stream of streams) await send(stream, 0, 100);
  await world.sync();
  world.clock.advance(61_000);
  for (const stream of streams) await send(stream, 100, 110);
  await world.sync();
  t.is((await world.disk.list()).length, 2);

  streams[0]?.settle(110);
  streams[1]?.settle(100);
  await turn();
  t.is((await world.disk.list()).length, 2, 'the last messages before are kept for the decoder');
  streams[1]?.settle(110);
  await t.notThrowsAsync(until(async () => (await world.disk.list()).length === 1));
});

test('transcribed audio is deleted from disk, also if no more arrives', async t => {
  const world = await makeWorld(t);
  const spool = await world.start({ maxBytes: 16 * MiB, maxBytesPerUser: 16 * MiB });
  const stream = spool.open(A, 0);
  await send(stream, 0, 8, MiB / 4);
  await world.sync();
  t.true(spool.counts.bytes > MiB);
  stream.settle(8);
  await until(async () => (await world.disk.list()).length === 0);
  t.is(spool.counts.bytes, 0);
  await send(stream, 8, 9);
  await world.sync();
  t.is(stream.durable, 9);
});

test('a settled stream leaves nothing behind, in memory or on disk', async t => {
  const world = await makeWorld(t);
  const spool = await world.start();
  const stream = spool.open(A, 0);
  await send(stream, 0, 10);
  stream.settle(10);
  stream.close();
  await world.sync();
  t.deepEqual(spool.left(), []);
  await spool.close();
  t.deepEqual(await world.disk.list(), []);
});

test('a torn end and a damaged range are counted, and the rest is read', async t => {
  const world = await makeWorld(t);
  const stream = (await world.start()).open(A, 0);
  for (let from = 0; from < 30; from += 10) {
    await send(stream, from, from + 10);
    await world.sync();
  }
  const [name = ''] = await world.disk.list();
  const file = await world.disk.read(name);
  file[50] = 0xff - (file[50] ?? 0);
  await writeFile(join(world.dir, name), file.subarray(0, file.length - 5));

  const again = await world.start();
  t.is(again.counts.damaged, 2);
  const reopened = again.open(A, 0);
  reopened.end();
  t.deepEqual(await numbers(reopened.read(0)), range(10, 20));
});

test('files of others are left alone', async t => {
  const world = await makeWorld(t);
  await writeFile(join(world.dir, 'notes.txt'), 'mine');
  const spool = await world.start();
  await spool.close();
  t.deepEqual(await world.disk.list(), ['notes.txt']);
});

test('a user cannot use the space of others, and all together cannot exceed the total', async t => {
  const world = await makeWorld(t);
  const spool = await world.start({ maxBytes: 10_500, maxBytesPerUser: 6000 });
  const mine = spool.open(A, 0);
  await t.throwsAsync(send(mine, 0, 10, 1000), { code: 'storage_full', message: /maxBytesPerUser/ });
  t.is(mine.next, 5);
  await world.sync();
  t.is(mine.durable, 5, 'what was taken in is kept');
  const other = spool.open(C, 0);
  await t.throwsAsync(send(other, 0, 4, 1400), { code: 'storage_full', message: /maxBytes\)/ });

  mine.settle(5);
  await t.notThrowsAsync(send(mine, 5, 6, 500), 'and settled audio makes room');
});

test('if the disk refuses a write, nothing counts as durable, and data sent again is read once', async t => {
  let full = false;
  const world = await makeWorld(t, disk => ({
    ...disk,
    async create(name) {
      const file = await disk.create(name);
      return {
        ...file,
        async write(bytes, offset) {
          await file.write(full ? bytes.subarray(0, 100) : bytes, offset);
          if (full) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
        },
      };
    },
  }));
  const spool = await world.start();
  const stream = spool.open(A, 0);
  await send(stream, 0, 5);
  await world.sync();
  full = true;
  await send(stream, 5, 10);
  await world.sync();
  t.is(stream.durable, 5);
  t.is(stream.broken?.code, 'storage_full');
  await t.throwsAsync(send(stream, 10, 11), { code: 'storage_full' });
  stream.close();

  full = false;
  const resumed = spool.open(A, 0);
  t.is(resumed.next, 5);
  await send(resumed, 5, 12);
  await world.sync();
  const again = (await world.start()).open(A, 0);
  again.end();
  t.deepEqual(await numbers(again.read(0)), range(0, 12));
});

test('on a slow disk a heavy sender waits, and a light one does not wait for it', async t => {
  const gate = Promise.withResolvers<void>();
  const world = await makeWorld(t, disk => ({
    ...disk,
    async create(name) {
      const file = await disk.create(name);
      return { ...file, sync: () => gate.promise.then(file.sync) };
    },
  }));
  const spool = await world.start({ maxBytes: 64 * MiB, maxBytesPerUser: 64 * MiB });
  const [much, little] = [spool.open(A, 0), spool.open(C, 0)];
  let taken = 0;
  const flood = (async () => {
    for (; taken < 60; taken++) await much.append(audio(taken, { length: MiB }));
  })();
  await world.clock.asleep(0);
  world.clock.advance(0);
  await turn();
  t.true(taken < 20, `${taken} MiB were taken in`);
  await send(little, 0, 50);
  const reader = little.read(0);
  for (const number of range(0, 50)) t.like((await reader.next()).value, { number });
  t.is(little.durable, 0, 'it is no lie');

  world.clock.advance(5000);
  gate.resolve();
  while (taken < 60) await world.sync().then(() => turn());
  await flood;
  await world.sync();
  t.is(much.durable, 60);
  t.is(little.durable, 50);
  t.true(Math.max(...world.synced) >= 5000, 'and who looks at the metrics sees why');
});

test('after a power loss at any of 100 moments every durable message exists', async t => {
  for (let seed = 1; seed <= 100; seed++) {
    const random = seededRandom(seed);
    const disk = volatileDisk();
    const clock = manualClock();
    const start = () =>
      openSpool({ metrics: UNMEASURED, disk, clock, log: pino({ level: 'silent' }), limits: LIMITS });
    const spool = await start();
    const streams = [spool.open(A, 0), spool.open(B, 0)];
    const sent = [0, 0];
    for (let step = Math.floor(random() * 60); step > 0; step--) {
      const which = Math.floor(random() * 2);
      const count = Math.floor(random() * 20);
      const from = sent[which] ?? 0;
      const stream = streams[which];
      if (stream) await send(stream, from, from + count);
      sent[which] = from + count;
      clock.advance(Math.floor(random() * 300));
      if (random() < 0.5) await turn();
      if (random() < 0.1) clock.advance(61_000);
    }
    const durable = streams.map(stream => stream.durable);
    disk.losePower(random);

    const again = await start();
    for (const [i, name] of [A, B].entries()) {
      const stream = again.open(name, 0);
      stream.end();
      const found = await numbers(stream.read(0));
      t.deepEqual(found, range(0, found.length), `seed ${seed}`);
      t.true(found.length >= (durable[i] ?? 0), `seed ${seed}: ${found.length} of ${durable[i]}`);
    }
  }
});

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await turn();
}

function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A disk that loses unsynced data: all of it, or all but a part that was being written. */
function volatileDisk(): Disk & { losePower(random: () => number): void } {
  const files = new Map<string, { now: Buffer; safe: Buffer }>();
  return {
    list: async () => [...files.keys()],
    async create(name) {
      const file = { now: Buffer.alloc(0), safe: Buffer.alloc(0) };
      files.set(name, file);
      return {
        async write(bytes, offset) {
          file.now = Buffer.concat([file.now.subarray(0, offset), bytes]);
        },
        async sync() {
          await turn();
          file.safe = file.now;
        },
        async truncate(length) {
          file.now = file.now.subarray(0, length);
        },
        async close() {},
      };
    },
    async read(name, offset = 0, length) {
      const content = files.get(name)?.now ?? Buffer.alloc(0);
      return content.subarray(offset, length === undefined ? undefined : offset + length);
    },
    async remove(name) {
      files.delete(name);
    },
    free: async () => 1024 * 1024,
    losePower(random) {
      for (const file of files.values()) {
        const onItsWay = file.now.subarray(file.safe.length);
        file.now = Buffer.concat([file.safe, onItsWay.subarray(0, Math.floor(random() * onItsWay.length))]);
      }
    },
  };
}

test('a disk that runs out of space while streams continue refuses their data until there is space again', async t => {
  let free = 1024 * MiB;
  const world = await makeWorld(t, disk => ({ ...disk, free: async () => free }));
  const spool = await world.start({ minFreeBytes: 256 * MiB });
  const stream = spool.open(A, 0);
  await send(stream, 0, 10);
  await world.sync();
  free = 200 * MiB;
  await send(stream, 10, 20);
  await world.sync();
  t.is(stream.durable, 20, 'what was taken in is written');
  const error = await t.throwsAsync(async () => stream.append(audio(20)), { code: 'storage_full' });
  t.regex(error?.message ?? '', /200 MiB left \(listen\.spool\.minFreeBytes\)/);
  free = 1024 * MiB;
  await spool.checkDisk();
  await t.notThrowsAsync(async () => stream.append(audio(20)));
});
