/** Splits a text into words, and looks phrases up in tables. All of it runs in linear time. */

export interface Token {
  /** As it was written. */
  text: string;
  /** Lower-case, with straight apostrophes. */
  word: string;
  /** Also without accents, which recognisers and people omit. */
  bare: string;
  /** Position in the text in UTF-16 units; `end` is exclusive. */
  start: number;
  end: number;
  /** Punctuation after it: ends a sentence, a question or a part of a sentence. */
  stop: '' | ',' | '.' | '?';
  /** A hyphen joins it to the next: "call-out". */
  isHyphenated?: boolean;
}

const PIECE = /[\p{L}\p{M}\p{N}]+(?:['’:][\p{L}\p{M}\p{N}]+)*/gu;
/** Words that French joins to the next word with an apostrophe; both count as words. */
const ELISION = /^(?:[cdjlmnst]|qu|lorsqu|puisqu|jusqu)['’](?=[\p{L}\p{M}])/iu;
const ACCENTS = /\p{Mn}/gu;
/** After these, "20." is a date and not the end of a sentence. */
const BEFORE_GERMAN_DATE = new Set(['am', 'den', 'dem', 'der', 'vom', 'zum']);

export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  for (const { 0: piece, index } of text.matchAll(PIECE)) {
    const elided = ELISION.exec(piece)?.[0] ?? '';
    if (elided !== '') tokens.push(tokenOf(elided, index));
    tokens.push(tokenOf(piece.slice(elided.length), index + elided.length));
  }
  for (const [index, token] of tokens.entries()) {
    const between = text.slice(token.end, tokens[index + 1]?.start);
    token.stop = stopIn(between, tokens, index);
    token.isHyphenated = between === '-' && index + 1 < tokens.length;
  }
  return tokens;
}

function tokenOf(text: string, start: number): Token {
  const word = text.toLowerCase().replaceAll('’', "'");
  return {
    ...{ text, word, start, end: start + text.length, stop: '' },
    bare: withoutAccents(word),
  };
}

export function withoutAccents(word: string): string {
  return word.normalize('NFD').replace(ACCENTS, '');
}

function stopIn(between: string, tokens: readonly Token[], index: number): Token['stop'] {
  if (/[?？]/u.test(between)) return '?';
  const isLast = index + 1 === tokens.length;
  if (/[!…。！]|\.["'”’)]*\s/u.test(between) || (isLast && between.includes('.'))) {
    const isDate =
      /^\d{1,2}$/.test(tokens[index]?.word ?? '') &&
      BEFORE_GERMAN_DATE.has(tokens[index - 1]?.word ?? '') &&
      !isLast;
    return isDate ? '' : '.';
  }
  return /[,;:–—]/u.test(between) ? ',' : '';
}

/** Maximum tokens of a sentence, as speech without punctuation has no sentence ends. */
const MAX_SENTENCE_TOKENS = 80;

/** Start of the sentence that contains a token. */
export function sentenceStart(tokens: readonly Token[], index: number): number {
  const earliest = Math.max(0, index - MAX_SENTENCE_TOKENS);
  for (let at = index; at > earliest; at--) if (endsSentence(tokens[at - 1])) return at;
  return earliest;
}

/** End of the sentence that contains a token, exclusive. */
export function sentenceEnd(tokens: readonly Token[], index: number): number {
  const latest = Math.min(tokens.length, index + MAX_SENTENCE_TOKENS);
  for (let at = index; at < latest; at++) if (endsSentence(tokens[at])) return at + 1;
  return latest;
}

export function endsSentence(token: Token | undefined): boolean {
  return token?.stop === '.' || token?.stop === '?';
}

export interface Match<T> {
  value: T;
  /** Length in tokens. */
  length: number;
}

/** Phrases and their meanings. */
export interface Table<T> {
  /** The longest phrase that begins at this token and ends before `to`. */
  at(tokens: readonly Token[], index: number, to?: number): Match<T> | null;
}

/** @param entries phrases separated by `|`, in lower case, and their meaning; a later one replaces an earlier one */
export function table<T>(entries: Iterable<readonly [phrases: string, value: T]>): Table<T> {
  const byFirst = new Map<string, Map<string, { words: string[]; value: T }>>();
  for (const [phrases, value] of entries)
    for (const phrase of phrases.split('|')) {
      const words = phrase.trim().split(/\s+/);
      const first = words[0] ?? '';
      if (first === '') continue;
      const same = byFirst.get(first) ?? new Map();
      byFirst.set(first, same.set(words.join(' '), { words, value }));
    }
  const longestFirst = new Map(
    [...byFirst].map(([first, same]) => [
      first,
      [...same.values()].sort((a, b) => b.words.length - a.words.length),
    ]),
  );
  return {
    at(tokens, index, to = tokens.length) {
      const first = tokens[index];
      if (!first || index >= to) return null;
      const found = longestFirst
        .get(first.word)
        ?.find(
          ({ words }) =>
            index + words.length <= to &&
            words.every(
              (word, ahead) => tokens[index + ahead]?.word === word && isWhole(tokens, index, ahead),
            ),
        );
      return found ? { value: found.value, length: found.words.length } : null;
    },
  };
}

/** A phrase never extends across the end of a sentence. */
function isWhole(tokens: readonly Token[], index: number, ahead: number): boolean {
  const before = tokens[index + ahead - 1]?.stop;
  return ahead === 0 || (before !== '.' && before !== '?');
}

/** Phrases with the same meaning. */
export function phrases(text: string): Table<true> {
  return table([[text, true]]);
}

export function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/).filter(word => word !== ''));
}
