import test from 'ava';
import { createConcealer } from '../../../core/audio/concealer.ts';
import { atPeak, rms, whiteNoise } from '../../helpers/sound.ts';

const RATE = 16_000;
/** A voice at 125 Hz with decreasing harmonics. */
const voice = Int16Array.from({ length: RATE }, (_, i) =>
  [1, 2, 3, 4].reduce((sum, n) => sum + (6000 / n) * Math.sin((2 * Math.PI * 125 * n * i) / RATE), 0),
);
const ms = (milliseconds: number) => (milliseconds * RATE) / 1000;

function after(heard: Int16Array) {
  const concealer = createConcealer();
  for (let at = 0; at < heard.length; at += 47) concealer.heard(heard.slice(at, at + 47));
  return concealer;
}

test('a voice continues at its pitch over 10 ms, as if nothing were lost', t => {
  const made = after(voice.subarray(0, ms(500))).conceal(ms(10));
  const lost = voice.subarray(ms(500), ms(510));
  t.true(rms(made.map((sample, i) => sample - (lost[i] ?? 0))) < 0.02 * rms(lost));
});

test('concealed sound fades to silence in 60 ms, over several losses in a row', t => {
  for (const sound of [voice, atPeak(-12, whiteNoise(1))]) {
    const concealer = after(sound);
    const levels = Array.from({ length: 8 }, () => rms(concealer.conceal(ms(10))));
    for (const [i, level] of levels.slice(1, 6).entries()) t.true(level < (levels[i] ?? 0));
    t.deepEqual(levels.slice(6), [0, 0]);
  }
});

test('sound after a loss is blended in over 2 ms, and unchanged from there on', t => {
  const concealer = after(voice.subarray(0, ms(500)));
  concealer.conceal(ms(20));
  const next = voice.slice(ms(523), ms(533)); // out of phase with the concealed sound
  const heard = next.slice();
  concealer.heard(heard);
  t.notDeepEqual(heard.subarray(0, ms(2)), next.subarray(0, ms(2)));
  t.deepEqual(heard.subarray(ms(2)), next.subarray(ms(2)));
  const later = next.slice();
  concealer.heard(later);
  t.deepEqual(later, next);
});

test('at the start, and after a reset, concealment is silence', t => {
  t.deepEqual(createConcealer().conceal(100), new Int16Array(100));
  const concealer = after(voice);
  concealer.reset();
  t.deepEqual(concealer.conceal(100), new Int16Array(100));
});
