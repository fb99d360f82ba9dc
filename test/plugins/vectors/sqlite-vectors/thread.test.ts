import test, { type ExecutionContext } from 'ava';
import { startThread } from '../../../../plugins/vectors/sqlite-vectors/thread.ts';
import { type ManualClock, manualClock } from '../../../helpers/manual-clock.ts';
import { contextOf } from '../../stt/context.ts';

const MOODY = new URL('flaky-main.ts', import.meta.url);

async function moody(t: ExecutionContext, clock: ManualClock = manualClock()) {
  const { context, failed, stop } = contextOf(clock);
  t.teardown(async () => {
    const stopped = stop();
    clock.advance(60_000);
    await stopped;
  });
  const { ask } = await startThread('moody', MOODY, { file: '/nowhere', cacheBytes: 0 }, context);
  return { ask, failed, clock };
}

test('a thread that does not answer is terminated, and all pending requests fail', async t => {
  const { ask, failed, clock } = await moody(t);
  const asked = [ask('spaces', []), ask('spaces', [])];
  await clock.asleep(30_000);
  clock.advance(30_000);
  const late = { code: 'timeout', message: 'moody: its thread did not answer for 30000 ms' };
  for (const each of asked) await t.throwsAsync(each, late);
  t.like(await failed, late);
  await t.throwsAsync(ask('spaces', []), late);
});

test('a crash of the thread is reported to core, and fails its request', async t => {
  const { ask, failed } = await moody(t);
  const fell = { code: 'upstream_error', message: 'moody: its thread failed' };
  await t.throwsAsync(ask('drop', ['a']), fell);
  t.like(await failed, fell);
});

test('at most a thousand requests wait, and a cancelled one makes room for another', async t => {
  const { ask } = await moody(t);
  const leaving = new AbortController();
  const wait = () => void ask('spaces', []).catch(() => {}); // for an answer that never comes
  wait(); // the one in progress
  const left = ask('spaces', [], leaving.signal);
  for (let more = 0; more < 999; more++) wait();
  await t.throwsAsync(ask('spaces', []), { code: 'unavailable', message: /1000 questions wait already/ });
  const reason = new Error('left');
  leaving.abort(reason);
  t.is(await t.throwsAsync(left), reason);
  wait();
  await t.throwsAsync(ask('spaces', []), { code: 'unavailable' });
});
