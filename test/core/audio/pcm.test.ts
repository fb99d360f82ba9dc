import test from 'ava';
import {
  bytesToSamples,
  concatSamples,
  encodeWav,
  mixToMono,
  parseWav,
  samplesToBytes,
} from '../../../core/audio/pcm.ts';
import { atPeak, speech, whiteNoise } from '../../helpers/sound.ts';

const ascii = (text: string) => new TextEncoder().encode(text);
const u32 = (value: number) => new Uint8Array(new Uint32Array([value]).buffer);
const u16 = (...values: number[]) => new Uint8Array(new Uint16Array(values).buffer);
const bytes = (...parts: Uint8Array[]) => new Uint8Array(parts.flatMap(part => [...part]));
const chunk = (tag: string, body: Uint8Array) =>
  bytes(ascii(tag), u32(body.length), body, new Uint8Array(body.length % 2));
const riff = (...chunks: Uint8Array[]) => bytes(ascii('RIFF'), u32(0), ascii('WAVE'), ...chunks);
/** The format chunk's body: coding, channels, rate, bits. */
const format = (coding: number, channels: number, rate: number, bits: number) =>
  bytes(u16(coding, channels), u32(rate), u32(rate * channels * 2), u16(channels * 2, bits));

test('a WAV file returns the samples it was written with', t => {
  const samples = atPeak(-3, whiteNoise(0.5));
  t.deepEqual(parseWav(encodeWav(samples)), { sampleRate: 16_000, channels: 1, samples });
  t.is(parseWav(encodeWav(samples, 8000)).sampleRate, 8000);
  t.is(parseWav(encodeWav(new Int16Array(0))).samples.length, 0);
});

test('a WAV file of another program is read', t => {
  const { sampleRate, channels } = parseWav(
    riff(chunk('fmt ', format(1, 1, 16_000, 16)), chunk('data', u16(1, 2))),
  );
  t.deepEqual([sampleRate, channels], [16_000, 1]);
  t.true(speech('garden').length > 5 * 16_000);
});

test('unknown chunks are skipped, also those of odd length', t => {
  const file = riff(
    chunk('LIST', ascii('odd')),
    chunk('fmt ', format(1, 2, 44_100, 16)),
    chunk('fact', u32(2)),
    chunk('data', u16(1, 2, 3, 4)),
  );
  t.deepEqual(parseWav(file), { sampleRate: 44_100, channels: 2, samples: new Int16Array([1, 2, 3, 4]) });
});

test('the extensible form is PCM when its sub-format says so', t => {
  const extensible = (coding: number) =>
    bytes(format(0xfffe, 1, 16_000, 16), u16(22, 16), u32(4), u16(coding), new Uint8Array(14));
  t.is(parseWav(riff(chunk('fmt ', extensible(1)), chunk('data', u16(7)))).samples[0], 7);
  t.throws(() => parseWav(riff(chunk('fmt ', extensible(2)), chunk('data', u16(7)))), {
    message: /coding 2/,
  });
});

test('a file of an interrupted recording is read up to its end', t => {
  const whole = encodeWav(new Int16Array([1, 2, 3, 4]));
  t.deepEqual(parseWav(whole.subarray(0, whole.length - 3)).samples, new Int16Array([1, 2]));
});

test('samples of every depth become 16 bits; excess is clipped, and NaN is silence', t => {
  const read = (coding: number, bits: number, data: ArrayBuffer) => [
    ...parseWav(riff(chunk('fmt ', format(coding, 1, 96_000, bits)), chunk('data', new Uint8Array(data))))
      .samples,
  ];
  t.deepEqual(read(1, 8, new Uint8Array([0, 128, 255]).buffer), [-32768, 0, 32512]);
  t.deepEqual(
    read(1, 24, new Uint8Array([0, 0, 128, 0, 0, 64, 255, 255, 127]).buffer),
    [-32768, 16384, 32767],
  );
  t.deepEqual(read(1, 32, new Int32Array([-(2 ** 31), 2 ** 30, 65_536]).buffer), [-32768, 16384, 1]);
  t.deepEqual(read(3, 32, new Float32Array([-1, 0.5, 3, Number.NaN]).buffer), [-32768, 16384, 32767, 0]);
  t.deepEqual(read(3, 64, new Float64Array([-0.5, Number.POSITIVE_INFINITY]).buffer), [-16384, 32767]);
});

test('a WAV file without PCM is rejected with the reason', t => {
  const pcm = chunk('fmt ', format(1, 1, 16_000, 16));
  const refused: [Uint8Array, RegExp][] = [
    [new Uint8Array(0), /no RIFF/],
    [ascii('RIFF????AVI '), /no RIFF/],
    [riff(pcm), /no data/],
    [riff(chunk('data', u16(1))), /before its format/],
    [riff(chunk('fmt ', u16(1, 1)), chunk('data', u16(1))), /cut off/],
    [riff(chunk('fmt ', format(7, 1, 8000, 8)), chunk('data', u16(1))), /coding 7 with 8 bits/],
    [riff(chunk('fmt ', format(1, 0, 8000, 16)), chunk('data', u16(1))), /no channels/],
    [
      riff(chunk('fmt ', format(1, 33, 8000, 16)), chunk('data', u16(1))),
      /33 channels at 8000 Hz; at most 32/,
    ],
    [riff(chunk('fmt ', format(1, 1, 999, 16)), chunk('data', u16(1))), /1 channels at 999 Hz/],
  ];
  for (const [file, message] of refused) t.throws(() => parseWav(file), { code: 'invalid_input', message });
});

test('samples are little-endian bytes, wherever they lie in memory', t => {
  t.deepEqual(samplesToBytes(new Int16Array([1, -2])), new Uint8Array([1, 0, 254, 255]));
  const odd = new Uint8Array([9, 1, 0, 254, 255, 9]).subarray(1);
  t.deepEqual(bytesToSamples(odd), new Int16Array([1, -2]));
});

test('channels are mixed to their mean', t => {
  t.deepEqual(
    mixToMono(new Int16Array([100, 300, 32767, 32767, -32768, -32768, 5]), 2),
    new Int16Array([200, 32767, -32768]),
  );
  t.deepEqual(mixToMono(new Int16Array([1, 2]), 1), new Int16Array([1, 2]));
});

test('pieces are concatenated', t => {
  t.deepEqual(
    concatSamples([new Int16Array([1]), new Int16Array(0), new Int16Array([2, 3])]),
    new Int16Array([1, 2, 3]),
  );
});
