import test from 'ava';
import {
  dayAfter,
  instantOf,
  isTimeZone,
  lastTime,
  minuteOf,
  nextTime,
  spanEnd,
  timeOfDay,
  toldTime,
  wallTime,
} from '../../../core/domain/wall-clock.ts';

const BERLIN = 'Europe/Berlin';
/** Berlin's clocks went forward at 02:00 on 29 March 2026, and back at 03:00 on 25 October. */
const FORWARD = '2026-03-29';
const BACK = '2026-10-25';
const at = (iso: string) => Date.parse(iso);
const iso = (instant: number | null) => (instant === null ? null : new Date(instant).toISOString());

test('Wall-clock time has the day and the minute of its zone', t => {
  t.deepEqual(wallTime(at('2026-01-01T23:30:00Z'), BERLIN), { day: '2026-01-02', minute: 30 });
  t.deepEqual(wallTime(at('2026-07-01T22:30:59.999Z'), BERLIN), { day: '2026-07-02', minute: 30 });
  t.deepEqual(wallTime(at('2026-01-01T12:00:00Z'), 'Asia/Kathmandu'), { day: '2026-01-01', minute: 1065 });
  t.deepEqual(wallTime(-1, 'UTC'), { day: '1969-12-31', minute: 1439 });
});

test('A local time that clocks skip is the instant at which they go forward', t => {
  t.is(iso(instantOf({ day: FORWARD, minute: 150 }, BERLIN)), '2026-03-29T01:00:00.000Z');
  t.is(iso(instantOf({ day: FORWARD, minute: 180 }, BERLIN)), '2026-03-29T01:00:00.000Z');
  t.is(iso(instantOf({ day: '2026-10-04', minute: 130 }, 'Australia/Lord_Howe')), '2026-10-03T15:30:00.000Z'); // half an hour
  t.is(iso(instantOf({ day: '2011-12-30', minute: 600 }, 'Pacific/Apia')), '2011-12-30T10:00:00.000Z'); // a whole day
});

test('A local time that occurs twice is the first of the two', t => {
  t.is(iso(instantOf({ day: BACK, minute: 150 }, BERLIN)), '2026-10-25T00:30:00.000Z');
  t.is(iso(instantOf({ day: BACK, minute: 180 }, BERLIN)), '2026-10-25T02:00:00.000Z');
});

test('A daily time occurs once on each day of two years, in every kind of zone', t => {
  for (const zone of [BERLIN, 'America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca', 'UTC']) {
    for (const minute of [0, 90, 130, 150, 179, 1320]) {
      const days: string[] = [];
      let time = at('2026-01-01T12:00:00Z');
      while (days.length < 730) {
        time = nextTime(time, minute, zone);
        days.push(wallTime(time, zone).day);
      }
      const wanted = Array.from({ length: 730 }, (_, index) => dayAfter(days[0] ?? '', index));
      t.deepEqual(days, wanted, `${zone} ${minute}`);
    }
  }
});

test('The next time is later than the given instant, by at least a millisecond', t => {
  const ten = at('2026-05-01T20:00:00Z'); // 22:00 in Berlin
  t.is(nextTime(ten - 1, 1320, BERLIN), ten);
  t.is(iso(nextTime(ten, 1320, BERLIN)), '2026-05-02T20:00:00.000Z');
  const second = at('2026-10-25T01:30:00Z'); // 02:30 for the second time
  t.is(iso(nextTime(second - 1, 150, BERLIN)), '2026-10-26T01:30:00.000Z');
});

test('The last time is the one before the next', t => {
  for (let hour = 0; hour < 24 * 400; hour += 7) {
    const now = at('2026-01-01T00:00:00Z') + hour * 3_600_000;
    const last = lastTime(now, 150, BERLIN);
    t.true(last <= now && nextTime(last, 150, BERLIN) > now, new Date(now).toISOString());
  }
});

test('Quiet hours include their start, exclude their end, and may cross midnight', t => {
  const night = { from: 22 * 60, to: 7 * 60 };
  const ends = (instant: string) => iso(spanEnd(at(instant), night, 'UTC'));
  t.is(ends('2026-05-01T21:59:59.999Z'), null);
  t.is(ends('2026-05-01T22:00:00Z'), '2026-05-02T07:00:00.000Z');
  t.is(ends('2026-05-02T06:59:59.999Z'), '2026-05-02T07:00:00.000Z');
  t.is(ends('2026-05-02T07:00:00Z'), null);
  t.is(iso(spanEnd(at('2026-05-01T13:00:00Z'), { from: 720, to: 840 }, 'UTC')), '2026-05-01T14:00:00.000Z');
  t.is(spanEnd(at('2026-05-01T15:00:00Z'), { from: 720, to: 840 }, 'UTC'), null);
});

test('Quiet hours end correctly when clocks change: at the gap, and at the first of two times', t => {
  const span = { from: 22 * 60, to: 2 * 60 + 30 };
  t.is(iso(spanEnd(at('2026-03-28T23:00:00Z'), span, BERLIN)), '2026-03-29T01:00:00.000Z');
  t.is(iso(spanEnd(at('2026-10-25T00:29:00Z'), span, BERLIN)), '2026-10-25T00:30:00.000Z');
  t.is(
    spanEnd(at('2026-10-25T01:10:00Z'), span, BERLIN),
    null,
    '02:10 for the second time is past their end',
  );
});

test('Zones are IANA names, and times of day have the form HH:MM', t => {
  t.deepEqual(
    [
      'Europe/Berlin',
      'UTC',
      'America/Argentina/Ushuaia',
      'Mars/Olympus',
      '+02:00',
      '',
      'Europe/Berlin\0',
    ].map(isTimeZone),
    [true, true, true, false, false, false, false],
  );
  t.deepEqual(['00:00', '7:05', '23:59', '24:00', '12:60', '', 'noon'].map(minuteOf), [
    0,
    425,
    1439,
    null,
    null,
    null,
    null,
  ]);
  t.is(timeOfDay(425), '07:05');
  t.is(toldTime(at('2026-11-20T17:00:00Z'), BERLIN), 'Fri 20 Nov, 18:00');
});
