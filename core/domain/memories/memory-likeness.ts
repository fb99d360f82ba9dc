/** Whether two texts of memories say the same. Pure. */
import { createHash } from 'node:crypto';

/** Maximum characters that are compared; memories have at most 500. */
const MAX_CHARS = 1000;
/** Longer words are compared by their first letters: *allergic* and *allergy* count as the same. */
const STEM_CHARS = 6;

/**
 * Minimum cosine from which two texts say the same, if enough of their words are common (Dice's coefficient). Chosen on the tune half of `test/fixtures/memory-pairs.yaml`: vectors of words put summer next to winter.
 */
const SAME_MEANING = 0.988;
const SIMILAR_WORDS = 0.6;

/** Words that carry little meaning. */
const PLAIN = new Set(
  `a about after again all also always am an and any are as at be because been being but by can could do does doing for
   from get gets goes going got had has have having he her hers him his how i if in into is it its just lot me more most
   much my now of off often on one only or our out over own owns really she so some still such than that the their them there
   they things this those to too under until up very was we were what when where which while who will with work works working would you your
   aber alle als am an arbeitet auch auf aus bei bin bis da das dass dein dem den der des die dir doch du ein eine einem einen einer
   er es für gern gerne habe haben hat ich ihr ihre im in ist ja jetzt mein meine mich mir mit nach noch oder schon sehr
   sein seine seit sich sie sind so über um und uns unser unter viel vom von war was wenn wie wir wird zu zum zur
   al con de del el en es la las le les los mi para por que se su un una y à au aux avec ce dans des du est et il je son
   sa sur`.split(/\s+/),
);
const NEGATION =
  /^(?:not|no|none|never|without|neither|nobody|nothing|nicht|kein\p{L}*|nie|niemals|ohne|nunca|sin|pas|jamais|sans|stopped|quit)$/u;
const NUMBER =
  /^(?:\d+\p{L}*|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|first|second|third|fif|twelf|nin|thirt|fort|twent)(?:th|ieth|first|second|third)?|(?:ein|zwei|drei|vier|fuenf|funf|sechs|sieb|sieben|acht|neun|zehn|elf|zwoelf|zwolf|zwanzig|dreissig|vierzig|fuenfzig|funfzig)(?:te|ten|ter|ste|sten|zehn|zehnte|zehnten|undzwanzig|undzwanzigsten|undzwanzigste)?|ersten?|dritten?|siebten?)$/u;
/** Words before which a first word is the subject, not an action. */
const SUBJECT_VERB =
  /^(?:is|has|was|lives|works|likes|loves|hates|plays|speaks|drinks|eats|studies|teaches|owns|drives|dislikes|prefers|moved|ist|hat|wohnt|lebt|arbeitet|mag|liebt|hasst|spielt|spricht|trinkt|isst|studiert|kommt|heisst)$/;
const PAST = /^(?:was|were|used|worked|lived|war|waren|hatte|früher|fruher|arbeitete|wohnte)$/;
/** Groups of stems with the same meaning; vectors of words can hardly tell them from opposites. */
const SYNONYMS: Readonly<Record<string, string>> = {
  lov: 'lik',
  enjoy: 'lik',
  ador: 'lik',
  hat: 'dislik',
  detest: 'dislik',
  liv: 'wohn',
  leb: 'wohn',
  afraid: 'fear',
  scar: 'fear',
  frigh: 'fear',
  study: 'studi',
  dwell: 'wohn',
};
const ENDINGS = /(?:ing|ed|es|en|er|s|e|n|t)$/;

/** Statement of a memory, as far as its words show it. */
export interface Gist {
  /** Stems of its significant words, without names. */
  words: ReadonlySet<string>;
  names: ReadonlySet<string>;
  numbers: ReadonlySet<string>;
  isNegated: boolean;
  isPast: boolean;
}

export function gistOf(text: string): Gist {
  const found = text
    .slice(0, MAX_CHARS)
    .replaceAll(/n['’]t\b/g, ' not')
    .replaceAll(/['’]s\b/g, ' is')
    .match(/[\p{L}\p{M}\p{N}]+/gu);
  const [words, names, numbers] = [new Set<string>(), new Set<string>(), new Set<string>()];
  let [isNegated, isPast] = [false, false];
  for (const [at, word] of (found ?? []).entries()) {
    const plain = plainOf(word);
    const next = plainOf(found?.[at + 1] ?? '');
    isPast ||= PAST.test(plain);
    if (NEGATION.test(plain)) isNegated = true;
    else if (NUMBER.test(plain)) numbers.add(plain);
    else if (at === 0 && SUBJECT_VERB.test(next)) names.add(plain);
    else if (!PLAIN.has(plain)) words.add(stemOf(plain));
  }
  return { words, names, numbers, isNegated, isPast };
}

/**
 * Whether two memories say the same of the same person.
 * @param cosine of their vectors, if they have any
 */
export function saysTheSame(one: Gist, other: Gist, cosine = 0): boolean {
  if (one.isNegated !== other.isNegated || one.isPast !== other.isPast) return false;
  if (!isEqual(one.names, other.names)) return false;
  if (one.numbers.size > 0 && other.numbers.size > 0 && !isEqual(one.numbers, other.numbers)) return false;
  const common = countCommon(one.words, other.words);
  const least = Math.min(one.words.size, other.words.size);
  if (common === 0) return false;
  if (common === least && (least > 1 || one.words.size === other.words.size)) return true;
  const dice = (2 * common) / (one.words.size + other.words.size);
  return dice >= SIMILAR_WORDS && cosine >= SAME_MEANING;
}

/** Whether the first says everything that the second does, and more. */
export function saysMore(one: Gist, other: Gist): boolean {
  return (
    one.words.size > other.words.size &&
    countCommon(one.words, other.words) === other.words.size &&
    countCommon(one.numbers, other.numbers) === other.numbers.size
  );
}

/** The same for texts that differ in case, accents and punctuation alone. */
export function wordingOf(text: string): string {
  const words = text.match(/[\p{L}\p{M}\p{N}]+/gu)?.map(plainOf);
  return createHash('sha256')
    .update(words?.join(' ') ?? text)
    .digest('hex')
    .slice(0, 32);
}

/** Cosine of two vectors of length 1. */
export function cosineOf(one: Float32Array, other: Float32Array): number {
  return one.reduce((sum, part, at) => sum + part * (other[at] ?? 0), 0);
}

function plainOf(word: string): string {
  return word.toLowerCase().replaceAll('ß', 'ss').normalize('NFKD').replaceAll(/\p{M}/gu, '');
}

function stemOf(word: string): string {
  const stem = (word.length > 3 ? word.replace(ENDINGS, '') : word).slice(0, STEM_CHARS);
  return Object.hasOwn(SYNONYMS, stem) ? (SYNONYMS[stem] ?? stem) : stem;
}

function isEqual(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && countCommon(one, other) === one.size;
}

function countCommon(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let count = 0;
  for (const word of one) if (other.has(word)) count += 1;
  return count;
}
