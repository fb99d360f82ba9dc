const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const LIST = 0x5b;
const OBJECT = 0x7b;

/**
 * Counts values of JSON while it arrives, without parsing it. To be called with one chunk after the other; returns the
 * count so far: one for each comma and each opening bracket outside of texts, and one more.
 */
export function createValueCounter(): (chunk: Uint8Array) => number {
  let values = 1;
  let isInText = false;
  let isEscaped = false;
  return chunk => {
    let at = 0;
    let quote = -1;
    let backslash = -1;
    while (at < chunk.length) {
      if (isEscaped) {
        isEscaped = false;
        at += 1;
      } else if (isInText) {
        // Most of a long body is text, which is searched much faster than it is looked through.
        if (quote < at) quote = indexIn(chunk, QUOTE, at);
        if (backslash < at) backslash = indexIn(chunk, BACKSLASH, at);
        if (backslash < quote) isEscaped = true;
        else if (quote < chunk.length) isInText = false;
        at = Math.min(backslash, quote) + 1;
      } else {
        const byte = chunk[at];
        if (byte === QUOTE) isInText = true;
        else if (byte === COMMA || byte === LIST || byte === OBJECT) values += 1;
        at += 1;
      }
    }
    return values;
  };
}

/** The length of the chunk where there is none. */
function indexIn(chunk: Uint8Array, byte: number, from: number): number {
  const found = chunk.indexOf(byte, from);
  return found < 0 ? chunk.length : found;
}
