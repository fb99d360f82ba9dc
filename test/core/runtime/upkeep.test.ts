import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { pino } from 'pino';
import { startUpkeep } from '../../../core/runtime/upkeep.ts';
import { manualClock } from '../../helpers/manual-clock.ts';
import { buildServer, countingStt } from '../../helpers/services.ts';

const MINUTE_MS = 60_000;

test('Counters are written each minute and at the end, old rows are deleted at the start, and a failure is retried without blocking the rest', async t => {
  const clock = manualClock();
  const logged: { msg: string; task?: string }[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => logged.push(JSON.parse(line)) });
  const runs = { broken: 0, good: 0 };
  const cleared: string[] = [];
  const upkeep = startUpkeep({
    clock,
    log,
    eachMinute: {
      broken: async () => {
        runs.broken += 1;
        throw new Error('away');
      },
      good: async () => {
        runs.good += 1;
      },
    },
    eachNight: {
      async stuck() {
        cleared.push('stuck');
        throw new Error('no disk');
      },
      old: async () => void cleared.push('old'),
    },
  });
  for (const minute of [1, 2, 3]) {
    await clock.asleep(MINUTE_MS);
    clock.advance(MINUTE_MS);
    await clock.asleep(MINUTE_MS);
    t.deepEqual(runs, { broken: minute, good: minute });
  }
  await upkeep.close();
  t.deepEqual(runs, { broken: 4, good: 4 });
  t.deepEqual(cleared, ['stuck', 'old']);
  const failures = logged.map(({ task }) => task).sort();
  t.deepEqual(failures, ['broken', 'broken', 'broken', 'broken', 'stuck']);
});

test("A restart keeps the number and the time of a key's requests", async t => {
  const dataDir = await mkdtemp(join(tmpdir(), 'earshot-'));
  t.teardown(() => rm(dataDir, { recursive: true }));
  const now = Date.now();
  const clock = {
    now: () => now,
    sleep: (ms: number, signal?: AbortSignal) => sleep(ms, undefined, { signal }),
  };
  const start = () => buildServer({ ...countingStt(), dataDir, rateLimits: { read: 2 } }, { clock });
  const first = await start();
  t.teardown(() => first.stop());
  const { key } = await first.app.commands.key({ user: 'owner', scopes: ['goals:read'], name: 'reader' });
  const ask = async (url: string) => {
    const response = await fetch(`${url}/v1/dev/user/goals`, { headers: { Authorization: `Bearer ${key}` } });
    return [response.status, response.headers.get('retry-after')];
  };
  t.deepEqual(await ask(first.url), [200, null]);
  t.deepEqual(await ask(first.url), [200, null]);
  t.deepEqual(await ask(first.url), [429, '30']);
  await first.stop();

  const second = await start();
  t.teardown(() => second.stop());
  const known = (await second.app.commands['key.list']({ user: 'owner' })).find(
    ({ name }) => name === 'reader',
  );
  t.is(known?.lastUsedAt, new Date(now).toISOString());
  t.deepEqual(await ask(second.url), [429, '30']);
});
