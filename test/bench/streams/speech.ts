import { readFileSync } from 'node:fs';
import { createFrames } from '../../../bridge/simulator/frames.ts';
import { parseWav, SAMPLE_RATE } from '../../../core/audio/pcm.ts';
import { atRms, join, mix, pinkNoise, type Sound, silence, speech } from '../../helpers/sound.ts';

/** A repeating recording, as opus_fs320 packets. */
export interface Loop {
  packets: Uint8Array[];
  /** The samples at which its sentences end. */
  ends: number[];
}

export const FRAME_SAMPLES = 320;
export const FRAME_MS = 20;
const OPUS_FS320 = 21;
/** As between two sentences of one speaker: just enough to separate utterances. */
const LEAST_PAUSE_S = 0.7;
/** A quiet room: digital silence would be cheaper than a real microphone's signal. */
const ROOM_DB = -65;

/** @param share of the time with speech, 0 to 1 */
export function makeLoop(share: number): Loop {
  const parts: Sound[] = share === 0 ? [silence(20)] : [];
  const ends: number[] = [];
  let at = 0;
  for (const sentence of share === 0 ? [] : sentences()) {
    const seconds = sentence.length / SAMPLE_RATE;
    const pause = silence(Math.max(LEAST_PAUSE_S, seconds / share - seconds));
    parts.push(sentence, pause);
    ends.push(at + sentence.length);
    at += sentence.length + pause.length;
  }
  const sound = mix(join(...parts), atRms(ROOM_DB, pinkNoise(7)));
  const frames = createFrames(sound, OPUS_FS320);
  const count = Math.floor(sound.length / FRAME_SAMPLES);
  return { packets: Array.from({ length: count }, (_, index) => frames.at(index)), ends };
}

function sentences(): Sound[] {
  const recording = new URL('../../../bridge/simulator/recording.wav', import.meta.url);
  const names = ['budget', 'garden', 'health', 'journey', 'tomorrow'];
  return [...names.map(speech), parseWav(readFileSync(recording)).samples];
}
