/**
 * Sounds for tests, 16 kHz mono, always the same for a seed. Levels are peaks in dB of full scale unless stated
 * otherwise.
 */
import { readFileSync } from 'node:fs';
import { parseWav, SAMPLE_RATE } from '../../core/audio/pcm.ts';

export type Sound = Int16Array<ArrayBuffer>;
/** A sound of arbitrary amplitude; `atPeak` and `atRms` set its level. */
type Shape = Float64Array<ArrayBuffer>;

/** Creates a random number generator from -1 to 1 (mulberry32). */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 31 - 1;
  };
}

export function silence(seconds: number): Sound {
  return new Int16Array(Math.round(seconds * SAMPLE_RATE));
}

function shape(seconds: number, next: (index: number) => number): Shape {
  return Float64Array.from({ length: Math.round(seconds * SAMPLE_RATE) }, (_, index) => next(index));
}

export function whiteNoise(seconds: number, seed = 1): Shape {
  const uniform = random(seed);
  return shape(seconds, () => uniform() + uniform() + uniform());
}

/** Energy falls by 3 dB an octave: the sum of white noises held for 1, 2, 4 … samples (Voss). */
export function pinkNoise(seconds: number, seed = 1): Shape {
  const uniform = random(seed);
  const rows = Array.from({ length: 14 }, uniform);
  return shape(seconds, index => {
    for (let row = 0; row < rows.length; row++) if (index % 2 ** row === 0) rows[row] = uniform();
    return rows.reduce((sum, row) => sum + row, 0);
  });
}

/** Energy falls by 6 dB an octave: a random walk that leaks back to zero. */
export function brownNoise(seconds: number, seed = 1): Shape {
  const uniform = random(seed);
  let walk = 0;
  return shape(seconds, () => {
    walk = walk * 0.998 + uniform();
    return walk;
  });
}

/** Mains hum with its harmonics. */
export function hum(seconds: number, hz: number): Shape {
  const tone = (index: number, harmonic: number) =>
    Math.sin((2 * Math.PI * hz * harmonic * index) / SAMPLE_RATE);
  return shape(seconds, index => tone(index, 1) + 0.5 * tone(index, 2) + 0.3 * tone(index, 3));
}

/** A string plucked every `everySeconds` (Karplus-Strong). */
export function pluckedString(seconds: number, hz: number, everySeconds = 1, seed = 1): Shape {
  const uniform = random(seed);
  const period = Math.round(SAMPLE_RATE / hz);
  const string = new Float64Array(period);
  const between = Math.round(everySeconds * SAMPLE_RATE);
  return shape(seconds, index => {
    if (index % between === 0) for (let i = 0; i < period; i++) string[i] = uniform();
    const at = index % period;
    const value = string[at] ?? 0;
    string[at] = 0.498 * (value + (string[(at + 1) % period] ?? 0));
    return value;
  });
}

/** Scales the sound so that its loudest sample is `db` (negative) relative to full scale. */
export function atPeak(db: number, sound: ArrayLike<number>): Sound {
  return scale(sound, (32767 * 10 ** (db / 20)) / peak(sound));
}

/** Scales the sound so that its mean loudness is `db` (negative) relative to full scale, and clips it. */
export function atRms(db: number, sound: ArrayLike<number>): Sound {
  return scale(sound, (32767 * 10 ** (db / 20)) / rms(sound));
}

export function peak(sound: ArrayLike<number>): number {
  let loudest = 0;
  for (let i = 0; i < sound.length; i++) loudest = Math.max(loudest, Math.abs(sound[i] ?? 0));
  return loudest;
}

export function rms(sound: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < sound.length; i++) sum += (sound[i] ?? 0) ** 2;
  return Math.sqrt(sum / sound.length);
}

function scale(sound: ArrayLike<number>, factor: number): Sound {
  return Int16Array.from(sound, value => Math.max(-32768, Math.min(32767, Math.round(value * factor))));
}

/** Adds two sounds; the second one is repeated or cut to the length of the first. */
export function mix(first: Sound, second: Sound): Sound {
  return Int16Array.from(first, (sample, index) =>
    Math.max(-32768, Math.min(32767, sample + (second[index % second.length] ?? 0))),
  );
}

export function join(...parts: Sound[]): Sound {
  const whole = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Reads the recording `test/fixtures/<name>.wav`. */
export function speech(name: string): Sound {
  return parseWav(readFileSync(new URL(`../fixtures/${name}.wav`, import.meta.url))).samples;
}
