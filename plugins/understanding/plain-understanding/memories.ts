/**
 * Lasting facts about the owner and known people, by what people say of themselves and each other: "I live in Cologne",
 * "you're allergic to nuts", "mein Mann heißt Jakob". Few forms, so that hardly anything is kept that is none.
 */
import type { SpokenSegment, UnderstandingContext, UnderstoodMemory } from '../../../core/contract/plugin.ts';
import { GERMAN, type Language, PERSON, PREDICATES, QUESTIONS } from './memory-forms.ts';

const MAX_MEMORIES = 4;
/** Characters of a segment that are read; a segment is an utterance, and seldom has a tenth of this. */
const MAX_CHARS = 4000;
/** Characters that are read after a subject: later ones belong to something else. */
const MAX_REST_CHARS = 160;
/** Words before a subject that are looked at for what makes it no fact. */
const WORDS_BEFORE = 10;

const WORD = /[\p{L}\p{N}]+/gu;
const CAPITALISED = /^\p{Lu}/u;
/** Subjects of clauses; a statement about them follows. */
const PRONOUNS = new Set('i we you he she ich wir du er sie'.split(' '));
const POSSESSIVES = new Set('my our mein meine unser unsere'.split(' '));
const NEW = new Set('new neue neuer neues little older younger big kleine kleiner ältere älterer'.split(' '));
const QUOTED = /"[^"]*"|“[^”“]*”|„[^“”„]*[“”]/g;
/** A quotation without marks. */
const QUOTING = /\b(?:and I quote|quote|zitiere)\b/i;

/** Words before a clause that show that it is no fact: reported, asked, wished, past, or conditional. */
const NO_FACT_BEFORE =
  /(?<!\p{L})(?:if|unless|wish|imagine|pretend|would|could|used to|told|tell|said|says|say|asked|goes|thought|dream|dreamt|when|before|maybe|perhaps|as though|wenn|falls|hätte|hätten|wäre|wären|würde|könnte|sagt|sagte|gesagt|meinte|dachte|früher|vielleicht|damals|träume|träumt|träumte|angenommen)(?!\p{L})/iu;
/** A question. */
const ASKED = /(?:^| )(?:do|does|did|am|are|is|was|have|has|why|where|how|who|wo|warum|wer)$/i;
/** Words that begin another matter. */
const TURN = / (?:but|because|anyway|aber|weil) /i;
const END =
  /[.!?;,…:]| (?:because|but|so|when|if|unless|though|although|since then|which|yes|no|okay|ok|right|you know|as you know|remember|always|what|who|you|we|it|and (?:I|you|he|she|we|they|it|that|then|there|my)|I|he|she|they|it's|that's|weil|aber|wenn|falls|obwohl|denn|und (?:ich|du|er|sie|wir|dann|da|das)|ich|oder|ja|nein|wie du weißt)(?!\p{L})/iu;
/** Nothing that a fact ends with. */
const LOOSE_END =
  / (?:a|an|from|den|dem|the|and|or|of|to|in|on|at|for|with|that|than|then|now|again|too|anyway|actually|really|here|there|please|ever|is|am|are|und|der|die|das|ein|eine|auch|jetzt|ja|halt|da|dort|so|in|mit|zu|von|love|mate|darling)$/iu;
/** They stand for something else, so that nobody could tell later what was meant. */
const UNCLEAR =
  /^(?:it|that|this|these|those|them|him|her|you|me|us|what|how|to|not|so|there|here|one|ones|something|anything|everything|nothing|another|today|tomorrow|tonight|es|das|dies|diese|dieser|ihn|sie|ihm|ihr|dich|mich|was|wie|heute|morgen)(?!\p{L})/iu;
/** A time that passes, or a number of money: an appointment or a note, and nothing that lasts. */
const PASSING =
  /(?<!\p{L})(?:today|tonight|tomorrow|yesterday|this (?:morning|week|weekend|evening|month|afternoon)|next (?:week|month|year)|last (?:week|night)|right now|at the moment|for now|in a minute|heute|morgen|gestern|gerade|nächste[nrs]? (?:Woche|Monat|Jahr|Wochenende|Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag|Sonntag)|diese (?:Woche|Nacht)|übermorgen)(?!\p{L})/iu;

/** Nobody could tell later what was meant. */
const VAGUE_END = / (?:it|that|this|them|him|her|those|es|dem|den|das)$/i;

/** Marks statements that count for anybody. */
const ANYBODY = /^$/;
const PARTICLE =
  / (?:ja|halt|eben|leider|übrigens|doch|eigentlich|einfach|sowieso|nun mal|bekanntlich|echt|wirklich|total|auch|noch|immer noch|immerhin|schließlich|selber|selbst)(?= )/giu;
/** Finite verbs of the first and the third person, where they come before the subject, or at the end of the clause. */
const FINITE_BEFORE =
  / (wohne|wohnst|wohnt|wohnen|lebe|lebst|lebt|arbeite|arbeitet|lerne|lernt|spiele|spielt|studiere|studiert|trinke|trinkt|esse|isst|mag|bin|ist|habe|hab|hat|haben|vertrage|verträgt|kann|darf|singe|singt|komme|kommt|war|trage|trägt|spreche|spricht|rauche|raucht|sammle)$/iu;
const FINITE_LAST =
  /^( .{2,80}) (wohne|wohnt|wohnen|lebe|lebt|arbeite|arbeitet|lerne|lernt|spiele|spielt|trinke|trinkt|esse|isst|mag|bin|ist|habe|hab|hat|haben|vertrage|verträgt|kann|darf|singe|singt|komme|kommt|war|trage|trägt|spreche|spricht)$/u;
/** Filler words, which add no meaning. */
const FILLER =
  / (?:still|just|really|actually|honestly|also|pretty|basically|literally|obviously|unfortunately|sadly|kind of|sort of)(?= )/giu;
const BIRTHDAY = "'s birthday";

type Context = Pick<UnderstandingContext, 'owner' | 'people' | 'languages'>;

/** Statement about a subject. `name` is null for the owner. */
interface Clause {
  name: string | null;
  /** `Boss`, `Dog`, where it is about somebody or something of theirs. */
  relation: string | null;
  rest: string;
}

/** At most 4, in the order they were said, each once. */
export function memoriesOf(transcript: readonly SpokenSegment[], context: Context): UnderstoodMemory[] {
  if (!transcript.some(({ isUser }) => isUser)) return [];
  const known = new Set(context.people);
  const speakers = [...new Set(transcript.map(({ speaker }) => speaker))];
  const found = new Map<string, UnderstoodMemory>();
  for (const [at, segment] of transcript.entries()) {
    if (!segment.isUser && !known.has(segment.speaker)) continue;
    const before = transcript[at - 1];
    const others = speakers.filter(speaker => speaker !== segment.speaker);
    const spokenTo = others.find(each => others.length === 1 || each === before?.speaker) ?? null;
    for (const memory of memoriesIn(segment, { before, spokenTo }, context)) {
      const key = memory.topic ?? memory.text.toLowerCase();
      found.delete(key); // what was said last is true
      found.set(key, memory);
    }
  }
  return [...found.values()].slice(0, MAX_MEMORIES);
}

/** Around a segment. */
interface Around {
  before: SpokenSegment | undefined;
  /** Person meant by *you*: the previous speaker, or the only other one. */
  spokenTo: string | null;
}

function memoriesIn(segment: SpokenSegment, around: Around, context: Context): UnderstoodMemory[] {
  const text = withSubject(segment.text.slice(0, MAX_CHARS).replaceAll(QUOTED, ' ').replaceAll('’', "'"));
  if (QUOTING.test(text)) return [];
  const language = languageOf(text, context);
  const answered = answerTo(around.before, text, segment, context) ?? [];
  const told = subjectsIn(text).flatMap(({ subject, at, end }) => {
    const said = lastWords(text.slice(0, at));
    if (NO_FACT_BEFORE.test(said) || ASKED.test(said)) return [];
    const clause = clauseOf(subject, segment, around, text.slice(0, at), context);
    if (!clause) return [];
    const rest = text.slice(end, end + MAX_REST_CHARS);
    const whole = language === 'de' ? straightened(said, rest) : expanded(rest);
    const memory = rest.startsWith(BIRTHDAY)
      ? memoryOf({ ...clause, relation: 'birthday', rest: rest.slice(BIRTHDAY.length) }, language, context)
      : memoryOf({ ...clause, rest: whole }, language, context);
    return memory ? [{ ...memory, from: [segment.id] }] : [];
  });
  return [answered, told].flat();
}

/** "I", "my sister", "Nora", with their places. */
function subjectsIn(text: string): { subject: string; at: number; end: number }[] {
  const words = [...text.matchAll(WORD)];
  return words.flatMap(({ 0: word, index }, place) => {
    const isTheirs = POSSESSIVES.has(word.toLowerCase());
    if (!isTheirs && !PRONOUNS.has(word.toLowerCase()) && !CAPITALISED.test(word)) return [];
    const skipped = isTheirs && NEW.has(words[place + 1]?.[0] ?? '') ? 2 : 1;
    const last = isTheirs ? words[place + skipped] : words[place];
    if (!last) return [];
    const end = last.index + last[0].length;
    const subject = isTheirs ? `${word} ${last[0]}` : word;
    return text[end] === ' ' || text[end] === "'" ? [{ subject, at: index, end }] : [];
  });
}

/** "Bin Vegetarier", "been coming here for years": the speaker is meant. */
function withSubject(text: string): string {
  return text
    .replace(/^(?=(?:bin|hab|habe|esse|trinke|mag|vertrage|wohne|arbeite) )/i, 'ich ')
    .replace(/^(?=been )/i, 'I have ');
}

/**
 * German as it would be after its subject: "jetzt wohne ich in Bonn" and "dass ich in Bonn wohne" become " wohne in Bonn".
 * Particles are left out.
 */
function straightened(said: string, rest: string): string {
  const plain = rest.replaceAll(PARTICLE, '');
  const [, before] = FINITE_BEFORE.exec(said) ?? [];
  if (before) return ` ${before}${plain}`;
  const end = plain.search(END);
  const clause = end < 0 ? plain : plain.slice(0, end);
  const [, inner, last] = FINITE_LAST.exec(clause) ?? [];
  return inner && last ? ` ${last}${inner}` : plain;
}

function memoryOf(
  { name, relation, rest }: Clause,
  language: Language,
  { people, owner }: Context,
): Omit<UnderstoodMemory, 'from'> | null {
  for (const { after, say, topic, of, is, holds, maxWords = 8, isVerb } of PREDICATES[language]) {
    if (!(of ?? (relation === null ? ANYBODY : PERSON)).test(relation ?? '')) continue;
    const match = after.exec(rest);
    if (!match) continue;
    const given = match.groups?.value;
    const whole = given === undefined ? '' : valueIn(given, maxWords, [owner, ...people]);
    const value = is ? (is.exec(whole)?.[0] ?? '') : whole;
    if (given !== undefined && (value === '' || UNCLEAR.test(value) || VAGUE_END.test(value))) continue;
    if (holds && !holds.test(value)) continue;
    if (endsAsQuestion(rest) || PASSING.test(`${match[0].slice(0, 40)} ${value}`)) return null;
    const told = say.replace('{}', () => (isVerb ? thirdPerson(value, language) : value));
    return noted({
      name,
      relation,
      told: told.replaceAll(/ (?:my|our|mein\p{L}*|unser\p{L}*)(?= )/gu, ''),
      topic,
    });
  }
  return null;
}

/** "Go to church" as "goes to church". */
function thirdPerson(text: string, language: Language): string {
  const [verb = '', ...rest] = text.split(' ');
  return [language === 'de' ? germanThirdPerson(verb) : englishThirdPerson(verb), ...rest].join(' ');
}

function englishThirdPerson(verb: string): string {
  if (/[^s]s$/.test(verb)) return verb;
  return /(?:o|s|x|ch|sh)$/.test(verb) ? `${verb}es` : `${verb}s`;
}

function germanThirdPerson(verb: string): string {
  const changed = { fahre: 'fährt', laufe: 'läuft', treffe: 'trifft', fahren: 'fährt' }[verb];
  return changed ?? verb.replace(/(?:e|en)$/, 't');
}

/** As its owner would write it down. */
function noted({
  name,
  relation,
  told,
  topic,
}: Omit<Clause, 'rest'> & { told: string; topic: string | undefined }): Omit<UnderstoodMemory, 'from'> {
  const text =
    relation === null
      ? `${name ?? ''} ${told}`.trim()
      : `${name === null ? '' : `${name}'s `}${relation} ${told}`;
  const of = [name, relation?.toLowerCase(), topic].filter(each => each != null);
  return { text: capitalised(text), ...(topic && { topic: of.join(': ') }) };
}

/** Resolves the subject of a clause; null: nobody known. */
function clauseOf(
  subject: string,
  { speaker, isUser }: SpokenSegment,
  { before, spokenTo }: Around,
  said: string,
  { people, owner }: Context,
): Omit<Clause, 'rest'> | null {
  const own = isUser ? null : speaker;
  const lower = subject.toLowerCase();
  if (/^(?:i|we|ich|wir)$/.test(lower)) return { name: own, relation: null };
  if (/^(?:you|du)$/.test(lower)) {
    // what others say of the owner may be a joke: the owner would say it, too
    const isKnown = spokenTo !== null && people.includes(spokenTo);
    return isUser && isKnown ? { name: spokenTo, relation: null } : null;
  }
  if (/^(?:he|she|er|sie)$/.test(lower)) {
    const named = people.filter(
      name => name !== speaker && (hasWord(said, name) || hasWord(before?.text ?? '', name)),
    );
    return named.length === 1 && named[0] !== undefined ? { name: named[0], relation: null } : null;
  }
  const [whose = '', ...rest] = subject.split(' ');
  if (/^(?:my|our|mein|meine|unser|unsere)$/i.test(whose)) return { name: own, relation: rest.at(-1) ?? '' };
  if (subject === owner) return { name: null, relation: null };
  return people.includes(subject) && subject !== own ? { name: subject, relation: null } : null;
}

/** "Any allergies?" "Yes, penicillin." */
function answerTo(
  asked: SpokenSegment | undefined,
  text: string,
  segment: SpokenSegment,
  { people }: Context,
): UnderstoodMemory | null {
  if (!asked || asked.speaker === segment.speaker) return null;
  for (const { question, answer, say, topic, relation, isOfOther } of QUESTIONS) {
    const questioned = question.exec(asked.text);
    const value = questioned && answer.exec(text)?.groups?.value;
    if (!questioned || !value || UNCLEAR.test(value)) continue;
    const other = people.find(each => each === (questioned.groups?.name ?? asked.speaker)) ?? null;
    if (isOfOther && other === null) continue;
    const name = isOfOther ? other : segment.isUser ? null : segment.speaker;
    const told = say.replace('{}', value);
    return { ...noted({ name, relation: relation ?? null, told, topic }), from: [asked.id, segment.id] };
  }
  return null;
}

/** Up to where something else begins, at most so many words, and without the name of whom it is told. */
function valueIn(text: string, maxWords: number, names: readonly string[]): string {
  const end = text.search(END);
  const words = (end < 0 ? text : text.slice(0, end)).trim().split(/\s+/).slice(0, maxWords);
  while (words.length > 1 && (LOOSE_END.test(` ${words.at(-1)}`) || names.includes(words.at(-1) ?? '')))
    words.pop();
  return words.join(' ');
}

function endsAsQuestion(rest: string): boolean {
  return rest.slice(0, rest.search(/[.!?]/) + 1).endsWith('?');
}

/** " 'm" and "n't" in full, and without words that say how or since when. */
function expanded(rest: string): string {
  return rest
    .replace(/^'m /, ' am ')
    .replace(/^'re /, ' are ')
    .replace(/^'ve /, ' have ')
    .replace(/^'s /, ' is ')
    .replace(/^ don't /, ' do not ')
    .replace(/^ can't /, ' cannot ')
    .replaceAll(FILLER, '');
}

function lastWords(text: string): string {
  const clause = text.slice(Math.max(0, ...[...'.!?;'].map(mark => text.lastIndexOf(mark) + 1)));
  return (clause.split(TURN).at(-1) ?? '').trim().split(/\s+/).slice(-WORDS_BEFORE).join(' ');
}

function languageOf(text: string, { languages }: Context): Language {
  const [known] = languages;
  if (known?.startsWith('de')) return 'de';
  return known === undefined && GERMAN.test(text) ? 'de' : 'en';
}

function hasWord(text: string, word: string): boolean {
  const words: readonly string[] = text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.includes(word);
}

function capitalised(text: string): string {
  return text.replace(/^\p{L}/u, letter => letter.toUpperCase());
}
