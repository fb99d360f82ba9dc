/** Checks whether the segments that a text cites support it: by its words, and otherwise by its meaning. */
import type { Embedder } from '../../../core/contract/plugin.ts';

/** Share of a text's significant words that its segments must contain. */
const MIN_SHARE = 0.5;
/** Maximum and minimum number of other segments whose meaning is compared: with fewer, it is not conclusive. */
const MAX_OTHERS = 24;
const MIN_OTHERS = 6;
/** Maximum number of other segments that may be as close to the text. */
const MAX_NEARER = 1;
/** Maximum characters of the segments that one text cites. */
const MAX_CHARS = 20_000;
/** Words are compared by so many letters of their beginning, which their inflected forms share. */
const STEM_LETTERS = 5;

const WORD = /[\p{L}\p{M}\p{N}]+/gu;
/** Words of four letters or more that say nothing about a subject; shorter ones never count, unless they are numbers. */
const EMPTY = new Set(
  `about after again also been before being could does doing done down each from have having here into just like make
   more most much must need only other over said same says should some such than that their them then there these they
   this those through very want wants were what when where which while will with would your owner
   aber alle allem allen alles also auch beim bereits dann dass dein deine denn dies diese diesem diesen dieser dieses
   doch durch eine einem einen einer eines etwas gegen haben hatte ihre ihrem ihren ihrer jede jeden jetzt kann kein
   keine können mehr mein meine muss nach nicht noch oder ohne sein seine sich sind soll sollen über unter viel vom
   wann ward waren weil wenn werden wird wurde zwischen`
    .split(/\s+/)
    .filter(word => word !== ''),
);

export interface Evidence {
  /** Returns whether these segments, each with the one before it, support a text. */
  carries(text: string, from: readonly number[]): Promise<boolean>;
}

/** @param transcript the texts of segments by number, from 1 */
export function createEvidence(
  transcript: readonly string[],
  { names, embedder, signal }: { names: readonly string[]; embedder: Embedder | null; signal: AbortSignal },
): Evidence {
  const given = new Set(names.flatMap(stemsOf));

  function evidenceOf(from: readonly number[]): string[] {
    const places = new Set(from.flatMap(number => [number - 2, number - 1]));
    return transcript.filter((_, index) => places.has(index));
  }

  function shareOf(text: string, segments: readonly string[]): number {
    const told = stemsOf(text).filter(stem => !given.has(stem));
    if (told.length === 0) return 1;
    const held = new Set(stemsOf(segments.join(' ').slice(0, MAX_CHARS)));
    return told.filter(stem => held.has(stem)).length / told.length;
  }

  /** Returns whether hardly any other segment is closer to the text in meaning. */
  async function isNear(text: string, cited: readonly string[]): Promise<boolean> {
    if (!embedder) return false;
    const rest = transcript.filter(segment => !cited.includes(segment) && segment !== '');
    const step = Math.max(1, Math.ceil(rest.length / MAX_OTHERS));
    const others = rest.filter((_, index) => index % step === 0);
    if (others.length < MIN_OTHERS) return false;
    const texts = [text, cited.join(' '), ...others];
    const [own, evidence, ...vectors] = await embedder.embed(texts, signal);
    if (!own || !evidence || isZero(own) || isZero(evidence)) return false;
    const nearness = dot(own, evidence);
    return vectors.filter(vector => dot(own, vector) >= nearness).length <= MAX_NEARER;
  }

  return {
    async carries(text, from) {
      const cited = evidenceOf(from);
      if (cited.length === 0) return false;
      return shareOf(text, cited) >= MIN_SHARE || (await isNear(text, cited));
    },
  };
}

/** Returns the share of words that two texts have in common, 0 to 1. */
export function likeness(one: string, other: string): number {
  const [a, b] = [new Set(stemsOf(one)), new Set(stemsOf(other))];
  if (a.size === 0 || b.size === 0) return one.trim() === other.trim() ? 1 : 0;
  const shared = [...a].filter(stem => b.has(stem)).length;
  return shared / Math.max(a.size, b.size);
}

function stemsOf(text: string): string[] {
  const words = text.normalize('NFKC').toLowerCase().match(WORD) ?? [];
  return words
    .filter(word => (word.length > 3 || /\p{N}|[^\p{Script=Latin}]/u.test(word)) && !EMPTY.has(word))
    .map(word => [...word].slice(0, STEM_LETTERS).join(''));
}

function dot(one: Float32Array, other: Float32Array): number {
  return one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
}

function isZero(vector: Float32Array): boolean {
  return vector.every(value => value === 0);
}
