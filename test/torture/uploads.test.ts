import test from 'ava';
import { areUnharmed, MOST_MB, uploadsTorture } from './uploads.ts';

/** Plan of `npm run torture -- uploads`, in short. */
const PLAN = { seed: 2026, photos: 12, megabytes: 2, kills: 1 };

test('photos and voice messages in chunks, beside invalid ones and a killed server, are stored, private to their owner, and deleted completely', async t => {
  const stage = { teardown: (step: () => unknown) => t.teardown(async () => void (await step())), say() {} };
  const report = await uploadsTorture(stage, PLAN);
  t.log(report);
  t.true(areUnharmed(report), JSON.stringify(report));
  t.is(report.photos, PLAN.photos);
  t.true(report.megabytes >= PLAN.megabytes && report.kills === 1);

  // The check would detect a fault.
  for (const fault of ['lost', 'misheard', 'foreign', 'left'] as const)
    t.false(areUnharmed({ ...report, [fault]: ['one'] }), fault);
  t.false(areUnharmed({ ...report, peakMB: MOST_MB + 1 }));
});
