/**
 * Finds lasting facts about the owner and known people, from what people say about themselves and each other:
 * "I live in Cologne", "you're allergic to nuts", "mein Mann heißt Jakob". Few forms are accepted, so that
 * almost nothing else is kept.
 */
import type { SpokenSegment, UnderstandingContext, UnderstoodMemory } from '../../../core/contract/plugin.ts';
import type { Pace } from '../../kit/kit.ts';
import { LANGUAGES, languageOf } from './language.ts';
import type { Language } from './languages/language.ts';
import type { Code, Grammar } from './memory-form.ts';
import { GRAMMARS, PERSON, PREDICATES, SEVERAL } from './memory-forms.ts';
import {
  agrees,
  CALLED,
  isRelation,
  NAMINGS,
  namedIn,
  OWN_RELATION,
  POSSESSIONS,
  YOUR_RELATION,
} from './memory-names.ts';
import { peopleIn } from './memory-people.ts';
import { QUESTIONS } from './memory-questions.ts';
import { tokensOf } from './tokens.ts';

const MAX_MEMORIES = 4;
/**
 * Maximum characters of a segment that are read; a segment is an utterance, and seldom has a tenth of this.
 */
const MAX_CHARS = 4000;
/** Maximum characters that are read after a subject: later ones belong to something else. */
const MAX_REST_CHARS = 160;
/** Segments before one that are searched for the people it refers to. */
const SEGMENTS_BEFORE = 4;
/** "Mum" and "Opa" need no other word to be known by, so they are searched for further back. */
const MAX_SEGMENTS_BEFORE = 12;
const MAX_YES_CHARS = 40;
/** Words before a subject that are checked for signs that it is not a fact. */
const WORDS_BEFORE = 10;

const WORD = /[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*/gu;
const NAME = /^\p{Lu}\p{Ll}{2,20}$/u;
const MAX_WORD_CHARS = 60;
const CAPITALISED = /^\p{Lu}/u;
/** "I live with my wife in Rome." */
const COMPANION =
  / (?:with (?:my|our) \p{L}{2,20}|mit (?:mein|unser)\p{L}{1,3} \p{L}{2,20}|avec (?:mon|ma|mes|notre) \p{L}{2,20}|con (?:mi|mis|nuestra|nuestro) \p{L}{2,20})(?= (?:in|à|en|au|aux) \p{Lu})/u;
const OWNER = { name: null, relation: null };
const QUOTED = /"[^"]*"|“[^”“]*”|„[^“”„]*[“”]/g;
/** A quotation without quotation marks. */
const QUOTING = /\b(?:and I quote|quote|zitiere)\b/i;

/** "Ben's wife is …": about a person or thing of theirs. */
const THEIRS = /^'s (?<relation>\p{L}+)(?= |'s)/u;
const BIRTHDAY = /^birthday$/i;

type Context = Pick<UnderstandingContext, 'owner' | 'people' | 'languages' | 'memoriesNear'>;

/** A memory and its subject. */
interface Note extends UnderstoodMemory {
  who: string;
  /** About the owner, or a person or thing of theirs. */
  isOwn: boolean;
  /** The name, if the memory states only a name. */
  called: string | null;
}

/** Statement about a subject. `name` is null for the owner. */
interface Clause {
  name: string | null;
  /** `Boss`, `Dog`, if it is about a person, animal or thing of theirs. */
  relation: string | null;
  rest: string;
}

/** At most 4, in the order they were said, without duplicates. */
export async function memoriesOf(
  transcript: readonly SpokenSegment[],
  context: Context,
  pace: Pace,
): Promise<UnderstoodMemory[]> {
  if (!transcript.some(({ isUser }) => isUser)) return [];
  await compile(pace);
  const known = new Set(context.people);
  const speakers = [...new Set(transcript.map(({ speaker }) => speaker))];
  const found = new Map<string, Note>();
  for (const [at, segment] of transcript.entries()) {
    await pace();
    const isConfirmed = !segment.isUser && saysYes(transcript[at + 1]);
    if (!segment.isUser && !known.has(segment.speaker) && !isConfirmed) continue;
    const before = transcript[at - 1];
    const others = speakers.filter(speaker => speaker !== segment.speaker);
    const spokenTo = others.find(each => others.length === 1 || each === before?.speaker) ?? null;
    const lately = transcript
      .slice(Math.max(0, at - SEGMENTS_BEFORE), at)
      .map(({ text }) => text.slice(0, MAX_CHARS));
    const earlier = transcript.slice(Math.max(0, at - MAX_SEGMENTS_BEFORE), at);
    const around = { before, spokenTo, lately, earlier, reply: isConfirmed ? transcript[at + 1] : undefined };
    for (const memory of memoriesIn(segment, around, context)) {
      const key = memory.topic ?? memory.text.toLowerCase();
      found.delete(key); // the last statement is true
      found.set(key, memory);
    }
  }
  const told = withoutParts(withNames([...found.values()]));
  const people = await mentionedIn(transcript, told, context, pace);
  return mostLasting([...told, ...people]).map(({ text, from, topic }) => ({
    ...{ text, from },
    ...(topic !== undefined && { topic }),
  }));
}

/**
 * Keeps the maximum number of memories: illnesses, and facts that have one value at a time, before habits; in the order in
 * which they were said.
 */
function mostLasting(notes: readonly Note[]): readonly Note[] {
  const isFirst = ({ text, topic }: Note) => topic !== undefined || HEALTH.test(text);
  const first = notes.filter(isFirst);
  const chosen = new Set([...first, ...notes.filter(note => !isFirst(note))].slice(0, MAX_MEMORIES));
  return notes.filter(note => chosen.has(note));
}
const HEALTH =
  /allerg|intoleran|co?eliac|zöliakie|cœliaque|celíac|diabet|asthma|asma|epilep|pacemaker|marcapasos|schrittmacher|migr[aä]|tinnitus|arthritis|artritis|rheuma|demen|stroke|infarkt|dyslex|legasthen|disléx|deaf|taub|sourd|sord|blind|pregnan|schwanger|enceinte|embaraza|verträgt|tolera/i;

/** Hundreds of expressions are compiled when they are first used, which takes longer than reading a conversation. */
async function compile(pace: Pace): Promise<void> {
  if (isCompiled) return;
  isCompiled = true;
  for (const { after, is, holds } of Object.values(PREDICATES).flat()) {
    for (const expression of [after, is, holds]) expression?.test('');
    await pace();
  }
}
let isCompiled = false;

/** "Sister is called Ann" and "Sister lives in Rome" are one: "Sister Ann lives in Rome". */
function withNames(notes: readonly Note[]): Note[] {
  const names = notes.filter(({ called }) => called !== null);
  const nameOf = (note: Note) =>
    note.called === null
      ? names.find(({ who, called }) => who === note.who || called === note.who)
      : undefined;
  const merged = new Set(notes.map(nameOf));
  return notes
    .filter(note => !merged.has(note))
    .map(note => {
      const named = nameOf(note);
      const { called, who } = named ?? note;
      const isTold = note.who !== called && note.text.includes(called ?? '');
      if (!named || called === null || isTold) return note;
      const whole = named.isOwn ? `${who} ${called}` : `${who}, ${called},`;
      const from = [...new Set([...named.from, ...note.from])];
      return { ...note, text: `${whole}${note.text.slice(note.who.length)}`, from };
    });
}

/**
 * "Raymond is a plumber" is redundant next to "Neighbour Raymond is a plumber", and "writes best after eleven" next to
 * "is a night person", of which it was said as an example.
 */
function withoutParts(notes: readonly Note[]): Note[] {
  return notes.filter(
    ({ text, from }, place) =>
      notes.findIndex(other => other.text === text) === place &&
      !notes.some(other => other.text.endsWith(` ${text}`)) &&
      !(
        BEST_TIME.test(text) &&
        notes.some(other => DAY_TYPE.test(other.text) && other.from.join() === from.join())
      ),
  );
}
const DAY_TYPE =
  /(?:night|morning) person|night owl|early riser|Nachtmensch|Frühaufsteher|couche-tard|lève-tôt|trasnochador|madrugador/i;
const BEST_TIME = / (?:best|am besten|le mieux|mejor) /i;

/** Mentioned sisters, children and pets about whom nothing else is said or known. */
async function mentionedIn(
  transcript: readonly SpokenSegment[],
  told: readonly Note[],
  context: Context,
  pace: Pace,
): Promise<Note[]> {
  const notes: Note[] = [];
  for (const segment of transcript) {
    await pace();
    if (told.length + notes.length >= MAX_MEMORIES) break;
    if (!segment.isUser && !context.people.includes(segment.speaker)) continue;
    const text = segment.text.slice(0, MAX_CHARS).replaceAll(QUOTED, ' ').replaceAll('’', "'");
    const code = languageOf(tokensOf(text), context.languages).code as Code;
    const grammar = GRAMMARS[code];
    for (const { relation, told: value, at, isNamed } of peopleIn(text, code)) {
      if (grammar.noFactBefore.test(lastWords(text.slice(0, at), grammar))) continue;
      const isOf = (known: string) => hasWord(known.toLowerCase(), relation.toLowerCase());
      if ([...told, ...notes].some(note => isOf(note.text))) continue;
      const name = segment.isUser ? null : segment.speaker;
      if (!isNamed) continue; // "I have to fetch my daughter" says little
      const note = noted({ name, relation: null, told: value, topic: undefined, grammar });
      if ((await context.memoriesNear(note.text)).some(isOf)) continue;
      notes.push({ ...note, from: [segment.id] });
    }
  }
  return notes;
}

/** Context of a segment. */
interface Around {
  before: SpokenSegment | undefined;
  /** Person meant by *you*: the previous speaker, or the only other one. */
  spokenTo: string | null;
  /** Segments just before, in which the antecedent of *he* or *she* was named. */
  lately: readonly string[];
  /** The same with their speakers, further back: "Mum". */
  earlier: readonly SpokenSegment[];
  /** The owner's segment, if it says yes. */
  reply: SpokenSegment | undefined;
}

/** "You're allergic to penicillin?" "Yes." */
function saysYes(reply: SpokenSegment | undefined): boolean {
  if (!reply?.isUser) return false;
  const tokens = tokensOf(reply.text.slice(0, MAX_YES_CHARS));
  return CONFIRMATIONS.has(tokens[0]?.word ?? '');
}
const CONFIRMATIONS = new Set(
  'yes yeah yep right exactly correct ja jawohl genau stimmt richtig oui exactement sí si exacto'.split(' '),
);

function memoriesIn(segment: SpokenSegment, around: Around, context: Context): Note[] {
  const quoted = segment.text.slice(0, MAX_CHARS).replaceAll(QUOTED, ' ').replaceAll('’', "'");
  const plain = withNamesCased(quoted, [context.owner, ...context.people]);
  if (QUOTING.test(plain)) return [];
  const language = languageOf(tokensOf(plain), context.languages);
  const code = language.code as Code;
  const grammar = GRAMMARS[code];
  const text = grammar.prepare(plain);
  const answered = answerTo(around.before, text, segment, code, context) ?? [];
  const told = subjectsIn(text, grammar).flatMap(({ subject, at, end }) => {
    const said = lastWords(text.slice(0, at), grammar);
    const isConfirmed = around.reply !== undefined && isListener(subject, grammar);
    if (grammar.noFactBefore.test(said) || (grammar.asked.test(said) && !isConfirmed)) return [];
    const clause = isConfirmed
      ? OWNER
      : clauseOf(subject, segment, around, text.slice(0, at), language, context);
    if (!clause || (around.reply && !isConfirmed && !context.people.includes(segment.speaker))) return [];
    const rest = text.slice(end, end + MAX_REST_CHARS).replace(COMPANION, '');
    const theirs = theirsIn({ ...clause, rest: isConfirmed ? asStatement(said, rest, grammar) : rest });
    const from = isConfirmed && around.reply ? [segment.id, around.reply.id] : [segment.id];
    const named = namedFact(theirs, code, context);
    if (named.length > 0) return named.map(memory => ({ ...memory, from }));
    const memory = memoryOf({ ...theirs, rest: grammar.follow(theirs.rest, said) }, code, context);
    return memory ? [{ ...memory, from }] : [];
  });
  const isKnown = segment.isUser || context.people.includes(segment.speaker);
  const own = isKnown ? possessedIn(plain, segment, code) : [];
  return [answered, namedInAnswer(around.before, plain, segment, code, context) ?? [], told, own].flat();
}

/** Some recognisers write everything in lower case. */
function withNamesCased(text: string, names: readonly string[]): string {
  if (CASED.test(text)) return text;
  const known = new Map(
    names.flatMap(name => name.match(WORD) ?? []).map(name => [name.toLowerCase(), name] as const),
  );
  return text.replaceAll(WORD, word => known.get(word) ?? word);
}
const CASED = /\p{Lu}/u;

/** "My wife, Lorraine", "my nut allergy". */
function possessedIn(text: string, { id, speaker, isUser }: SpokenSegment, code: Code): Note[] {
  const grammar = GRAMMARS[code];
  const name = isUser ? null : speaker;
  const isFact = (at: number) => !grammar.noFactBefore.test(lastWords(text.slice(0, at), grammar));
  const names = NAMINGS[code].flatMap(naming =>
    [...text.matchAll(naming)].flatMap(({ index, groups }) => {
      const named = namedIn(groups ?? {}, code);
      if (!named || !isFact(index)) return [];
      const told = CALLED[code].replace('{}', () => named.name);
      return [noted({ name, relation: named.relation, told, topic: 'name', grammar })];
    }),
  );
  const facts = POSSESSIONS[code].flatMap(({ said, say, topic, relation = null }) =>
    [...text.matchAll(said)].flatMap(({ index, groups }) => {
      const told = say.replace('{}', () => groups?.value ?? '').replace('{kind}', () => groups?.kind ?? '');
      return isFact(index) ? [noted({ name, relation, told, topic, grammar })] : [];
    }),
  );
  return [...names, ...facts].map(memory => ({ ...memory, from: [id] }));
}

/** "Your sister called." "Carmen? I'll call her back." */
function namedInAnswer(
  asked: SpokenSegment | undefined,
  text: string,
  { id, isUser, speaker }: SpokenSegment,
  code: Code,
  { people, owner }: Context,
): Note | null {
  if (!isUser || !asked || asked.speaker === speaker) return null;
  const [only, ...others] = [...asked.text.slice(-MAX_REST_CHARS).matchAll(YOUR_RELATION[code])].filter(
    ({ groups }) => isRelation(groups?.relation ?? '', code),
  );
  const relation = only?.groups?.relation;
  const name = ANSWERED_NAME.exec(text)?.groups?.name;
  if (others.length > 0 || relation === undefined || name === undefined) return null;
  const [first] = tokensOf(name);
  const isKnown = [owner, asked.speaker].some(each => hasWord(each, name)) || people.includes(name);
  if (isKnown || !first || LANGUAGES.some(({ stopWords }) => stopWords.has(first.word))) return null;
  const told = CALLED[code].replace('{}', () => name);
  const note = noted({ name: null, relation, told, topic: 'name', grammar: GRAMMARS[code] });
  return { ...note, from: [asked.id, id] };
}
const ANSWERED_NAME =
  /^¿?(?:(?:Genau|Ja|Yes|Yeah|Oui|Sí|Oh),? )?(?:für |for |pour |para )?(?:(?:[Dd]ie|[Dd]er|[Dd]en) )?(?<name>\p{Lu}\p{Ll}{2,20})(?=\?| (?:is|has|said|went|ist|hat|wird|kommt|selber|schon|est|a|va|es|ha|está)(?!\p{L})|, (?:sie|er|she|he|elle|il|ella)(?!\p{L}))/u;

/** "My neighbour Raymond is a plumber": his name, and what is told of him. */
function namedFact(clause: Clause, code: Code, context: Context): Omit<Note, 'from'>[] {
  const name = clause.relation === null ? undefined : NAME_FIRST.exec(clause.rest)?.groups?.name;
  if (name === undefined || !isRelation(clause.relation ?? '', code)) return [];
  const grammar = GRAMMARS[code];
  const rest = grammar.follow(clause.rest.slice(name.length + 1), '');
  const fact = memoryOf({ ...clause, rest }, code, context);
  const told = CALLED[code].replace('{}', () => name);
  return fact ? [noted({ ...clause, told, topic: 'name', grammar }), fact] : [];
}
const NAME_FIRST = /^ (?<name>\p{Lu}\p{Ll}{2,20})(?= \p{Ll})/u;

function isListener(subject: string, { listener, polite }: Grammar): boolean {
  const lower = subject.toLowerCase();
  return listener.has(lower) || lower === polite;
}

/** "Are you diabetic?" in the form that follows "I": " am diabetic." */
function asStatement(said: string, rest: string, { second }: Grammar): string {
  const before = second[said.split(' ').at(-1)?.toLowerCase() ?? ''];
  const plain = rest.replace('?', '.');
  return before
    ? ` ${before}${plain}`
    : plain.replace(/^ (\p{L}+)/u, (whole, verb: string) => (second[verb] ? ` ${second[verb]}` : whole));
}

function theirsIn(clause: Clause): Clause {
  const found = clause.relation === null ? THEIRS.exec(clause.rest) : null;
  const relation = found?.groups?.relation;
  if (!found || relation === undefined || !(PERSON.test(relation) || BIRTHDAY.test(relation))) return clause;
  return { ...clause, relation, rest: clause.rest.slice(found[0].length) };
}

/** "I", "my sister", "Nora", with their positions. */
function subjectsIn(text: string, grammar: Grammar): { subject: string; at: number; end: number }[] {
  const words = [...text.matchAll(WORD)];
  const { own, third, possessives, adjectives } = grammar;
  return words.flatMap(({ 0: word, index }, place) => {
    const lower = word.toLowerCase();
    const isTheirs = possessives.has(lower);
    const isPronoun = own.has(lower) || third.has(lower) || isListener(lower, grammar);
    if (!isTheirs && !isPronoun && !CAPITALISED.test(word)) return [];
    const isDescribed =
      adjectives.has(words[place + 1]?.[0] ?? '') && !FINITE.has(words[place + 2]?.[0] ?? 'is');
    const skipped = isTheirs && isDescribed ? 2 : 1;
    const last = isTheirs ? words[place + skipped] : words[place];
    if (!last) return [];
    const end = last.index + last[0].length;
    const subject = isTheirs ? `${word} ${last[0]}` : word;
    return text[end] === ' ' || text[end] === "'" ? [{ subject, at: index, end }] : [];
  });
}

/** "Our youngest is …": no adjective. */
const FINITE = new Set('is has was s lives goes works ist hat wohnt est a es tiene'.split(' '));

function memoryOf(
  { name, relation, rest }: Clause,
  code: Code,
  { people, owner }: Context,
): Omit<Note, 'from'> | null {
  const grammar = GRAMMARS[code];
  for (const { after, say, topic, of, is, holds, not, minWords = 1, maxWords = 8, isVerb } of PREDICATES[
    code
  ]) {
    if (!(of ? of.test(relation ?? '') : relation === null || isSomebody(relation, code))) continue;
    const match = after.exec(rest);
    if (!match) continue;
    const given = match.groups?.value;
    const whole = given === undefined ? '' : valueIn(given, maxWords, [owner, ...people], grammar);
    const value = is ? (is.exec(whole)?.[0] ?? '') : whole;
    if (given !== undefined && (value === '' || grammar.unclear.test(value) || grammar.vagueEnd.test(value)))
      continue;
    if (holds && !holds.test(value)) continue;
    if ((say.startsWith('is ') && SELF_MOCKERY.test(value)) || MOOD.test(value)) continue;
    if (not?.test(` ${whole}`) || value.split(' ').length < minWords) continue;
    if (endsAsQuestion(rest) || grammar.passing.test(`${match[0].slice(0, 40)} ${value}`)) return null;
    const told = say.replace('{}', () => (isVerb ? thirdPerson(value, code) : value));
    return noted({
      name,
      relation,
      told: told.replaceAll(/ (?:my|our|mein\p{L}*|unser\p{L}*)(?= )/gu, ''),
      topic,
      grammar,
    });
  }
  return null;
}

/** "I'm a terrible cook" is an opinion. */
const SELF_MOCKERY =
  /^(?:an? |the )?(?:terrible|awful|lousy|hopeless|useless|brilliant|great|bad|good|worst|best) /iu;
/** "My back's gone again." */
const MOOD = /(?:^(?:gone|back|away)(?: again)?|(?<!\p{L})again)$/iu;

function isSomebody(relation: string, code: Code): boolean {
  return PERSON.test(relation) || (isRelation(relation, code) && code !== 'en' && code !== 'de');
}

/** "Go to church" as "goes to church". */
function thirdPerson(text: string, code: Code): string {
  const adverb = ADVERB.exec(text)?.[0] ?? '';
  const [verb = '', ...rest] = text.slice(adverb.length).split(' ');
  return adverb + [code === 'de' ? germanThirdPerson(verb) : englishThirdPerson(verb), ...rest].join(' ');
}
const ADVERB = /^(?:always|never|only|hardly ever|rarely|mainly) /;

function englishThirdPerson(verb: string): string {
  if (/[^s]s$|^used$/.test(verb)) return verb;
  if (verb === 'have') return 'has';
  if (/[^aeiou]y$/.test(verb)) return verb.replace(/y$/, 'ies');
  return /(?:o|s|x|ch|sh)$/.test(verb) ? `${verb}es` : `${verb}s`;
}

function germanThirdPerson(verb: string): string {
  const changed = GERMAN_VERBS[verb];
  return changed ?? verb.replace(/(?:e|en)$/, 't');
}

const GERMAN_VERBS: Readonly<Record<string, string>> = {
  ...{ fahre: 'fährt', laufe: 'läuft', treffe: 'trifft', fahren: 'fährt', esse: 'isst', schlafe: 'schläft' },
  ...{
    lese: 'liest',
    nehme: 'nimmt',
    sehe: 'sieht',
    gebe: 'gibt',
    helfe: 'hilft',
    trage: 'trägt',
    mag: 'mag',
  },
  ...{ vertrage: 'verträgt', arbeite: 'arbeitet', bade: 'badet', hasse: 'hasst', habe: 'hat' },
};

/** As its owner would write it down. */
function noted({
  name,
  relation,
  told,
  topic,
  grammar,
}: Omit<Clause, 'rest'> & { told: string; topic: string | undefined; grammar: Grammar }): Omit<Note, 'from'> {
  const who = relation === null ? (name ?? '') : name === null ? relation : grammar.theirs(name, relation);
  const text = capitalised(`${who} ${told}`.trim());
  const role = topic === 'name' && PARTNER.test(relation ?? '') ? 'partner' : relation?.toLowerCase();
  const of = [name, role, topic].filter(each => each != null);
  const isSeveral = relation !== null && SEVERAL.test(relation);
  return {
    text: isSeveral ? grammar.plural(text) : text,
    ...{ who: capitalised(who), isOwn: name === null, called: relation === null ? null : nameIn(told) },
    ...(topic && { topic: of.join(': ') }),
  };
}

/** A boyfriend becomes a husband: they are one to a person. */
const PARTNER =
  /^(?:husband|wife|partner|girlfriend|boyfriend|fiancée?|mann|frau|freundin|partnerin|verlobter?|mari|femme|compagn(?:e|on)|copine|copain|marido|mujer|espos[oa]|pareja|novi[oa])$/i;

function nameIn(told: string): string | null {
  return NAMED.exec(told)?.groups?.name ?? null;
}
const NAMED = /^(?:is called|heißt|s'appelle|se llama) (?<name>.+)$/u;

/** Resolves the subject of a clause; null: nobody known. */
function clauseOf(
  subject: string,
  { speaker, isUser }: SpokenSegment,
  { before, spokenTo, lately, earlier }: Around,
  said: string,
  language: Language,
  { people, owner }: Context,
): Omit<Clause, 'rest'> | null {
  const own = isUser ? null : speaker;
  const grammar = GRAMMARS[language.code as Code];
  const lower = subject.toLowerCase();
  if (grammar.own.has(lower)) return { name: own, relation: null };
  if (grammar.listener.has(lower)) {
    // what others say about the owner may be a joke; the owner would state a fact as well
    const isKnown = spokenTo !== null && people.includes(spokenTo);
    return isUser && isKnown ? { name: spokenTo, relation: null } : null;
  }
  if (grammar.third.has(lower)) {
    const others = people.filter(name => name !== speaker);
    const near = [said, before?.text ?? ''];
    const named = [near, [...near, ...lately]]
      .map(texts => others.filter(name => texts.some(each => hasWord(each, name))))
      .find(({ length }) => length > 0);
    if (named?.length === 1 && named[0] !== undefined) return { name: named[0], relation: null };
    if (named) return null;
    return (
      relationOf(lower, said, before, own, speaker, language.code as Code) ??
      namedAs(lower, said, before, earlier, speaker, isUser, language)
    );
  }
  const [whose = '', ...rest] = subject.split(' ');
  if (grammar.possessives.has(whose.toLowerCase())) return { name: own, relation: rest.at(-1) ?? '' };
  if (subject === owner) return OWNER;
  if (subject === own) return null;
  // a German noun after its verb is what is done, and no name: "er studiert Medizin in Ulm"
  const isObject = language.code === 'de' && /\p{Ll}(?:t|e|en) $/u.test(said);
  return people.includes(subject) || (!isObject && isName(subject, said, language))
    ? { name: subject, relation: null }
    : null;
}

/** "My sister is here, she …"; "how is your sister?" "She …"; "for Ada, she …". */
function relationOf(
  pronoun: string,
  said: string,
  before: SpokenSegment | undefined,
  own: string | null,
  speaker: string,
  code: Code,
): Omit<Clause, 'rest'> | null {
  const apposed = APPOSED.exec(said)?.groups?.name;
  if (apposed) return { name: apposed, relation: null };
  const asked = before && before.speaker !== speaker ? before.text.slice(-MAX_REST_CHARS) : '';
  const relations = [
    ...[...said.slice(-MAX_REST_CHARS).matchAll(OWN_RELATION[code])].reverse(),
    ...[...asked.matchAll(YOUR_RELATION[code])].reverse(),
  ].flatMap(({ groups }) => groups?.relation ?? []);
  const relation = relations.find(each => isRelation(each, code) && agrees(pronoun, each));
  return relation === undefined ? null : { name: own, relation };
}
/** "Does Élodie eat gluten?" "No, she …"; "I wanted to talk about Mum." "… She …". */
function namedAs(
  pronoun: string,
  said: string,
  before: SpokenSegment | undefined,
  earlier: readonly SpokenSegment[],
  speaker: string,
  isUser: boolean,
  language: Language,
): Omit<Clause, 'rest'> | null {
  const asked = before && before.speaker !== speaker ? before.text.slice(-MAX_REST_CHARS) : '';
  if (language.code !== 'de' && asked.trimEnd().endsWith('?')) {
    const names = [...asked.matchAll(WORD)].filter(
      ({ 0: word, index }) => isName(word, asked.slice(0, index), language) && !KIN.test(word),
    );
    const [first, ...others] = new Set(names.map(([word]) => word));
    if (first !== undefined && others.length === 0) return { name: first, relation: null };
  }
  const own = { text: said, isUser, speaker };
  for (const { text, isUser: isOwn, speaker: who } of [...earlier, own].reverse()) {
    const kin = [...text.slice(-MAX_CHARS).matchAll(BARE_KIN)].flatMap(
      ({ groups }) => groups?.relation ?? [],
    );
    const relation = kin.findLast(each => agrees(pronoun, each));
    if (relation !== undefined) return { name: isOwn ? null : who, relation };
  }
  return null;
}
const BARE_KIN =
  /(?<!\p{L})(?<!(?:[Yy]our|[Hh]is|[Hh]er|[Tt]heir|[Dd]eine?|[Tt]on|[Tt]a|[Tt]u) )(?<relation>Mum|Mom|Dad|Nan|Gran|Grandma|Grandpa|Grandad|Mama|Papa|Oma|Opa|Mutti|Vati|Maman|Mamie|Papi|Papy|Mamá|Papá|Abuela|Abuelo)(?!\p{L})/gu;
const KIN =
  /^(?:Mum|Mom|Dad|Nan|Gran|Grandma|Grandpa|Grandad|Maman|Mamie|Papi|Papy|Mamá|Papá|Abuela|Abuelo)$/u;

/** "Pour Aude, elle …". */
const APPOSED =
  /(?:^|[^.!?] )(?<name>(?!(?:Non|Oui|Bon|Mais|Enfin|Alors|Voilà|Yes|Well|Sure|Nein|Doch|Also|Genau|Pues|Bueno|Claro),)\p{Lu}\p{Ll}{2,20}), $/u;

/** Returns whether a word is a name, also of somebody unknown to Earshot. */
function isName(word: string, said: string, { stopWords, dates, acts }: Language): boolean {
  const [token] = tokensOf(word);
  const [before] = tokensOf(said.slice(-MAX_WORD_CHARS)).slice(-1);
  if (!token || !NAME.test(word) || stopWords.has(token.word) || said.endsWith('-')) return false;
  if ([dates.weekdays, dates.months, dates.units].some(table => table.at([token], 0))) return false;
  const isFirst = before === undefined || before.stop !== '';
  return (
    isFirst ||
    !(
      acts.determiners.has(before.word) ||
      acts.prepositions.has(before.word) ||
      (NAME.test(before.text) && !TITLES.test(before.text))
    )
  );
}

/** "Onkel Rolf ist Vegetarier." */
const TITLES = /^(?:Onkel|Tante|Oma|Opa|Uncle|Aunt|Auntie|Cousin|Grandma|Grandpa|Tonton|Tata|Tía|Tío)$/u;

/** "Any allergies?" "Yes, penicillin." */
function answerTo(
  asked: SpokenSegment | undefined,
  text: string,
  segment: SpokenSegment,
  code: Code,
  { people }: Context,
): Note | null {
  const grammar = GRAMMARS[code];
  if (!asked || asked.speaker === segment.speaker) return null;
  for (const { question, answer, say, topic, relation, isOfOther } of QUESTIONS) {
    const questioned = question.exec(asked.text.slice(-MAX_CHARS).replaceAll('’', "'"));
    const answered = questioned && answer.exec(text);
    const value = answered && (answered.groups?.value ?? questioned.groups?.value ?? answered[0]);
    if (!questioned || !value || grammar.unclear.test(value)) continue;
    const other = people.find(each => each === (questioned.groups?.name ?? asked.speaker)) ?? null;
    if (isOfOther && other === null) continue;
    const name = isOfOther ? other : segment.isUser ? null : segment.speaker;
    const told = say.replace('{}', value);
    return {
      ...noted({ name, relation: relation ?? null, told, topic, grammar }),
      from: [asked.id, segment.id],
    };
  }
  return null;
}

/** Cuts at the start of another subject, limits the number of words, and omits the subject's name. */
function valueIn(
  text: string,
  maxWords: number,
  names: readonly string[],
  { end: ending, looseEnd }: Grammar,
): string {
  const end = text.search(ending);
  const words = (end < 0 ? text : text.slice(0, end)).trim().split(/\s+/).slice(0, maxWords);
  while (words.length > 1 && (looseEnd.test(` ${words.at(-1)}`) || names.includes(words.at(-1) ?? '')))
    words.pop();
  return words.join(' ');
}

/** "He's dyslexic, you know that?" is not a question. */
function endsAsQuestion(rest: string): boolean {
  return rest.slice(0, rest.search(/[.!?,]/) + 1).endsWith('?');
}

function lastWords(text: string, { turn }: Grammar): string {
  const sentence = text.slice(Math.max(0, ...[...'.!?;'].map(mark => text.lastIndexOf(mark) + 1)));
  const comma = sentence.lastIndexOf(',');
  const clause = REACHES_ON.test(sentence.slice(0, comma + 1)) ? sentence : sentence.slice(comma + 1);
  return (clause.split(turn).at(-1) ?? '').trim().split(/\s+/).slice(-WORDS_BEFORE).join(' ');
}

/** Conditions and words of others go on behind a comma: "if you ask, I'm a vegetarian"; "he said, I live here". */
const REACHES_ON =
  /(?<!\p{L})(?:if|unless|imagine|suppose|say|says|said|saying|tell|told|asked|asks|goes|thought|pretend|dream\p{L}*|wenn|falls|sagt\p{L}*|gesagt|meint\p{L}*|fragt\p{L}*|träum\p{L}*|angenommen|stell dir|si|dit|disait|disent|demandé|imagin\p{L}*|rêv\p{L}*|dice|dijo|decía|dicen|preguntó|soñ\p{L}*)(?!\p{L})/iu;

function hasWord(text: string, word: string): boolean {
  const words: readonly string[] = text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.includes(word);
}

function capitalised(text: string): string {
  return text.replace(/^\p{L}/u, letter => letter.toUpperCase());
}
