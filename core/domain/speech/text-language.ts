import { detectAll } from 'tinyld/light';

/** Maximum characters that are examined. */
const MAX_CHARS = 1000;
/** Required ratio of the best guess's probability to the second's: a wrong language is worse than none. */
const LEAD = 1.5;

/** Detects the language (ISO 639-1) of a text by its letters and words; null where it is too short, or ambiguous. */
export function languageOfText(text: string): string | null {
  const [best, second] = detectAll(text.slice(0, MAX_CHARS));
  if (!best) return null;
  return best.accuracy >= LEAD * (second?.accuracy ?? 0) ? best.lang : null;
}
