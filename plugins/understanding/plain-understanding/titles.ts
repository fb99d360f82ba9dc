/** Chooses the title of a conversation: a sentence, or its first appointment and task. */
import type { Cited } from '../../../core/contract/plugin.ts';
import { languageOf } from './language.ts';
import { titleCased } from './structure.ts';
import { tokensOf } from './tokens.ts';

const MAX_TITLE_CHARS = 60;
/** A sentence with such a beginning is not understandable on its own. */
const LOOSE_START =
  /^(?:I|I'll|I'm|I'd|I've|you|you'll|you're|you've|we|we'll|we've|we're|it's|it|that's|he|he's|she|she's|they|they're|there|here|let|what|how|when|where|give|mind|and|well|ich|du|wir|er|sie|es|das|da|was|wie|und|dann|je|j'|tu|vous|on|il|elle|c'est|ça|et|qu|yo|tú|usted|qué|cómo|lo|le|la|y)(?!\p{L})/iu;

/**
 * Returns the first appointment and the first task if the sentence is not understandable on its own, or is not about any of
 * them; otherwise the sentence.
 */
export function titleWith(
  sentence: Cited,
  events: readonly Cited[],
  tasks: readonly Cited[],
  isEnglish: boolean,
): Cited {
  const noted = new Set([...events, ...tasks].flatMap(({ from }) => from));
  const isOfMatter = sentence.from.some(id => noted.has(id));
  if (isOfMatter && !LOOSE_START.test(sentence.text)) return sentence;
  const chosen: Cited[] = [];
  for (const each of [...events.slice(0, 1), ...tasks.slice(0, 1)]) {
    const isFitting = [...chosen, each].map(({ text }) => text).join(', ').length <= MAX_TITLE_CHARS;
    const isSaid = chosen.some(({ from }) => from.join() === each.from.join());
    if (isFitting && !isSaid) chosen.push(each);
  }
  if (chosen.length === 0) return sentence;
  const text = chosen.map(each => each.text).join(', ');
  const from = [...new Set(chosen.flatMap(each => each.from))];
  return { text: isEnglish && languageOf(tokensOf(text), []).code === 'en' ? titleCased(text) : text, from };
}
