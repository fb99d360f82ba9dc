import test from 'ava';
import type { ListeningRules } from '../../../../core/contract/model.ts';
import { listeningAt } from '../../../../core/domain/privacy/pause-rules.ts';
import { openDatabases } from '../../../helpers/databases.ts';
import { openDomain } from '../../../helpers/domain.ts';

const DATABASES = await openDatabases(test);

const at = (iso: string) => Date.parse(iso);
const rules = (given: Partial<ListeningRules>): ListeningRules => ({
  ...{ schedule: [], exceptions: [], timeZone: 'Europe/Berlin' },
  ...given,
});
const shown = (given: ListeningRules, iso: string) => {
  const { isPaused, until } = listeningAt(given, at(iso));
  return [isPaused, until === null ? null : new Date(until).toISOString()];
};

test('a period across midnight belongs to the days on which it starts, in local time of its zone', t => {
  const night = rules({ schedule: [{ days: ['fri'], from: 22 * 60, to: 7 * 60 }] });
  t.deepEqual(shown(night, '2026-11-06T20:59:59Z'), [false, '2026-11-06T21:00:00.000Z']);
  t.deepEqual(shown(night, '2026-11-06T21:00:00Z'), [true, '2026-11-07T06:00:00.000Z']);
  t.deepEqual(shown(night, '2026-11-07T06:00:00Z'), [false, '2026-11-13T21:00:00.000Z']);
  t.deepEqual(shown(night, '2026-11-08T03:00:00Z'), [false, '2026-11-13T21:00:00.000Z']);
  t.deepEqual(
    shown(night, '2026-07-03T20:30:00Z'),
    [true, '2026-07-04T05:00:00.000Z'],
    'summer: two hours ahead of UTC',
  );
});

test('clock changes move the ends of a period', t => {
  const night = rules({
    schedule: [
      { days: ['sat'], from: 60, to: 5 * 60 },
      { days: ['sun'], from: 60, to: 300 },
    ],
  });
  t.deepEqual(shown(night, '2026-10-25T00:00:00Z'), [true, '2026-10-25T04:00:00.000Z'], 'five hours');
  t.deepEqual(shown(night, '2026-03-29T00:00:00Z'), [true, '2026-03-29T03:00:00.000Z'], 'three hours');
});

test('periods that touch or overlap are one pause, and one without end is reported as such', t => {
  const whole = { days: ['wed' as const], from: 0, to: 0 };
  const touching = rules({
    schedule: [whole, { days: ['thu'], from: 0, to: 120 }, { ...whole, from: 600, to: 700 }],
  });
  t.deepEqual(shown(touching, '2026-11-04T09:30:00Z'), [true, '2026-11-05T01:00:00.000Z']);
  const always = rules({
    schedule: [{ days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'], from: 0, to: 0 }],
  });
  t.deepEqual(shown(always, '2026-11-04T09:30:00Z'), [true, null]);
});

test('manual changes override the schedule, the latest one first', t => {
  const noon = at('2026-11-04T12:00:00Z');
  const hour = 3_600_000;
  const given = rules({
    schedule: [{ days: ['wed'], from: 12 * 60, to: 18 * 60 }],
    exceptions: [
      { from: noon - 2 * hour, until: noon, isPaused: true },
      { from: noon, until: noon + 2 * hour, isPaused: false },
      { from: noon + hour, until: null, isPaused: true },
    ],
  });
  t.deepEqual(shown(given, '2026-11-04T09:30:00Z'), [false, '2026-11-04T10:00:00.000Z']);
  t.deepEqual(shown(given, '2026-11-04T10:30:00Z'), [true, '2026-11-04T12:00:00.000Z']);
  t.deepEqual(shown(given, '2026-11-04T12:30:00Z'), [false, '2026-11-04T13:00:00.000Z']);
  t.deepEqual(shown(given, '2026-11-04T13:00:00Z'), [true, null]);
});

for (const { name, open } of DATABASES)
  test(`${name}: a pause belongs to one user, replaces the one before, and is logged when it ends`, async t => {
    const { clock, listening, notifications, storage, users } = await openDomain(t, open);
    const [ada, ben] = [await users.add('ada'), await users.add('ben')];
    const state = async (id: string) => (await listening.get(id)).state;
    const watch = await listening.watch(ada.id);
    t.teardown(watch.close);
    const begun = clock.now();
    await listening.pause(ada.id, 60);
    t.like(await state(ada.id), { isPaused: true, cause: 'asked', until: begun + 3_600_000 });
    t.true(watch.at(clock.now()).isPaused);
    t.false((await state(ben.id)).isPaused);
    await clock.advance(60_000);
    await listening.pause(ada.id, null);
    t.like(await state(ada.id), { isPaused: true, until: null });
    await clock.advance(60_000);
    t.false((await listening.resume(ada.id)).state.isPaused);
    t.false(watch.at(clock.now()).isPaused);
    t.true(watch.at(begun + 1).isPaused, 'audio that was recorded in it may arrive later');
    t.true(watch.at(begun + 90_000).isPaused);
    t.false(watch.at(begun - 1).isPaused);
    t.is((await storage.privacy.listening(ada.id))?.exceptions.length, 2);

    for (let each = 0; each < 150; each++) {
      await listening.pause(ada.id, 1);
      await clock.advance(120_000);
    }
    t.is((await storage.privacy.listening(ada.id))?.exceptions.length, 100);

    const { timeZone } = await notifications.changeSettings(ada.id, { timeZone: 'Asia/Tokyo' });
    t.is((await listening.get(ada.id)).rules.timeZone, timeZone);
  });

test('a scheduled pause can be ended by hand once, and again after a new schedule is set', async t => {
  const { clock, listening, notifications, users } = await openDomain(t);
  const { id } = await users.add('ada');
  const days = ['mon' as const, 'tue' as const, 'wed' as const];
  const noon = clock.now(); // a Monday, 12:00 in UTC
  const watch = await listening.watch(id);
  t.teardown(watch.close);
  await listening.schedule(id, [{ days, from: 11 * 60, to: 13 * 60 }]);
  t.true(watch.at(noon).isPaused);
  const { state } = await listening.resume(id);
  t.like(state, { isPaused: false, until: noon + 23 * 3_600_000 });
  t.like(watch.at(noon + 23 * 3_600_000), { isPaused: true, cause: 'schedule' });
  await listening.schedule(id, [{ days, from: 10 * 60, to: 14 * 60 }]);
  t.true(watch.at(noon + 1).isPaused, 'what was said by hand was about the schedule of before');
  await notifications.changeSettings(id, { timeZone: 'America/New_York' });
  while (watch.at(noon + 1).isPaused) await new Promise(setImmediate); // 07:00 there
  await t.throwsAsync(listening.schedule(id, Array(21).fill({ days, from: 1, to: 2 })), {
    message: /at most 20/,
  });
});
