import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
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

async function save(t: ExecutionContext, bytes: Buffer, name = 'take.wav'): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'wav-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const path = join(dir, name);
  await writeFile(path, bytes);
  return path;
}

test('16 kHz mono is read unchanged', async t => {
  t.deepEqual([...(await readWav(await save(t, wav([0, 1, -1, 32767, -32768]))))], [0, 1, -1, 32767, -32768]);
});

test('two channels are mixed', async t => {
  t.deepEqual(
    [...(await readWav(await save(t, wav([100, 300, -32768, -32768], { channels: 2 }))))],
    [200, -32768],
  );
});

test('chunks before the audio, and the wrong length of an interrupted recording, are tolerated', async t => {
  const plain = wav([7, 8, 9]);
  const extra = Buffer.from('LIST\x03\x00\x00\x00abc\x00', 'latin1');
  const bytes = Buffer.concat([plain.subarray(0, 36), extra, plain.subarray(36)]);
  bytes.writeUInt32LE(0xffffffff, 36 + extra.length + 4);
  t.deepEqual([...(await readWav(await save(t, bytes)))], [7, 8, 9]);
});

for (const rate of [8000, 44100, 48000]) {
  test(`a tone at ${rate} Hz keeps its pitch and level at 16000 Hz`, async t => {
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

test('frequencies above half the new rate are filtered out', async t => {
  const high = Array.from({ length: 24_000 }, (_, i) =>
    Math.round(20_000 * Math.sin((2 * Math.PI * 12_000 * i) / 48_000)),
  );
  const out = await readWav(await save(t, wav(high, { rate: 48_000 })));
  t.true(Math.max(...out.subarray(100, -100).map(Math.abs)) < 200);
});

test('six channels are mixed, whatever their rate', async t => {
  const out = await readWav(await save(t, wav(Array(48_000).fill(600), { channels: 6, rate: 4000 })));
  t.is(out.length, 32_000);
  t.true(out.subarray(100, -100).every(sample => Math.abs(sample - 600) < 3));
});

const REFUSED: [string, Buffer, RegExp][] = [
  ['compressed audio', wav([1], { tag: 2, bits: 4 }), /take\.wav: .*it holds coding 2 with 4 bits/],
  ['no audio', wav([1]).subarray(0, 36), /take\.wav: .*it has no data/],
  ['an empty file', Buffer.alloc(0), /take\.wav: it is empty$/],
];
for (const [what, bytes, message] of REFUSED) {
  test(`${what} is rejected with the file's name and the reason`, async t => {
    await t.throwsAsync(readWav(await save(t, bytes)), { message });
  });
}

/** Runs with a PATH that contains only this directory. */
async function withPath<T>(path: string, work: () => Promise<T>): Promise<T> {
  const before = process.env.PATH;
  process.env.PATH = path;
  try {
    return await work();
  } finally {
    process.env.PATH = before;
  }
}

test.serial('for other formats without ffmpeg, the error states the conversion command', async t => {
  const file = await save(t, Buffer.from('OggS something else'), "ada's talk.ogg");
  const { message } = (await withPath('/nowhere', () => t.throwsAsync(readWav(file)))) ?? {};
  t.regex(
    message ?? '',
    /needs? ffmpeg, which is not installed here\. Install it \(sudo apt-get install ffmpeg\)/,
  );
  t.regex(message ?? '', /: ffmpeg -i '.*ada'\\''s talk\.ogg' -ac 1 -ar 16000 '.*ada'\\''s talk\.wav'$/);
});

test.serial(
  'for a WAV file with a codec that ffmpeg knows, the error states the conversion command as well',
  async t => {
    const file = await save(t, wav([1], { tag: 6, bits: 8 }), 'call.wav');
    const { message } = (await withPath('/nowhere', () => t.throwsAsync(readWav(file)))) ?? {};
    t.regex(
      message ?? '',
      /it holds coding 6 with 8 bits, and other formats need ffmpeg, .* installed here\./,
    );
    t.regex(message ?? '', /: ffmpeg -i \S+call\.wav -ac 1 -ar 16000 \S+call-converted\.wav$/);
    const dir = await installFfmpeg(t, wav([5, 6, 7]));
    t.deepEqual([...(await withPath(`${dir}:/usr/bin:/bin`, () => readWav(file)))], [5, 6, 7]);
  },
);

/** Installs a stand-in for ffmpeg that writes a WAV file to a pipe as ffmpeg does, or fails likewise. */
async function installFfmpeg(t: ExecutionContext, answer: Buffer | null): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'ffmpeg-'));
  t.teardown(() => rm(dir, { recursive: true }));
  await writeFile(join(dir, 'answer.wav'), answer ?? '');
  const act = answer ? `cat ${dir}/answer.wav` : 'echo "moov atom not found" >&2; exit 1';
  await writeFile(join(dir, 'ffmpeg'), `#!/bin/sh\necho "$@" > ${dir}/args\n${act}\n`, { mode: 0o755 });
  return dir;
}

test.serial('other formats are decoded by ffmpeg, with only the necessary arguments', async t => {
  const file = await save(t, Buffer.from('ID3 something'), 'talk.mp3');
  const piped = wav([5, 6, 7]);
  piped.writeUInt32LE(0xffffffff, 40);
  const dir = await installFfmpeg(t, piped);
  t.deepEqual([...(await withPath(`${dir}:/usr/bin:/bin`, () => readWav(file)))], [5, 6, 7]);
  const args = await readFile(join(dir, 'args'), 'utf8');
  t.true(args.includes(`-protocol_whitelist file,pipe -i file:${file} -vn -ac 1 -ar 16000`), args);
});

test.serial('a file that ffmpeg cannot decode is rejected with its message', async t => {
  const file = await save(t, Buffer.from('nonsense'), 'talk.m4a');
  const dir = await installFfmpeg(t, null);
  await withPath(`${dir}:/usr/bin:/bin`, () =>
    t.throwsAsync(readWav(file), {
      message: /talk\.m4a: ffmpeg cannot decode it; it says: moov atom not found$/,
    }),
  );
});
