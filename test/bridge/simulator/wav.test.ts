import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { readWav } from '../../../bridge/simulator/wav.ts';

interface Format {
  rate?: number;
  channels?: number;
  bits?: number;
  tag?: number;
}

/** A WAV file with these samples, channels interleaved. */
function wav(samples: number[], { rate = 16000, channels = 1, bits = 16, tag = 1 }: Format = {}): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + samples.length * 2, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(tag, 20);
  head.writeUInt16LE(channels, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE((rate * channels * bits) / 8, 28);
  head.writeUInt16LE((channels * bits) / 8, 32);
  head.writeUInt16LE(bits, 34);
  head.write('data', 36);
  head.writeUInt32LE(samples.length * 2, 40);
  const body = Buffer.alloc(samples.length * 2);
  samples.forEach((sample, i) => void body.writeInt16LE(sample, i * 2));
  return Buffer.concat([head, body]);
}

async function save(t: ExecutionContext, bytes: Buffer): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'wav-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const path = join(dir, 'take.wav');
  await writeFile(path, bytes);
  return path;
}

test('16 kHz mono is read as it is', async t => {
  t.deepEqual([...(await readWav(await save(t, wav([0, 1, -1, 32767, -32768]))))], [0, 1, -1, 32767, -32768]);
});

test('two channels are mixed', async t => {
  t.deepEqual(
    [...(await readWav(await save(t, wav([100, 300, -32768, -32768], { channels: 2 }))))],
    [200, -32768],
  );
});

test('chunks before the audio, and a length that a cut-off recorder left, do not matter', async t => {
  const plain = wav([7, 8, 9]);
  const extra = Buffer.from('LIST\x03\x00\x00\x00abc\x00', 'latin1');
  const bytes = Buffer.concat([plain.subarray(0, 36), extra, plain.subarray(36)]);
  bytes.writeUInt32LE(0xffffffff, 36 + extra.length + 4);
  t.deepEqual([...(await readWav(await save(t, bytes)))], [7, 8, 9]);
});

for (const rate of [8000, 44100, 48000]) {
  test(`a tone at ${rate} samples a second keeps its pitch and level at 16000`, async t => {
    const tone = (at: number) =>
      Array.from({ length: at / 2 }, (_, i) => Math.round(10_000 * Math.sin((2 * Math.PI * 440 * i) / at)));
    const out = await readWav(await save(t, wav(tone(rate), { rate })));
    t.is(out.length, 8000);
    const right = tone(16000);
    const worst = Math.max(
      ...[...out.subarray(100, -100)].map((sample, i) => Math.abs(sample - (right[i + 100] ?? 0))),
    );
    t.true(worst < 100, `off by ${worst}`);
  });
}

test('what would fold back from above half the new rate is filtered out', async t => {
  const high = Array.from({ length: 24_000 }, (_, i) =>
    Math.round(20_000 * Math.sin((2 * Math.PI * 12_000 * i) / 48_000)),
  );
  const out = await readWav(await save(t, wav(high, { rate: 48_000 })));
  t.true(Math.max(...out.subarray(100, -100).map(Math.abs)) < 200);
});

const REFUSED: [string, Buffer, RegExp][] = [
  ['24-bit audio', wav([1], { bits: 24 }), /holds 24-bit audio/],
  ['compressed audio', wav([1], { tag: 6 }), /of encoding 6/],
  ['six channels', wav([1], { channels: 6 }), /has 6 channels/],
  ['a rate of 4000', wav([1], { rate: 4000 }), /has 4000 samples a second/],
  ['another kind of file', Buffer.from('OggS something else'), /is not a WAV file/],
  ['an empty file', Buffer.alloc(0), /is not a WAV file/],
  ['no audio', wav([1]).subarray(0, 36), /has no audio/],
];
for (const [what, bytes, message] of REFUSED) {
  test(`${what} is refused with the file's name and what is accepted`, async t => {
    const error = await t.throwsAsync(readWav(await save(t, bytes)), { message });
    t.regex(
      error?.message ?? '',
      /take\.wav: .*16-bit PCM, one or two channels, 8000 to 48000 Hz, is accepted/,
    );
  });
}
