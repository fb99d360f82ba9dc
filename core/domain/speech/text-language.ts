import { detectAll } from 'tinyld/light';

/** More says nothing new. */
const MAX_CHARS = 1000;
/** The best guess must be so many times as likely as the second: a wrong language is worse than none. */
const LEAD = 1.5;

/** ISO 639-1 of a text, by its letters and words; null where it is too short, or could be of several. */
export function languageOfText(text: string): string | null {
  const [best, second] = detectAll(text.slice(0, MAX_CHARS));
  if (!best) return null;
  return best.accuracy >= LEAD * (second?.accuracy ?? 0) ? best.lang : null;
}
