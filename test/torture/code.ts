/**
 * Encodes numbers as sound: a device's number is ten tones of 80 ms, which hold the speaker, the number, and a
 * checksum. Even and odd positions use different tones, so that neighbouring tones always differ.
 */
import { crc32 } from 'node:zlib';
import { SAMPLE_RATE } from '../../core/audio/pcm.ts';
import type { Sound } from '../helpers/sound.ts';

export interface Said {
  device: number;
  number: number;
}

/** A detected tone and its length in frames. */
export interface Run {
  tone: number;
  frames: number;
}

/** Window of analysis: it holds whole periods of each tone, so that no other tone is detected. */
export const FRAME_MS = 10;
export const CODE_MS = 800;
const FRAME = (SAMPLE_RATE * FRAME_MS) / 1000;
const TONES = 32;
/** In place of a tone: a short silence between two. */
export const PAUSE = TONES;
const PLACES = 10;
const PLACE_FRAMES = CODE_MS / FRAME_MS / PLACES;
const AMPLITUDE = 10_000;
/** Lowest loudness of a frame that consists mostly of a tone. */
const LEAST_RMS = 1500;

const radians = (tone: number) => (2 * Math.PI * (500 + 100 * tone)) / SAMPLE_RATE;
const wave = (tone: number, f: (x: number) => number) =>
  Float64Array.from({ length: FRAME }, (_, at) => f(radians(tone) * at));
const WAVES = Array.from(
  { length: TONES },
  (_, tone) => [wave(tone, Math.sin), wave(tone, Math.cos)] as const,
);

export function soundOf(said: Said): Sound {
  const tones = tonesOf(said);
  const length = PLACE_FRAMES * FRAME;
  return Int16Array.from({ length: PLACES * length }, (_, at) =>
    Math.round(AMPLITUDE * (WAVES[tones[Math.floor(at / length)] ?? 0]?.[0][at % FRAME] ?? 0)),
  );
}

function tonesOf({ device, number }: Said): number[] {
  const hex = device.toString(16) + number.toString(16).padStart(5, '0');
  return [...(hex + checksum(hex))].map((digit, place) => Number.parseInt(digit, 16) + 16 * (place % 2));
}

function checksum(hex: string): string {
  return (crc32(hex) & 0xffff).toString(16).padStart(4, '0');
}

/** Decodes the number in these tones; null if they are incomplete. */
export function numberIn(runs: readonly Run[]): Said | null {
  const tones = placesIn(runs).map(({ tone }) => tone);
  if (tones.length !== PLACES || tones.some((tone, place) => tone >> 4 !== place % 2)) return null;
  const hex = tones.map(tone => (tone % 16).toString(16)).join('');
  if (hex.slice(6) !== checksum(hex.slice(0, 6))) return null;
  return { device: Number.parseInt(hex.slice(0, 1), 16), number: Number.parseInt(hex.slice(1, 6), 16) };
}

/** Drops frames between two tones, which match neither, and joins runs that they divided. */
function placesIn(runs: readonly Run[]): Run[] {
  const places: Run[] = [];
  for (const { tone, frames } of runs.filter(run => run.frames > 1)) {
    const last = places.at(-1);
    if (last?.tone === tone) last.frames += frames;
    else places.push({ tone, frames });
  }
  return places.filter(({ frames }) => frames > PLACE_FRAMES / 4);
}

/** Formats runs as tone and frames: `4x8 1bx8`. */
export function textOf(runs: readonly Run[]): string {
  return runs.map(({ tone, frames }) => `${tone.toString(32)}x${frames}`).join(' ');
}

export function runsIn(text: string): Run[] {
  return text.split(' ').map(word => {
    const [tone = '', frames = ''] = word.split('x');
    return { tone: Number.parseInt(tone, 32), frames: Number(frames) };
  });
}

/** Returns the tone of one frame; null for silence. */
function toneOf(frame: Int16Array): number | null {
  let energy = 0;
  for (const sample of frame) energy += sample * sample;
  if (energy < LEAST_RMS ** 2 * FRAME) return null;
  const loudness = WAVES.map(([sine, cosine]) => product(frame, sine) ** 2 + product(frame, cosine) ** 2);
  return loudness.indexOf(Math.max(...loudness));
}

function product(frame: Int16Array, tone: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < FRAME; at++) sum += (frame[at] ?? 0) * (tone[at] ?? 0);
  return sum;
}

/** Tones between two silences; positions in samples from the first one pushed. */
export interface Heard {
  runs: Run[];
  startSample: number;
  endSample: number;
}

/** Frames of silence that separate two numbers. */
const PARTING_FRAMES = 20;

/** Detects tones while samples arrive. */
export function createReader() {
  let rest = new Int16Array(0);
  let position = 0;
  let silent = 0;
  let heard: Heard | null = null;

  function look(frame: Int16Array): Heard | null {
    const tone = toneOf(frame);
    const start = position;
    position += FRAME;
    silent = tone === null ? silent + 1 : 0;
    if (tone === null) return silent >= PARTING_FRAMES ? take() : null;
    heard ??= { runs: [], startSample: start, endSample: start };
    const blank = (start - heard.endSample) / FRAME;
    if (blank > 0) heard.runs.push({ tone: PAUSE, frames: blank });
    heard.endSample = position;
    const last = heard.runs.at(-1);
    if (last?.tone === tone) last.frames += 1;
    else heard.runs.push({ tone, frames: 1 });
    return null;
  }

  function take(): Heard | null {
    const whole = heard;
    heard = null;
    return whole;
  }

  return {
    /** Returns the tones that ended with these samples. */
    push(samples: Int16Array): Heard[] {
      const all = new Int16Array(rest.length + samples.length);
      all.set(rest);
      all.set(samples, rest.length);
      const whole = all.length - (all.length % FRAME);
      rest = all.slice(whole);
      const over: Heard[] = [];
      for (let at = 0; at < whole; at += FRAME) {
        const one = look(all.subarray(at, at + FRAME));
        if (one) over.push(one);
      }
      return over;
    },
    /** Returns the tone that was still running. */
    end: take,
  };
}
