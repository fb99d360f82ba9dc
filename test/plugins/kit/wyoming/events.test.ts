import test from 'ava';
import { createEventReader, encodeEvent } from '../../../../plugins/kit/wyoming/events.ts';

const payload = Uint8Array.from({ length: 3000 }, (_, at) => at % 256);
const bytes = Buffer.concat([
  encodeEvent('describe'),
  encodeEvent('audio-chunk', { rate: 16_000 }, payload),
  encodeEvent('audio-stop', { timestamp: 5 }),
]);

test('events are the same however their bytes arrive, with their data and their payload', t => {
  for (const size of [1, 2, 999, bytes.length]) {
    const reader = createEventReader();
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    );
    const events = pieces.flatMap(piece => reader.push(piece));
    t.deepEqual(
      events.map(({ type, data, payload: { length } }) => ({ type, data, length })),
      [
        { type: 'describe', data: {}, length: 0 },
        { type: 'audio-chunk', data: { rate: 16_000 }, length: 3000 },
        { type: 'audio-stop', data: { timestamp: 5 }, length: 0 },
      ],
      `${size} bytes at a time`,
    );
    t.deepEqual(Uint8Array.from(events[1]?.payload ?? []), payload);
  }
});
