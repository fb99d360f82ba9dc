/** Removes a model's reasoning from its answer. Pure. */

const OPEN = '<think>';
const CLOSE = '</think>';
const FENCE = '```';

export interface ThoughtFilter {
  /** Returns the part of this text that is not reasoning, which precedes the answer. */
  push(piece: string): string;
  /** Returns text that was held back because it might have been the beginning of reasoning. */
  end(): string;
}

/** Filters reasoning that servers pass on between `<think>` and `</think>`. */
export function createThoughtFilter(): ThoughtFilter {
  let state: 'unknown' | 'thinking' | 'answering' = 'unknown';
  let held = '';

  function push(piece: string): string {
    if (state === 'answering') return piece;
    held += piece;
    if (state === 'unknown') {
      held = held.trimStart();
      if (held.length < OPEN.length && OPEN.startsWith(held)) return '';
      if (!held.startsWith(OPEN)) return answer(held);
      state = 'thinking';
    }
    const end = held.indexOf(CLOSE);
    if (end !== -1) {
      state = 'unknown'; // more reasoning may follow
      return push(take().slice(end + CLOSE.length));
    }
    held = held.slice(-CLOSE.length);
    return '';
  }

  function answer(text: string): string {
    state = 'answering';
    held = '';
    return text;
  }

  function take(): string {
    const text = held;
    held = '';
    return text;
  }

  return { push, end: () => (state === 'unknown' ? take() : '') };
}

/** Reads the JSON value in an answer: alone, in a fence, or among other words. Undefined: there is none. */
export function jsonIn(answer: string): unknown {
  // Some chat templates write `<think>` themselves: only `</think>` is in the answer.
  const thoughtEnd = answer.lastIndexOf(CLOSE);
  const texts = thoughtEnd === -1 ? [answer] : [answer.slice(thoughtEnd + CLOSE.length), answer];
  for (const text of texts) {
    for (const candidate of [text, fencedIn(text), between(text, '{', '}'), between(text, '[', ']')]) {
      const value = candidate === undefined ? undefined : parse(candidate);
      if (value !== undefined) return value;
    }
  }
  return undefined;
}

/**
 * Extracts the text between the first two fences, without the word after the first. Without a regular expression, which
 * would be slow on an answer of very many blanks.
 */
function fencedIn(text: string): string | undefined {
  const from = text.indexOf('\n', text.indexOf(FENCE) + FENCE.length);
  const to = text.indexOf(FENCE, from);
  return text.includes(FENCE) && from !== -1 && to !== -1 ? text.slice(from, to) : undefined;
}

function between(text: string, open: string, close: string): string | undefined {
  const from = text.indexOf(open);
  const to = text.lastIndexOf(close);
  return from === -1 || to < from ? undefined : text.slice(from, to + 1);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the parser's message would quote the answer
  }
}
