import type { SpokenSegment } from '../../../core/contract/plugin.ts';

/**
 * Maximum characters of a conversation that are read, which are some 20 hours of speech. Imported conversations may have
 * eight times as many, and all that is read is kept in memory meanwhile.
 */
const MAX_READ_CHARS = 1_000_000;

/** Returns the segments that begin within the part that is read. */
export function beginningOf(transcript: readonly SpokenSegment[]): readonly SpokenSegment[] {
  let chars = 0;
  const end = transcript.findIndex(({ text }) => {
    const isPast = chars >= MAX_READ_CHARS;
    chars += text.length;
    return isPast;
  });
  return end < 0 ? transcript : transcript.slice(0, end);
}

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
