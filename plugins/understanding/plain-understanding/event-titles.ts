/** Builds titles of appointments: the noun of the event with its modifiers, in the speaker's words. */
import type { Clause } from './clauses.ts';
import type { When } from './dates.ts';
import type { Language } from './languages/language.ts';
import type { Line } from './lines.ts';
import { contentOf } from './task-text.ts';
import type { Token } from './tokens.ts';

/** Recognisers without punctuation write everything in lower case. */
const CASED = /\p{Lu}/u;
const MAX_TITLE_WORDS = 8;
const MAX_TITLE_CHARS = 80;
/** Maximum words before and after the noun of an event. */
const MAX_BEFORE = 3;
const MAX_AFTER = 5;
/** In German compounds the last noun counts; shorter nouns are also endings of unrelated words. */
const MIN_LAST_CHARS = 4;

/** "Meeting", "Adventskonzert". */
function isEventNoun({ word, text }: Token, { acts }: Language, isCased: boolean): boolean {
  const plain = word.replace(/'s$/, '');
  if (acts.isVerbLast && isCased && text === word) return false;
  if (acts.appointments.has(plain)) return true;
  if (!acts.isVerbLast) return plain.endsWith('s') && acts.appointments.has(plain.slice(0, -1));
  if (text === word && plain.length < 2 * MIN_LAST_CHARS) return false;
  for (let at = 2; at <= plain.length - MIN_LAST_CHARS; at++)
    if (acts.appointments.has(plain.slice(at))) return true;
  return false;
}

/** Index of the noun that names the event of a clause. */
export function nounAt({ tokens, language, when, segment }: Line, { from, to }: Clause): number | null {
  const isCased = CASED.test(segment.text);
  for (let at = from; at < to; at++) {
    const token = tokens[at];
    const isAgreement =
      token?.word === 'course' && !language.acts.determiners.has(tokens[at - 1]?.word ?? '');
    if (token && !isAgreement && !when?.tokens.has(at) && isEventNoun(token, language, isCased)) return at;
  }
  return null;
}

/** "She arrives", "see you", "nos vemos", "the officer's inspecting the hall", with a date next to it. */
export function isHappening({ tokens, language }: Line, { from, to }: Clause): boolean {
  for (let at = from; at < to; at++) {
    const isLeave = tokens[at]?.word === 'leave' && LEAVES.has(tokens[at - 1]?.word ?? '');
    if (language.acts.happenings.at(tokens, at, to) && !isLeave) return true;
    const isGoingOn = language.code === 'en' && /.{3}ing$/.test(tokens[at]?.word ?? '');
    if (isGoingOn && at > from && PROGRESSIVE.test(tokens[at - 1]?.word ?? '')) return true;
  }
  return false;
}
/** "Paternity leave" is no departure. */
const LEAVES = new Set('on annual sick parental paternity maternity unpaid compassionate'.split(' '));
const PROGRESSIVE = /^(?:is|are|.+'s|we're|they're)$/;

/** The noun with the words around it that belong to it: "Ben's birthday", "visita con el médico". */
export function titleAround(
  { tokens, language, segment }: Line,
  { from, to }: Clause,
  noun: number,
  when: When | null,
): string {
  const { acts } = language;
  const isTime = (at: number) => when?.tokens.has(at) ?? false;
  const isContent = (at: number) => isTelling(tokens[at], language) && !isTime(at);
  let first = noun;
  for (let at = noun - 1; at >= from && noun - at <= MAX_BEFORE && tokens[at]?.stop === ''; at--) {
    if (isContent(at)) first = at;
    else if (!LINKS.has(tokens[at]?.word ?? '')) break;
  }
  let end = noun + 1;
  for (let at = noun + 1; at < to && at - noun <= MAX_AFTER; at++) {
    if (tokens[at - 1]?.stop !== '' || isTime(at)) break;
    const word = tokens[at]?.word ?? '';
    const isLink = acts.prepositions.has(word) || acts.determiners.has(word) || LINKS.has(word);
    if (!isLink && !isContent(at)) break;
    if (!isLink) end = at + 1;
  }
  const title = segment.text.slice(tokens[first]?.start, tokens[end - 1]?.end).slice(0, MAX_TITLE_CHARS);
  return title.replace(/['’]s$/, ''); // "dinner's at four"
}
const LINKS = new Set("of de del d' du des with mit avec con von at bei chez en à".split(' '));

/** The clause without expressions of time, from its first significant word. */
export function titleOf(
  { tokens, language, segment }: Line,
  { from, to }: Clause,
  when: When,
  maxWords = MAX_TITLE_WORDS,
): string | null {
  const { acts: words } = language;
  const isLoose = (token: Token | undefined) =>
    token === undefined ||
    words.fillers.has(token.word) ||
    words.yes.at([token], 0) !== null ||
    words.clauseStarts.at([token], 0) !== null;
  const kept: number[] = [];
  for (let at = from; at < to; at++) if (!when.tokens.has(at) && !isLoose(tokens[at])) kept.push(at);
  const isContent = (at: number) => contentOf(tokens.slice(at, at + 1), language).length > 0;
  const first = kept.findIndex(isContent);
  const chosen = first < 0 ? [] : kept.slice(first, first + maxWords);
  while (chosen.length > 0 && !isContent(chosen.at(-1) ?? 0)) chosen.pop();
  if (chosen.length === 0) return null;
  return chosen
    .map(at => segment.text.slice(tokens[at]?.start, tokens[at]?.end))
    .join(' ')
    .replaceAll("' ", "'");
}

/** "See you both": the words themselves, as no noun names the event. */
export function plainWords({ tokens, segment }: Line, clause: Clause | null, when: When): string {
  if (!clause) return '';
  let end = clause.to;
  for (let at = clause.to - 1; at >= clause.from; at--) if (when.tokens.has(at)) end = at;
  const last = tokens[Math.min(end, clause.from + MAX_TITLE_WORDS) - 1];
  return end === clause.from ? '' : segment.text.slice(tokens[clause.from]?.start, last?.end);
}

function isTelling(token: Token | undefined, language: Language): boolean {
  return token !== undefined && contentOf([token], language).length > 0;
}
