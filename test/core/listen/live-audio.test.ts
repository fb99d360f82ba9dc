import test from 'ava';
import { pino } from 'pino';
import type { Connection } from '../../../core/listen/connection/parameters.ts';
import { createLiveAudios } from '../../../core/listen/live-audio.ts';
import { createMixer } from '../../../core/listen/mixer.ts';

const RATE = 16_000;
const log = pino({ level: 'silent' });

/** Samples of a stream from this one on, each of which encodes its position. */
const ramp = (from: number, length: number) =>
  Int16Array.from({ length }, (_, index) => (from + index) % 30_000);
const same = (value: number, length: number) => new Int16Array(length).fill(value);

function start({ sampleRate = RATE } = {}) {
  let hooks: { id: string; seconds: number }[] | null = [{ id: 'h', seconds: 1 }];
  const now = 1_000_000;
  const pushed: { hookId: string; sampleRate: number; pcm: Int16Array }[] = [];
  const audios = createLiveAudios({
    hooks: {
      of: () => hooks,
      push: (_, hookId, piece) => pushed.push({ hookId, ...piece }),
    },
    now: () => now,
    log,
  });
  const connection = { userId: 'u', format: { codec: 'pcm16', sampleRate, channels: 1 } };
  const open = () => audios.open(connection as Connection, 'stream', [0]);
  return {
    pushed,
    open,
    live: open(),
    at: () => now,
    setHooks(wanted: typeof hooks) {
      hooks = wanted;
    },
  };
}

test('Audio is delivered in pieces of the seconds that each hook wants, without gaps, the rest at the end', t => {
  const { live, pushed, at, setHooks } = start();
  setHooks([
    { id: 'one', seconds: 1 },
    { id: 'two', seconds: 2.5 },
  ]);
  for (let number = 0; number < 50; number += 1)
    live.take(0, { number, at: at() }, number * 1600, ramp(number * 1600, 1600)); // 5 s
  live.take(0, { number: 50, at: at() }, 80_000, ramp(80_000, 100));
  live.end();
  for (const [id, lengths] of [
    ['one', [16_000, 16_000, 16_000, 16_000, 16_000, 100]],
    ['two', [40_000, 40_000, 100]],
  ] as const) {
    const own = pushed.filter(({ hookId }) => hookId === id);
    t.deepEqual(
      own.map(({ pcm }) => pcm.length),
      [...lengths],
    );
    t.deepEqual(
      own.flatMap(({ pcm }) => [...pcm]),
      [...ramp(0, 80_100)],
    );
    t.true(own.every(({ sampleRate }) => sampleRate === RATE));
  }
});

test('Audio is buffered for at most 10 s while its hooks are looked up; without hooks none is kept', t => {
  const { live, pushed, at, setHooks } = start();
  setHooks(null);
  for (let number = 0; number < 12; number += 1)
    live.take(0, { number, at: at() }, number * RATE, same(number, RATE));
  setHooks([{ id: 'h', seconds: 1 }]);
  live.take(0, { number: 12, at: at() }, 12 * RATE, same(12, RATE));
  t.deepEqual(
    pushed.map(({ pcm }) => pcm[0]),
    [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
  );
  live.take(0, { number: 13, at: at() }, 13 * RATE, same(13, 100));
  setHooks([]);
  live.take(0, { number: 14, at: at() }, 13 * RATE + 100, same(14, 100));
  live.end();
  t.is(pushed.length, 11, 'what was begun is not sent to who wants it no more');
});

test('Replayed audio, and audio recorded earlier, is not live', t => {
  const { live, open, pushed, at } = start();
  live.take(0, { number: 0, at: at() }, 0, same(1, RATE));
  live.end();
  const again = open();
  again.take(0, { number: 0, at: at() }, 0, same(1, RATE));
  again.take(0, { number: 1, at: at() - 30_000 }, RATE, same(2, RATE));
  again.take(0, { number: 2, at: at() }, 2 * RATE, same(3, RATE));
  again.end();
  t.deepEqual(
    pushed.map(({ pcm }) => pcm[0]),
    [1, 3],
  );
});

test('A stream of 8000 Hz is delivered at 8000 Hz', async t => {
  const { live, pushed, at } = start({ sampleRate: 8000 });
  const tone = (length: number) =>
    Int16Array.from({ length }, (_, index) =>
      Math.round(10_000 * Math.sin((2 * Math.PI * 500 * index) / RATE)),
    );
  live.take(0, { number: 0, at: at() }, 0, tone(RATE + 4000));
  live.end();
  while (pushed.length < 2) await new Promise(resolve => setImmediate(resolve));
  t.deepEqual(
    pushed.map(({ pcm, sampleRate }) => [pcm.length, sampleRate]),
    [
      [8000, 8000],
      [2000, 8000],
    ],
  );
  const middle = pushed[0]?.pcm.subarray(1000, 7000) ?? new Int16Array();
  let crossings = 0;
  for (let i = 1; i < middle.length; i++)
    if ((middle[i - 1] ?? 0) < 0 && (middle[i] ?? 0) >= 0) crossings += 1;
  t.true(Math.abs(crossings - 375) <= 1, `${crossings} of 375 waves`);
});

test('Two channels are mixed by their times; one that pauses counts as silent after two seconds', t => {
  const mixer = createMixer([1, 2]);
  t.deepEqual([...mixer.push(1, 0, same(100, 4)).ready], []);
  t.deepEqual([...mixer.push(2, 0, same(300, 2)).ready], [200, 200]);
  t.deepEqual([...mixer.push(2, 2, same(-100, 4)).ready], [0, 0]);
  const { ready } = mixer.push(1, 4, same(1000, 3 * RATE));
  t.is(ready.length, RATE, 'the other is two seconds behind');
  t.deepEqual([...ready.slice(0, 3)], [450, 450, 500]);
  t.deepEqual([...mixer.push(2, 6, same(2000, 10)).ready], [], 'too late for it');
  t.is(mixer.end().length, 2 * RATE);
  const loud = createMixer([1, 2]);
  loud.push(1, 0, same(32_767, 2));
  t.deepEqual([...loud.push(2, 0, same(32_767, 2)).ready], [32_767, 32_767]);
});

test('A short gap becomes silence, and a long one ends the piece', t => {
  const { live, pushed, at } = start();
  live.take(0, { number: 0, at: at() }, 0, same(5, 8000));
  live.take(0, { number: 1, at: at() }, 12_000, same(6, 8000));
  live.take(0, { number: 2, at: at() }, 20_000 + 3600 * RATE, same(7, 100));
  live.end();
  t.deepEqual(
    pushed.map(({ pcm }) => pcm.length),
    [16_000, 4000, 100],
  );
  t.deepEqual([pushed[0]?.pcm[7999], pushed[0]?.pcm[8000], pushed[0]?.pcm[12_000]], [5, 0, 6]);
});
