/** Language codes as clients send them; one rule for every route and for `/v4/listen`. */

/** The recogniser detects the language. */
export const MULTI = 'multi';

/** For the description and the error of a parameter. */
export const LANGUAGE_RULE = 'an ISO 639 language code (en, pt-BR), or multi';

const MAX_CHARS = 35;
const SHAPE = /^[a-z]{2,3}(-[a-z0-9]{1,8})*$/i;
/** Loaded when first used. */
let names: Intl.DisplayNames | undefined;

/**
 * Returns the code in its usual case (`en`, `pt-BR`, `zh-Hant`), `multi` for `auto`; null if it names no language. Its first
 * part decides: `english` and `qq` are no codes.
 */
export function languageOf(code: string): string | null {
  if (code.length > MAX_CHARS) return null;
  const lower = code.toLowerCase();
  if (lower === MULTI || lower === 'auto') return MULTI;
  if (!SHAPE.test(lower)) return null;
  const [language = '', ...rest] = lower.split('-');
  if (!isKnown(language)) return null;
  return [language, ...rest.map(inUsualCase)].join('-');
}

/** `pt` of `pt-BR`. */
export function baseOf(code: string): string {
  return code.split('-')[0] ?? '';
}

function isKnown(language: string): boolean {
  names ??= new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' });
  return language !== 'und' && names.of(language) !== undefined;
}

/** Scripts have four letters, regions two. */
function inUsualCase(part: string): string {
  if (part.length === 2) return part.toUpperCase();
  return /^[a-z]{4}$/.test(part) ? `${part.charAt(0).toUpperCase()}${part.slice(1)}` : part;
}
