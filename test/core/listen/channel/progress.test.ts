import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import { pino } from 'pino';
import { createSettling } from '../../../../core/listen/channel/progress.ts';
import { openDisk } from '../../../../core/listen/spool/disk.ts';
import { openSpool } from '../../../../core/listen/spool/spool.ts';
import { manualClock } from '../../../helpers/manual-clock.ts';

const STREAM = { id: '018f0000-0000-7000-8000-000000000001', userId: '018f0000-0000-7000-8000-00000000000a' };

test('audio of a call is kept until neither side needs it', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'spool-'));
  const clock = manualClock();
  const spool = await openSpool({
    disk: await openDisk(dir),
    clock,
    log: pino({ level: 'silent' }),
    limits: { maxBytes: 1e6, maxBytesPerUser: 1e6, minFreeBytes: 0 },
    metrics: { synced() {} },
  });
  t.teardown(async () => {
    await spool.close();
    await rm(dir, { recursive: true });
  });
  const held = spool.open(STREAM, 0);
  const onStored = createSettling({
    held,
    received: 0,
    streams: [
      { channel: 1, received: 0 },
      { channel: 2, received: 0 },
    ],
    samples: null,
    onBroken: error => t.fail(error.message),
    send() {},
  });
  for (let number = 0; number < 100; number++)
    await held.append({ kind: 'audio', number, gapMs: 0, at: clock.now(), bytes: Buffer.alloc(40) });
  while (held.durable < 100) {
    clock.advance(200);
    await turn();
  }
  onStored(1, { received: 100 });
  held.close();
  t.deepEqual(spool.left(), [STREAM], 'the other side needs it');
  const again = spool.open(STREAM, 0);
  onStored(2, { received: 100 });
  again.close();
  t.deepEqual(spool.left(), []);
});

test('a client whose last message could not be written is told at once, even if it sends nothing more', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'spool-'));
  const clock = manualClock();
  const disk = await openDisk(dir);
  const spool = await openSpool({
    disk: { ...disk, create: () => Promise.reject(new Error('no space left on device')) },
    clock,
    log: pino({ level: 'silent' }),
    limits: { maxBytes: 1e6, maxBytesPerUser: 1e6, minFreeBytes: 0 },
    metrics: { synced() {} },
  });
  t.teardown(async () => {
    await spool.close();
    await rm(dir, { recursive: true });
  });
  const held = spool.open(STREAM, 0);
  const broken = new Promise<Error>(resolve => {
    const streams = [{ channel: 0, received: 0 }];
    createSettling({
      held,
      received: 0,
      streams,
      samples: { below: () => 0 },
      onBroken: resolve,
      send: () => t.fail(),
    });
  });
  await held.append({ kind: 'audio', number: 0, gapMs: 0, at: clock.now(), bytes: Buffer.alloc(40) });
  await clock.asleep(0);
  clock.advance(0);
  t.like(await broken, { code: 'storage_full' });
  held.close();
});
