import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import type { Clock } from '../../core/contract/model.ts';
import { writeVoiceModel } from '../plugins/speakers/voice-model.ts';
import { temporaryDirectory } from './domain.ts';
import { join as joined, silence } from './sound.ts';

/** A clock that waits for a speaker model as long as a busy machine needs, where core waits 400 ms. */
export const patient: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => sleep(ms === 400 ? 600_000 : ms, undefined, signal ? { signal } : {}),
};

export const VOICES = ['slt-1', 'slt-2', 'rms-1', 'rms-2', 'awb-1', 'awb-2', 'annie-1'] as const;
export type VoiceName = (typeof VOICES)[number];

/**
 * A sentence spoken by a synthetic voice: flite's slt, rms and awb, espeak-ng's female ("annie"); none was used to
 * train the model.
 */
export function sentence(name: VoiceName): Int16Array<ArrayBuffer> {
  const wav = readFileSync(new URL(`../fixtures/voices/${name}.wav`, import.meta.url));
  return new Int16Array(Uint8Array.from(wav.subarray(44)).buffer);
}

/**
 * Thresholds for the tests' model on these voices, whose likeness is at least 0.83 for one voice and at most 0.54 for
 * two.
 */
const LIKENESSES = { sameVoice: 0.68, namedVoice: 0.75 };

/** Options of `sherpa-speakers` for the tests' model, which the real extractor loads. */
export async function voiceModelOptions(t: Pick<ExecutionContext, 'teardown'>) {
  const file = join(await temporaryDirectory(t), 'voices.onnx');
  const { sha256 } = await writeVoiceModel(file);
  return { file, sha256, ...LIKENESSES };
}

/** Twelve seconds of one voice, as recorded for a speech profile. */
export function profileRecording(voice: 'slt' | 'rms'): Int16Array<ArrayBuffer> {
  const pause = silence(0.6);
  const parts = [sentence(`${voice}-1`), pause, sentence(`${voice}-2`), pause];
  return joined(pause, ...parts, ...parts);
}
