/**
 * Whether a transcript says anything at all. Careful: one word that may mean something is enough, in any language; what
 * is discarded is the sound of somebody who is about to speak, or only shows that he listens.
 */
import type { Segment } from '../model.ts';

/** Sounds, and the words that only say "I hear you". */
const FILLERS = new Set(
  `a ah ahh aha ahem äh ähm eh ehm em er erm euh ha haha heh hey heu hm hmm hmmm hm-hm huh hä m mh mhm mm mmm mm-hmm
   mhm-mhm oh ohh ok okay öh ooh oops ow phew psst shh tsk uh uhh uh-huh uh-uh uhm um umm uhu ugh wow ya yeah yep yup`
    .split(/\s+/)
    .filter(word => word !== ''),
);
/** What recognisers write where they hear no words: "[Music]", "(laughs)", "*coughs*", "♪". */
const NO_SPEECH = /\[[^\]]*\]|\([^)]*\)|\*[^*]*\*|<[^>]*>/gu;
/** In a text that was written, an emoji is one. */
const WORD = /[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*|\p{Extended_Pictographic}/gu;

export function saysNothing(segments: readonly Pick<Segment, 'text'>[]): boolean {
  return segments.every(({ text }) => {
    const words = text.replace(NO_SPEECH, ' ').toLowerCase().match(WORD) ?? [];
    return words.every(word => FILLERS.has(word));
  });
}
