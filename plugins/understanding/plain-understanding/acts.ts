/** Finds in what somebody said the places where something is promised, asked for or taken on. */
import type { Language, Verb } from './languages/language.ts';
import type { Token } from './tokens.ts';

export type ActKind =
  /** "I'll send it" */
  | 'promise'
  /** "I want to send it", "I can send it" */
  | 'wish'
  /** "we'll send it" */
  | 'shared'
  /** "I send it", which may as well be a habit */
  | 'present'
  /** "can you send it" */
  | 'request'
  /** "don't forget to send it" */
  | 'reminder'
  /** "send it" */
  | 'imperative'
  /** "to send it", as people note it down */
  | 'note'
  /** "somebody must send it" */
  | 'open'
  /** "I'll do it" */
  | 'taking';

export interface Act {
  kind: ActKind;
  /** Where it begins, and where what is to be done begins and ends, by token. */
  index: number;
  from: number;
  to: number;
  /** Known verbs only. */
  verb: Verb | null;
  verbAt: number | null;
  /** The second part of a split verb. */
  particleAt: number | null;
  /** Where words before the verb begin that belong to it: "den Brief" of "den Brief schreibe ich". */
  prefieldFrom: number;
}

const MAX_WORDS = 16;
/** Between the two parts of a split verb. */
const MAX_SPLIT_WORDS = 14;
const MAX_PREFIELD_WORDS = 7;

/** @param starters words after which an imperative may follow, such as names */
export function actsIn(tokens: readonly Token[], language: Language, starters: ReadonlySet<string>): Act[] {
  const acts: Act[] = [];
  for (let index = 0; index < tokens.length; ) {
    const act = actAt(tokens, index, language, starters);
    if (act && !continues(act, acts.at(-1), tokens, language)) acts.push(act);
    const behind = act && (language.acts.isVerbLast || act.verbAt === null ? act.from : act.verbAt + 1);
    index = Math.max(index + 1, behind ?? 0);
  }
  if (acts.length === 0 && language.acts.isVerbLast) acts.push(...notesIn(tokens, language.acts));
  return acts.map((act, place) => ({
    ...endedBy(act, acts[place + 1]),
    prefieldFrom: language.acts.isVerbLast ? prefieldOf(act, acts[place - 1], tokens, language) : act.index,
  }));
}

/** "Am Montag die Blumen gießen": an infinitive at the end of a sentence that has no subject. */
function notesIn(tokens: readonly Token[], words: Words): Act[] {
  const notes: Act[] = [];
  let from = 0;
  for (const [at, token] of tokens.entries()) {
    const isEnd = at + 1 === tokens.length || token.stop !== '' || JOINS.has(tokens[at + 1]?.word ?? '');
    if (!isEnd) continue;
    const verb = words.infinitives.get(token.bare);
    const hasSubject = tokens.slice(from, at).some(({ word }) => SUBJECTS.has(word));
    if (verb && !hasSubject && at > from && at - from <= MAX_WORDS)
      notes.push(actOf('note', from, from, at + 1, verb, at, null));
    from = at + 1;
  }
  return notes;
}
const SUBJECTS = new Set('ich du er wir ihr man es wollen müssen können sollen werden wir'.split(' '));

/** "Cut it by half and send it to me" is one thing to do. */
function continues(
  act: Act,
  previous: Act | undefined,
  tokens: readonly Token[],
  { acts }: Language,
): boolean {
  if (act.kind !== 'imperative' || act.verbAt === null || !previous || previous.to < act.index - 1)
    return false;
  const isJoined = JOINS.has(tokens[act.index - 1]?.word ?? '');
  return isJoined && acts.pronouns.has(tokens[act.verbAt + 1]?.word ?? '');
}
const JOINS = new Set(['and', 'und', 'et', 'y']);

/** Ends a task where the next act begins. */
function endedBy(act: Act, next: Act | undefined): Act {
  return next && next.index < act.to ? { ...act, to: Math.max(act.from, next.index) } : act;
}

/** A German verb has one part of its clause before it; its subject comes after it then. */
function prefieldOf(
  { kind, index }: Act,
  previous: Act | undefined,
  tokens: readonly Token[],
  { acts, dates }: Language,
): number {
  const isInverted = !acts.subject?.has(tokens[index]?.word ?? '');
  if (!isInverted || !['promise', 'wish', 'shared', 'present', 'taking'].includes(kind)) return index;
  const earliest = Math.max(previous?.to ?? 0, index - MAX_PREFIELD_WORDS);
  let from = index;
  while (from > earliest) {
    const token = tokens[from - 1];
    if (token?.stop !== '' || JOINS.has(token.word)) break;
    if (
      acts.yes.at(tokens, from - 1, from) ||
      (acts.clauseStarts.at(tokens, from - 1, from) && token.word !== 'dann')
    )
      break;
    if (dates.corrections.at(tokens, from - 1, from)) break;
    from--;
  }
  return from;
}

function actAt(
  tokens: readonly Token[],
  index: number,
  language: Language,
  starters: ReadonlySet<string>,
): Act | null {
  const { acts: words } = language;
  const taking = words.takings.at(tokens, index);
  if (taking) return actOf('taking', index, index + taking.length, index + taking.length, null, null, null);
  const opened = (
    [
      ['reminder', words.reminders],
      ['promise', words.promises],
      ['wish', words.wishes],
      ['request', words.requests],
      ['shared', words.sharedPromises],
      ['open', words.openRequests],
    ] as const
  )
    .flatMap(([kind, table]) => {
      const match = table.at(tokens, index);
      return match ? [{ kind, length: match.length }] : [];
    })
    .sort((a, b) => b.length - a.length)[0];
  if (opened) {
    const from = index + opened.length;
    const infinitive = words.isVerbLast
      ? lastInfinitive(tokens, from, words)
      : (firstVerb(tokens, from, words.infinitives, words) ??
        firstVerb(tokens, from, words.firstPerson, words));
    const to = words.isVerbLast && infinitive ? infinitive.at + 1 : endOf(tokens, from, words);
    return actOf(opened.kind, index, from, to, infinitive?.verb ?? null, infinitive?.at ?? null, null);
  }
  return (
    finiteAt('present', tokens, index, words, words.subject, words.firstPerson) ??
    finiteAt('imperative', tokens, index, words, words.listener, words.secondPerson) ??
    imperativeAt(tokens, index, language, starters)
  );
}

function actOf(
  kind: ActKind,
  index: number,
  from: number,
  to: number,
  verb: Verb | null,
  verbAt: number | null,
  particleAt: number | null,
): Act {
  return { kind, index, from, to, verb, verbAt, particleAt, prefieldFrom: index };
}

type Words = Language['acts'];

/** "ich schicke", "dann schicke ich", "je t'apporte", "llevo", "bringst du". */
function finiteAt(
  kind: ActKind,
  tokens: readonly Token[],
  index: number,
  words: Words,
  subject: ReadonlySet<string> | null,
  forms: ReadonlyMap<string, Verb>,
): Act | null {
  const token = tokens[index];
  if (!token) return null;
  const { clitics } = words;
  if (subject === null) {
    const verb = forms.get(token.bare);
    const before = tokens[index - 1]?.word ?? '';
    const isFuture = token.bare.endsWith('e');
    if (!verb || words.determiners.has(before) || (isFuture && !token.word.endsWith('é'))) return null;
    return finite(kind, tokens, index, index, verb, words);
  }
  const isVerbFirst = words.isVerbLast && forms.has(token.bare) && subject.has(tokens[index + 1]?.word ?? '');
  if (isVerbFirst) return split(kind, tokens, index, index, 2, forms, words);
  if (!subject.has(token.word)) return null;
  let at = index + 1;
  while (!words.isVerbLast && clitics.has(tokens[at]?.word ?? '') && at < index + 4) at++;
  const verb = forms.get(tokens[at]?.bare ?? '');
  if (!verb) return null;
  return words.isVerbLast
    ? split(kind, tokens, index, at, 1, forms, words)
    : finite(kind, tokens, index, at, verb, words);
}

function imperativeAt(
  tokens: readonly Token[],
  index: number,
  { acts: words, dates }: Language,
  starters: ReadonlySet<string>,
): Act | null {
  const token = tokens[index];
  if (!token) return null;
  const before = tokens[index - 1];
  const isStart =
    before?.stop !== '' ||
    starters.has(before.word) ||
    STARTERS.has(before.word) ||
    dates.days.at(tokens, index - 1, index) !== null ||
    dates.weekdays.at(tokens, index - 1, index) !== null ||
    [1, 2, 3].some(back => words.listMarks.at(tokens, index - back, index)?.length === back);
  if (!isStart) return null;
  const next = tokens[index + 1]?.word ?? '';
  if (words.subject?.has(next)) return null;
  if (words.isVerbLast && next === 'sie' && words.infinitives.has(token.bare))
    return split('imperative', tokens, index, index, 2, words.infinitives, words);
  const note =
    words.isVerbLast || token.bare === words.imperatives.get(token.bare)?.infinitive
      ? undefined
      : words.infinitives.get(token.bare);
  if (note) return finite('note', tokens, index, index, note, words);
  const verb = words.imperatives.get(token.bare);
  if (!verb || next === '' || (words.isVerbLast && next === 'sie')) return null;
  return words.isVerbLast
    ? split('imperative', tokens, index, index, 1, words.imperatives, words)
    : finite('imperative', tokens, index, index, verb, words);
}

/** An imperative may follow these, in any of the languages. */
const STARTERS = new Set(
  `and then so but please okay ok right yes yeah well oh now no und dann bitte also okay ja gut na nein aber et puis alors
   bon oui mais donc ensuite y luego pues bueno vale sí pero entonces oye mira anda venga`.split(/\s+/),
);

function finite(
  kind: ActKind,
  tokens: readonly Token[],
  index: number,
  at: number,
  verb: Verb,
  words: Words,
): Act {
  return actOf(kind, index, at, endOf(tokens, at + 1, words), verb, at, null);
}

/** A verb whose second part stands at the end of the clause: "ruf … an". */
function split(
  kind: ActKind,
  tokens: readonly Token[],
  index: number,
  at: number,
  skip: number,
  forms: ReadonlyMap<string, Verb>,
  words: Words,
): Act | null {
  const form = tokens[at]?.bare ?? '';
  const end = endOf(tokens, at + skip, words);
  for (let place = at + skip; place < Math.min(end, at + MAX_SPLIT_WORDS); place++) {
    const token = tokens[place];
    if (!token || !words.particles.has(token.word)) continue;
    const isLast =
      place + 1 >= end || token.stop !== '' || words.prepositions.has(tokens[place + 1]?.word ?? '');
    const verb = forms.get(`${token.bare} ${form}`) ?? words.infinitives.get(`${token.bare}${form}`) ?? null;
    if (isLast && verb) return actOf(kind, index, at + skip, place, verb, at, place);
  }
  const verb = forms.get(form);
  return verb ? actOf(kind, index, at + skip, end, verb, at, null) : null;
}

/** The infinitive, or after "il faut que je" the verb, that comes after an opening. */
function firstVerb(
  tokens: readonly Token[],
  from: number,
  forms: ReadonlyMap<string, Verb>,
  { clitics }: Words,
) {
  for (let at = from; at < from + 3; at++) {
    const token = tokens[at];
    const verb = token && forms.get(token.bare);
    if (verb) return { verb, at };
    if (!token || !clitics.has(token.word)) return null;
  }
  return null;
}

/** The infinitive at the end of the clause; of two in a row, the second: "einkaufen gehen". */
function lastInfinitive(tokens: readonly Token[], from: number, words: Words) {
  const end = endOf(tokens, from, words);
  for (let at = from; at < end; at++) {
    const verb = words.infinitives.get(tokens[at]?.bare ?? '');
    if (!verb || isNoun(tokens[at], at)) continue;
    const second = at + 1 < end ? words.infinitives.get(tokens[at + 1]?.bare ?? '') : undefined;
    return second ? { verb: second, at: at + 1 } : { verb, at };
  }
  return null;
}

function isNoun(token: Token | undefined, at: number): boolean {
  return at > 0 && token !== undefined && token.text !== token.word;
}

function endOf(tokens: readonly Token[], from: number, { clauseStarts }: Words): number {
  const limit = Math.min(tokens.length, from + MAX_WORDS);
  for (let at = from; at < limit; at++) {
    if (at > from && clauseStarts.at(tokens, at)) return at;
    if (tokens[at]?.stop !== '') return at + 1;
  }
  return limit;
}
