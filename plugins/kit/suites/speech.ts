import { readFile } from 'node:fs/promises';
import { parseWav } from '../../../core/audio/pcm.ts';
import { readRecording, toSpeech } from '../../../core/audio/recording-file.ts';

/** A recording and the words spoken in it. */
export interface Speech {
  samples: Int16Array;
  text: string;
}

const BUNDLED = new URL('../../../bridge/simulator/recording.wav', import.meta.url);
/** The recording's two sentences, the shorter one first: position in samples, and words. */
const SENTENCES = [
  { from: 75_200, to: 118_640, text: 'we also need to buy some bread and milk' },
  { from: 0, to: 64_000, text: 'good morning please remember to call the doctor tomorrow at nine' },
];

/** Returns the included English recording, one sentence at a time. */
export async function bundledSpeech(): Promise<Speech[]> {
  const { samples } = parseWav(await readFile(BUNDLED));
  return SENTENCES.map(({ from, to, text }) => ({ samples: samples.subarray(from, to), text }));
}

/** @throws {AppError} that names the file and what is wrong with it */
export async function readSpeech({ file, text }: { file: string; text: string }): Promise<Speech> {
  return { samples: toSpeech(await readRecording(file)), text };
}
