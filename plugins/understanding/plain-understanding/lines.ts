/** A transcript with its words, languages, dates and acts: what tasks and events are read from. */
import type { SpokenSegment, UnderstandingContext } from '../../../core/contract/plugin.ts';
import type { Pace } from '../../kit/kit.ts';
import { type Act, actsIn } from './acts.ts';
import { presentersIn } from './broadcast.ts';
import { type When, whenOf } from './dates.ts';
import { languageOf } from './language.ts';
import type { Language } from './languages/language.ts';
import { contentOf, stemOf } from './task-text.ts';
import { type Token, tokensOf } from './tokens.ts';

export interface Line {
  segment: SpokenSegment;
  /** Whether the owner said it. */
  isOwn: boolean;
  tokens: readonly Token[];
  language: Language;
  acts: readonly Act[];
  /** Stems of the significant words, without expressions of time. */
  stems: ReadonlySet<string>;
  /** The time that the line as a whole mentions. */
  when: When | null;
  /** Days mentioned before it, oldest first. */
  mentioned: readonly string[];
}

export type LineContext = Pick<
  UnderstandingContext,
  'owner' | 'people' | 'languages' | 'wallTime' | 'instantOf'
>;

/**
 * Maximum characters of a segment that are read; a segment is an utterance, and seldom has a hundredth of
 * this.
 */
const MAX_SEGMENT_CHARS = 100_000;
const MAX_MENTIONED = 8;
export async function readLines(
  transcript: readonly SpokenSegment[],
  context: LineContext,
  pace: Pace,
): Promise<Line[]> {
  const starters = new Set(
    [context.owner, ...context.people].flatMap(name => tokensOf(name).map(({ word }) => word)),
  );
  const isOwnOf = ownerIn(transcript);
  const presenters = presentersIn(transcript);
  const lines: Line[] = [];
  let mentioned: readonly string[] = [];
  for (const segment of transcript) {
    await pace();
    const heard = presenters.has(segment.speaker) ? '' : segment.text.slice(0, MAX_SEGMENT_CHARS);
    const read = tokensOf(withoutQuotes(heard));
    const language = languageOf(read, context.languages);
    const tokens = language.contractions ? withApostrophes(read, language.contractions, language) : read;
    const said = { at: segment.startAt, zone: context, mentioned };
    const when = whenOf(tokens, 0, tokens.length, language, said);
    const acts = actsIn(tokens, language, starters);
    const undated = tokens.filter((_, at) => !when?.tokens.has(at));
    const stems = new Set(contentOf(undated, language).map(stemOf));
    lines.push({ segment, isOwn: isOwnOf(segment), tokens, language, acts, stems, when, mentioned });
    if (when) mentioned = [...mentioned, ...when.days].slice(-MAX_MENTIONED);
  }
  return lines;
}

/** Days mentioned before a word of the line. */
export function mentionedBefore(
  { tokens, language, segment, when, mentioned }: Line,
  to: number,
  zone: LineContext,
): readonly string[] {
  if (when === null || to === 0) return mentioned;
  const from = Math.max(0, to - MAX_TOKENS_BEFORE);
  const own = whenOf(tokens, from, to, language, { at: segment.startAt, zone, mentioned });
  return own ? [...mentioned, ...own.days] : mentioned;
}
const MAX_TOKENS_BEFORE = 80;

/** If nobody is known to be the owner and only one person speaks, that person counts as the owner. */
function ownerIn(transcript: readonly SpokenSegment[]): (segment: SpokenSegment) => boolean {
  const isKnown = transcript.some(({ isUser }) => isUser);
  const speakers = new Set(transcript.map(({ speaker }) => speaker));
  return ({ isUser }) => isUser || (!isKnown && speakers.size === 1);
}

/** Some recognisers write "ill call" for "I'll call". */
function withApostrophes(
  tokens: readonly Token[],
  contractions: ReadonlyMap<string, string>,
  { acts }: Language,
): Token[] {
  return tokens.map((token, at) => {
    const word = contractions.get(token.word);
    const next = tokens[at + 1];
    const isOther =
      AMBIGUOUS.has(token.word) && !(next && (acts.infinitives.has(next.bare) || AUXILIARIES.has(next.word)));
    return word === undefined || isOther ? token : { ...token, word, bare: word };
  });
}
/** Separate words with a meaning of their own. */
const AMBIGUOUS = new Set(['ill', 'id', 'wont']);
const AUXILIARIES = new Set('be have also just need get go make do try'.split(' '));

/** Words of other speakers are blanked out, so that positions in the text stay valid. */
function withoutQuotes(text: string): string {
  return text.replace(/"[^"]*"|“[^”“]*”|„[^“”„]*[“”]|«[^«»]*»/g, quote => ' '.repeat(quote.length));
}
