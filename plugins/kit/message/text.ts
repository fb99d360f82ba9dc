/** Formats untrusted input for people: plain text, bounded, and always with its origin. */
import type { NotificationMessage } from '../../../core/contract/plugin.ts';

/**
 * Measures how much of a limit a text uses. It must be additive: the size of a text is the sum of those of its
 * characters.
 */
export type Measure = (text: string) => number;

const codePoints: Measure = text => [...text].length;
/** Length in a JSON string, which is never less than its bytes in UTF-8. */
export const jsonBytes: Measure = text => Buffer.byteLength(JSON.stringify(text)) - 2;

const MAX_TITLE = 200;
const MAX_NAME = 100;
const MAX_RULE = 300;
const ELLIPSIS = '…';
/** Control characters except tab and line feed. */
const CONTROLS = /(?![\t\n])\p{Cc}/gu;

/** Puts text on a single, bounded line, which fits into a header and cannot add others. */
export function linesOf({ title, app, rule }: NotificationMessage): {
  title: string;
  app: string;
  rule: string;
} {
  const name = oneLine(app, MAX_NAME);
  return { title: oneLine(title, MAX_TITLE) || name, app: name, rule: oneLine(rule, MAX_RULE) };
}

/** Joins the text, its origin, and further lines; only the text is shortened where it is too long. */
export function bodyOf(
  message: NotificationMessage,
  {
    max = Number.POSITIVE_INFINITY,
    measure = codePoints,
    below = [],
  }: { max?: number; measure?: Measure; below?: readonly string[] } = {},
): string {
  const { app, rule } = linesOf(message);
  const end = ['', '', `${app}: ${rule}`, ...below].join('\n');
  return shorten(plain(message.text), max - measure(end), measure) + end;
}

/** How to mute such messages, for channels that have no other place for it. */
export function muteLines({ muteUrl }: NotificationMessage): string[] {
  return muteUrl === null ? [] : [`No more of these: ${muteUrl}`];
}

/** Shortens text to `max`, with an ellipsis at its end, without dividing a character. */
export function shorten(text: string, max: number, measure: Measure = codePoints): string {
  if (measure(text) <= max) return text;
  let left = max - measure(ELLIPSIS);
  let end = 0;
  for (const character of text) {
    left -= measure(character);
    if (left < 0) break;
    end += character.length;
  }
  return text.slice(0, end).trimEnd() + ELLIPSIS;
}

function plain(text: string): string {
  return text.toWellFormed().replaceAll(/\r\n?/g, '\n').replaceAll(CONTROLS, '').trim();
}

function oneLine(text: string, max: number): string {
  const line = text
    .toWellFormed()
    .replaceAll(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
  return shorten(line, max, codePoints);
}
