import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import { createClock } from '../../../bridge/clock.ts';
import { createBoard } from '../../../bridge/simulator/board.ts';

const AUDIO = '19b10001-e8f2-537e-4f6c-d104768a1214';
const FRAME_MS = 10;
const DUE = 100;

/** Keeps the processor busy for a millisecond, as a slow machine does. */
function pack(): Buffer[] {
  const until = performance.now() + 1;
  while (performance.now() < until);
  return [];
}

test('a device that is late sends its frames in several bursts, and other work is done between them', async t => {
  let now = 0;
  const board = createBoard({
    address: 'c0:ff:ee:00:00:01',
    name: 'Slow',
    advertised: [],
    services: [{ uuid: AUDIO.slice(0, 8), characteristics: [{ uuid: AUDIO, properties: ['notify'] }] }],
    audio: AUDIO,
    sound: { length: DUE, frameMs: FRAME_MS, at: () => new Uint8Array(1) },
    pack,
    waitsForStart: true,
    clock: createClock(() => now),
  });
  t.teardown(board.stop);
  board.connected({ send() {}, close() {}, forget() {} });
  board.play(true);
  now = DUE * FRAME_MS;

  while (board.played === 0) await setImmediate();

  t.true(board.played <= 21, `${board.played} frames of 1 ms in the first 20 ms`);
  await board.finished;
  t.is(board.played, DUE);
});
