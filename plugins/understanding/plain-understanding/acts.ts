/** Finds where a speaker promises something, asks for something or takes something on. */
import type { Language, Verb } from './languages/language.ts';
import { endsSentence, sentenceEnd, sentenceStart, type Token } from './tokens.ts';

export type ActKind =
  /** "I'll send it" */
  | 'promise'
  /** "I want to send it", "I can send it" */
  | 'wish'
  /** "we'll send it" */
  | 'shared'
  /** "I send it", which may also be a habit */
  | 'present'
  /** "can you send it" */
  | 'request'
  /** "don't forget to send it" */
  | 'reminder'
  /** "send it" */
  | 'imperative'
  /** "to send it", as in a written note */
  | 'note'
  /** "somebody must send it" */
  | 'open'
  /** "shall I send it?" */
  | 'offer'
  /** "I'll do it" */
  | 'taking';

export interface Act {
  kind: ActKind;
  /** Token indices: where the phrase begins, and where the words of the task begin and end. */
  index: number;
  from: number;
  to: number;
  /** Null for verbs that are not in the vocabulary. */
  verb: Verb | null;
  verbAt: number | null;
  /** The second part of a separable verb. */
  particleAt: number | null;
  /** Where the words before the verb that belong to it begin: "den Brief" in "den Brief schreibe ich". */
  prefieldFrom: number;
  /** Where the first of several joined acts begins: "call them and order it". */
  leadIndex: number;
}

const MAX_WORDS = 16;
/** Maximum words between the two parts of a separable verb. */
const MAX_SPLIT_WORDS = 14;
const MAX_PREFIELD_WORDS = 7;

/** @param starters words that an imperative may follow, such as names */
export function actsIn(tokens: readonly Token[], language: Language, starters: ReadonlySet<string>): Act[] {
  const acts: Act[] = [];
  for (let index = 0; index < tokens.length; ) {
    const previous = acts.at(-1);
    const act = joinedAt(tokens, index, previous, language) ?? actAt(tokens, index, language, starters);
    if (act && !continues(act, previous, tokens, language)) acts.push(act);
    const behind = act && (language.acts.isVerbLast || act.verbAt === null ? act.from : act.verbAt + 1);
    index = Math.max(index + 1, behind ?? 0);
  }
  if (language.acts.isVerbLast) {
    const isFree = (note: Act) =>
      acts.length === 0 ||
      (note.kind === 'request' && acts.every(({ index, to }) => to <= note.from || index >= note.to));
    acts.push(...notesIn(tokens, language).filter(isFree));
    acts.sort((a, b) => a.index - b.index);
  }
  return acts
    .map(asked => asOffer(asked, tokens))
    .map((act, place) => ({
      ...endedBy(act, acts[place + 1]),
      prefieldFrom: language.acts.isVerbLast ? prefieldOf(act, acts[place - 1], tokens, language) : act.index,
    }));
}

/** "Shall I …?" is an offer; "die kann ich Ihnen schicken." is none. */
function asOffer(act: Act, tokens: readonly Token[]): Act {
  const isStatement = tokens[sentenceEnd(tokens, act.from) - 1]?.stop === '.';
  return act.kind === 'offer' && isStatement ? { ...act, kind: 'wish' } : act;
}

/** "I'll buy the paint and book the van": the second verb belongs to the same promise, request or list. */
function joinedAt(
  tokens: readonly Token[],
  index: number,
  previous: Act | undefined,
  language: Language,
): Act | null {
  if (!previous || !JOINED.has(previous.kind) || previous.verb === null) return null;
  if (!JOINS.has(tokens[index - 1]?.word ?? '') || tokens.slice(previous.from, index).some(endsSentence))
    return null;
  if (index - previous.to > 1) return null;
  const { acts: words } = language;
  const token = tokens[index];
  const isImperative = previous.kind === 'imperative';
  const joined = () => {
    if (words.isVerbLast) {
      const isAddressed = isImperative && words.secondPerson.has(token?.bare ?? '');
      if (isAddressed) return split('imperative', tokens, index, index, 1, words.secondPerson, words); // "und bringst"
      if (isImperative || words.subject?.has(token?.word ?? '')) return null;
      const last = lastInfinitive(tokens, index, words);
      return last && !last.verb.isUnknown
        ? actOf(previous.kind, index, index, last.at + 1, last.verb, last.at, null)
        : null;
    }
    const verb = (isImperative ? words.imperatives : words.infinitives).get(token?.bare ?? '');
    return verb ? finite(previous.kind, tokens, index, index, verb, words) : null;
  };
  const act = joined();
  return act && { ...act, leadIndex: previous.leadIndex };
}
const JOINED: ReadonlySet<ActKind> = new Set([
  'promise',
  'wish',
  'request',
  'reminder',
  'shared',
  'imperative',
  'note',
]);

/** "Am Montag die Blumen gießen": an infinitive at the end of a sentence without a subject. */
function notesIn(tokens: readonly Token[], { acts: words, dates }: Language): Act[] {
  const notes: Act[] = [];
  let from = 0;
  for (const [at, token] of tokens.entries()) {
    const next = tokens[at + 1]?.word ?? '';
    const verb = words.infinitives.get(token.bare);
    const isFollowed =
      verb !== undefined &&
      (NOTE_ENDS.has(next) || [dates.days, dates.weekdays].some(each => each.at(tokens, at + 1)));
    const isEnd = at + 1 === tokens.length || token.stop !== '' || JOINS.has(next) || isFollowed;
    if (LEADS.has(token.word) && at + 1 < tokens.length) from = at + 1;
    if (!isEnd) continue;
    const isRequest = tokens.slice(from, at).some(({ word }) => word === 'bitte');
    // the object may stand before a comma: "das Geld, zehn Euro, bitte überweisen"
    const begin = isRequest ? Math.max(sentenceStart(tokens, at), at - MAX_WORDS) : from;
    const hasSubject = tokens.slice(begin, at).some(({ word }) => SUBJECTS.has(word));
    if (verb && !hasSubject && at > begin && at - begin <= MAX_WORDS)
      notes.push(actOf(isRequest ? 'request' : 'note', begin, begin, at + 1, verb, at, null));
    from = at + 1;
  }
  return notes;
}
/** "… zurückgeben, der fragt schon", "Blumen bestellen am besten heute": go on after the infinitive of a note. */
const NOTE_ENDS = new Set('spätestens am bis vor der die das weil sonst noch'.split(' '));
const LEADS = new Set('also ach dann'.split(' '));
const SUBJECTS = new Set('ich du er wir ihr man es wollen müssen können sollen werden wir'.split(' '));

/** "Cut it by half and send it to me" is one task. */
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

/** In German, one part of the clause may precede the verb; the subject then follows it. */
function prefieldOf(
  { kind, index }: Act,
  previous: Act | undefined,
  tokens: readonly Token[],
  { acts, dates }: Language,
): number {
  const first = tokens[index]?.word ?? '';
  const isInverted = !acts.subject?.has(first);
  const isRequest = (kind === 'request' || kind === 'open') && !BEFORE_VERBS.has(first);
  if (!isInverted || !(isRequest || PREFIELDED.has(kind))) return index;
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

/** "They need to fix that" reminds nobody; "need to fix that" does. */
function hasSubject(tokens: readonly Token[], at: number): boolean {
  const before = tokens[at - 1];
  return (
    NECESSITY.has(tokens[at]?.word ?? '') &&
    before?.stop === '' &&
    !STARTERS.has(before.word) &&
    !JOINS.has(before.word)
  );
}
const NECESSITY = new Set('need have must gotta got muss'.split(' '));

/** "Die müssen sie verlegen": small letters tell "they" from the polite form, where a text has capitals. */
function isOfOthers(tokens: readonly Token[], from: number, to: number): boolean {
  const isOther = ({ text }: Token) => text === 'sie';
  const near = tokens.slice(Math.max(0, from - MAX_NEAR_WORDS), to + MAX_NEAR_WORDS);
  return tokens.slice(from, to).some(isOther) && near.some(({ text, word }) => text !== word);
}
/** Words around an opening that are checked for capitals; bounds the time of long texts. */
const MAX_NEAR_WORDS = 40;

const PREFIELDED: ReadonlySet<ActKind> = new Set(['promise', 'wish', 'shared', 'present', 'taking']);
/** Subjects, and openings that stand before their verb: "jemand muss". */
const BEFORE_VERBS = new Set(
  'jemand einer wer wir man du sie ihr es uns ich würde wäre wärst macht sei seien sind bist tu meinst hättest darf dürfte wie magst'.split(
    ' ',
  ),
);

function actAt(
  tokens: readonly Token[],
  index: number,
  language: Language,
  starters: ReadonlySet<string>,
): Act | null {
  const { acts: words } = language;
  const taking = words.takings.at(tokens, index);
  if (taking && !namesObject(tokens, index, index + taking.length, words))
    return actOf('taking', index, index + taking.length, index + taking.length, null, null, null);
  const opened = (
    [
      ['reminder', words.reminders],
      ['promise', words.promises],
      ['wish', words.wishes],
      ['request', words.requests],
      ['shared', words.sharedPromises],
      ['open', words.openRequests],
      ['offer', words.offers],
    ] as const
  )
    .flatMap(([kind, table]) => {
      const match = table.at(tokens, index);
      return match ? [{ kind, length: match.length }] : [];
    })
    .sort((a, b) => b.length - a.length)[0];
  if (opened) {
    const from = index + opened.length;
    if (words.isVerbLast && opened.kind === 'request' && isOfOthers(tokens, index, from)) return null;
    if (opened.kind === 'reminder' && hasSubject(tokens, index)) return null;
    if (endsSentence(tokens[from - 1])) return null; // "I don't think I will."
    const isVerbFirst = words.isVerbLast && tokens[from - 1]?.word === 'und'; // "sei so lieb und bring … mit"
    if (isVerbFirst)
      return (
        split(opened.kind, tokens, index, from, 1, words.imperatives, words) ??
        split(opened.kind, tokens, index, from, 1, words.infinitives, words)
      );
    const isOfDone = opened.kind === 'open' && ASKS_DONE.has(tokens[index]?.word ?? '');
    const infinitive = words.isVerbLast
      ? ((isOfDone ? lastParticiple(tokens, from, words) : null) ?? lastInfinitive(tokens, from, words))
      : (firstVerb(tokens, from, words.infinitives, words) ??
        firstVerb(tokens, from, words.firstPerson, words) ??
        (words.gerunds && firstVerb(tokens, from, words.gerunds, words)) ??
        (words.subject === null ? firstVerb(tokens, from, words.imperatives, words) : null) ?? // "que me mande"
        unknownVerb(tokens, from, opened.kind, language, starters));
    const isPresence = !infinitive || infinitive.verb.isState || infinitive.verb.isUnknown;
    if (isOfDone && isPresence && tokens[from - 1]?.word !== 'got') return null; // "are you coming?"
    const to =
      words.isVerbLast && infinitive
        ? infinitive.at + 1
        : withMessage(tokens, endOf(tokens, from, words), infinitive?.verb ?? null);
    return actOf(opened.kind, index, from, to, infinitive?.verb ?? null, infinitive?.at ?? null, null);
  }
  return (
    progressiveAt(tokens, index, words) ??
    askedOfAll(tokens, index, language) ??
    finiteAt('present', tokens, index, words, words.subject, words.firstPerson) ??
    (words.isVerbLast ? finiteAt('shared', tokens, index, words, GERMAN_WE, words.infinitives) : null) ??
    finiteAt('imperative', tokens, index, words, words.listener, words.secondPerson) ??
    imperativeAt(tokens, index, language, starters)
  );
}

/** "I'm doing the conclusion": a plan with a day, or where tasks are shared out. */
function progressiveAt(tokens: readonly Token[], index: number, words: Words): Act | null {
  const form = tokens[index + 1];
  if (tokens[index]?.word !== "i'm" || tokens[index]?.stop !== '' || !form?.word.endsWith('ing')) return null;
  const verb = words.gerunds?.get(form.bare);
  return verb && !verb.isState && !MOVING.has(verb.infinitive)
    ? finite('present', tokens, index, index + 1, { ...verb, isWeak: true }, words)
    : null;
}

const MOVING = new Set('walk drive run move get try look plan'.split(' '));

/** Begin questions whether something was done, which "I'll do it tomorrow" may answer. */
const ASKS_DONE = new Set(
  "wer are have did hast haben habt hattest tu t' vous as avez has habéis ya".split(' '),
);

/** "Zurückgerufen" in "hast du den Arzt zurückgerufen". */
function lastParticiple(tokens: readonly Token[], from: number, words: Words) {
  const at = endOf(tokens, from, words) - 1;
  const verb = words.gerunds?.get(tokens[at]?.bare ?? '');
  return verb && at > from ? { verb, at } : null;
}

/** "Wer bucht das Hotel?", "qui réserve le camping ?". */
function askedOfAll(tokens: readonly Token[], index: number, { acts: words, code }: Language): Act | null {
  const isStart = index === 0 || tokens[index - 1]?.stop !== '' || JOINS.has(tokens[index - 1]?.word ?? '');
  if (!isStart || !WHO.has(tokens[index]?.bare ?? '')) return null;
  if (tokens[sentenceEnd(tokens, index) - 1]?.stop !== '?') return null;
  const form = tokens[index + 1]?.bare ?? '';
  if (words.isVerbLast) {
    const verb = words.infinitives.get(`${form.replace(/e?t$/, '')}en`);
    return verb ? split('open', tokens, index, index + 1, 1, new Map([[form, verb]]), words) : null;
  }
  const verb = { fr: words.firstPerson, es: words.imperatives }[code]?.get(form);
  return verb ? finite('open', tokens, index, index + 1, verb, words) : null;
}
const WHO = new Set(['wer', 'qui', 'quien']);

/** "Ich kümmere mich um das Muster": not what was asked before. */
function namesObject(
  tokens: readonly Token[],
  from: number,
  at: number,
  { pronouns, determiners }: Words,
): boolean {
  if (takesNoun(tokens, at, pronouns)) return true;
  if (!tokens.slice(from, at).some(({ word }) => CHARGE.test(word))) return false;
  const next = tokens[at + 1];
  return (
    tokens[at - 1]?.stop === '' &&
    tokens[at]?.stop === '' &&
    ABOUT.has(tokens[at]?.word ?? '') &&
    next !== undefined &&
    (!pronouns.has(next.word) || determiners.has(next.word))
  );
}
/** "Dann übernehme ich die Konferenz", "mach ich den Salat". */
function takesNoun(tokens: readonly Token[], at: number, pronouns: ReadonlySet<string>): boolean {
  if (
    tokens[at - 1]?.word !== 'ich' ||
    tokens[at - 1]?.stop !== '' ||
    THAT_ONE.has(tokens[at - 3]?.word ?? '')
  )
    return false;
  const ahead = [at, at + 1].find(place => ARTICLES.has(tokens[place]?.word ?? ''));
  const noun = ahead === undefined ? undefined : tokens[ahead + 1];
  return noun !== undefined && !pronouns.has(noun.word) && tokens[ahead ?? at]?.stop === '';
}
const ARTICLES = new Set('den die das einen eine ein meine meinen deine deinen'.split(' '));
const THAT_ONE = new Set('das die den es'.split(' '));
const CHARGE = /^(?:mich|encargo|ocupo|occupe|charge)$/;
const ABOUT = new Set("um ums de del du des d'".split(' '));

/** "Dann holen wir die Farben morgen." */
const GERMAN_WE = new Set(['wir']);

function actOf(
  kind: ActKind,
  index: number,
  from: number,
  to: number,
  verb: Verb | null,
  verbAt: number | null,
  particleAt: number | null,
): Act {
  return { kind, index, from, to, verb, verbAt, particleAt, prefieldFrom: index, leadIndex: index };
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
    if (token.word.endsWith('ó')) return null; // "llevó"
    if (!verb || (isFuture && !token.word.endsWith('é'))) return null;
    const hasClitic =
      isClitic(tokens, index, words) || (kind === 'present' && isCliticBefore(tokens, index, words));
    if ((verb.isNounToo || words.determiners.has(before)) && !hasClitic) return null;
    let first = hasClitic ? index - 1 : index;
    if (hasClitic && isCliticBefore(tokens, first, words)) first--; // "te la mando"
    return finite(kind, tokens, first, index, verb, words);
  }
  const isVerbFirst = words.isVerbLast && forms.has(token.bare) && subject.has(tokens[index + 1]?.word ?? '');
  if (isVerbFirst) return split(kind, tokens, index, index, 2, forms, words);
  if (!subject.has(token.word)) return null;
  if (kind === 'imperative' && SUBORDINATE.has(tokens[index - 1]?.word ?? '')) return null;
  if (kind === 'imperative' && tokens[index + 2]?.word === token.word) return null; // "they like you. Do you mind?"
  let at = index + 1;
  while (!words.isVerbLast && clitics.has(tokens[at]?.word ?? '') && at < index + 4) at++;
  const verb = forms.get(tokens[at]?.bare ?? '');
  if (!verb) return null;
  return words.isVerbLast
    ? split(kind, tokens, index, at, 1, forms, words)
    : finite(kind, tokens, index, at, verb, words);
}

/** "Before you go" does not tell anybody to go. */
const SUBORDINATE = new Set(
  'before after when while as once if unless until where what how that because quand si que avant lorsque comme où'.split(
    ' ',
  ),
);

/** "Os la paso": no noun in "-o" follows these. */
function isCliticBefore(tokens: readonly Token[], index: number, { clitics }: Words): boolean {
  const before = tokens[index - 1];
  return before?.stop === '' && clitics.has(before.word) && before.word !== 'yo';
}

/**
 * "La cambio mañana", but not "la compra": only at the beginning of a clause, and without words that would
 * belong to a noun.
 */
function isClitic(tokens: readonly Token[], index: number, words: Words): boolean {
  const clitic = tokens[index - 1];
  if (!clitic || !words.clitics.has(clitic.word)) return false;
  const before = tokens[index - 2];
  const isBegin =
    before?.stop !== '' ||
    words.clauseStarts.at(tokens, index - 2, index - 1) !== null ||
    BEFORE_CLITIC.has(before.word);
  const next = tokens[index + 1];
  return isBegin && (next === undefined || tokens[index]?.stop !== '' || !words.determiners.has(next.word));
}
const BEFORE_CLITIC = new Set('y ya luego mañana hoy después ahora yo te se me mismo'.split(' '));

function imperativeAt(
  tokens: readonly Token[],
  index: number,
  { acts: words, dates, code }: Language,
  starters: ReadonlySet<string>,
): Act | null {
  const token = tokens[index];
  if (!token || (token.isHyphenated && code === 'en')) return null; // "call-out", but "envoyez-moi"
  const before = tokens[index - 1];
  const isStart =
    before?.stop !== '' ||
    starters.has(before.word) ||
    STARTERS.has(before.word) ||
    (words.isVerbLast &&
      FRONTED.has(before.word) &&
      tokens[index - 2]?.stop !== '' &&
      POLITE.has(tokens[index + 1]?.word ?? '')) ||
    dates.days.at(tokens, index - 1, index) !== null ||
    dates.weekdays.at(tokens, index - 1, index) !== null ||
    [1, 2, 3].some(back => isListMark(tokens, index - back, index, words));
  if (!isStart) return null;
  const isNoun =
    words.isVerbLast && token.text !== token.word && before !== undefined && !endsSentence(before);
  if (isNoun || isParticiple(token, code)) return null; // "Leute, Plan für morgen"
  const next = tokens[index + 1]?.word ?? '';
  if (words.subject?.has(next) || (code === 'en' && INVERTED.has(next))) return null;
  if (words.isVerbLast && POLITE.has(next) && token.bare.endsWith('n'))
    return split('imperative', tokens, index, index, 2, words.infinitives, words);
  const note =
    words.isVerbLast || token.bare === words.imperatives.get(token.bare)?.infinitive
      ? undefined
      : words.infinitives.get(token.bare);
  if (note) return finite('note', tokens, index, index, note, words);
  const verb = words.imperatives.get(token.bare);
  if (!verb || next === '' || (words.isVerbLast && POLITE.has(next))) return null;
  return words.isVerbLast
    ? split('imperative', tokens, index, index, 1, words.imperatives, words)
    : finite('imperative', tokens, index, index, verb, words);
}

/** "Die Creme, die holen Sie sich in der Apotheke." */
const FRONTED = new Set(['die', 'den', 'das']);

/** "Rufen Sie an", and "rufen S' an". */
const POLITE = new Set(['sie', 's']);

/** "Désherbé toute l'allée" tells what was done. */
function isParticiple({ word }: Token, code: string): boolean {
  return code === 'fr' && word.endsWith('é');
}

/** "Have we got …?" */
const INVERTED = new Set('you we they he she'.split(' '));

/** "Next, call them", but not "the next call". */
function isListMark(tokens: readonly Token[], from: number, to: number, words: Words): boolean {
  const before = tokens[from - 1];
  const isNoun = before?.stop === '' && words.determiners.has(before.word);
  return !isNoun && words.listMarks.at(tokens, from, to)?.length === to - from;
}

/** Words that an imperative may follow, in any of the languages. */
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
  const isEmphatic =
    words.subject === null && kind === 'present' && words.emphatic.at(tokens, at + 1) !== null;
  const rest = isEmphatic ? at + 2 : endOf(tokens, at + 1, words); // "la compro yo tengo tiempo"
  const end = tokens[at]?.stop === '' ? rest : at + 1; // "la cambio, hoy no"
  return actOf(kind, index, at, withMessage(tokens, end, verb), verb, at, null);
}

/** A separable verb whose second part stands at the end of the clause: "ruf … an". */
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
    const next = tokens[place + 1]?.word ?? '';
    const isLast =
      place + 1 >= end || token.stop !== '' || words.prepositions.has(next) || BEHIND_PARTICLE.has(next);
    const verb = forms.get(`${token.bare} ${form}`) ?? words.infinitives.get(`${token.bare}${form}`) ?? null;
    if (isLast && verb) return actOf(kind, index, at + skip, place, verb, at, place);
  }
  const verb = forms.get(form);
  return verb ? actOf(kind, index, at + skip, end, verb, at, null) : null;
}

/** Go on after a separable verb in speech without commas: "ich ruf ihn an vorher ist er im Urlaub". */
const BEHIND_PARTICLE = new Set(
  'vorher nachher danach dann sonst vielleicht wenn weil dass ob damit bevor ja okay'.split(' '),
);

/** The infinitive after an opening, or the verb after "il faut que je". */
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

/** "Tell him that the glasses are ready": the message is part of the task. */
function withMessage(tokens: readonly Token[], to: number, verb: Verb | null): number {
  if (!TELLING.has(verb?.infinitive ?? '') || !THAT.has(tokens[to]?.word ?? '')) return to;
  return Math.min(sentenceEnd(tokens, to), to + MAX_WORDS);
}
const TELLING = new Set(
  'tell say show explain ask dire montrer expliquer decir enseñar explicar sagen zeigen fragen ausrichten mitteilen prévenir avisar'.split(
    ' ',
  ),
);
const THAT = new Set("that how if whether where que qu' comment cómo dass wie ob wo".split(' '));

/** Where only an infinitive can stand, an unknown word counts as one. */
function unknownVerb(
  tokens: readonly Token[],
  from: number,
  kind: ActKind,
  { acts: words, stopWords }: Language,
  starters: ReadonlySet<string>,
): { verb: Verb; at: number } | null {
  if (kind === 'open' || tokens[from - 1]?.stop !== '') return null;
  for (let at = from; at < from + 3; at++) {
    const token = tokens[at];
    if (!token) return null;
    if (words.clitics.has(token.word) || words.fillers.has(token.word)) continue;
    const { word } = token;
    const isOther =
      stopWords.has(word) ||
      words.statives.has(word) ||
      starters.has(word) ||
      token.text !== word ||
      word.length < 3;
    const hasForm = words.infinitiveEnding?.test(word) ?? /^\p{Ll}+(?<!ly|ing|ed|s)$/u.test(word);
    const isNoun = words.determiners.has(word) || words.prepositions.has(word) || words.pronouns.has(word);
    return isOther || isNoun || !hasForm
      ? null
      : { verb: { infinitive: word, isWeak: true, isUnknown: true }, at };
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
  const last = tokens[end - 1];
  if (!last || end - 1 <= from || !words.infinitiveEnding?.test(last.text) || words.statives.has(last.word))
    return null;
  const isVerb = last.word.length > 4 && !words.determiners.has(last.word) && !words.pronouns.has(last.word);
  return isVerb ? { verb: { infinitive: last.word, isWeak: true, isUnknown: true }, at: end - 1 } : null;
}

function isNoun(token: Token | undefined, at: number): boolean {
  return at > 0 && token !== undefined && token.text !== token.word;
}

function endOf(tokens: readonly Token[], from: number, { clauseStarts, fillers }: Words): number {
  const limit = Math.min(tokens.length, from + MAX_WORDS);
  for (let at = from; at < limit; at++) {
    const isFiller = at === from + 1 && fillers.has(tokens[at]?.word ?? ''); // "apporte-moi donc du pain"
    if (at > from && !isFiller && clauseStarts.at(tokens, at) && tokens[at - 1]?.word !== 'rendez') return at;
    if (tokens[at]?.stop !== '') return at + 1;
  }
  return limit;
}
