/**
 * Lasting facts about the owner and known people, by what people say of themselves and each other: "I live in Cologne",
 * "you're allergic to nuts", "mein Mann heißt Jakob". Few forms, so that hardly anything is kept that is none.
 */
import type { SpokenSegment, UnderstandingContext, UnderstoodMemory } from '../../../core/contract/plugin.ts';
import { languageOf } from './language.ts';
import type { Language } from './languages/language.ts';
import type { Grammar } from './memory-form.ts';
import { type Code, GRAMMARS, PERSON, PREDICATES, QUESTIONS, SEVERAL } from './memory-forms.ts';
import { tokensOf } from './tokens.ts';

const MAX_MEMORIES = 4;
/** Characters of a segment that are read; a segment is an utterance, and seldom has a tenth of this. */
const MAX_CHARS = 4000;
/** Characters that are read after a subject: later ones belong to something else. */
const MAX_REST_CHARS = 160;
/** Before a segment, in which those were named whom it speaks of. */
const SEGMENTS_BEFORE = 4;
const MAX_YES_CHARS = 40;
/** Words before a subject that are looked at for what makes it no fact. */
const WORDS_BEFORE = 10;

const WORD = /[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*/gu;
const NAME = /^\p{Lu}\p{Ll}{2,20}$/u;
const MAX_WORD_CHARS = 60;
const CAPITALISED = /^\p{Lu}/u;
const OWNER = { name: null, relation: null };
const QUOTED = /"[^"]*"|“[^”“]*”|„[^“”„]*[“”]/g;
/** A quotation without marks. */
const QUOTING = /\b(?:and I quote|quote|zitiere)\b/i;

/** Marks statements that count for anybody. */
const ANYBODY = /^$/;
/** "Ben's wife is …": it is about somebody or something of theirs. */
const THEIRS = /^'s (?<relation>\p{L}+)(?= |'s)/u;
const BIRTHDAY = /^birthday$/i;

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
    const isConfirmed = !segment.isUser && saysYes(transcript[at + 1]);
    if (!segment.isUser && !known.has(segment.speaker) && !isConfirmed) continue;
    const before = transcript[at - 1];
    const others = speakers.filter(speaker => speaker !== segment.speaker);
    const spokenTo = others.find(each => others.length === 1 || each === before?.speaker) ?? null;
    const lately = transcript
      .slice(Math.max(0, at - SEGMENTS_BEFORE), at)
      .map(({ text }) => text.slice(0, MAX_CHARS));
    const around = { before, spokenTo, lately, reply: isConfirmed ? transcript[at + 1] : undefined };
    for (const memory of memoriesIn(segment, around, context)) {
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
  /** Segments just before, in which *he* or *she* was named. */
  lately: readonly string[];
  /** The owner's, where it says yes. */
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

function memoriesIn(segment: SpokenSegment, around: Around, context: Context): UnderstoodMemory[] {
  const plain = segment.text.slice(0, MAX_CHARS).replaceAll(QUOTED, ' ').replaceAll('’', "'");
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
    const rest = text.slice(end, end + MAX_REST_CHARS);
    const theirs = theirsIn({ ...clause, rest: isConfirmed ? asStatement(said, rest, grammar) : rest });
    const memory = memoryOf({ ...theirs, rest: grammar.follow(theirs.rest, said) }, code, context);
    const from = isConfirmed && around.reply ? [segment.id, around.reply.id] : [segment.id];
    return memory ? [{ ...memory, from }] : [];
  });
  return [answered, told].flat();
}

function isListener(subject: string, { listener, polite }: Grammar): boolean {
  const lower = subject.toLowerCase();
  return listener.has(lower) || lower === polite;
}

/** "Are you diabetic?" as what follows "I": " am diabetic." */
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

/** "I", "my sister", "Nora", with their places. */
function subjectsIn(text: string, grammar: Grammar): { subject: string; at: number; end: number }[] {
  const words = [...text.matchAll(WORD)];
  const { own, third, possessives, adjectives } = grammar;
  return words.flatMap(({ 0: word, index }, place) => {
    const lower = word.toLowerCase();
    const isTheirs = possessives.has(lower);
    const isPronoun = own.has(lower) || third.has(lower) || isListener(lower, grammar);
    if (!isTheirs && !isPronoun && !CAPITALISED.test(word)) return [];
    const skipped = isTheirs && adjectives.has(words[place + 1]?.[0] ?? '') ? 2 : 1;
    const last = isTheirs ? words[place + skipped] : words[place];
    if (!last) return [];
    const end = last.index + last[0].length;
    const subject = isTheirs ? `${word} ${last[0]}` : word;
    return text[end] === ' ' || text[end] === "'" ? [{ subject, at: index, end }] : [];
  });
}

function memoryOf(
  { name, relation, rest }: Clause,
  code: Code,
  { people, owner }: Context,
): Omit<UnderstoodMemory, 'from'> | null {
  const grammar = GRAMMARS[code];
  for (const { after, say, topic, of, is, holds, maxWords = 8, isVerb } of PREDICATES[code]) {
    if (!(of ?? (relation === null ? ANYBODY : PERSON)).test(relation ?? '')) continue;
    const match = after.exec(rest);
    if (!match) continue;
    const given = match.groups?.value;
    const whole = given === undefined ? '' : valueIn(given, maxWords, [owner, ...people], grammar);
    const value = is ? (is.exec(whole)?.[0] ?? '') : whole;
    if (given !== undefined && (value === '' || grammar.unclear.test(value) || grammar.vagueEnd.test(value)))
      continue;
    if (holds && !holds.test(value)) continue;
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

/** "Go to church" as "goes to church". */
function thirdPerson(text: string, code: Code): string {
  const [verb = '', ...rest] = text.split(' ');
  return [code === 'de' ? germanThirdPerson(verb) : englishThirdPerson(verb), ...rest].join(' ');
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
  grammar,
}: Omit<Clause, 'rest'> & { told: string; topic: string | undefined; grammar: Grammar }): Omit<
  UnderstoodMemory,
  'from'
> {
  const who = relation === null ? (name ?? '') : name === null ? relation : grammar.theirs(name, relation);
  const text = capitalised(`${who} ${told}`.trim());
  const of = [name, relation?.toLowerCase(), topic].filter(each => each != null);
  const isSeveral = relation !== null && SEVERAL.test(relation);
  return { text: isSeveral ? grammar.plural(text) : text, ...(topic && { topic: of.join(': ') }) };
}

/** Resolves the subject of a clause; null: nobody known. */
function clauseOf(
  subject: string,
  { speaker, isUser }: SpokenSegment,
  { before, spokenTo, lately }: Around,
  said: string,
  language: Language,
  { people, owner }: Context,
): Omit<Clause, 'rest'> | null {
  const own = isUser ? null : speaker;
  const grammar = GRAMMARS[language.code as Code];
  const lower = subject.toLowerCase();
  if (grammar.own.has(lower)) return { name: own, relation: null };
  if (grammar.listener.has(lower)) {
    // what others say of the owner may be a joke: the owner would say it, too
    const isKnown = spokenTo !== null && people.includes(spokenTo);
    return isUser && isKnown ? { name: spokenTo, relation: null } : null;
  }
  if (grammar.third.has(lower)) {
    const others = people.filter(name => name !== speaker);
    const near = [said, before?.text ?? ''];
    const named = [near, [...near, ...lately]]
      .map(texts => others.filter(name => texts.some(each => hasWord(each, name))))
      .find(({ length }) => length > 0);
    return named?.length === 1 && named[0] !== undefined ? { name: named[0], relation: null } : null;
  }
  const [whose = '', ...rest] = subject.split(' ');
  if (grammar.possessives.has(whose.toLowerCase())) return { name: own, relation: rest.at(-1) ?? '' };
  if (subject === owner) return OWNER;
  if (subject === own) return null;
  return people.includes(subject) || isName(subject, said, language)
    ? { name: subject, relation: null }
    : null;
}

/** Tells whether a word is a name, also of somebody who is not known to Earshot. */
function isName(word: string, said: string, { stopWords, dates, acts }: Language): boolean {
  const [token] = tokensOf(word);
  const [before] = tokensOf(said.slice(-MAX_WORD_CHARS)).slice(-1);
  if (!token || !NAME.test(word) || stopWords.has(token.word) || said.endsWith('-')) return false;
  if ([dates.weekdays, dates.months].some(table => table.at([token], 0))) return false;
  const isFirst = before === undefined || before.stop !== '';
  return (
    isFirst ||
    !(acts.determiners.has(before.word) || acts.prepositions.has(before.word) || NAME.test(before.text))
  );
}

/** "Any allergies?" "Yes, penicillin." */
function answerTo(
  asked: SpokenSegment | undefined,
  text: string,
  segment: SpokenSegment,
  code: Code,
  { people }: Context,
): UnderstoodMemory | null {
  const grammar = GRAMMARS[code];
  if (!asked || asked.speaker === segment.speaker) return null;
  for (const { question, answer, say, topic, relation, isOfOther } of QUESTIONS) {
    const questioned = question.exec(asked.text);
    const value = questioned && answer.exec(text)?.groups?.value;
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

/** Up to where something else begins, at most so many words, and without the name of whom it is told. */
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

/** "He's dyslexic, you know that?" is none. */
function endsAsQuestion(rest: string): boolean {
  return rest.slice(0, rest.search(/[.!?,]/) + 1).endsWith('?');
}

function lastWords(text: string, { turn }: Grammar): string {
  const clause = text.slice(Math.max(0, ...[...'.!?;'].map(mark => text.lastIndexOf(mark) + 1)));
  return (clause.split(turn).at(-1) ?? '').trim().split(/\s+/).slice(-WORDS_BEFORE).join(' ');
}

function hasWord(text: string, word: string): boolean {
  const words: readonly string[] = text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.includes(word);
}

function capitalised(text: string): string {
  return text.replace(/^\p{L}/u, letter => letter.toUpperCase());
}
