import test from 'ava';
import { pino } from 'pino';
import type { Channels } from '../../../../core/listen/channel/channels.ts';
import { playHeld } from '../../../../core/listen/channel/playback.ts';
import { openDisk } from '../../../../core/listen/spool/disk.ts';
import { openSpool } from '../../../../core/listen/spool/spool.ts';
import { temporaryDirectory } from '../../../helpers/domain.ts';
import { manualClock } from '../../../helpers/manual-clock.ts';

const MESSAGES = 500;

test('audio that arrives faster than real time yields to other streams', async t => {
  const clock = manualClock();
  const spool = await openSpool({
    disk: await openDisk(await temporaryDirectory(t)),
    clock,
    log: pino({ level: 'silent' }),
    metrics: { synced() {} },
    limits: { maxBytes: 1e9, maxBytesPerUser: 1e9, minFreeBytes: 0 },
  });
  const id = '018f0000-0000-7000-8000-000000000001';
  const held = spool.open({ id, userId: id }, 0);
  for (let number = 0; number < MESSAGES; number++)
    await held.append({ kind: 'audio', number, gapMs: 0, at: 0, bytes: Buffer.alloc(100) });
  held.end();

  let heard = 0;
  let turns = 0;
  const channels: Pick<Channels, 'take' | 'flush' | 'finish' | 'storeSilence' | 'inSpeech' | 'end'> = {
    async take() {
      heard += 1;
      const costs = performance.now() + 0.5; // ms
      while (performance.now() < costs);
    },
    async flush() {},
    finish() {},
    storeSilence: () => undefined,
    inSpeech: () => false,
    end() {},
  };
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const { signal } = new AbortController();
  await playHeld({ held, settled: 0, channels, mayGoOn: false, clock, signal });
  clearImmediate(next);
  t.is(heard, MESSAGES);
  t.true(turns > MESSAGES / 10, `${turns} turns`);
  await spool.close();
});
