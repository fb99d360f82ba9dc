/** Writes a task as a person would note it down, using only words that were said. */
import type { UnderstandingContext } from '../../../core/contract/plugin.ts';
import type { Act } from './acts.ts';
import type { Language } from './languages/language.ts';
import type { Line } from './lines.ts';
import { sentenceStart, type Token, tokensOf } from './tokens.ts';

const MAX_WORDS = 14;
const MAX_CHARS = 200;
const MAX_NOUN_WORDS = 4;
/** Lines before a pronoun that are searched for its antecedent. */
const ANTECEDENT_LINES = 2;
/** The same where gender and number tell which noun is meant. */
const GENDERED_LINES = 4;
const STEM_CHARS = 6;
/** Maximum words between a pronoun and its antecedent in one line. */
const MAX_NOUN_DISTANCE = 60;

type Names = Pick<UnderstandingContext, 'owner' | 'people'>;

export interface Described {
  text: string;
  /** Other lines that contributed words. */
  from: number[];
  /** Whether the antecedent was not found. */
  isVague: boolean;
}

/** A word of a task: part of a line, or its replacement. */
interface Piece {
  text: string;
  /** Its position in the line; null for an inserted word. */
  at: number | null;
}

/** @param dateTokens indices of the tokens that express a time, which are left out */
export function describe(
  lines: readonly Line[],
  index: number,
  act: Act,
  names: Names,
  dateTokens: ReadonlySet<number>,
): Described | null {
  const line = lines[index];
  if (!line) return null;
  const { tokens, language } = line;
  const words = language.acts;
  const other = listenerOf(lines, index, names);
  const speaker = nameOf(line.segment.speaker, names);
  const isAsked = !line.isOwn;
  const isInflected =
    act.kind === 'present' ||
    act.kind === 'imperative' ||
    (words.isVerbLast && act.verbAt !== null && act.verbAt < act.from); // "holen wir"
  const pieces: Piece[] = [];
  const from: number[] = [];
  let isVague = false;
  const finite = isInflected && act.verb && act.verbAt !== null ? act.verb.infinitive : null;
  const opening = act.verb && !words.isVerbLast ? (finite ?? infinitiveFor(tokens, act)) : null;
  const enclitic =
    opening && act.verbAt !== null ? encliticOf(tokens[act.verbAt]?.bare ?? '', language) : null;
  if (opening)
    pieces.push({ text: reflexive(opening, tokens, act, language), at: finite ? null : act.verbAt });
  const start = opening && act.verbAt !== null ? act.verbAt + 1 : act.from;
  const places = [
    ...range(act.prefieldFrom, act.index),
    ...range(start, Math.min(act.to, start + MAX_WORDS)),
  ];
  const clitics = opening && act.verbAt !== null ? range(Math.min(act.index, act.from), act.verbAt) : [];
  const fronted = language.code === 'es' && tokens[act.index - 1]?.stop === '' ? [act.index - 1] : []; // "lo tengo que mandar"
  const objectClitic =
    act.verb?.infinitive === 'decir'
      ? null
      : ([...fronted, ...clitics]
          .map(at => tokens[at]?.word ?? '')
          .findLast(word => isObject(word, language)) ?? enclitic);
  const isObjectLess = objectClitic !== null || isTopicOmitted(act, line);
  let hasObject = false;
  let isBehindPreposition = false;
  let skipped = -1;
  for (const at of places) {
    const token = tokens[at];
    if (!token || at <= skipped) continue;
    if (dateTokens.has(at) || at === act.particleAt || (finite && at === act.verbAt)) continue;
    if (tokens[at - 1]?.isHyphenated && tokens[at - 1]?.word === 'rendez') {
      pieces.push({ text: token.text, at }); // "rendez-vous"
      continue;
    }
    const toYou = isAsked ? null : words.toYou.at(tokens, at, act.to);
    const toMe = isAsked ? words.toMe.at(tokens, at, act.to) : null;
    const person = toYou ?? toMe;
    const isNearVerb = pieces.length <= 2 || (person?.length ?? 0) > 1;
    if (person && isNearVerb) {
      const name = toYou ? other : speaker;
      const lead = person.length > 1 && name ? `${tokens[at]?.text} ` : '';
      if (name) pieces.push({ text: lead + name, at: null });
      skipped = at + person.length - 1;
      continue;
    }
    isBehindPreposition ||= words.prepositions.has(token.word) && tokens[at + 1]?.word !== 'favor';
    if (words.fillers.has(token.word) || words.reflexives.has(token.word)) continue;
    if (words.isVerbLast && act.verb && at === act.verbAt) {
      if (pieces.at(-1)?.text === 'zu') pieces.pop();
      pieces.push({ text: act.verb.infinitive, at: null });
      continue;
    }
    const isPrefield = at < act.index && at + 1 === act.index;
    const isPronoun =
      words.pronouns.has(token.word) && (isPrefield || !isDeterminer(tokens, at, act.to, language));
    if (isPronoun && !hasObject && words.personal.has(token.word)) {
      const named = personFor(lines, index, act, token.word, names);
      if (named) from.push(named.line);
      pieces.push(named ? { text: named.text, at: null } : { text: token.text, at }); // a pronoun that only stands for people
      hasObject = true;
      continue;
    }
    if (isPronoun && !hasObject) {
      const noun = antecedentOf(lines, index, act.index, names, token.word);
      if (noun) {
        pieces.push({ text: noun.text, at: null });
        from.push(noun.line);
      } else {
        isVague = true;
        pieces.push({ text: token.text, at });
      }
      hasObject = true;
      continue;
    }
    const mine = isAsked ? words.yours.get(token.word) : undefined;
    if (!language.stopWords.has(token.word))
      hasObject ||= at !== act.verbAt && !(isObjectLess && isBehindPreposition); // "llevarlo a la modista"
    pieces.push(mine ? { text: mine, at: null } : { text: token.text, at });
  }
  const dative = words.isVerbLast ? undefined : clitics.find(at => DATIVES.has(tokens[at]?.word ?? ''));
  const receiver =
    dative === undefined || !line.isOwn
      ? null
      : personFor(lines, index, act, tokens[dative]?.word ?? '', names);
  if (isTopicOmitted(act, line) && !hasObject) {
    const noun = antecedentOf(lines, index, act.index, names);
    if (noun) {
      while (words.prepositions.has(pieces.at(-1)?.text ?? '')) pieces.pop(); // "gleich mit"
      pieces.push({ text: noun.text, at: null });
      from.push(noun.line);
      hasObject = true;
    }
  }
  if (objectClitic !== null && !hasObject) {
    const noun = antecedentOf(lines, index, act.index, names, objectClitic);
    if (noun) {
      pieces.splice(1, 0, { text: noun.text, at: null });
      from.push(noun.line);
    } else isVague ||= !isBehindPreposition;
    hasObject = true;
  }
  if (receiver) {
    pieces.push({ text: `${language.code === 'es' ? 'a' : 'à'} ${receiver.text}`, at: null });
    from.push(receiver.line);
  }
  if (words.isVerbLast && act.verb && act.verbAt !== null && isInflected)
    pieces.push({ text: act.verb.infinitive, at: null });
  const text = written(trimmed(pieces, language), line);
  const content = contentOf(
    pieces.flatMap(({ text: each }) => wordsOf(each)),
    language,
  );
  const verb = act.verb?.infinitive;
  const isTalk = TALK.has(verb ?? '');
  const objects = content.filter(word => word !== verb && !(isTalk && isKnown(word, names)));
  if (text === '' || (objects.length === 0 && !isVague && (isTalk || !isEnough(act, content)))) return null;
  if (isVague && act.verb === null) return null;
  if (act.verb === null && (objects.length < 2 || needsVerb(act, line))) return null;
  return { text, from, isVague: isVague || objects.length === 0 };
}

/** "You'll want to rest", "me falta el presupuesto": nothing to do. */
function needsVerb({ kind, from }: Act, { tokens, language: { code } }: Line): boolean {
  const isForgetting = tokens[from - 1]?.word === 'forget'; // "don't let me forget the car tax"
  return (code === 'en' || code === 'es') && (kind === 'promise' || kind === 'request') && !isForgetting;
}

/** "Schick ich dir morgen": what was mentioned last is left out. */
function isTopicOmitted({ kind, index, verbAt }: Act, { tokens, language }: Line): boolean {
  const isFirst = verbAt === index && sentenceStart(tokens, index) === index;
  return language.acts.isVerbLast && kind === 'present' && isFirst;
}

/** French and Spanish pronouns for somebody to whom something is given or said. */
const DATIVES = new Set(['lui', 'le']);
const MALE = new Set(['him', 'ihn', 'ihm']);
const FEMALE = new Set(['her', 'ihr']);

/** "Ask your dad." "I'll give him a call": the person who was mentioned last. */
function personFor(
  lines: readonly Line[],
  index: number,
  act: Act,
  pronoun: string,
  { owner, people }: Names,
): { text: string; line: number } | null {
  for (let at = index; at >= Math.max(0, index - ANTECEDENT_LINES); at--) {
    const line = lines[at];
    if (!line) continue;
    const to = at === index ? act.index : line.tokens.length;
    for (let place = to - 1; place >= 0; place--) {
      const text = personAt(line, place, people);
      const isSelf = text === owner || text === line.segment.speaker;
      const isOther =
        (MALE.has(pronoun) && WOMEN.test(text ?? '')) || (FEMALE.has(pronoun) && MEN.test(text ?? ''));
      if (text !== null && !isSelf && !isOther) return { text, line: at };
    }
  }
  return null;
}

function personAt({ tokens, language, isOwn }: Line, at: number, people: readonly string[]): string | null {
  const token = tokens[at];
  if (!token) return null;
  const lead = tokens[at - 1];
  if (lead?.stop === '' && KIN.test(token.word) && WHOSE.test(lead.word)) {
    const mine = isOwn ? undefined : language.acts.yours.get(lead.word);
    const isTheirs = !isOwn && mine === undefined; // "my dad" of another speaker
    return isTheirs ? null : `${mine ?? lead.word} ${token.text}`;
  }
  return people.find(name => tokensOf(name)[0]?.word === token.word) ?? null;
}
const WHOSE = /^(?:my|your|our|mein\p{L}*|dein\p{L}*|unser\p{L}*|mon|ma|ton|ta|mi|tu)$/u;
const MEN =
  /(?<!\p{L})(?:dad|father|brother|son|husband|boyfriend|uncle|grandpa|grandad|nephew|boss|landlord|vater|papa|bruder|sohn|mann|freund|onkel|opa|neffe|chef)$/u;
const WOMEN =
  /(?<!\p{L})(?:mum|mom|mother|sister|daughter|wife|girlfriend|aunt|grandma|gran|nan|niece|landlady|mutter|mama|schwester|tochter|frau|freundin|tante|oma|nichte|chefin)$/u;
const KIN =
  /^(?:dad|father|brother|son|husband|boyfriend|uncle|grandpa|grandad|nephew|boss|landlord|mum|mom|mother|sister|daughter|wife|girlfriend|aunt|grandma|gran|nan|niece|landlady|cousin|friend|mate|neighbour|neighbor|doctor|colleague|accountant|vater|papa|bruder|sohn|mann|freund|onkel|opa|neffe|chef|mutter|mama|schwester|tochter|frau|freundin|tante|oma|nichte|chefin|nachbar|nachbarin|kollege|kollegin|père|frère|fils|mari|copain|oncle|papi|mère|sœur|soeur|fille|femme|copine|mamie|voisin|voisine|patron|patronne|cousine|ami|amie|padre|papá|hermano|hijo|marido|novio|tío|abuelo|madre|mamá|hermana|hija|mujer|novia|tía|abuela|vecino|vecina|jefe|jefa|primo|prima|amigo|amiga)$/u;

/** "I'll tell you" does not say what. */
const TALK = new Set('tell say show sagen zeigen dire montrer decir enseñar'.split(' '));

function isKnown(word: string, { owner, people }: Names): boolean {
  return [owner, ...people].some(name => name.toLowerCase() === word);
}

/** A verb alone is enough if it needs no object: "renew", but not "do". */
function isEnough({ verb }: Act, content: readonly string[]): boolean {
  return verb !== null && !verb.isWeak && content.length > 0;
}

/** The line itself, without agreement and expressions of time. */
export function describeLine(line: Line, before: Line, names: Names): string | null {
  const { tokens, language, when } = line;
  const { acts: words } = language;
  const speaker = nameOf(before.segment.speaker, names);
  const pieces: Piece[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    if (!token || when?.tokens.has(at)) continue;
    const skipped =
      words.takings.at(tokens, at)?.length ??
      words.yes.at(tokens, at)?.length ??
      (words.fillers.has(token.word) ? 1 : 0);
    if (skipped > 0) {
      at += skipped - 1;
      if (pieces.length > 0 && token.stop === '.') break;
      continue;
    }
    const person = words.toYou.at(tokens, at);
    if (person) {
      if (speaker) pieces.push({ text: (person.length > 1 ? `${token.text} ` : '') + speaker, at: null });
      at += person.length - 1;
    } else pieces.push({ text: token.text, at });
    if (token.stop === '.' || token.stop === '?') break;
  }
  const text = written(trimmed(pieces, language), line);
  const content = contentOf(
    pieces.flatMap(({ text: each }) => wordsOf(each)),
    language,
  );
  return content.length > 0 ? text : null;
}

/** Returns whether both are about the same thing. */
export function sharesContent(a: Line, b: Line): boolean {
  const [fewer, more] = a.stems.size < b.stems.size ? [a.stems, b.stems] : [b.stems, a.stems];
  for (const stem of fewer) if (more.has(stem)) return true;
  return false;
}

/** Significant words. */
export function contentOf(tokens: readonly Pick<Token, 'word'>[], { stopWords, acts }: Language): string[] {
  return tokens
    .map(({ word }) => word)
    .filter(
      word =>
        (word.length > 1 || /\d/.test(word)) &&
        !stopWords.has(word) &&
        !acts.pronouns.has(word) &&
        !acts.fillers.has(word),
    );
}

/** The beginning of a word, which its inflected forms share. */
export function stemOf(word: string): string {
  return word.slice(0, STEM_CHARS).replace(/(?:es|s|en|e|n)$/, '');
}

/** "Je m'inscris" is "m'inscrire". */
function reflexive(
  infinitive: string,
  tokens: readonly Token[],
  { kind, verbAt }: Act,
  { code }: Language,
): string {
  const before = tokens[(verbAt ?? 0) - 1]?.word;
  if (code !== 'fr' || kind !== 'present') return infinitive;
  if (before !== "m'" && before !== 'me') return infinitive;
  const plain = infinitive.replace(/^(?:s'|se )/, '');
  return before === "m'" ? `m'${plain}` : `me ${plain}`;
}

function infinitiveFor(tokens: readonly Token[], { verb, verbAt }: Act): string | null {
  const token = verbAt === null ? undefined : tokens[verbAt];
  return token && verb ? verb.infinitive : null;
}

/** "Llevarlo": the pronoun at the end of the verb. */
function encliticOf(form: string, { code }: Language): string | null {
  return code === 'es' ? (/[rae](?:me|te|se)?(l[oa]s?)$/.exec(form)?.[1] ?? null) : null;
}

function isObject(word: string, { acts }: Language): boolean {
  return (
    acts.pronouns.has(word) && !acts.toYou.at([{ word, stop: '' } as Token], 0) && OBJECT_CLITICS.has(word)
  );
}
const OBJECT_CLITICS = new Set("le la les l' lo los las en".split(' '));

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
}

/** "That letter" and "die Rechnung" are not pronouns. */
function isDeterminer(tokens: readonly Token[], at: number, to: number, language: Language): boolean {
  const next = tokens[at + 1];
  if (!next || at + 1 >= to || tokens[at]?.stop !== '') return false;
  const { acts, stopWords } = language;
  if (!acts.determiners.has(tokens[at]?.word ?? '')) return false;
  return !stopWords.has(next.word) && !acts.infinitives.has(next.bare) && !acts.fillers.has(next.word);
}

/** The last noun with a determiner or a number: "the posters", "four pounds". */
function antecedentOf(
  lines: readonly Line[],
  index: number,
  before: number,
  names: Names,
  pronoun = '',
): { text: string; line: number } | null {
  const code = lines[index]?.language.code ?? '';
  const isPlural = PLURALS.has(pronoun);
  const others = DISAGREEING[`${code} ${pronoun}`] ?? NO_WORDS;
  const reach = others === NO_WORDS ? ANTECEDENT_LINES : GENDERED_LINES;
  for (const isObject of [true, false])
    for (let at = index; at >= Math.max(0, index - reach); at--) {
      const line = lines[at];
      const to = at === index ? before : (line?.tokens.length ?? 0);
      const text = line && lastNoun(line, to, names, { isObject, isPlural, others });
      if (text) return { text, line: at };
    }
  return null;
}

/** The last thing that a line mentions. */
export function nounIn(line: Line, names: Names, isFirst = false): string | null {
  return lastNoun(line, line.tokens.length, names, { isFirst });
}

function lastNoun(
  { tokens, language, when, segment }: Line,
  to: number,
  { owner, people }: Names,
  { isObject: needsObject = false, isPlural = false, isFirst = false, others = NO_WORDS } = {},
): string | null {
  const { acts, stopWords, dates } = language;
  const known = new Set([owner, ...people].map(name => name.toLowerCase()));
  const isCased = tokens
    .slice(Math.max(0, to - MAX_NOUN_DISTANCE), to + MAX_NOUN_DISTANCE)
    .some(({ text, word }) => text !== word);
  const isNoun = (at: number) => {
    const token = tokens[at];
    if (!token || when?.tokens.has(at) || dates.units.at(tokens, at)) return false;
    const isEmpty = stopWords.has(token.word) || acts.fillers.has(token.word);
    if (isEmpty && !(token.isHyphenated && !acts.isVerbLast)) return false;
    if (known.has(token.word) || acts.pronouns.has(token.word)) return false;
    if (language.code === 'es' && isSpanishVerb(tokens[at - 1], token)) return false;
    const isVerb = acts.firstPerson.has(token.bare) && acts.clitics.has(tokens[at - 1]?.word ?? '');
    if (language.code === 'fr' && isVerb && isSubject(tokens[at - 2])) return false;
    return !acts.isVerbLast || token.text !== token.word || (!isCased && !acts.infinitives.has(token.bare));
  };
  const candidates: { text: string; isObject: boolean }[] = [];
  const begin = acts.yes.at(tokens, 0)?.length ?? 0;
  for (let at = Math.max(begin, to - MAX_NOUN_DISTANCE); at < to; at++) {
    if (!isNoun(at)) continue;
    let end = at + 1;
    while (end < to && isNoun(end) && tokens[end - 1]?.stop === '' && end - at < MAX_NOUN_WORDS) end++;
    const lead = tokens[at - 1];
    const isCounted = dates.numbers.at(tokens, at, end) !== null && end - at > 1;
    const isLed = lead !== undefined && lead.stop === '' && !when?.tokens.has(at - 1);
    const isNamed =
      isLed && (acts.determiners.has(lead.word) || dates.numbers.at(tokens, at - 1, at) !== null);
    const last = tokens[end - 1];
    const isSeveral = isPlural && last?.word.endsWith('s');
    if (isPlural && !isSeveral) continue;
    if (isNamed && others.has(lead.word)) continue;
    if ((isNamed || isCounted || isSeveral) && last) {
      const first =
        !isNamed || lead.word === 'her' || lead.word === 'his' || OTHERS.has(lead.word) ? tokens[at] : lead;
      const beforeLead = tokens[isNamed ? at - 2 : at - 1]?.word ?? '';
      candidates.push({
        text: segment.text
          .slice(first?.start, last.end)
          .replace(/['’]s$/, '') // "the number's on the sheet"
          .replace(/^\p{Lu}/u, letter =>
            acts.determiners.has(first?.word ?? '') ? letter.toLowerCase() : letter,
          ),
        isObject:
          !acts.prepositions.has(beforeLead) &&
          !COPULAS.has(beforeLead) &&
          !CONTRACTED.has(first?.word ?? ''),
      });
    }
    at = end - 1;
  }
  if (isFirst) return candidates[0]?.text ?? null;
  const object = candidates.findLast(({ isObject: each }) => each)?.text ?? null;
  return needsObject ? object : (object ?? candidates.at(-1)?.text ?? null);
}
/** "Je le signe", "vous le retourne": a verb, not a noun with its article. */
function isSubject(token: Token | undefined): boolean {
  return token?.stop === '' && /^(?:je|j'|tu|il|elle|on|nous|vous|ne|n'|te|t'|lui)$/.test(token.word);
}

/** "La necesito", but not "la foto". */
function isSpanishVerb(lead: Token | undefined, { bare }: Token): boolean {
  return lead?.stop === '' && /^(?:l[ao]s?|les?)$/.test(lead.word) && /o$/.test(bare) && !FEMININE.has(bare);
}
const FEMININE = new Set('foto mano moto radio'.split(' '));

const NO_WORDS: ReadonlySet<string> = new Set();
/** Determiners of another gender or number than the pronoun: "la" does not stand for "el billete". */
const DISAGREEING: Readonly<Record<string, ReadonlySet<string>>> = Object.fromEntries(
  Object.entries({
    'es lo': 'la las los una unas unos esta esa estas esas estos esos',
    'es la': 'el los las un unos unas este ese estos esos estas esas del al',
    'es los': 'el la las un una unas este ese esta esa estas esas del al',
    'es las': 'el la los un una unos este ese esta esa estos esos del al',
    'fr le': 'la les une des cette ces ma mes ta tes sa ses',
    'fr la': 'le les un des du au ce cet ces mes tes ses',
    'fr les': "le la l' un une du au ce cet cette mon ma ton ta son sa",
    'de ihn': 'die das eine meine deine unsere ihre diese',
    'de sie': 'den das einen ein dem meinen deinen unseren ihren diesen dieses',
  }).map(([pronoun, determiners]) => [pronoun, new Set(determiners.split(' '))]),
);
/** English nouns without a determiner are recognised by their plural: "they want photographs". */
const PLURALS = new Set(['those', 'these', 'them']);
/** A preposition and a determiner in one. */
const CONTRACTED = new Set('del al au zum zur vom im am beim ins ans'.split(' '));
const COPULAS = new Set("is are was were it's that's ist sind war est sont c' es son era".split(' '));
/** Determiners that refer to somebody else in another sentence. */
const OTHERS = new Set('your du dein deine deinen ton ta tes tu tus'.split(' '));

/** Finds the person the owner is talking to: the previous speaker, otherwise the next one. */
function listenerOf(lines: readonly Line[], index: number, names: Names): string | null {
  for (const step of [-1, 1, -2])
    if (lines[index + step] && !lines[index + step]?.isOwn)
      return nameOf(lines[index + step]?.segment.speaker ?? '', names);
  return null;
}

function nameOf(speaker: string, { people }: Names): string | null {
  return people.includes(speaker) ? speaker : null;
}

function wordsOf(text: string): { word: string }[] {
  return text
    .toLowerCase()
    .split(/[\s'’-]+/)
    .map(word => ({ word }));
}

/** Removes loose words at both ends. */
function trimmed(pieces: readonly Piece[], { acts, code }: Language): Piece[] {
  const isLoose = ({ text }: Piece) => {
    const word = text.toLowerCase();
    return acts.prepositions.has(word) || acts.determiners.has(word) || LOOSE.has(word);
  };
  const kept = [...pieces];
  const last = () => kept.at(-1);
  while (kept.length > 1 && last() && isLoose(last() as Piece) && !(code === 'en' && isParticle(kept)))
    kept.pop();
  while (kept.length > 1 && kept[0] && LEADING.has(kept[0].text.toLowerCase())) kept.shift();
  return kept;
}
const LEADING = new Set('and or so und oder zu dass et ou que y o that'.split(' '));
const LOOSE = new Set('and or to the a will so und oder zu dass et ou que y o e de that with in'.split(' '));

/** "Pick it up", "bring the box over". */
function isParticle(pieces: readonly Piece[]): boolean {
  return PARTICLES.has(pieces.at(-1)?.text.toLowerCase() ?? '');
}
const PARTICLES = new Set('up in on over out off back down away through'.split(' '));

/** Keeps the characters between the words as they were said, such as hyphens. */
function written(pieces: readonly Piece[], { tokens, segment }: Line): string {
  let text = '';
  for (const [place, piece] of pieces.entries()) {
    const before = pieces[place - 1];
    const isNext = before?.at !== null && before?.at !== undefined && piece.at === before.at + 1;
    const between = isNext
      ? segment.text.slice(tokens[before.at as number]?.end, tokens[piece.at as number]?.start)
      : ' ';
    if (place > 0) text += /^[-'’.,:/&]?$/.test(between) ? between : `${between.startsWith(',') ? ',' : ''} `;
    text += piece.text;
  }
  return text
    .trim()
    .slice(0, MAX_CHARS)
    .toWellFormed()
    .replace(/^\p{L}/u, letter => letter.toUpperCase());
}
