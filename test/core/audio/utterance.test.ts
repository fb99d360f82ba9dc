import test from 'ava';
import { concatSamples, parseWav } from '../../../core/audio/pcm.ts';
import { createUtterance } from '../../../core/audio/utterance.ts';
import { atPeak, whiteNoise } from '../../helpers/sound.ts';

const noise = atPeak(-6, whiteNoise(5));
const never = new AbortController().signal;

async function readAll(pcm: AsyncIterable<Int16Array>) {
  const pieces: Int16Array[] = [];
  for await (const piece of pcm) pieces.push(piece);
  return concatSamples(pieces);
}

function grown(startSample: number, ...pieces: Int16Array[]) {
  const utterance = createUtterance({ startSample, channel: 0 });
  for (const piece of pieces) utterance.append(piece);
  return utterance;
}

test('a reader gets all samples in order while the utterance grows, and ends with it', async t => {
  const utterance = createUtterance({ startSample: 1000, channel: 1 });
  const reading = readAll(utterance.pcm());
  for (let at = 0; at < noise.length; at += 777) {
    utterance.append(noise.subarray(at, at + 777));
    if (at % 5 === 0) await Promise.resolve();
  }
  utterance.end();
  t.deepEqual(await reading, noise);
  t.is(utterance.endSample, 1000 + noise.length);
  t.is(utterance.channel, 1);
});

test('several readers, started at any time and sample, get the same audio', async t => {
  const utterance = grown(500, noise.subarray(0, 3000));
  const early = readAll(utterance.pcm());
  utterance.append(noise.subarray(3000, 9000));
  const middle = readAll(utterance.pcm(500 + 4000));
  utterance.end();
  t.deepEqual(await early, noise.slice(0, 9000));
  t.deepEqual(await middle, noise.slice(4000, 9000));
  t.deepEqual(await readAll(utterance.pcm(0)), noise.slice(0, 9000), 'before its start is its start');
  t.deepEqual(await readAll(utterance.pcm(500 + 9000)), new Int16Array(0));
});

test('a reader that starts ahead waits for its first sample', async t => {
  const utterance = grown(0, noise.subarray(0, 100));
  const ahead = readAll(utterance.pcm(150));
  utterance.append(noise.subarray(100, 140));
  utterance.append(noise.subarray(140, 200));
  utterance.end();
  t.deepEqual(await ahead, noise.slice(150, 200));
});

test('audio already given to a reader does not change', async t => {
  const utterance = grown(0, noise.subarray(0, 512));
  const reader = utterance.pcm()[Symbol.asyncIterator]();
  const { value } = await reader.next();
  utterance.append(noise);
  utterance.release(512);
  t.deepEqual(value, noise.slice(0, 512));
});

test('the WAV file contains the whole utterance from a sample on, once it has ended', async t => {
  const utterance = grown(16_000, noise.subarray(0, 8000));
  const whole = utterance.wav(undefined, never);
  const rest = utterance.wav(16_000 + 6000, never);
  utterance.append(noise.subarray(8000, 9000));
  utterance.end();
  t.deepEqual(parseWav(await whole).samples, noise.slice(0, 9000));
  t.deepEqual(parseWav(await rest).samples, noise.slice(6000, 9000));
});

test('a wait for the WAV file ends when aborted, long before the speech has ended', async t => {
  const utterance = grown(0, noise);
  const leaving = new AbortController();
  const wav = utterance.wav(0, leaving.signal);
  leaving.abort(new Error('left'));
  await t.throwsAsync(wav, { message: 'left' });
  t.true(utterance.isOpen);
});

test('released audio is freed and cannot be read; later audio can', async t => {
  const utterance = grown(0, noise);
  const before = utterance.bytes;
  utterance.release(70_000);
  utterance.end();
  t.true(before >= noise.byteLength);
  t.true(utterance.bytes < before / 2);
  const expected = { code: 'internal', message: /before sample 70000 was released/ };
  await t.throwsAsync(readAll(utterance.pcm()), expected);
  await t.throwsAsync(utterance.wav(69_999, never), expected);
  t.deepEqual(await readAll(utterance.pcm(70_000)), noise.slice(70_000));
});

test('release during growth limits memory to the retained audio', async t => {
  const utterance = createUtterance({ startSample: 0, channel: 0 });
  let most = 0;
  for (let at = 0; at < noise.length; at += 512) {
    utterance.append(noise.subarray(at, at + 512));
    utterance.release(at - 4096);
    most = Math.max(most, utterance.bytes);
  }
  t.true(most <= 64 * 1024);
  utterance.release(Number.MAX_SAFE_INTEGER);
  utterance.end();
  t.deepEqual(await readAll(utterance.pcm(noise.length)), new Int16Array(0));
});

test('a reader that stops while it waits for speech ends at once', async t => {
  const utterance = grown(0, noise.subarray(0, 10));
  const reader = utterance.pcm()[Symbol.asyncIterator]();
  await reader.next();
  const pending = reader.next();
  t.deepEqual(await reader.return?.(), { done: true, value: undefined });
  t.deepEqual(await pending, { done: true, value: undefined });
  utterance.append(noise);
  t.deepEqual(await reader.next(), { done: true, value: undefined });
});

test('an utterance that has ended cannot grow', async t => {
  const utterance = grown(0, noise);
  utterance.end();
  utterance.end();
  await utterance.ended;
  t.throws(() => utterance.append(noise), { code: 'internal', message: /has ended/ });
});
