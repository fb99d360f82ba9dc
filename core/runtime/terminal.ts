/** Control characters but line breaks and tabs: in a terminal they move the cursor, change colours, or set its title. */
const CONTROLS = /[^\P{Cc}\n\t]+/gu;
/** The same as they stand in JSON; a pair of backslashes is a backslash, not the beginning of one of them. */
const ESCAPED_CONTROLS = /\\\\|\\[bfr]|\\u00(?:[01][0-9a-f]|7f|[89][0-9a-f])|[^\P{Cc}\n\t]/giu;

/** Text of several lines as it may be written to a terminal, whoever it is from. */
export function forTerminal(text: string): string {
  return text.replaceAll(CONTROLS, ' ');
}

/** A line of JSON without control characters in its texts, but for line breaks and tabs. */
export function withoutEscapedControls(json: string): string {
  return json.replaceAll(ESCAPED_CONTROLS, found => (found === '\\\\' ? found : ' '));
}

/** The same value, each text in it on one line and without control characters. */
export function onOneLine<T>(value: T): T {
  return map(value) as T; // texts stay texts
}

function map(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(/\p{Cc}+/gu, ' ');
  if (Array.isArray(value)) return value.map(map);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, map(each)]));
}

/** A number of bytes as people read it: `1.2 MB`. */
export function sizeOf(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1000 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
}

/** As it has to be typed in a shell. */
export function shellWord(text: string): string {
  return /^[\w./@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
