/**
 * Builds the title, overview and category of a conversation by counting words. Pure, offline and
 * deterministic. The transcript is data: no instruction in it is followed.
 */
import type { Cited, SpokenSegment, Understood } from '../../../core/contract/plugin.ts';
import type { Category } from '../../../core/domain/conversations/categories.ts';
import type { Pace } from '../../kit/kit.ts';
import { categoryOf } from './categories.ts';
import { LANGUAGES, languageOf } from './language.ts';
import type { Language } from './languages/language.ts';
import { type Token, tokensOf, words } from './tokens.ts';
import { CLAUSE_STARTS, OPENERS, STOP_WORDS, TITLE_SMALL_WORDS } from './words.ts';

const MAX_TITLE_CHARS = 60;
const MAX_OVERVIEW_CHARS = 240;
const MAX_OVERVIEW_SENTENCES = 3;
/**
 * Maximum characters read; from a longer transcript, segments evenly spread over it. Bounds the time this
 * takes.
 */
const MAX_CHARS = 50_000;
/** Characters at the beginning of a sentence that are searched for the words of its title. */
const TITLE_FROM_CHARS = 400;
/** Speech without punctuation is split into clauses of at least this many words. */
const MIN_CLAUSE_WORDS = 6;
/** Minimum words of a sentence that can become a title. */
const MIN_TITLE_WORDS = 3;
const MAX_TITLE_WORDS = 9;

/** Unknown speakers have numbers. */
const STRANGER = /^Speaker \d+$/;
const MIN_NEAR_SEGMENTS = 3;
/**
 * Common words of every known language, as a word of the same spelling is seldom significant in another one.
 */
const EMPTY_WORDS = new Set(LANGUAGES.flatMap(({ stopWords }) => [...stopWords]));
const WORD = /[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*/gu;
const UNTITLED = 'Untitled conversation';

/** One sentence of the transcript, or the nearest equivalent if there is no punctuation. */
interface Sentence {
  text: string;
  /** Segment that contains the sentence. */
  from: string;
  words: string[];
  /** Its significant words, each once. */
  telling: string[];
  /** How well it represents the whole. */
  weight: number;
}

type Said = Pick<SpokenSegment, 'id' | 'text'> &
  Partial<Pick<SpokenSegment, 'isUser' | 'speaker' | 'isMarked'>>;

export interface Structure extends Pick<Understood, 'title' | 'overview' | 'category'> {
  /** Whether the title is a part of a longer clause. */
  isCut: boolean;
  /** "Budget, Hotel, Martin", for when no sentence makes a title; null without at least two such words. */
  topics: Cited | null;
}

/** @param language of the transcript, ISO 639-1; titles are in title case in English alone */
export async function structure(
  segments: readonly Said[],
  language: string | null,
  pace: Pace,
): Promise<Structure> {
  const english = language === null || language.toLowerCase().startsWith('en');
  const sentences = await weighed(
    await sample(withoutBackground(segments), language?.toLowerCase().startsWith('en') ?? false, pace),
    pace,
  );
  await pace();
  const marked = new Set(segments.filter(({ isMarked }) => isMarked).map(({ id }) => id));
  const spoken = languageOf(
    sentences.slice(0, MAX_LANGUAGE_SENTENCES).flatMap(tokensOfSentence),
    language ? [language] : [],
  );
  const counts = await countsOf(sentences, pace);
  return {
    ...(await titleOf(sentences, counts, english, pace)),
    topics: await topicsOf(sentences, counts, spoken, pace),
    overview: overviewOf(sentences, english, marked),
    category: categoryOf(
      [...sentences.flatMap(sentence => sentence.words), ...kin(segments)],
      spoken,
      fallbackFor(segments),
    ),
  };
}

/** If the owner talks, speech among strangers is television or the next table. */
function withoutBackground(segments: readonly Said[]): readonly Said[] {
  if (!segments.some(({ isUser }) => isUser)) return segments;
  const isNear = (index: number) =>
    [0, -1, 1].some(step => segments[index + step]?.isUser) || !STRANGER.test(segments[index]?.speaker ?? '');
  const near = segments.filter(({ isMarked }, index) => isMarked || isNear(index));
  return near.length >= MIN_NEAR_SEGMENTS ? near : segments;
}

/** People called "Mum" or "Oma Gerda" are more significant than other words. */
function kin(segments: readonly Said[]): string[] {
  const speakers = new Set(segments.flatMap(({ speaker }) => speaker ?? []));
  const names = [...speakers]
    .filter(name => !STRANGER.test(name))
    .flatMap(name => name.toLowerCase().split(' '));
  return names.flatMap(name => Array.from({ length: KIN_WEIGHT }, () => name));
}
const KIN_WEIGHT = 4;
/** Sentences from which the language is detected. */
const MAX_LANGUAGE_SENTENCES = 50;

function tokensOfSentence({ text }: Sentence): Token[] {
  return tokensOf(text);
}

/** Everyday talk without a better category: of one person, or of several. */
function fallbackFor(segments: readonly Said[]): Category {
  if (!segments.some(({ isUser }) => isUser)) return 'other';
  return segments.every(({ isUser }) => isUser) ? 'personal' : 'social';
}

/** Sentences with single blanks, no control characters and no hesitation. */
async function sample(segments: readonly Said[], english: boolean, pace: Pace): Promise<Sentence[]> {
  const chars = segments.reduce((sum, segment) => sum + segment.text.length, 0);
  const step = Math.max(1, Math.ceil(chars / MAX_CHARS));
  const sentences: Sentence[] = [];
  for (const [index, { id, text, isMarked }] of segments.entries()) {
    if (!isMarked && index % step !== 0) continue;
    sentences.push(...split({ id, text: tidy(text.slice(0, MAX_CHARS), english) }));
    await pace();
  }
  return sentences;
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

/** Without punctuation, sentences end at segments and, in a long one, at words that begin a clause. */
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

/**
 * Hesitation sounds in every language, and those that are words in other languages: "um neun", "er kommt".
 */
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

const UNITS = words(
  `hour hours half past minute minutes week weeks day days morning evening afternoon night clock quarter month months year years
   stunde stunden halb uhr minuten woche wochen tag tage tagen viertel abend morgen nacht monat monate jahr jahre früh
   heure heures demie semaine semaines jour jours mois ans soir matin hora horas media cuarto semana semanas día días
   minutos mes meses años noche tarde`,
);

/** Days and numbers say when, and not what it is about. */
export function isOfTime(word: string): boolean {
  if (UNITS.has(word)) return true;
  const token = { text: word, word, bare: word, start: 0, end: word.length, stop: '' as const };
  return LANGUAGES.some(({ dates }) =>
    [dates.weekdays, dates.months, dates.numbers, dates.days].some(table => table.at([token], 0) !== null),
  );
}

/** Weighs sentences: words that occur in several sentences, but not in all, count most, and early sentences count more. */
async function weighed(sentences: Sentence[], pace: Pace): Promise<Sentence[]> {
  const counts = new Map<string, number>();
  for (const word of sentences.flatMap(sentence => sentence.telling))
    counts.set(word, (counts.get(word) ?? 0) + 1);
  await pace();
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

/** How often each word of the subject was said, each sentence counting once. */
async function countsOf(sentences: readonly Sentence[], pace: Pace): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const { telling } of sentences) {
    for (const word of telling)
      if (counts.has(word) || !isOfTime(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
    await pace();
  }
  return counts;
}

/** A phrase of few words from the most telling sentence. */
async function titleOf(
  sentences: readonly Sentence[],
  counts: ReadonlyMap<string, number>,
  english: boolean,
  pace: Pace,
): Promise<Pick<Structure, 'title' | 'isCut'>> {
  const isOfMatter = ({ telling }: Sentence) => telling.some(word => counts.has(word));
  const candidates = sentences.filter(({ words }) => words.length >= MIN_TITLE_WORDS);
  const rated: Sentence[] = [];
  for (const each of candidates.length > 0 ? candidates : sentences) {
    const weight = each.weight * (isTalk(each) ? TALK_WEIGHT : 1) * (isOfMatter(each) ? 1 : TIME_WEIGHT);
    rated.push({ ...each, weight });
    await pace();
  }
  const best = heaviest(rated);
  if (!best) return { title: { text: UNTITLED, from: [] }, isCut: false };
  const isEnglish = english && languageOf(tokensOf(best.text), []).code === 'en';
  const { text, isCut } = phraseOf(best, counts, isEnglish);
  return { title: text === '' ? { text: UNTITLED, from: [] } : { text, from: [best.from] }, isCut };
}

function isTalk({ text }: Sentence): boolean {
  return TALK.test(withoutOpeners(text.slice(0, TITLE_FROM_CHARS)));
}

/** A word that is repeated more often is more likely to be the subject. */
function worthOf(count: number): number {
  return count ** 0.7;
}

const TALK_WEIGHT = 0.85;
const TIME_WEIGHT = 0.5;
/** Sentences that begin with one of these words are less suitable as titles. */
const TALK =
  /^(?:I|I'll|I'm|I'd|I've|you|you'll|you're|you've|we|we'll|it's|it|that's|he|she|they|there|let|what|how|when|ich|du|wir|er|sie|es|das|da|was|wie|je|j'|tu|vous|on|il|elle|c'est|ça|qu|yo|tú|usted|qué|cómo)(?!\p{L})/iu;

function phraseOf(
  sentence: Sentence,
  counts: ReadonlyMap<string, number>,
  english: boolean,
): { text: string; isCut: boolean } {
  const clause = withoutOpeners(mainClause(sentence, counts));
  const short = cut(ofFewWords(clause, counts), MAX_TITLE_CHARS);
  const text = short.replace(/(?<![\s.,;:!?…。、！？])[\s.,;:!?…。、！？]+$/u, '');
  return { text: english ? titleCased(text) : capitalised(text), isCut: short !== clause };
}

/** Returns the part of a sentence between commas that has the most frequent words. */
function mainClause({ text }: Sentence, counts: ReadonlyMap<string, number>): string {
  const head = text.slice(0, TITLE_FROM_CHARS).toWellFormed();
  if (wordsOf(head).length <= MAX_TITLE_WORDS) return head;
  const worth = (part: string) =>
    wordsOf(part).reduce((sum, word) => sum + worthOf(counts.get(word) ?? 0), 0);
  const parts = head.split(/(?<=[,;:–—])\s+/u).filter(part => wordsOf(part).length >= MIN_TITLE_WORDS);
  return parts.reduce((best, part) => (worth(part) > worth(best) ? part : best), parts[0] ?? head);
}

/** Shortens a long clause to consecutive words around the most frequent ones, without a time at the end. */
function ofFewWords(text: string, counts: ReadonlyMap<string, number>): string {
  const words = text.split(' ');
  if (words.length <= MAX_TITLE_WORDS) return text;
  const worth = words.map(word => Math.max(0, ...wordsOf(word).map(each => worthOf(counts.get(each) ?? 0))));
  let best = { from: 0, sum: -1 };
  for (let from = 0; from <= words.length - MAX_TITLE_WORDS; from++) {
    const isStart = from === 0 || (worth[from] ?? 0) > 0;
    const sum = worth.slice(from, from + MAX_TITLE_WORDS).reduce((total, each) => total + each, 0);
    if (isStart && sum > best.sum + (best.from === 0 ? 1 : 0)) best = { from, sum };
  }
  const chosen = words.slice(best.from, best.from + MAX_TITLE_WORDS);
  while (chosen.length > MIN_TITLE_WORDS && isLoose(chosen.at(-1) ?? '')) chosen.pop();
  return chosen.join(' ');
}

function isLoose(word: string): boolean {
  return wordsOf(word).every(each => STOP_WORDS.has(each) || EMPTY_WORDS.has(each) || isOfTime(each));
}

/** Nouns that come back, in the form in which they were said first. */
async function topicsOf(
  sentences: readonly Sentence[],
  counts: ReadonlyMap<string, number>,
  { acts }: Language,
  pace: Pace,
): Promise<Cited | null> {
  const nouns = new Map<string, { text: string; from: string }>();
  for (const { text, from } of sentences) {
    await pace();
    const tokens = tokensOf(text);
    for (const [at, token] of tokens.entries()) {
      if (!counts.has(token.word) || token.word.length < MIN_TOPIC_CHARS) continue;
      const before = tokens[at - 1];
      const isVerb = acts.infinitives.has(token.bare);
      const isNamed = before?.stop === '' && token.text !== token.word;
      const isLed =
        before?.stop === '' &&
        !PARTICIPLE.test(token.word) &&
        (acts.determiners.has(before.word) || (acts.prepositions.has(before.word) && !isVerb));
      const isNoun = isNamed || (isLed && !acts.isVerbLast);
      const known = nouns.get(token.word);
      if (isNoun && !known) nouns.set(token.word, { text: token.text, from });
    }
  }
  const ranked = [...nouns]
    .map(([word, noun], place) => ({ ...noun, weight: worthOf(counts.get(word) ?? 0), place }))
    .sort((a, b) => b.weight - a.weight || a.place - b.place)
    .slice(0, MAX_TOPICS);
  if (ranked.length < 2) return null;
  return {
    text: ranked.map(({ text }) => capitalised(text)).join(', '),
    from: [...new Set(ranked.map(({ from }) => from))],
  };
}
const PARTICIPLE = /.(?:ing|ed|ly)$/;
const MIN_TOPIC_CHARS = 3;
const MAX_TOPICS = 3;

function heaviest(sentences: Sentence[]): Sentence | undefined {
  return sentences.reduce<Sentence | undefined>(
    (best, sentence) => (best && best.weight >= sentence.weight ? best : sentence),
    undefined,
  );
}

/** "okay so please remember to call the doctor" becomes a title about calling the doctor. */
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

/** Cuts to this many characters at a clause, a word or, in one endless word, anywhere. */
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

/** A cut must not end with "… in the". */
function withoutLooseEnd(text: string): string {
  const words = text.split(' ');
  while (words.length > MIN_TITLE_WORDS && STOP_WORDS.has(words.at(-1)?.toLowerCase() ?? '')) words.pop();
  return words.join(' ');
}

/** "Bring the Box over to Ben". */
export function titleCased(text: string): string {
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

/** The most significant sentences in the order they were said; the whole text of a short transcript. */
function overviewOf(sentences: Sentence[], english: boolean, marked: ReadonlySet<string>): Cited[] {
  const chosen = fits(sentences) ? new Set(sentences) : mostTelling(sentences, marked);
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

/**
 * Skips a sentence that repeats a more significant one; the best sentence of each marked segment comes first.
 */
function mostTelling(sentences: Sentence[], marked: ReadonlySet<string>): Set<Sentence> {
  const chosen = new Set<Sentence>();
  const told = new Set<string>();
  const byWeight = sentences.toSorted((a, b) => b.weight - a.weight);
  const wanted = new Set([...marked].flatMap(id => byWeight.find(({ from }) => from === id) ?? []));
  for (const sentence of [...wanted, ...byWeight.filter(each => !wanted.has(each))]) {
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
