import { getEventListeners } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import { deadline, orAborted, waitAtMost } from '../../../core/runtime/deadline.ts';
import { manualClock } from '../../helpers/manual-clock.ts';

const never = () => new Promise<never>(() => {});
const late = () => new Error('too late');

function limited() {
  const clock = manualClock();
  return { clock, limit: { clock, limitMs: 500, late } };
}

test('work that finishes in time settles normally, and leaves no timer and no listener', async t => {
  const timers: (AbortSignal | undefined)[] = [];
  const sleep = (_ms: number, timer?: AbortSignal) => {
    timers.push(timer);
    return never();
  };
  const limit = { clock: { sleep }, limitMs: 500, late };
  const { signal } = new AbortController();
  t.is(await deadline(limit, async () => 7, signal), 7);
  await t.throwsAsync(
    deadline(limit, () => Promise.reject(new Error('its own')), signal),
    { message: 'its own' },
  );
  t.is(getEventListeners(signal, 'abort').length, 0);
  t.deepEqual(
    timers.map(timer => timer?.aborted),
    [true, true],
  );
});

test('work that takes too long is aborted and abandoned, even if it ignores its signal', async t => {
  const { clock, limit } = limited();
  let told: unknown;
  const waiting = deadline(limit, signal => {
    signal.addEventListener('abort', () => (told = signal.reason));
    return never();
  });
  clock.advance(500);
  const error = await t.throwsAsync(waiting, { message: 'too late' });
  t.is(told, error);
});

test("the signal's reason ends the wait, and reaches the work", async t => {
  const { limit } = limited();
  const leaving = new AbortController();
  let told: unknown;
  const waiting = deadline(
    limit,
    signal => {
      signal.addEventListener('abort', () => (told = signal.reason));
      return never();
    },
    leaving.signal,
  );
  const reason = new Error('left');
  leaving.abort(reason);
  t.is(await t.throwsAsync(waiting), reason);
  t.is(told, reason);
  t.is(getEventListeners(leaving.signal, 'abort').length, 0);
});

test('no work starts with an aborted signal', async t => {
  const { limit } = limited();
  const work = () => t.fail() as never;
  await t.throwsAsync(deadline(limit, work, AbortSignal.abort(new Error('left'))), { message: 'left' });
});

test('without a clock, real time is used', async t => {
  await t.throwsAsync(deadline({ limitMs: 1, late }, never), { message: 'too late' });
});

test('a rejection after the end of the wait is ignored', async t => {
  const { clock, limit } = limited();
  const work = Promise.withResolvers<never>();
  const waiting = deadline(limit, () => work.promise);
  clock.advance(500);
  await t.throwsAsync(waiting);
  work.reject(new Error('after all')); // unhandled, it would fail this file
  await turn();
});

test('a wait ends with the signal, and leaves no listener on it', async t => {
  const leaving = new AbortController();
  t.is(await orAborted(Promise.resolve(7), leaving.signal), 7);
  t.is(getEventListeners(leaving.signal, 'abort').length, 0);
  const waiting = orAborted(never(), leaving.signal);
  leaving.abort(new Error('left'));
  await t.throwsAsync(waiting, { message: 'left' });
  await t.throwsAsync(orAborted(Promise.resolve(7), leaving.signal), { message: 'left' });
});

test('a limited wait ends with the work, whatever its result, or with its time', async t => {
  const timers: (AbortSignal | undefined)[] = [];
  const sleep = (_ms: number, timer?: AbortSignal) => {
    timers.push(timer);
    return never();
  };
  await waitAtMost({ clock: { sleep }, limitMs: 500 }, Promise.resolve());
  await waitAtMost({ clock: { sleep }, limitMs: 500 }, Promise.reject(new Error('its own')));
  t.deepEqual(
    timers.map(timer => timer?.aborted),
    [true, true],
  );
  const { clock, limit } = limited();
  const waiting = waitAtMost(limit, never());
  clock.advance(500);
  await waiting;
});
