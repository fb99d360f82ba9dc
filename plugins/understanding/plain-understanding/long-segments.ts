import type { SpokenSegment } from '../../../core/contract/plugin.ts';

/** More than anybody says in a minute, the longest segment of live speech. Imported ones may have 20,000. */
const MAX_CHARS = 1500;
/** As much text as possible, up to `MAX_CHARS`, that ends with a sentence, else with a word, else anywhere. */
const PIECE = /.{1,1500}(?:(?<=[.!?…。！？]["'”’)]?)(?=\s)|$)|.{1,1500}(?=\s)|.{1500}/gsu;

/** Divides long segments, because reading one takes a time that grows with its length, without a pause. */
export function divided(transcript: readonly SpokenSegment[]): SpokenSegment[] {
  return transcript.flatMap(segment =>
    segment.text.length <= MAX_CHARS
      ? [segment]
      : (segment.text.match(PIECE) ?? []).map(text => ({ ...segment, text })),
  );
}
