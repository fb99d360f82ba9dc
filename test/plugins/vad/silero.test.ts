import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as path } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { z } from 'zod';
import { createGate } from '../../../core/audio/gate.ts';
import type { VadProvider } from '../../../core/contract/plugin.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import silero from '../../../plugins/vad/silero/index.ts';
import { readTensors } from '../../../plugins/vad/silero/onnx.ts';
import {
  atPeak,
  atRms,
  brownNoise,
  hum,
  join,
  mix,
  pinkNoise,
  pluckedString,
  rms,
  type Sound,
  silence,
  speech,
  whiteNoise,
} from '../../helpers/sound.ts';

const WINDOW = 512;
const FIXTURES = ['tomorrow', 'budget', 'garden', 'journey', 'health'];

/** Sets the plugin up as the host does. */
async function start(options: Record<string, unknown> = {}) {
  const undo: (() => void | Promise<void>)[] = [];
  const context = {
    options: silero.options?.(z).parse(options),
    onStop: (stop: () => void | Promise<void>) => undo.push(stop),
    error: (...details: ConstructorParameters<typeof AppError>) => new AppError(...details),
    fail: (error: Error) => {
      throw error;
    },
  } as unknown as Parameters<typeof silero.setup>[0]; // it uses only these
  const { vad } = await silero.setup(context);
  if (!vad) throw new Error('it detects no speech');
  return { vad, stop: () => Promise.all(undo.map(stop => stop())) };
}

let vad: VadProvider;
let stop: () => Promise<unknown>;
test.before(async () => {
  ({ vad, stop } = await start());
});
test.after.always(() => stop());

/** The utterances in a sound, as start and end in seconds, found by the real gate and detector. */
async function utterances(sound: Sound, samplesAtOnce = 1600): Promise<[number, number][]> {
  const found: { startSample: number; endSample: number }[] = [];
  const gate = createGate({
    detector: vad.open(),
    windowSize: vad.windowSize,
    channel: 0,
    startSample: 0,
    onUtterance: utterance => found.push(utterance),
  });
  for (let at = 0; at < sound.length; at += samplesAtOnce)
    await gate.push(sound.subarray(at, at + samplesAtOnce));
  await gate.flush();
  gate.close();
  return found.map(({ startSample, endSample }) => [startSample / 16_000, endSample / 16_000]);
}

async function probabilities(sound: Sound): Promise<number[]> {
  const session = vad.open();
  const found = await session.probabilities(sound.subarray(0, sound.length - (sound.length % WINDOW)));
  session.close();
  return [...found];
}

// ── not speech ──────────────────────────────────────────────────────────────────────────────────────────────────────

test('a minute of silence contains no utterance', async t => {
  t.deepEqual(await utterances(silence(60)), []);
});

const NOISES: Record<string, ArrayLike<number>> = {
  'white noise': whiteNoise(60),
  'pink noise': pinkNoise(60),
  'brown noise': brownNoise(60),
  'a hum of 50 Hz': hum(60, 50),
  'a hum of 100 Hz': hum(60, 100),
  'a hum of 150 Hz': hum(60, 150),
};
for (const [name, noise] of Object.entries(NOISES))
  test(`a minute of ${name} contains no utterance, at any level, from the start or after silence`, async t => {
    for (const db of [-40, -25, -12]) {
      const sound = atPeak(db, noise);
      t.deepEqual(await utterances(sound), [], `${db} dBFS`);
      t.deepEqual(
        await utterances(join(silence(1.01), sound.slice(0, 80_000))),
        [],
        `${db} dBFS out of silence`,
      );
    }
  });

test('a minute of a plucked string contains no utterance', async t => {
  t.deepEqual(await utterances(atPeak(-12, pluckedString(60, 220))), []);
  for (const db of [-40, -25])
    for (const [hz, everySeconds] of [
      [110, 0.7],
      [196, 1.3],
      [440, 2],
    ] as const)
      t.deepEqual(
        await utterances(atPeak(db, pluckedString(12, hz, everySeconds))),
        [],
        `${hz} Hz at ${db} dBFS`,
      );
});

// ── speech ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** First and last moment, in seconds, at which a sound is at most 26 dB below its peak. */
function audible(sound: Sound): [number, number] {
  const step = 160;
  const levels = Array.from({ length: Math.floor(sound.length / step) }, (_, i) =>
    rms(sound.subarray(i * step, (i + 1) * step)),
  );
  const least = Math.max(...levels) / 20;
  return [
    levels.findIndex(level => level > least) / 100,
    (levels.findLastIndex(level => level > least) + 1) / 100,
  ];
}

/** White noise, this many dB below the mean loudness of a sound. */
function noiseBelow(db: number, sound: Sound): Sound {
  return atRms(20 * Math.log10(rms(sound) / 32767) - db, whiteNoise(sound.length / 16_000 + 4, 3));
}

for (const name of FIXTURES)
  test(`the words of "${name}" are inside utterances: as spoken, at -40 and -50 dBFS, and in noise`, async t => {
    const spoken = speech(name);
    const clean = join(silence(2), spoken, silence(1.5));
    const [first, last] = audible(clean);
    const noisy = mix(clean, noiseBelow(15, spoken));
    for (const [how, sound] of [
      ['as spoken', clean],
      ['at -40 dBFS', atPeak(-40, clean)],
      ['at -50 dBFS', atPeak(-50, clean)],
      ['in noise', noisy],
    ] as const) {
      const found = await utterances(sound);
      t.is(found.length, 1, how);
      const [start = 99, end = 0] = found[0] ?? [];
      t.true(start <= first && end >= last, `${how}: ${start} to ${end} covers ${first} to ${last}`);
      t.true(
        start >= first - 0.6 && end <= last + 1,
        `${how}: ${start} to ${end} is little more than ${first} to ${last}`,
      );
    }
  });

test('speech after a pause is a separate utterance', async t => {
  const pause = silence(1.5);
  const found = await utterances(join(pause, speech('garden'), pause, speech('budget'), pause));
  t.is(found.length, 2);
});

test('utterances begin and end at the same samples, however the audio is split', async t => {
  const sound = join(silence(0.5), ...FIXTURES.flatMap(name => [speech(name), silence(1)]));
  const whole = await utterances(sound, sound.length);
  t.true(whole.length >= FIXTURES.length, `${whole.length} utterances`);
  for (const samples of [160, 1600, 5000, 7999, 20_000])
    t.deepEqual(await utterances(sound, samples), whole, `${samples} at once`);
});

// ── the network ─────────────────────────────────────────────────────────────────────────────────────────────────

test("the network's results equal those of ONNX Runtime with the same file", async t => {
  // ONNX Runtime 1.30, every eighth window.
  const expected = {
    tomorrow: [
      0.01345, 0.8168, 0.99776, 0.99916, 0.05599, 0.99926, 0.99947, 0.99982, 0.99793, 0.99988, 0.72731,
      0.99933, 0.99975, 0.99957, 0.99967, 0.87702, 0.99932, 0.98561, 0.99963, 0.99886, 0.99939, 0.99899,
      0.99982, 0.9997, 0.99989, 0.27322,
    ],
    garden: [
      0.01975, 0.89459, 0.99969, 0.9952, 0.99995, 0.99747, 0.99995, 0.98357, 0.99997, 0.99997, 0.99995,
      0.99981, 0.99964, 0.01403, 0.99997, 0.99995, 0.99994, 0.99997, 0.99996, 0.99675, 0.99993,
    ],
  };
  for (const [name, values] of Object.entries(expected)) {
    const found = (await probabilities(speech(name))).filter((_, i) => i % 8 === 0);
    t.is(found.length, values.length);
    for (const [i, value] of values.entries())
      t.true(Math.abs((found[i] ?? 0) - value) < 1e-4, `window ${8 * i}`);
  }
});

test('parallel streams, in pieces of any size, get the same results as single ones', async t => {
  const sounds = FIXTURES.map(name => speech(name).subarray(0, 60 * WINDOW));
  const alone = await Promise.all(sounds.map(probabilities));
  const streams = Array.from({ length: 20 }, (_, i) => ({
    which: i % 5,
    step: 1 + (i % 7),
    session: vad.open(),
  }));
  await Promise.all(
    streams.map(async ({ which, step, session }) => {
      const found: number[] = [];
      for (let window = 0; window < 60; window += step) {
        const end = Math.min(60, window + step);
        found.push(
          ...(await session.probabilities(
            (sounds[which] ?? silence(0)).subarray(window * WINDOW, end * WINDOW),
          )),
        );
      }
      t.deepEqual(found, alone[which]);
      session.close();
    }),
  );
});

test('overlapping requests of one stream are answered in order', async t => {
  const sound = speech('garden').subarray(0, 20 * WINDOW);
  const session = vad.open();
  const [first, second] = await Promise.all([
    session.probabilities(sound.subarray(0, 8 * WINDOW)),
    session.probabilities(sound.subarray(8 * WINDOW)),
  ]);
  t.deepEqual([...first, ...second], await probabilities(sound));
});

test('after a reset a stream is like a new one', async t => {
  const session = vad.open();
  const sound = speech('garden').subarray(0, 10 * WINDOW);
  const once = await session.probabilities(sound);
  t.notDeepEqual(await session.probabilities(sound), once);
  session.reset();
  t.deepEqual(await session.probabilities(sound), once);
});

test('the running kernel is the one that its source compiles to', async t => {
  const directory = await mkdtemp(path(tmpdir(), 'kernel-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const [asc, source] = ['node_modules/.bin/asc', 'plugins/vad/silero/assembly/'].map(name =>
    fileURLToPath(new URL(`../../../${name}`, import.meta.url)),
  ) as [string, string];
  const compiled = path(directory, 'kernel.wasm');
  await promisify(execFile)(asc, ['--config', path(source, 'asconfig.json'), '--outFile', compiled]);
  t.true((await readFile(compiled)).equals(await readFile(path(source, 'kernel.wasm'))), 'npm run kernel');
});

// ── errors ──────────────────────────────────────────────────────────────────────────────────────────────────────────

test('a model file that is missing, replaced, or not a model stops the setup with instructions', async t => {
  const directory = await mkdtemp(path(tmpdir(), 'silero-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const file = path(directory, 'model.onnx');
  const expected = (message: RegExp) => ({ code: 'config_error', message });
  await t.throwsAsync(start({ model: file }), expected(/model\.onnx cannot be read.*plugins\.silero\.model/));

  const built = await readFile(new URL('../../../plugins/vad/silero/silero-vad-v5.onnx', import.meta.url));
  await writeFile(file, built.subarray(0, 100_000));
  await t.throwsAsync(
    start({ model: file }),
    expected(/is another file: 100000 bytes, SHA-256 [0-9a-f]{64}/),
  );

  const transform = readTensors(built, 'If_0_then_branch__Inline_0__').get('stft.forward_basis_buffer');
  const otherwise = Buffer.from(built);
  otherwise.writeFloatLE(0.5, built.indexOf(Buffer.from(transform?.buffer ?? new ArrayBuffer(1))) + 4000);
  const models = [otherwise, built.subarray(0, 100_000), Buffer.from('no model at all'), Buffer.alloc(0)];
  for (const bytes of models) {
    await writeFile(file, bytes);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    await t.throwsAsync(start({ model: file, sha256 }), expected(/is not Silero v5/));
  }

  await writeFile(file, built);
  const moved = await start({ model: file });
  await moved.stop();
});
