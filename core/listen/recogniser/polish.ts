/** Capitals and full stops for recognisers that write neither. Pure. */

/** Languages whose script has capital letters, and whose sentences end with a full stop. */
const CASED = new Set(
  `af az be bg bs ca cs cy da de el en eo es et eu fi fo fr ga gl hr hu id is it ka kk la lb lt lv mk ms mt nb nl nn no
   oc pl pt ro ru sk sl sq sr sv sw tl tr uk uz vi`.split(/\s+/),
);
const CLOSED = /[.!?…:;,]$/;

/** Language and names for writing a text. */
export interface Writing {
  /** ISO 639-1 of the text; `multi` where unknown. */
  language: string;
  /** Names and words in their correct spelling. */
  vocabulary: readonly string[];
}

/**
 * Capitalises the beginning of a lower-case text and the names of the vocabulary, and adds a full stop. Text in a
 * language without capitals, or in an unknown one, is returned unchanged.
 */
export function polish(text: string, { language, vocabulary }: Writing): string {
  const [code = ''] = language.toLowerCase().split('-');
  if (text === '' || !CASED.has(code)) return text;
  const named = code === 'en' ? withI(text) : text;
  const written = withNames(named, vocabulary);
  const [first = '', ...rest] = written;
  const sentence = first.toLocaleUpperCase(code) + rest.join('');
  return CLOSED.test(sentence) ? sentence : `${sentence}.`;
}

/** Capitalises the English pronoun "I". */
function withI(text: string): string {
  return text.replaceAll(/\bi\b(?!-)/g, 'I');
}

/** Replaces longer names first, so that `Ann Arbor` is not taken for `Ann`. */
function withNames(text: string, vocabulary: readonly string[]): string {
  const spelled = new Map(vocabulary.map(name => [keyOf(name), name]));
  const longest = Math.max(0, ...[...spelled.keys()].map(key => key.split(' ').length));
  const words = text.split(' ');
  const written: string[] = [];
  for (let at = 0; at < words.length; ) {
    let count = Math.min(longest, words.length - at);
    while (count > 0 && !spelled.has(keyOf(words.slice(at, at + count).join(' ')))) count -= 1;
    written.push(spelled.get(keyOf(words.slice(at, at + count).join(' '))) ?? words[at] ?? '');
    at += Math.max(1, count);
  }
  return written.join(' ');
}

function keyOf(name: string): string {
  return name.trim().toLowerCase();
}
