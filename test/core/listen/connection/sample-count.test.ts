import test from 'ava';
import type { AudioFormat } from '../../../../core/audio/codecs.ts';
import { createSampleCount } from '../../../../core/listen/connection/sample-count.ts';

const PCM: AudioFormat = { codec: 'pcm16', sampleRate: 16_000, channels: 1 };
/** One channel of a new stream. */
const NEW = { channel: 0, received: 0, receivedSample: 0 };
/** Samples of each message, 10 ms. */
const PART = 160;

function audio(number: number, { channel, gapMs = 0 }: { channel?: number; gapMs?: number } = {}) {
  const pcm = Buffer.alloc(PART * 2);
  return { number, gapMs, bytes: channel === undefined ? pcm : Buffer.concat([Buffer.of(channel), pcm]) };
}

test('only the samples of messages below a number are told, with the gaps before them', t => {
  const count = createSampleCount({ format: PCM, tagged: false, streams: [NEW] });
  count.add(audio(0));
  count.add(audio(1, { gapMs: 40 }));
  count.add(audio(2));
  t.is(count.below(0), 0);
  t.is(count.below(1), PART);
  t.is(count.below(2), 2 * PART + 640);
  t.is(count.below(3), 3 * PART + 640);
});

test('a gap is counted at the rate of the stream', t => {
  const format = { ...PCM, sampleRate: 8000 };
  const count = createSampleCount({ format, tagged: false, streams: [NEW] });
  count.add(audio(0, { gapMs: 40 }));
  t.is(count.below(1), PART + 320);
});

test('a message that is written again is counted once', t => {
  const count = createSampleCount({ format: PCM, tagged: false, streams: [NEW] });
  count.add(audio(0));
  count.add(audio(1));
  count.add(audio(1));
  t.is(count.below(2), 2 * PART);
});

test('of two channels, the longer one is told', t => {
  const streams = [
    { ...NEW, channel: 1 },
    { ...NEW, channel: 2 },
  ];
  const count = createSampleCount({ format: PCM, tagged: true, streams });
  for (const [number, channel] of [1, 2, 2, 1, 2].entries()) count.add(audio(number, { channel }));
  t.is(count.below(2), PART);
  t.is(count.below(4), 2 * PART);
  t.is(count.below(5), 3 * PART);
});

test('messages that a channel had played before the connection are not counted for it again', t => {
  // Messages 0 to 3 were sent on one connection. The first channel has played all of them; the second only 0 and 1.
  const streams = [
    { channel: 1, received: 4, receivedSample: 3 * PART },
    { channel: 2, received: 2, receivedSample: PART },
  ];
  const count = createSampleCount({ format: PCM, tagged: true, streams });
  t.is(count.below(0), 3 * PART);
  for (const number of [2, 3, 4, 5]) count.add(audio(number, { channel: 2 }));
  t.is(count.below(4), 3 * PART);
  t.is(count.below(5), 4 * PART);
  t.is(count.below(6), 5 * PART);
});

test('samples counted before are told at the rate of the stream', t => {
  const streams = [{ channel: 0, received: 10, receivedSample: 1600 }];
  const count = createSampleCount({ format: { ...PCM, sampleRate: 8000 }, tagged: false, streams });
  t.is(count.below(10), 800);
  count.add(audio(10));
  t.is(count.below(11), 800 + PART);
});
