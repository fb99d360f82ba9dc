/**
 * Finds reports of progress on goals by simple rules. Pure. It prefers missing a report to inventing one: only sentences such
 * as "I ran five kilometres today" count, in English and German.
 */
import type { Goal } from '../../contract/model.ts';
import { AROUND, isSameUnit, LANGUAGES, type ProgressWords, RECURRING } from './progress-words.ts';

/** Value of a goal that a sentence states. */
export interface Progress {
  value: number;
  /** See `GoalSuggestion`. */
  adds: boolean;
}

/** Maximum words of a sentence; these rules do not understand longer ones. */
const MAX_SENTENCE_CHARS = 300;
/** Maximum words of a title; longer ones are hardly ever repeated in a sentence. */
const MAX_TELLING_WORDS = 8;
/** Maximum consecutive fillers. */
const MAX_FILLERS = 4;

type Goaled = Pick<
  Goal,
  'title' | 'goalType' | 'unit' | 'startValue' | 'currentValue' | 'targetValue' | 'maxValue' | 'minValue'
>;
type Reader = (tokens: readonly string[]) => Progress | null;

/** A sentence that can be a report: in the first person, and without doubt. */
export interface Sentence {
  text: string;
  tokens: readonly string[];
  /** Languages in which it can be one. */
  languages: readonly ProgressWords[];
}

/** Lists the sentences of a text that can be reports: no questions, and nothing long. */
export function reportsIn(text: string): Sentence[] {
  const sentences = (text.match(/(?:[^.!?\n]|[.](?=\d))+[.!?]*/g) ?? []).map(sentence => sentence.trim());
  return sentences.flatMap(sentence => {
    if (sentence.length > MAX_SENTENCE_CHARS || sentence.includes('?')) return [];
    const tokens = tokensOf(sentence);
    const languages = LANGUAGES.filter(
      ({ i, my, doubts }) =>
        tokens.some(token => i.has(token) || my.has(token)) && !tokens.some(token => doubts.has(token)),
    );
    return languages.length === 0 ? [] : [{ text: sentence, tokens, languages }];
  });
}

/** Small words without accents, numbers, and commas. */
function tokensOf(text: string): string[] {
  const plain = text.toWellFormed().normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return plain.match(/\d+(?:[.,]\d+)*|\p{L}+|,/gu) ?? [];
}

/** Reads the progress of one goal out of sentences of its owner. */
export function readerOf(goal: Goaled): (sentence: Sentence) => Progress | null {
  const readers = LANGUAGES.map(words => ({ words, read: READERS[goal.goalType](goal, words) }));
  return ({ tokens, languages }) => {
    for (const { words, read } of readers) {
      const found = languages.includes(words) ? read?.(tokens) : null;
      if (found) return found;
    }
    return null;
  };
}

const READERS: Record<Goal['goalType'], (goal: Goaled, words: ProgressWords) => Reader | null> = {
  numeric: amountReader,
  boolean: doneReader,
  scale: scaleReader,
};

/** "I ran five kilometres": a verb of the title in its past, an amount in the goal's unit, and all else of the title. */
function amountReader(goal: Goaled, words: ProgressWords): Reader | null {
  const [unit, ...more] = tokensOf(goal.unit ?? '');
  const isUpwards = goal.targetValue === null || goal.targetValue > goal.startValue;
  if (unit === undefined || more.length > 0 || !isUpwards) return null;
  const telling = tellingOf(goal.title).filter(word => !isSameUnit(word, unit));
  if (telling.length > MAX_TELLING_WORDS) return null;
  const verbs = telling.map(word => ({
    forms: formsOf(word, words),
    object: new Set(telling.filter(other => other !== word)),
  }));

  return tokens => {
    if (tokens.filter(token => isSameUnit(token, unit)).length !== 1) return null;
    for (const [at, token] of tokens.entries()) {
      const value = numberOf(token, words);
      if (value === null || value <= 0) continue;
      for (const { forms, object } of verbs) {
        const end = endOfAmount(tokens, at + 1, { unit, object, words });
        if (end !== null && isTold(tokens, at, end, forms, words)) return { value, adds: true };
      }
    }
    return null;
  };
}

/** Returns the end of a phrase such as "litres of water" that begins here; null: it is incomplete. */
function endOfAmount(
  tokens: readonly string[],
  from: number,
  { unit, object, words }: { unit: string; object: ReadonlySet<string>; words: ProgressWords },
): number | null {
  const isPart = (token = '') => isSameUnit(token, unit) || object.has(token) || words.outOf.has(token);
  let end = from;
  while (isPart(tokens[end])) end += 1;
  const parts = tokens.slice(from, end);
  const isWhole =
    parts.some(token => isSameUnit(token, unit)) && [...object].every(word => parts.includes(word));
  return isWhole ? end : null;
}

/** "I passed the driving test": a verb of the title in its past, and the rest of the title as it stands there. */
function doneReader(goal: Goaled, words: ProgressWords): Reader | null {
  const title = tokensOf(goal.title);
  if (goal.currentValue === 1 || title.some(token => RECURRING.has(token) || /\d/.test(token))) return null;
  const bare = title.filter(token => token !== ',' && !words.articles.has(token));
  const verb = words.isVerbLast ? bare.at(-1) : bare[0];
  const object = words.isVerbLast ? bare.slice(0, -1) : bare.slice(1);
  if (verb === undefined || object.length === 0) return null;
  const forms = formsOf(verb, words);

  return tokens => {
    const plain = tokens.filter(token => !words.articles.has(token));
    const from = plain.findIndex((_, at) => object.every((word, index) => plain[at + index] === word));
    if (from < 0 || !isTold(plain, from, from + object.length, forms, words)) return null;
    return { value: 1, adds: false };
  };
}

/** "My sleep was seven out of ten": the title, and a number out of the greatest. */
function scaleReader(goal: Goaled, words: ProgressWords): Reader | null {
  const title = tellingOf(goal.title);
  if (title.length === 0 || goal.maxValue === null) return null;
  const { minValue, maxValue } = goal;

  return tokens => {
    const my = tokens.findIndex(
      (token, at) => words.my.has(token) && title.every((word, index) => tokens[at + 1 + index] === word),
    );
    const is = my + 1 + title.length;
    if (my < 0 || !words.is.has(tokens[is] ?? '')) return null;
    const at = skip(tokens, is + 1, 1, words.fillers);
    const of = tokens[at + 1] === 'out' ? at + 2 : at + 1;
    const value = numberOf(tokens[at], words);
    if (!words.outOf.has(tokens[of] ?? '') || numberOf(tokens[of + 1], words) !== maxValue) return null;
    if (value === null || value > maxValue || value < (minValue ?? value)) return null;
    return { value, adds: false };
  };
}

/**
 * Returns whether the speaker did the thing at `from` (up to `to`): the speaker, the verb and the thing follow each other with
 * only fillers in between, and the clause ends there.
 */
function isTold(
  tokens: readonly string[],
  from: number,
  to: number,
  forms: ReadonlySet<string>,
  words: ProgressWords,
): boolean {
  const before = skip(tokens, from - 1, -1, words.fillers);
  if (words.isVerbLast) {
    const verb = skip(tokens, to, 1, words.fillers);
    return (
      forms.has(tokens[verb] ?? '') && words.i.has(tokens[before] ?? '') && ends(tokens[verb + 1], words)
    );
  }
  const subject = skip(tokens, before - 1, -1, words.fillers);
  return forms.has(tokens[before] ?? '') && words.i.has(tokens[subject] ?? '') && ends(tokens[to], words);
}

function ends(token: string | undefined, { after }: ProgressWords): boolean {
  return token === undefined || token === ',' || after.has(token);
}

/** Returns the index of the first token from `at` on, in this direction, that is not a filler. */
function skip(tokens: readonly string[], at: number, step: 1 | -1, fillers: ReadonlySet<string>): number {
  let place = at;
  for (let count = 0; count < MAX_FILLERS && fillers.has(tokens[place] ?? ''); count += 1) place += step;
  return place;
}

function tellingOf(title: string): string[] {
  return tokensOf(title).filter(token => !/^[\d,]/.test(token) && !AROUND.has(token));
}

/** Past forms of a word, if it is a verb. */
function formsOf(word: string, { irregular, regular }: ProgressWords): ReadonlySet<string> {
  const stem = word.replace(/ing$/, '');
  const infinitives = word === stem ? [word] : [stem, `${stem}e`, stem.replace(/(.)\1$/, '$1')];
  return new Set(infinitives.flatMap(verb => irregular.get(verb) ?? regular(verb)));
}

/** Parses a number; null: it is none, or ambiguous. */
function numberOf(token: string | undefined, { numbers, thousands }: ProgressWords): number | null {
  if (token === undefined) return null;
  if (!/^\d/.test(token)) return numbers.get(token) ?? null;
  const fraction = thousands === ',' ? '.' : ',';
  const [whole = '', part = '', ...more] = token.split(fraction);
  const groups = whole.split(thousands);
  if (more.length > 0 || part.includes(thousands) || groups.slice(1).some(group => group.length !== 3))
    return null;
  return Number(`${groups.join('')}.${part || '0'}`);
}
