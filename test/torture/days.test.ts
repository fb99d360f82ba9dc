import test from 'ava';
import { isThorough } from '../helpers/thorough.ts';
import { numberIn, runsIn } from './code.ts';
import { FAULTS } from './days/faults.ts';
import { isAccounted, playDays, reportOf } from './days.ts';

/** Faults that differ most; all of them take four times as long. */
const USUAL = [
  'link lost',
  'wearer walks into the other room',
  'both adapters switched off and on',
  'bridge restarts',
  'core is killed',
];
const INJECTED = isThorough ? Object.keys(FAULTS) : USUAL;
/** Plan of `npm run torture -- days`, in short. */
const PLAN = { seed: 2026, hours: 0.1, everyMs: 12_000, awayMs: 30_000, speed: 100, faults: INJECTED };

test('each second that a pendant sends to two bridges is in core or lost for a counted reason, whatever fails', async t => {
  const stage = { teardown: (step: () => unknown) => t.teardown(async () => void (await step())), say() {} };
  const played = await playDays(stage, PLAN);
  const report = reportOf(played);
  t.log(report);
  t.deepEqual(Object.keys(report.faults).sort(), [...INJECTED].sort());
  t.true(isAccounted(report), JSON.stringify(report));
  const { sent, inCore } = report.seconds;
  // A pendant that waits for a connection loses sound, and at this speed a slow machine makes it wait for minutes.
  t.true(sent > 200 && inCore > sent / 2, `${inCore} of ${sent} s are in core`);
  t.true(report.holes.made > 0 && report.duplicates.made > 0);

  // The check would detect a fault.
  const { day, stored } = played;
  const isWhole = (text: string) => {
    const said = numberIn(runsIn(text));
    return said !== null && day.said[said.number]?.cause === null;
  };
  const target = stored.flatMap(each => each.transcript_segments).find(({ text }) => isWhole(text));
  type Segments = (typeof stored)[0]['transcript_segments'];
  const changed = (change: (segment: Segments[0]) => Segments) =>
    reportOf({
      ...played,
      stored: stored.map(each => ({
        ...each,
        transcript_segments: each.transcript_segments.flatMap(one => (one === target ? change(one) : [one])),
      })),
    });
  const missing = changed(() => []);
  t.true(missing.seconds.unexplained > 0.8);
  t.false(isAccounted(missing));
  t.false(isAccounted(changed(one => [one, { ...one, start: one.start + 1 }])));
  t.false(isAccounted(changed(one => [{ ...one, start: one.start + 0.2 }])));
  t.false(isAccounted({ ...report, holes: { made: 2, counted: 1 } }));
});
