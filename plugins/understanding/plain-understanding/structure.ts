/**
 * Title, overview and category of a conversation, by counting words. Pure, offline, and the same for the same
 * transcript. The transcript is data: nothing in it is obeyed.
 */
import type { Cited, SpokenSegment, Understood } from '../../../core/contract/plugin.ts';
import type { Category } from '../../../core/domain/conversations/categories.ts';
import { categoryOf } from './categories.ts';
import { LANGUAGES } from './language.ts';
import { words } from './tokens.ts';
import { CLAUSE_STARTS, OPENERS, STOP_WORDS, TITLE_SMALL_WORDS } from './words.ts';

const MAX_TITLE_CHARS = 60;
const MAX_OVERVIEW_CHARS = 240;
const MAX_OVERVIEW_SENTENCES = 3;
/** Read of a transcript; of a longer one, segments evenly spread over it. Bounds the time this takes. */
const MAX_CHARS = 50_000;
/** Where the words of a title are looked for at the beginning of its sentence. */
const TITLE_FROM_CHARS = 400;
/** Speech without punctuation is cut into clauses of at least this many words. */
const MIN_CLAUSE_WORDS = 6;
/** A sentence of fewer words says too little for a title. */
const MIN_TITLE_WORDS = 3;

/** Unknown speakers are numbered. */
const STRANGER = /^Speaker \d+$/;
const MIN_NEAR_SEGMENTS = 3;
/** Common words of every known language: the same spelling seldom tells something in another one. */
const EMPTY_WORDS = new Set(LANGUAGES.flatMap(({ stopWords }) => [...stopWords]));
const WORD = /[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*/gu;
const UNTITLED = 'Untitled conversation';

/** One sentence of the transcript, or what comes nearest to it where there is no punctuation. */
interface Sentence {
  text: string;
  /** The segment that it is in. */
  from: string;
  words: string[];
  /** Words of it that tell its subject, each once. */
  telling: string[];
  /** How much it tells of the whole. */
  weight: number;
}

type Said = Pick<SpokenSegment, 'id' | 'text'> & Partial<Pick<SpokenSegment, 'isUser' | 'speaker'>>;

/** @param language of the transcript, ISO 639-1; titles are in title case in English alone */
export function structure(
  segments: readonly Said[],
  language: string | null,
): Pick<Understood, 'title' | 'overview' | 'category'> {
  const english = language === null || language.toLowerCase().startsWith('en');
  const sentences = weighed(
    sample(withoutBackground(segments), language?.toLowerCase().startsWith('en') ?? false).flatMap(split),
  );
  return {
    title: titleOf(sentences, english),
    overview: overviewOf(sentences, english),
    category: categoryOf(
      sentences.flatMap(sentence => sentence.words),
      fallbackFor(segments),
    ),
  };
}

/** Where the owner talks, what strangers say to each other or to nobody is television or the next table. */
function withoutBackground(segments: readonly Said[]): readonly Said[] {
  if (!segments.some(({ isUser }) => isUser)) return segments;
  const isNear = (index: number) =>
    [0, -1, 1].some(step => segments[index + step]?.isUser) || !STRANGER.test(segments[index]?.speaker ?? '');
  const near = segments.filter((_, index) => isNear(index));
  return near.length >= MIN_NEAR_SEGMENTS ? near : segments;
}

/** Everyday talk that no words tell more of: of one person, or of several. */
function fallbackFor(segments: readonly Said[]): Category {
  if (!segments.some(({ isUser }) => isUser)) return 'other';
  return segments.every(({ isUser }) => isUser) ? 'personal' : 'social';
}

/** Texts with single blanks, no control characters and no hesitation. */
function sample(segments: readonly Said[], english: boolean): Said[] {
  const chars = segments.reduce((sum, segment) => sum + segment.text.length, 0);
  const step = Math.max(1, Math.ceil(chars / MAX_CHARS));
  return segments
    .filter((_, index) => index % step === 0)
    .map(({ id, text }) => ({ id, text: tidy(text.slice(0, MAX_CHARS), english) }))
    .filter(({ text }) => text !== '');
}

function isHesitation(word: string, english: boolean): boolean {
  return HESITATIONS.has(word) || (english && ENGLISH_HESITATIONS.has(word));
}

function tidy(text: string, english: boolean): string {
  return text
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .split(' ')
    .filter(word => !isHesitation(word.toLowerCase().replace(/[.,…]+/g, ''), english))
    .join(' ')
    .trim();
}

/** Where there is no punctuation, segments are the borders, and in a long one the words that begin a clause. */
function split({ id, text }: Said): Sentence[] {
  return text
    .split(/(?<=[.!?…]["'”’)]?)\s+|(?<=[。！？])/u)
    .flatMap(sentence => (/[.!?…。！？,;:]/u.test(sentence) ? [sentence] : clauses(sentence)))
    .map(sentence => toSentence(sentence, id))
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

/** Sounds in every language, and those that are words in others: "um neun", "er kommt". */
const HESITATIONS = words('umm uh uhm erm hmm hm mhm äh ähm öhm euh heu ehm');
const ENGLISH_HESITATIONS = words('um er eh');

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(WORD) ?? [];
}

function toSentence(text: string, from: string): Sentence {
  const said = wordsOf(text);
  const telling = said.filter(word => word.length > 2 && !STOP_WORDS.has(word) && !EMPTY_WORDS.has(word));
  return { text: text.trim(), from, words: said, telling: [...new Set(telling)], weight: 0 };
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

function titleOf(sentences: Sentence[], english: boolean): Cited {
  const candidates = sentences.filter(sentence => sentence.words.length >= MIN_TITLE_WORDS);
  const best = heaviest(candidates.length > 0 ? candidates : sentences);
  if (!best) return { text: UNTITLED, from: [] };
  const clause = cut(
    withoutOpeners(best.text.slice(0, TITLE_FROM_CHARS).toWellFormed()),
    MAX_TITLE_CHARS,
  ).replace(/(?<![\s.,;:!?…。、！？])[\s.,;:!?…。、！？]+$/u, '');
  const text = english ? titleCased(clause) : capitalised(clause);
  return text === '' ? { text: UNTITLED, from: [] } : { text, from: [best.from] };
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
function overviewOf(sentences: Sentence[], english: boolean): Cited[] {
  const chosen = fits(sentences) ? new Set(sentences) : mostTelling(sentences);
  if (chosen.size === 0) {
    const best = heaviest(sentences);
    if (!best) return [];
    return [{ text: asSentence(`${cut(best.text, MAX_OVERVIEW_CHARS - 2)} …`, english), from: [best.from] }];
  }
  return sentences
    .filter(sentence => chosen.has(sentence))
    .map(({ text, from }) => ({ text: asSentence(text, english), from: [from] }));
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
