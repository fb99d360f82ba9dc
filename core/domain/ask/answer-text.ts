/**
 * Makes a model's text safe to show, piece by piece: it keeps the numbers of sources, and removes pictures and links.
 * Pure.
 */

/** A longer first line is not a header. */
const MAX_HEADER_CHARS = 300;
/** Maximum length of a number in brackets. */
const MAX_MARK_CHARS = 40;
const MARK = /\[\s*(\d{1,4}(?:\s*,\s*\d{1,4}){0,5})\s*\]/g;
/** Control characters except line breaks, and characters that change the direction of text. */
const UNSEEN = /[^\P{Cc}\n]|[\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Parses the sources that the first line names, by their position: `SOURCES: 2, 5`, or `SOURCES: none`. Null: it is
 * no such line.
 */
function headerOf(line: string, count: number): number[] | null {
  const [name, numbers, ...others] = line.toLowerCase().replaceAll('*', '').trim().split(':');
  if ((name !== 'sources' && name !== 'source') || numbers === undefined || others.length > 0) return null;
  const named = numbers.trim();
  if (named === '' || (named !== 'none' && /[^\d\s,;.&[\]]/.test(named.replaceAll('and', '')))) return null;
  const places = (named.match(/\d+/g) ?? []).map(number => Number(number) - 1);
  return [...new Set(places)].filter(place => place >= 0 && place < count);
}

export interface AnswerText {
  /** Null until the header is complete; `undefined`: there is none. */
  push(piece: string): { header: number[] | null | undefined; text: string };
  /** Returns the text that was held back. */
  end(): { header: number[] | null | undefined; text: string };
}

/** @param count number of sources that the model was given */
export function createAnswerText(count: number): AnswerText {
  let header: number[] | null | undefined = null;
  let held = '';

  function take(isEnd: boolean): { header: typeof header; text: string } {
    if (header === null) readHeader(isEnd);
    if (!header) return { header, text: '' };
    const cut = isEnd ? held.length : safeEnd(held);
    const text = shown(held.slice(0, cut), header);
    held = held.slice(cut);
    return { header, text };
  }

  function readHeader(isEnd: boolean): void {
    held = held.trimStart();
    const end = held.indexOf('\n');
    if (end === -1 && !isEnd && held.length < MAX_HEADER_CHARS) return;
    header = headerOf(end === -1 ? held : held.slice(0, end), count) ?? undefined;
    held = end === -1 ? '' : held.slice(end + 1).trimStart();
  }

  return {
    push(piece) {
      held += piece;
      return take(false);
    },
    end: () => take(true),
  };
}

/** Returns the length of the text that cannot be the beginning of a mark, a link or a surrogate pair. */
function safeEnd(text: string): number {
  const open = text.lastIndexOf('[');
  const isOpen = open !== -1 && text.length - open <= MAX_MARK_CHARS;
  if (isOpen && (!text.includes(']', open) || text.endsWith(']')))
    return text[open - 1] === '!' ? open - 1 : open;
  return /[!\]\ud800-\udbff]$/.test(text) ? text.length - 1 : text.length;
}

/** Renumbers the sources that the header names, in its order; removes other numbers, pictures and links. */
export function shown(text: string, header: readonly number[]): string {
  const marked = text.replaceAll(MARK, (_, numbers: string) => {
    const places = numbers.split(',').map(number => header.indexOf(Number(number) - 1) + 1);
    return [...new Set(places)]
      .filter(place => place > 0)
      .map(place => `[${place}]`)
      .join('');
  });
  return marked.toWellFormed().replaceAll(UNSEEN, ' ').replaceAll('![', '[').replaceAll('](', '] (');
}
