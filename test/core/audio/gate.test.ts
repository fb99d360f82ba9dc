import test from 'ava';
import { createGate } from '../../../core/audio/gate.ts';
import { GATE_DEFAULTS, type GateOptions } from '../../../core/audio/gate-options.ts';
import { concatSamples } from '../../../core/audio/pcm.ts';
import { isSteadyTone, STEADY_TONE_SAMPLES } from '../../../core/audio/steady-tone.ts';
import type { GrowingUtterance } from '../../../core/audio/utterance.ts';
import type { VadSession } from '../../../core/contract/plugin.ts';
import {
  atPeak,
  hum,
  join,
  peak,
  pluckedString,
  random,
  rms,
  type Sound,
  silence,
  speech,
  whiteNoise,
} from '../../helpers/sound.ts';

const WINDOW = 512;

/** A detector that treats every window louder than this as speech, and records its input. */
function loudnessDetector(threshold = 100) {
  const calls: Sound[] = [];
  let resets = 0;
  const session: VadSession = {
    async probabilities(samples) {
      calls.push(samples.slice());
      return Float32Array.from({ length: samples.length / WINDOW }, (_, i) =>
        rms(samples.subarray(i * WINDOW, (i + 1) * WINDOW)) > threshold ? 0.9 : 0.1,
      );
    },
    reset() {
      resets += 1;
    },
    close() {
      closed = true;
    },
  };
  let closed = false;
  return {
    session,
    calls,
    get resets() {
      return resets;
    },
    get closed() {
      return closed;
    },
  };
}

interface Setup {
  detector?: VadSession;
  startSample?: number;
  goesOn?: boolean;
  options?: Partial<GateOptions>;
}

function openGate(setup: Setup = {}) {
  const { detector = loudnessDetector().session, startSample = 0, goesOn = false, options = {} } = setup;
  const utterances: GrowingUtterance[] = [];
  const lulls: (number | null)[] = [];
  const gate = createGate({
    detector,
    windowSize: WINDOW,
    channel: 0,
    startSample,
    goesOn,
    options,
    onUtterance: utterance => utterances.push(utterance),
    onLull: lastSpeech => lulls.push(lastSpeech),
  });
  return { gate, utterances, lulls };
}

async function read(utterance: GrowingUtterance) {
  const pieces: Int16Array[] = [];
  for await (const piece of utterance.pcm()) pieces.push(piece);
  return concatSamples(pieces);
}

/** Cuts a sound into pieces of 1 to `most` samples. */
function* cut(sound: Sound, seed: number, most: number) {
  const uniform = random(seed);
  for (let at = 0; at < sound.length; ) {
    const length = 1 + Math.floor(((uniform() + 1) / 2) * (most - 1));
    yield sound.subarray(at, at + length);
    at += length;
  }
}

const spans = (utterances: GrowingUtterance[]) => utterances.map(u => [u.startSample, u.endSample]);
const ms = (milliseconds: number) => milliseconds * 16;
const talk = (seconds: number, seed = 1) => atPeak(-12, whiteNoise(seconds, seed));

/** Speech from 2 s to 4 s, at 4.2 s for half a second, and from 7 s to 9 s; 11 s in all. */
const recording = join(
  silence(2),
  talk(2, 1),
  silence(0.2),
  talk(0.5, 2),
  silence(2.3),
  talk(2, 3),
  silence(2),
);

// ── where utterances begin and end ──────────────────────────────────────────────────────────────────────────────

test('an utterance reaches from before the first speech to the end of the hangover', async t => {
  const { gate, utterances } = openGate();
  await gate.push(recording);
  t.is(utterances.length, 2);
  const near = (actual: number | undefined, seconds: number) => {
    t.true(
      Math.abs((actual ?? 0) - seconds * 16_000) <= 2 * WINDOW,
      `${(actual ?? 0) / 16_000} is near ${seconds}`,
    );
  };
  near(utterances[0]?.startSample, 2 - 0.3);
  near(utterances[0]?.endSample, 4.7 + 0.55);
  near(utterances[1]?.startSample, 7 - 0.3);
  near(utterances[1]?.endSample, 9 + 0.55);
});

test('an utterance has exactly the samples at its position in the stream, however the audio is split', async t => {
  for (const [seed, most] of [
    [1, 50],
    [2, 2000],
    [3, 40_000],
  ] as const) {
    const { gate, utterances } = openGate({ startSample: 123_456 });
    for (const piece of cut(recording, seed, most)) await gate.push(piece);
    t.is(utterances.length, 2);
    for (const utterance of utterances) {
      const { startSample, endSample } = utterance;
      t.deepEqual(await read(utterance), recording.slice(startSample - 123_456, endSample - 123_456));
    }
    t.is(gate.position, 123_456 + recording.length);
  }
});

test('an utterance right after another starts where that ended', async t => {
  const { gate, utterances } = openGate();
  await gate.push(join(silence(1), talk(1), silence(0.7), talk(1, 2), silence(1)));
  t.is(utterances.length, 2);
  t.is(utterances[1]?.startSample, utterances[0]?.endSample);
});

test('an utterance is delivered while it is spoken', async t => {
  const { gate, utterances } = openGate();
  await gate.push(recording.subarray(0, ms(2500)));
  t.true(gate.speaking);
  t.is(utterances.length, 1);
  t.true((utterances[0]?.endSample ?? 0) > ms(2400));
});

test('a pause is reported while the utterance is open, and so is its end', async t => {
  const { gate, utterances, lulls } = openGate();
  const sound = join(silence(1), talk(1), silence(0.3), talk(1, 2), silence(0.1), talk(1, 3), silence(0.3));
  await gate.push(sound);
  t.true(gate.speaking);
  t.is(utterances.length, 1);
  const near = (position: number | null | undefined, seconds: number) =>
    t.true(Math.abs((position ?? 0) - ms(1000 * seconds)) <= 2 * WINDOW, `${position} is near ${seconds} s`);
  t.is(lulls.length, 3, 'none for a shorter pause');
  near(lulls[0], 2);
  t.is(lulls[1], null);
  near(lulls[2], 4.4);
  await gate.push(join(silence(1), talk(1, 4), silence(0.3)));
  t.is(utterances.length, 2);
  t.is(lulls.length, 4, 'once for each lull');
  near(lulls[3], 6.7);
});

test('a single loud window is not speech', async t => {
  const { gate, utterances } = openGate();
  const clicks = join(silence(1), talk(0.02), silence(1), talk(0.04), silence(1));
  await gate.push(clicks);
  await gate.flush();
  t.deepEqual(spans(utterances), []);
});

test('continuous speech is cut before 30 s, at the quietest point, without loss or overlap', async t => {
  const sound = join(silence(1), talk(75));
  const quiet = [27.9, 56.4].map(seconds => 16_000 * seconds);
  for (const from of quiet) for (let i = from; i < from + ms(120); i++) sound[i] = (sound[i] ?? 0) / 10;
  const { gate, utterances } = openGate();
  for (const piece of cut(join(sound, silence(1)), 4, 3000)) await gate.push(piece);

  t.is(utterances.length, 3);
  for (const [i, utterance] of utterances.entries()) {
    t.true(utterance.endSample - utterance.startSample <= ms(30_000));
    const before = utterances[i - 1];
    if (before) t.is(utterance.startSample, before.endSample);
    const from = quiet[i];
    if (from !== undefined) t.true(utterance.endSample > from && utterance.endSample < from + ms(120));
    t.deepEqual(
      await read(utterance),
      join(sound, silence(1)).slice(utterance.startSample, utterance.endSample),
    );
  }
});

test('no empty utterance follows if a long one is cut in its last silence', async t => {
  const { gate, utterances } = openGate({ options: { maxMs: 5000, cutWithinMs: 1000 } });
  await gate.push(join(silence(1), talk(4.3), silence(3)));
  t.is(utterances.length, 1);
  await gate.push(join(talk(1), silence(1)));
  t.is(utterances.length, 2);
});

test('flushing ends the open utterance with the last sample, and later audio is a new one', async t => {
  const { gate, utterances } = openGate();
  const sound = talk(3.0101);
  await gate.push(sound.subarray(0, 24_001));
  await gate.flush();
  t.false(gate.speaking);
  t.is(utterances[0]?.endSample, 24_001);
  await gate.push(sound.subarray(24_001));
  await gate.flush();
  t.is(utterances[1]?.startSample, 24_001);
  t.deepEqual(concatSamples(await Promise.all(utterances.map(read))), sound);
});

test('flushing keeps speech that has just started', async t => {
  const { gate, utterances } = openGate();
  await gate.push(join(silence(1), talk(0.13)));
  t.false(gate.speaking);
  await gate.flush();
  t.is(utterances.length, 1);
  t.is(utterances[0]?.endSample, ms(1130));
});

for (const [where, isNew] of [
  ['the same gate', false],
  ['another gate', true],
] as const)
  test(`of speech that is cut off and continues in ${where}, a moment on either side is kept`, async t => {
    const [from, to] = [ms(1000), ms(1400)];
    const sound = join(silence(1), talk(0.4), silence(1));
    for (let at = from + ms(80); at < to; at += ms(20)) {
      const first = openGate();
      await first.gate.push(sound.subarray(0, at));
      t.true(first.gate.inSpeech);
      await first.gate.flush();
      t.is(first.gate.silentThrough, at);
      const second = isNew ? openGate({ startSample: at, goesOn: true }) : first;
      await second.gate.push(sound.subarray(at));
      const kept = spans([...new Set([...first.utterances, ...second.utterances])]);
      t.is(kept.length, 2, `cut at ${at}`);
      t.true((kept[0]?.[0] ?? at) <= from);
      t.deepEqual([kept[0]?.[1], kept[1]?.[0]], [at, at]);
      t.true((kept[1]?.[1] ?? 0) >= to);
      t.false(second.gate.inSpeech);
    }
  });

test('a gap advances time and ends the open utterance; no utterance crosses it', async t => {
  const { gate, utterances } = openGate();
  await gate.push(talk(1));
  gate.gap(ms(60_000));
  t.is(gate.position, ms(61_000));
  t.is(gate.silentThrough, ms(61_000));
  await gate.push(talk(1, 2));
  await gate.flush();
  t.deepEqual(spans(utterances), [
    [0, ms(1000)],
    [ms(61_000), ms(62_000)],
  ]);
  t.deepEqual(await read(utterances[1] as GrowingUtterance), talk(1, 2));
});

test('closing ends the open utterance, so that its readers end, and closes the detector', async t => {
  const detector = loudnessDetector();
  const { gate, utterances } = openGate({ detector: detector.session });
  await gate.push(talk(1));
  const reading = read(utterances[0] as GrowingUtterance);
  gate.close();
  t.deepEqual(await reading, talk(1));
  t.true(detector.closed);
});

// ── what is known to be silent ──────────────────────────────────────────────────────────────────────────────────

test('no utterance starts before the end of reported silence, even right after it', async t => {
  for (const seed of [1, 2, 3]) {
    const { gate, utterances } = openGate();
    let through = 0;
    let seen = 0;
    for (const piece of cut(recording, seed, 3000)) {
      await gate.push(piece);
      for (const { startSample } of utterances.slice(seen)) t.true(startSample >= through);
      seen = utterances.length;
      t.true(gate.silentThrough >= through && gate.silentThrough <= gate.position);
      const open = utterances.at(-1);
      if (gate.speaking) t.is(open?.endSample, gate.silentThrough);
      else t.true(gate.position - gate.silentThrough <= ms(800));
      through = gate.silentThrough;
    }
    await gate.flush();
    t.is(gate.silentThrough, recording.length);
  }
});

// ── what the detector is asked ──────────────────────────────────────────────────────────────────────────────────

test('the detector is not called in silence, nor for long in steady noise', async t => {
  const detector = loudnessDetector(20_000);
  const { gate } = openGate({ detector: detector.session });
  await gate.push(silence(30));
  t.is(detector.calls.length, 0);
  await gate.push(atPeak(-70, whiteNoise(30)));
  t.is(detector.calls.length, 0, 'too soft to matter');
  await gate.push(atPeak(-30, whiteNoise(30)));
  t.true(concatSamples(detector.calls).length < ms(12_000), 'until the noise floor has risen');
});

test('the detector receives the audio before the sound that woke it, and is told that it starts', async t => {
  const detector = loudnessDetector();
  const { gate } = openGate({ detector: detector.session });
  for (let at = 0; at < recording.length; at += WINDOW) await gate.push(recording.subarray(at, at + WINDOW));
  const [first, second] = detector.calls;
  t.is(first?.length, 8 * WINDOW, '200 ms of lead-in and the window itself');
  t.is(second?.length, WINDOW);
  t.is(detector.resets, 2, 'once for each stretch of sound');
});

test('the windows of one push are evaluated in one call', async t => {
  const detector = loudnessDetector();
  const { gate } = openGate({ detector: detector.session });
  await gate.push(talk(0.5));
  await gate.push(talk(0.2).subarray(0, 5 * WINDOW));
  t.deepEqual(
    detector.calls.map(call => call.length / WINDOW),
    [15, 5],
  );
});

test('quiet speech is amplified for the detector, loud speech is unchanged', async t => {
  for (const [db, heard] of [
    [-45, -15],
    [-30, -6],
    [-3, -3],
  ] as const) {
    const detector = loudnessDetector();
    const { gate } = openGate({ detector: detector.session });
    await gate.push(join(silence(1), atPeak(db, whiteNoise(2))));
    const level = 20 * Math.log10(peak(concatSamples(detector.calls)) / 32768);
    t.true(Math.abs(level - heard) < 0.5, `${db} dB is heard at ${level.toFixed(1)} dB`);
  }
});

test('audio that the detector failed on is evaluated again, and nothing is lost', async t => {
  const healthy = openGate();
  await healthy.gate.push(recording);

  const detector = loudnessDetector();
  let calls = 0;
  const { gate, utterances } = openGate({
    detector: {
      ...detector.session,
      async probabilities(samples) {
        calls += 1;
        if (calls % 3 === 0) throw new Error('out of order');
        return detector.session.probabilities(samples);
      },
    },
  });
  let failures = 0;
  for (const piece of cut(recording, 5, 4000)) await gate.push(piece)?.catch(() => failures++);
  t.true(failures > 10);
  t.deepEqual(spans(utterances), spans(healthy.utterances));
  for (const utterance of utterances)
    t.deepEqual(await read(utterance), recording.slice(utterance.startSample, utterance.endSample));
});

// ── tones ───────────────────────────────────────────────────────────────────────────────────────────────────────

test('a steady tone never starts an utterance, whatever the detector says; speech over it does', async t => {
  for (const tone of [
    atPeak(-12, hum(4, 150)),
    atPeak(-12, pluckedString(4, 220, 4)),
    atPeak(-12, hum(4, 50)),
  ]) {
    const { gate, utterances } = openGate();
    await gate.push(join(silence(1), tone));
    await gate.flush();
    t.deepEqual(spans(utterances), []);
    const words = speech('tomorrow');
    await gate.push(
      join(
        silence(1),
        words.map((sample, i) => sample + (tone[i % tone.length] ?? 0) / 8),
      ),
    );
    t.is(utterances.length, 1);
  }
});

test('tones are distinguished from speech, noise and silence', t => {
  const steady = (sound: Sound) => {
    let count = 0;
    let all = 0;
    for (let at = 0; at + STEADY_TONE_SAMPLES <= sound.length; at += WINDOW) {
      all += 1;
      if (isSteadyTone(sound.subarray(at, at + STEADY_TONE_SAMPLES))) count += 1;
    }
    return count / all;
  };
  for (const hz of [50, 60, 100, 120, 150]) t.is(steady(atPeak(-20, hum(2, hz))), 1);
  for (const hz of [82, 220, 440, 880]) t.true(steady(atPeak(-6, pluckedString(1, hz, 1))) > 0.9);
  for (const name of ['tomorrow', 'budget', 'garden', 'journey', 'health'])
    t.true(steady(speech(name)) < 0.35);
  t.is(steady(atPeak(-6, whiteNoise(2))), 0);
  t.is(steady(silence(2)), 0);
});

test('every option has a default', t => {
  t.true(Object.values(GATE_DEFAULTS).every(value => Number.isFinite(value)));
});
