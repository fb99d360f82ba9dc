/**
 * What a conversation was about, by counting words: a title, an overview, a category. Pure, offline, and the same for
 * the same transcript. The transcript is data: nothing in it is obeyed.
 */
import { CATEGORY_EMOJI, type Category, isCategory } from '../domain/categories.ts';
import type { Segment, Structured } from '../model.ts';
import { CATEGORY_WORDS, CLAUSE_STARTS, OPENERS, STOP_WORDS, TITLE_SMALL_WORDS } from './words.ts';

const MAX_TITLE_CHARS = 60;
const MAX_OVERVIEW_CHARS = 240;
const MAX_OVERVIEW_SENTENCES = 3;
/** Read of a transcript; of a longer one, segments evenly spread over it. Bounds the time this takes. */
const MAX_CHARS = 100_000;
/** Where the words of a title are looked for at the beginning of its sentence. */
const TITLE_FROM_CHARS = 400;
/** Speech without punctuation is cut into clauses of at least this many words. */
const MIN_CLAUSE_WORDS = 6;
/** A sentence of fewer words says too little for a title. */
const MIN_TITLE_WORDS = 3;
/** A word that tells a category counts for it only where it is at least this common: one in so many. */
const WORDS_PER_HINT = 300;

const WORD = /[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*/gu;
const UNTITLED = 'Untitled conversation';

/** One sentence of the transcript, or what comes nearest to it where there is no punctuation. */
interface Sentence {
  text: string;
  words: string[];
  /** Those of its words that say what it is about, each once. */
  telling: string[];
  /** How much it tells of the whole. */
  weight: number;
}

/** @param language of the transcript, ISO 639-1; titles are in title case in English alone */
export function structure(
  segments: readonly Pick<Segment, 'text'>[],
  { language }: { language: string | null },
): Structured {
  const english = language === null || language === 'multi' || language.toLowerCase().startsWith('en');
  const sentences = weighed(sample(segments).flatMap(split));
  const category = categorise(sentences.flatMap(sentence => sentence.words));
  return {
    title: titleOf(sentences, english),
    overview: overviewOf(sentences, english),
    category,
    emoji: CATEGORY_EMOJI[category],
    actionItems: [],
    events: [],
  };
}

/** Texts with single blanks and no control characters. */
function sample(segments: readonly Pick<Segment, 'text'>[]): string[] {
  const chars = segments.reduce((sum, segment) => sum + segment.text.length, 0);
  const step = Math.max(1, Math.ceil(chars / MAX_CHARS));
  return segments
    .filter((_, index) => index % step === 0)
    .map(segment => segment.text.slice(0, MAX_CHARS))
    .map(text =>
      text
        .toWellFormed()
        .replace(/[\s\p{Cc}]+/gu, ' ')
        .trim(),
    )
    .filter(text => text !== '');
}

/** Where there is no punctuation, segments are the borders, and in a long one the words that begin a clause. */
function split(text: string): Sentence[] {
  return text
    .split(/(?<=[.!?…]["'”’)]?)\s+|(?<=[。！？])/u)
    .flatMap(sentence => (/[.!?…。！？,;:]/u.test(sentence) ? [sentence] : clauses(sentence)))
    .map(toSentence)
    .filter(sentence => sentence.words.length > 0);
}

function clauses(sentence: string): string[] {
  const result: string[] = [];
  let clause: string[] = [];
  for (const word of sentence.split(' ')) {
    if (clause.length >= MIN_CLAUSE_WORDS && CLAUSE_STARTS.has(word.toLowerCase())) {
      result.push(clause.join(' '));
      clause = [];
    }
    clause.push(word);
  }
  return [...result, clause.join(' ')];
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(WORD) ?? [];
}

function toSentence(text: string): Sentence {
  const words = wordsOf(text);
  const telling = words.filter(word => word.length > 2 && !STOP_WORDS.has(word));
  return { text: text.trim(), words, telling: [...new Set(telling)], weight: 0 };
}

/** A sentence tells much when its words come in several sentences, but not in all; and more so near the beginning. */
function weighed(sentences: Sentence[]): Sentence[] {
  const counts = new Map<string, number>();
  for (const word of sentences.flatMap(sentence => sentence.telling))
    counts.set(word, (counts.get(word) ?? 0) + 1);
  const worth = (word: string) => {
    const count = counts.get(word) ?? 0;
    return Math.log2(1 + count) * Math.log2(1 + sentences.length / count);
  };
  return sentences.map((sentence, index) => {
    const sum = sentence.telling.reduce((total, word) => total + worth(word), 0);
    const first = 1 + 0.5 / (1 + index);
    return { ...sentence, weight: (sum / Math.sqrt(sentence.words.length + MIN_CLAUSE_WORDS)) * first };
  });
}

function titleOf(sentences: Sentence[], english: boolean): string {
  const candidates = sentences.filter(sentence => sentence.words.length >= MIN_TITLE_WORDS);
  const best = heaviest(candidates.length > 0 ? candidates : sentences);
  if (!best) return UNTITLED;
  const clause = cut(
    withoutOpeners(best.text.slice(0, TITLE_FROM_CHARS).toWellFormed()),
    MAX_TITLE_CHARS,
  ).replace(/[\s.,;:!?…。、！？]+$/u, '');
  if (!english) return capitalised(clause);
  return clause === '' ? UNTITLED : titleCased(clause);
}

function heaviest(sentences: Sentence[]): Sentence | undefined {
  return sentences.reduce<Sentence | undefined>(
    (best, sentence) => (best && best.weight >= sentence.weight ? best : sentence),
    undefined,
  );
}

/** "okay so please remember to call the doctor" is about calling the doctor. */
function withoutOpeners(text: string): string {
  for (let rest = text; ; ) {
    const lower = rest.toLowerCase();
    const opener = OPENERS.find(
      phrase => lower.startsWith(phrase) && /^[\s,.!?-]/.test(lower.slice(phrase.length)),
    );
    if (!opener) return rest;
    const shorter = rest.slice(opener.length).replace(/^[\s,.!?-]+/, '');
    if (wordsOf(shorter).length < MIN_TITLE_WORDS) return rest;
    rest = shorter;
  }
}

/** At most so many characters, ended at a clause, a word, or, in one endless word, anywhere. */
function cut(text: string, maxChars: number): string {
  const chars = [...text];
  if (chars.length <= maxChars) return text;
  const head = chars.slice(0, maxChars + 1).join('');
  const clause = /^(.{20,})[,;:]\s/su.exec(head)?.[1];
  if (clause) return clause;
  const blank = head.lastIndexOf(' ');
  if (blank <= 0) return chars.slice(0, maxChars).join('');
  return withoutLooseEnd(head.slice(0, blank));
}

/** A cut must not leave "… in the". */
function withoutLooseEnd(text: string): string {
  const words = text.split(' ');
  while (words.length > MIN_TITLE_WORDS && STOP_WORDS.has(words.at(-1)?.toLowerCase() ?? '')) words.pop();
  return words.join(' ');
}

function titleCased(text: string): string {
  const words = text.split(' ');
  return words
    .map((word, index) => {
      const inside = index > 0 && index < words.length - 1;
      return inside && TITLE_SMALL_WORDS.has(word) ? word : capitalised(word);
    })
    .join(' ');
}

function capitalised(text: string): string {
  return text.replace(/^["'“‘(¿¡]*\p{L}/u, start => start.toUpperCase());
}

/** The most telling sentences in the order they were said; of a short transcript all of it. */
function overviewOf(sentences: Sentence[], english: boolean): string {
  const chosen = fits(sentences) ? new Set(sentences) : mostTelling(sentences);
  if (chosen.size === 0) {
    const best = heaviest(sentences);
    return best ? asSentence(`${cut(best.text, MAX_OVERVIEW_CHARS - 2)} …`, english) : '';
  }
  return sentences
    .filter(sentence => chosen.has(sentence))
    .map(({ text }) => asSentence(text, english))
    .join(' ');
}

function fits(sentences: Iterable<Sentence>): boolean {
  let chars = 0;
  for (const { text } of sentences) chars += text.length + 2;
  return chars <= MAX_OVERVIEW_CHARS;
}

/** None that only repeats what a heavier one says. */
function mostTelling(sentences: Sentence[]): Set<Sentence> {
  const chosen = new Set<Sentence>();
  const told = new Set<string>();
  for (const sentence of sentences.toSorted((a, b) => b.weight - a.weight)) {
    if (chosen.size > 0 && sentence.telling.every(word => told.has(word))) continue;
    if (chosen.size === MAX_OVERVIEW_SENTENCES || !fits([...chosen, sentence])) break;
    chosen.add(sentence);
    for (const word of sentence.telling) told.add(word);
  }
  return chosen;
}

function asSentence(text: string, english: boolean): string {
  const spoken = english ? text.replace(/\bi\b(?=$|[\s'’])/g, 'I') : text;
  return capitalised(spoken) + (/[.!?…。！？]["'”’)]?$/u.test(spoken) ? '' : '.');
}

/** The category whose words come most, each further time counting less; none comes often enough: `other`. */
function categorise(words: string[]): Category {
  const counts = new Map<string, number>();
  for (const word of words) for (const form of baseForms(word)) counts.set(form, (counts.get(form) ?? 0) + 1);
  let best: { category: Category; score: number } = { category: 'other', score: 0 };
  for (const [category, hints] of Object.entries(CATEGORY_WORDS)) {
    const hits = [...hints].map(hint => counts.get(hint) ?? 0);
    const common = hits.reduce((sum, count) => sum + count, 0) * WORDS_PER_HINT >= words.length;
    const score = hits.reduce((sum, count) => sum + Math.sqrt(count), 0);
    if (common && score > best.score && isCategory(category)) best = { category, score };
  }
  return best.category;
}

/** The word, and what it may be a form of: "tickets", "walked", "running". */
function baseForms(word: string): Set<string> {
  const bare = word.replace(/['’]s$/, '');
  const forms = [bare];
  for (const [ending, ...others] of ENDINGS) {
    if (bare.length > ending.length + 2 && bare.endsWith(ending))
      forms.push(...others.map(other => bare.slice(0, -ending.length) + other));
  }
  return new Set(forms);
}
const ENDINGS = [
  ['s', ''],
  ['es', ''],
  ['ies', 'y'],
  ['ed', '', 'e'],
  ['ing', '', 'e'],
] as const;
