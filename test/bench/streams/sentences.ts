/** Determines which sentences of a loop became text. */
import { SAMPLE_RATE } from '../../../core/audio/pcm.ts';
import type { WireSegment } from '../../../core/listen/protocol.ts';
import { FRAME_SAMPLES, type Loop } from './speech.ts';

/** The last utterance of a segment: others may have joined it before. */
export function newestOf({ text }: WireSegment): { startSample: number; endSample: number } {
  const [startSample = 0, endSample = 0] = (text.split(' ').at(-1) ?? '').split(':').map(Number);
  return { startSample, endSample };
}

interface Sent {
  /** Packet of the loop with which the stream starts. */
  offset: number;
  packets: number;
}

/** In samples of the stream, for sentences that were sent from their start. */
export function sentenceEnds({ packets, ends }: Loop, { offset, packets: count }: Sent): number[] {
  const loopSamples = packets.length * FRAME_SAMPLES;
  const sent = count * FRAME_SAMPLES;
  const first = ends.map(end => (end - offset * FRAME_SAMPLES + loopSamples) % loopSamples);
  const rounds = Array.from({ length: Math.ceil(sent / loopSamples) }, (_, round) => round * loopSamples);
  return rounds.flatMap(round => first.map(end => round + end)).filter(end => end < sent);
}

/** An utterance ends with the hangover after its last sound, which may be some time before the file's end. */
export function withoutText(ends: readonly number[], heardEnds: readonly number[]): number[] {
  const fits = (end: number) => (heard: number) =>
    heard > end - SAMPLE_RATE && heard < end + 1.5 * SAMPLE_RATE;
  return ends.filter(end => !heardEnds.some(fits(end)));
}
