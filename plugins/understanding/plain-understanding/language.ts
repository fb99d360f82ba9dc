/** Detects which of the known languages a text is in. */
import { english } from './languages/english.ts';
import { french } from './languages/french.ts';
import { german } from './languages/german.ts';
import type { Language } from './languages/language.ts';
import { spanish } from './languages/spanish.ts';
import type { Token } from './tokens.ts';

export const LANGUAGES: readonly Language[] = [english, german, french, spanish];

/**
 * Returns the known language of a conversation, otherwise the one whose common words are most frequent.
 * English if nothing indicates a language.
 *
 * @param known ISO 639-1 codes; with none or several, the language is detected
 */
export function languageOf(tokens: readonly Token[], known: readonly string[]): Language {
  const codes = new Set(known.map(code => code.slice(0, 2).toLowerCase()));
  const candidates = LANGUAGES.filter(({ code }) => codes.size === 0 || codes.has(code));
  const [first, ...others] = candidates.length > 0 ? candidates : LANGUAGES;
  if (!first || others.length === 0) return first ?? english;
  let best = { language: first, score: -1 };
  for (const language of [first, ...others]) {
    const score = tokens.reduce((sum, { word }) => sum + Number(language.stopWords.has(word)), 0);
    if (score > best.score) best = { language, score };
  }
  return best.language;
}
