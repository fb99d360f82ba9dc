/** Chooses the title of a conversation: a sentence, what was noted, or the words that it is about. */
import type { Cited } from '../../../core/contract/plugin.ts';
import { languageOf } from './language.ts';
import type { Language } from './languages/language.ts';
import { isOfTime, type Structure, titleCased } from './structure.ts';
import { type Token, tokensOf, words } from './tokens.ts';

const MAX_TITLE_CHARS = 60;

/**
 * A sentence that tells of what was noted, and that is understood without the ones before it; otherwise the first
 * appointment and the first task; otherwise topics.
 */
export function titleWith(
  { title, isCut, topics }: Pick<Structure, 'title' | 'isCut' | 'topics'>,
  events: readonly Cited[],
  tasks: readonly Cited[],
  isEnglish: boolean,
): Cited {
  const noted = new Set([...events, ...tasks].flatMap(({ from }) => from));
  const isOfMatter = title.from.some(id => noted.has(id));
  const isGood = !isCut && isClear(title.text);
  if (isOfMatter && isGood) return title;
  const chosen: Cited[] = [];
  for (const each of [...events.slice(0, 1), ...tasks.slice(0, 1)]) {
    const isFitting = [...chosen, each].map(({ text }) => text).join(', ').length <= MAX_TITLE_CHARS;
    const isSaid = chosen.some(({ from }) => from.join() === each.from.join());
    if (isFitting && !isSaid && isClear(each.text)) chosen.push(each);
  }
  if (chosen.length > 0) return cased(joined(chosen), isEnglish);
  return isGood || topics === null || topics.text.length > MAX_TITLE_CHARS ? title : cased(topics, isEnglish);
}

function joined(items: readonly Cited[]): Cited {
  return {
    text: items.map(({ text }) => text).join(', '),
    from: [...new Set(items.flatMap(({ from }) => from))],
  };
}

function cased({ text, from }: Cited, isEnglish: boolean): Cited {
  return { text: isEnglish && languageOf(tokensOf(text), []).code === 'en' ? titleCased(text) : text, from };
}

/** Begins and ends like a title, and names what it is about: no "went down to", "share it with Martin". */
function isClear(text: string): boolean {
  const tokens = tokensOf(text);
  const language = languageOf(tokens, []);
  const { stopWords, acts } = language;
  const [first, last] = [tokens[0], tokens.at(-1)];
  if (!first || !last || tokens.some(({ word }) => isPronoun(word, language))) return false;
  const isLed = [acts.determiners, acts.prepositions].some(each => each.has(first.word));
  const isVerb = acts.infinitives.has(first.bare); // "Make the salad"
  if ((stopWords.has(first.word) && !isLed && !isVerb) || isFiniteVerb(first, language)) return false;
  const isMatter = ({ word, bare }: Token) =>
    !stopWords.has(word) && !acts.infinitives.has(bare) && !isOfTime(word);
  if (!tokens.some(token => isMatter(token) || acts.appointments.has(token.word))) return false;
  return !acts.over.has(last.word) && !acts.prepositions.has(last.word) && !acts.determiners.has(last.word);
}

/** "Tengo que …", "dachte an …": a verb without its subject. English verbs of that form are requests. */
function isFiniteVerb(first: Token, { code, acts }: Language): boolean {
  const { bare, word } = first;
  if (code === 'en' || acts.infinitives.has(bare) || acts.appointments.has(word)) return false;
  const isPast = code === 'de' && bare.endsWith('te') && acts.infinitives.has(`${bare.slice(0, -2)}en`);
  const isForm = [acts.firstPerson, acts.imperatives, acts.secondPerson].some(forms => forms.has(bare));
  return isPast || PAST.has(bare) || (code !== 'de' && isForm) || acts.happenings.at([first], 0) !== null;
}
const PAST = words('dachte wollte hatte musste konnte sollte durfte war wurde ging kam sah fand');

/** A title that speaks of "it" or "me" is understood only where it was said. */
function isPronoun(word: string, { code }: Language): boolean {
  return PRONOUNS[code]?.has(word.split("'")[0] ?? '') ?? false;
}
const PRONOUNS: Readonly<Record<string, ReadonlySet<string>>> = {
  en: words('i me you we us he him she it they them'),
  de: words('ich mich mir du dich dir er ihn ihm sie ihnen es wir uns euch'),
  fr: words('je j moi tu toi il elle on nous vous ils elles ça'),
  es: words('yo me tú te usted nos ustedes'),
};
