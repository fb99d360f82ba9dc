import test from 'ava';
import { createTimeline } from '../../../core/listen/timeline.ts';

const fresh = { through: 0, received: 0, receivedSample: 0 };

test('a message counts as received once everything up to its end is done', t => {
  const timeline = createTimeline(fresh, null);
  for (const samples of [320, 320, 320]) {
    t.true(timeline.accept());
    timeline.place(samples);
  }
  t.deepEqual(timeline.progress(0), { through: 0, received: 0, receivedSample: 0 });
  t.deepEqual(timeline.progress(639), { through: 639, received: 1, receivedSample: 320 });
  t.deepEqual(timeline.progress(640), { through: 640, received: 2, receivedSample: 640 });
  t.deepEqual(timeline.progress(5000), { through: 5000, received: 3, receivedSample: 960 });
});

test('messages that are held already are dropped, and the next one lies where it always lay', t => {
  const timeline = createTimeline({ through: 700, received: 2, receivedSample: 640 }, 0);
  t.false(timeline.accept());
  t.false(timeline.accept());
  t.true(timeline.accept());
  t.is(timeline.place(320), 640);
  t.deepEqual(timeline.progress(960), { through: 960, received: 3, receivedSample: 960 });
});

test('a gap belongs to the message after it: sent twice with it, it counts once', t => {
  const first = createTimeline(fresh, 0);
  first.accept();
  first.place(320);
  first.gap(16_000);
  first.accept();
  t.is(first.place(320), 16_320);
  const stored = first.progress(16_400);
  t.deepEqual(stored, { through: 16_400, received: 1, receivedSample: 320 });

  const again = createTimeline(stored, 1);
  again.gap(16_000);
  t.true(again.accept());
  t.is(again.place(320), 16_320);
});

test('a gap before a dropped message is dropped with it', t => {
  const timeline = createTimeline({ through: 640, received: 2, receivedSample: 640 }, 1);
  timeline.gap(8000);
  t.false(timeline.accept());
  t.true(timeline.accept());
  t.is(timeline.place(320), 640);
});

test('a client that lost messages of its own goes on with a later number at the same position', t => {
  const timeline = createTimeline({ through: 640, received: 2, receivedSample: 640 }, 10);
  t.true(timeline.accept());
  t.is(timeline.place(320), 640);
  t.deepEqual(timeline.progress(960), { through: 960, received: 11, receivedSample: 960 });
});

test('a client that names no number goes on where the server stands', t => {
  const timeline = createTimeline({ through: 640, received: 2, receivedSample: 640 }, null);
  t.true(timeline.accept());
  t.is(timeline.place(320), 640);
});
