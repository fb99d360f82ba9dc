/**
 * Splits speech into clauses that make one statement each. Without punctuation, the start of another clause
 * ends one.
 */
import type { Language } from './languages/language.ts';
import { endsSentence, type Token } from './tokens.ts';

/** Token range; `to` is exclusive. */
export interface Clause {
  from: number;
  to: number;
}

/** Minimum words of a clause. */
const MIN_WORDS = 4;

/** @param spans phrases that are never split, such as "lo tengo que mandar" */
export function clausesOf(
  tokens: readonly Token[],
  { acts, dates }: Language,
  spans: readonly { index: number; from: number }[] = [],
): Clause[] {
  const clauses: Clause[] = [];
  let from = 0;
  for (let at = 1; at <= tokens.length; at++) {
    const isEnd = at === tokens.length || endsSentence(tokens[at - 1]);
    const isCorrected = [at - 1, at].some(place => dates.corrections.at(tokens, place));
    const isInside = spans.some(span => span.index < at && at < span.from);
    const isOther =
      at - from >= MIN_WORDS && !isCorrected && !isInside && acts.clauseStarts.at(tokens, at) !== null;
    if (!isEnd && !isOther) continue;
    clauses.push({ from, to: at });
    from = at;
  }
  return clauses;
}
