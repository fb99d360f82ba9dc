import { Encoder } from '@evan/opus/wasm/index.mjs';
import { SAMPLE_RATE, samplesToBytes } from '../../core/audio/pcm.ts';
import type { Sound } from '../helpers/sound.ts';
import { type Said, soundOf } from './code.ts';

/** A binary message, and what precedes it. */
export interface Message {
  bytes: Uint8Array;
  /** Duration of a gap, announced to the server instead of its sound. */
  gapMs: number;
  /** True: the client then requests the end of the conversation. */
  finish: boolean;
}

/** A device's script: the numbers from 0 on, with pauses between them. */
export interface Script {
  /** Start of each number, in ms of the device's own clock. */
  readonly places: readonly number[];
  /** Null: the script is over. */
  next(): Message | null;
  /** Ends the script after the current number. */
  end(): void;
}

export interface ScriptOptions {
  device: number;
  codec: 'pcm16' | 'opus_fs320';
  /** Pauses after the numbers, in turn; multiples of 40. */
  pausesMs: readonly number[];
  /** Shortest pause that is announced as a gap. */
  gapsFromMs?: number;
  /** Numbers between two requests to end the conversation. */
  finishEvery?: number;
  /** Replaces the sound of a number; absent: its tones. */
  soundOf?: (said: Said) => Sound;
}

export const MESSAGE_MS = 20;
const MESSAGE = (SAMPLE_RATE * MESSAGE_MS) / 1000;
/** Silence before the first number, after the last, and around a gap. */
const LEAD_MS = 600;

export function createScript(options: ScriptOptions): Script {
  const { device, pausesMs, gapsFromMs = Number.POSITIVE_INFINITY, finishEvery } = options;
  const encode = encoderOf(options.codec);
  const places: number[] = [];
  let atMs = 0;
  let ending = false;
  let over = false;
  let waiting = soundMessages(new Int16Array(samplesIn(LEAD_MS)));

  function* soundMessages(sound: Int16Array, first: Partial<Message> = {}): Generator<Message> {
    for (let at = 0; at < sound.length; at += MESSAGE) {
      const before = at === 0 ? first : {};
      atMs += MESSAGE_MS + (before.gapMs ?? 0);
      const message = new Int16Array(MESSAGE);
      message.set(sound.subarray(at, at + MESSAGE));
      yield { gapMs: 0, finish: false, ...before, bytes: encode(message) };
    }
  }

  function* numberMessages(): Generator<Message> {
    const number = places.length;
    const pauseMs = pausesMs[number % pausesMs.length] ?? LEAD_MS;
    const gapMs = pauseMs >= gapsFromMs ? pauseMs - LEAD_MS : 0;
    const finish = finishEvery !== undefined && (number + 1) % finishEvery === 0;
    const half = new Int16Array(samplesIn(pauseMs - gapMs) / 2);
    places.push(atMs);
    yield* soundMessages((options.soundOf ?? soundOf)({ device, number }));
    yield* soundMessages(half);
    yield* soundMessages(half, { finish, gapMs });
  }

  return {
    places,
    next() {
      for (;;) {
        const { value, done } = waiting.next();
        if (!done) return value;
        if (over) return null;
        over = ending;
        waiting = ending ? soundMessages(new Int16Array(samplesIn(LEAD_MS))) : numberMessages();
      }
    },
    end() {
      ending = true;
    },
  };
}

function encoderOf(codec: ScriptOptions['codec']): (samples: Int16Array) => Uint8Array {
  if (codec === 'pcm16') return samplesToBytes;
  const encoder = new Encoder({ channels: 1, sample_rate: SAMPLE_RATE, application: 'audio' });
  return samples => encoder.encode(samples);
}

function samplesIn(ms: number): number {
  return (ms * SAMPLE_RATE) / 1000;
}
