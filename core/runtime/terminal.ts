/**
 * Control characters except line breaks and tabs: in a terminal they move the cursor, change colours, or set
 * its title.
 */
const CONTROLS = /[^\P{Cc}\n\t]+/gu;
/** The same characters as escaped in JSON; an escaped backslash does not begin such an escape. */
const ESCAPED_CONTROLS = /\\\\|\\[bfr]|\\u00(?:[01][0-9a-f]|7f|[89][0-9a-f])|[^\P{Cc}\n\t]/giu;

/**
 * Returns text of several lines without control characters, so that text of any origin may be written to a
 * terminal.
 */
export function forTerminal(text: string): string {
  return text.replaceAll(CONTROLS, ' ');
}

/** Returns a line of JSON without control characters in its texts, except line breaks and tabs. */
export function withoutEscapedControls(json: string): string {
  return json.replaceAll(ESCAPED_CONTROLS, found => (found === '\\\\' ? found : ' '));
}

/** Returns the value with every text in it on one line and without control characters. */
export function onOneLine<T>(value: T): T {
  return map(value) as T; // strings stay strings
}

function map(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(/\p{Cc}+/gu, ' ');
  if (Array.isArray(value)) return value.map(map);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, map(each)]));
}

/** Formats a number of bytes for people: `1.2 MB`. */
export function sizeOf(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1000 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
}

/** Quotes an argument as it has to be typed in a shell. */
export function shellWord(text: string): string {
  return /^[\w./@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
