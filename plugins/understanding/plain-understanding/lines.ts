/** A transcript with its words, languages, dates and acts: what tasks and events are read from. */
import { setImmediate } from 'node:timers/promises';
import type { SpokenSegment, UnderstandingContext } from '../../../core/contract/plugin.ts';
import { type Act, actsIn } from './acts.ts';
import { type When, whenOf } from './dates.ts';
import { languageOf } from './language.ts';
import type { Language } from './languages/language.ts';
import { contentOf, stemOf } from './task-text.ts';
import { type Token, tokensOf } from './tokens.ts';

export interface Line {
  segment: SpokenSegment;
  /** The owner said it. */
  isOwn: boolean;
  tokens: readonly Token[];
  language: Language;
  acts: readonly Act[];
  /** Stems of the words that tell the subject, without those that tell the time. */
  stems: ReadonlySet<string>;
  /** When the line as a whole says that something is. */
  when: When | null;
  /** Days that were mentioned up to its end, oldest first. */
  mentioned: readonly string[];
}

export type LineContext = Pick<
  UnderstandingContext,
  'owner' | 'people' | 'languages' | 'wallTime' | 'instantOf'
>;

/** Read of one segment; a segment is an utterance, and seldom has a hundredth of this. */
const MAX_SEGMENT_CHARS = 100_000;
const MAX_MENTIONED = 8;
/** The event loop is given back after so long. */
const SLICE_MS = 10;

/** Gives the event loop back now and then: a day of speech takes seconds. */
export class Pacer {
  private readonly signal: AbortSignal;
  private since = performance.now();

  constructor(signal: AbortSignal) {
    this.signal = signal;
  }

  async pause(): Promise<void> {
    if (performance.now() - this.since < SLICE_MS) return;
    await setImmediate();
    this.signal.throwIfAborted();
    this.since = performance.now();
  }
}

export async function readLines(
  transcript: readonly SpokenSegment[],
  context: LineContext,
  pacer: Pacer,
): Promise<Line[]> {
  const starters = new Set(
    [context.owner, ...context.people].flatMap(name => tokensOf(name).map(({ word }) => word)),
  );
  const isOwnOf = ownerIn(transcript);
  const lines: Line[] = [];
  let mentioned: readonly string[] = [];
  for (const segment of transcript) {
    await pacer.pause();
    const tokens = tokensOf(withoutQuotes(segment.text.slice(0, MAX_SEGMENT_CHARS)));
    const language = languageOf(tokens, context.languages);
    const said = { at: segment.startAt, zone: context, mentioned };
    const when = whenOf(tokens, 0, tokens.length, language, said);
    if (when) mentioned = [...mentioned, ...when.days].slice(-MAX_MENTIONED);
    const acts = actsIn(tokens, language, starters);
    const undated = tokens.filter((_, at) => !when?.tokens.has(at));
    const stems = new Set(contentOf(undated, language).map(stemOf));
    lines.push({ segment, isOwn: isOwnOf(segment), tokens, language, acts, stems, when, mentioned });
  }
  return lines;
}

/** Where nobody is known to be the owner and only one person speaks, it is the owner. */
function ownerIn(transcript: readonly SpokenSegment[]): (segment: SpokenSegment) => boolean {
  const isKnown = transcript.some(({ isUser }) => isUser);
  const speakers = new Set(transcript.map(({ speaker }) => speaker));
  return ({ isUser }) => isUser || (!isKnown && speakers.size === 1);
}

/** Words of others are blanked out, so that places in the text stay. */
function withoutQuotes(text: string): string {
  return text.replace(/"[^"]*"|“[^”“]*”|„[^“”„]*[“”]|«[^«»]*»/g, quote => ' '.repeat(quote.length));
}
