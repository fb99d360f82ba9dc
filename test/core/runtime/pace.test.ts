import test from 'ava';
import { createBackgroundPace } from '../../../core/runtime/pace.ts';

test('background work rests three times as long as it has worked', async t => {
  const pace = createBackgroundPace();
  const work = (ms: number) => {
    const began = performance.now();
    while (performance.now() - began < ms);
    return performance.now();
  };
  t.is(pace(), undefined, 'nothing to rest from yet');
  const worked = work(10);
  const rest = pace();
  t.truthy(rest);
  await rest;
  t.true(performance.now() - worked >= 28, 'a timer may be a millisecond early');
  t.is(pace(), undefined, 'a new stretch');
});
