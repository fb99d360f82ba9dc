import test from 'ava';
import { createTimeline } from '../../../../core/listen/channel/timeline.ts';

const fresh = { through: 0, received: 0, receivedSample: 0 };

test('a message is acknowledged once everything up to its end is done', t => {
  const timeline = createTimeline(fresh);
  for (const number of [0, 1, 2]) timeline.place({ number, gap: 0, samples: 320 });
  t.deepEqual(timeline.progress(0), { through: 0, received: 0, receivedSample: 0 });
  t.deepEqual(timeline.progress(639), { through: 639, received: 1, receivedSample: 320 });
  t.deepEqual(timeline.progress(640), { through: 640, received: 2, receivedSample: 640 });
  t.deepEqual(timeline.progress(5000), { through: 5000, received: 3, receivedSample: 960 });
});

test('audio after a finished part keeps its position', t => {
  const timeline = createTimeline({ through: 700, received: 2, receivedSample: 640 });
  t.is(timeline.place({ number: 2, gap: 0, samples: 320 }), 640);
  t.deepEqual(timeline.progress(960), { through: 960, received: 3, receivedSample: 960 });
});

test('a gap belongs to the message after it: if that is sent again, the gap counts once', t => {
  const first = createTimeline(fresh);
  first.place({ number: 0, gap: 0, samples: 320 });
  t.is(first.place({ number: 1, gap: 16_000, samples: 320 }), 16_320);
  const stored = first.progress(16_400);
  t.deepEqual(stored, { through: 16_400, received: 1, receivedSample: 320 });

  const again = createTimeline(stored);
  t.is(again.place({ number: 1, gap: 16_000, samples: 320 }), 16_320);
});

test('a client that lost messages continues with a later number at the same position', t => {
  const timeline = createTimeline({ through: 640, received: 2, receivedSample: 640 });
  t.is(timeline.place({ number: 10, gap: 0, samples: 320 }), 640);
  t.deepEqual(timeline.progress(960), { through: 960, received: 11, receivedSample: 960 });
});

test('a message that ends within a sample is resumed with the next one', t => {
  const timeline = createTimeline(fresh);
  timeline.place({ number: 0, gap: 0, samples: 320 });
  timeline.place({ number: 1, gap: 0, samples: 320, split: true });
  t.deepEqual(timeline.progress(640), { through: 640, received: 1, receivedSample: 320 });
  timeline.place({ number: 2, gap: 0, samples: 320 });
  t.deepEqual(timeline.progress(960), { through: 960, received: 3, receivedSample: 960 });
});
