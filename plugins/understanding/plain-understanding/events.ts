/** Finds appointments: events and visits on a day or at a time in the future. */
import type { UnderstoodEvent, UnderstoodTask } from '../../../core/contract/plugin.ts';
import type { Pace } from '../../kit/kit.ts';
import type { ActKind } from './acts.ts';
import { type Clause, clausesOf } from './clauses.ts';
import { minutesIn, type When, whenOf } from './dates.ts';
import { isHappening, nounAt, plainWords, titleAround, titleOf } from './event-titles.ts';
import type { Language } from './languages/language.ts';
import { type Line, type LineContext, mentionedBefore } from './lines.ts';
import { contentOf, nounIn, stemOf } from './task-text.ts';
import { endsSentence, tokensOf } from './tokens.ts';

const MAX_EVENTS = 50;
const MAX_TITLE_CHARS = 80;
/** Lines before an appointment that are searched for its subject. */
const TOPIC_LINES = 3;
/** Lines at the beginning that are searched for the subject of a conversation. */
const MATTER_LINES = 6;
/** Lines before a time of day that are searched for its day. */
const DAY_LINES = 6;
/** Lines across which mentions are merged into one appointment. */
const SAME_LINES = 4;
/** A clause with at most this many other words only states a time. */
const BARE_WORDS = 3;
const TOPIC_WORDS = 4;
/** Minimum words of a title that needs no context. */
const CLEAR_WORDS = 3;
/** The owner takes part if at least one in this many lines is the owner's. */
const TALK_SHARE = 5;
/** Hours that may be in the morning or in the evening: "at six". */
const HALF_DAY_MS = 12 * 3_600_000;
/** Maximum words between an event and its date: "the fair is on the ninth". */
const COPULA_WORDS = 3;

interface Found {
  title: string;
  when: When;
  lines: number[];
  hasNoun: boolean;
  /** The title comes from an earlier clause. */
  isBare: boolean;
}

/** A clause, and the one before it in its line. */
interface Part extends Clause {
  before: Clause | null;
}

/** A mentioned thing, and its line. */
interface Topic {
  title: string;
  line: number;
}

/** @param tasks a task with a time does not become an appointment as well */
export async function eventsOf(
  lines: readonly Line[],
  tasks: readonly UnderstoodTask[],
  context: LineContext,
  pace: Pace,
): Promise<UnderstoodEvent[]> {
  const finder = new Finder(lines, tasks, context);
  for (const index of lines.keys()) {
    await pace();
    finder.read(index);
    if (finder.found.length >= MAX_EVENTS) break;
  }
  return finder.found.slice(0, MAX_EVENTS).map(({ title, when, lines: from }) => ({
    ...{ text: title, startAt: when.at, minutes: when.minutes },
    from: from.flatMap(index => lines[index]?.segment.id ?? []),
  }));
}

class Finder {
  readonly found: Found[] = [];
  private readonly lines: readonly Line[];
  private readonly context: LineContext;
  /** Tasks by the segment that supports them. */
  private readonly tasks: ReadonlyMap<string, readonly UnderstoodTask[]>;
  /** Whether the owner takes part in the conversation. */
  private readonly isTalk: boolean;
  private topic: Topic | null = null;
  private day: { day: string; line: number } | null = null;
  /** The line that last answered a question for a time. */
  private answer: number | null = null;

  constructor(lines: readonly Line[], tasks: readonly UnderstoodTask[], context: LineContext) {
    this.lines = lines;
    this.context = context;
    const bySegment = new Map<string, UnderstoodTask[]>();
    for (const task of tasks)
      for (const id of task.from) bySegment.set(id, [...(bySegment.get(id) ?? []), task]);
    this.tasks = bySegment;
    this.isTalk = lines.filter(({ isOwn }) => isOwn).length * TALK_SHARE >= lines.length;
  }

  read(index: number): void {
    const line = this.lines[index];
    if (!line) return;
    const isHeard = isHeardIn(this.lines, index, this.context, this.isTalk);
    this.dropRefused(index, line);
    let before: Clause | null = null;
    for (const clause of clausesOf(
      line.tokens,
      line.language,
      line.language.acts.isVerbLast ? [] : line.acts,
    )) {
      const noun = nounAt(line, clause);
      if (line.when && isHeard) this.readClause(index, line, { ...clause, before }, noun);
      if (isHeard) this.readLength(index, line, clause);
      if (noun !== null) this.topic = { title: titleAround(line, clause, noun, line.when), line: index };
      before = clause;
    }
  }

  /** "It takes about an hour." */
  private readLength(index: number, { tokens, language, when }: Line, { from, to }: Clause): void {
    const last = this.found.at(-1);
    const isAsked = HOW_LONG.test(this.lines[index - 1]?.segment.text ?? '');
    if (!last || last.when.minutes !== null || index - (last.lines.at(-1) ?? 0) > (isAsked ? 3 : 1)) return;
    const minutes = minutesIn(tokens, from, to, language, when?.tokens);
    if (minutes !== null) last.when = { ...last.when, minutes };
  }

  private readClause(index: number, line: Line, clause: Part, noun: number | null): void {
    const mentioned = this.whenIn(line, clause, index);
    if (!mentioned) return;
    const slot = this.acceptedIn(index, line, clause, mentioned);
    const when = slot ?? mentioned;
    const obstacle = slot ? null : obstacleIn(line, clause, when);
    const asked = noun === null && obstacle !== 'past' ? this.askedFor(index, line) : null;
    const event = asked
      ? {
          title: asked,
          when: this.inEvening(when, asked),
          hasNoun: true,
          isBare: false,
          lines: [index - 1, index],
        }
      : obstacle
        ? null
        : this.eventIn(index, line, clause, noun, when, slot !== null);
    if (event && !this.isTask(line, clause, event)) this.add(event);
    if (when.hasDay && obstacle !== 'past' && !isDeadlineIn(line, clause, when))
      this.day = { day: when.day, line: index };
  }

  /** "When is the operation?" "They said the twentieth." */
  private askedFor(index: number, line: Line): string | null {
    const asked = this.lines[index - 1];
    if (!asked || asked.segment.speaker === line.segment.speaker || !WHEN.test(asked.segment.text))
      return null;
    if (this.answer === index) return null;
    this.answer = index;
    const clause = { from: 0, to: asked.tokens.length };
    const noun = nounAt(asked, clause);
    return noun === null ? null : titleAround(asked, clause, noun, asked.when);
  }

  /** A time of day without a day refers to the day mentioned before. */
  private whenIn(line: Line, { from, to }: Clause, index: number) {
    const { tokens, language, segment } = line;
    const mentioned = mentionedBefore(line, from, this.context);
    const said = { at: segment.startAt, zone: this.context, mentioned };
    const when = whenOf(tokens, from, to, language, said);
    if (!when?.hasTime || when.hasDay || this.day === null) return when;
    if (index - this.day.line > DAY_LINES || this.day.day <= when.day) return when;
    const at = this.context.instantOf({ day: this.day.day, minute: 0 });
    const inherited = whenOf(tokens, from, to, language, { ...said, at });
    return inherited && { ...inherited, hasDay: true, isInherited: true };
  }

  /** "Friday I can squeeze you in at eight." "Perfect.": the time that another offers and the owner accepts. */
  private acceptedIn(index: number, line: Line, clause: Part, when: When): When | null {
    if (line.isOwn || !when.hasDay || !when.hasTime || 'isInherited' in when || asksFor(line, clause))
      return null;
    const reply = [1, 2].map(ahead => this.lines[index + ahead]).find(next => next?.isOwn);
    if (!reply || !accepts(reply)) return null;
    if (!reply.when?.hasDay || reply.when.day === when.day) return when;
    const or = range(clause.from, clause.to).find(at => OR.has(line.tokens[at]?.word ?? ''));
    if (or === undefined) return null;
    const said = { at: line.segment.startAt, zone: this.context, mentioned: line.mentioned };
    const other = whenOf(line.tokens, or, clause.to, line.language, said);
    const isMeant = other?.hasDay && other.hasTime && other.day === reply.when.day;
    return isMeant ? { ...other, tokens: new Set([...when.tokens, ...other.tokens]) } : null;
  }

  private eventIn(
    index: number,
    line: Line,
    clause: Part,
    noun: number | null,
    when: When,
    isAccepted: boolean,
  ): Found | null {
    if (isAccepted) return this.titled(index, line, clause, noun, when, true);
    if (isDeadlineIn(line, clause, when) && !(noun !== null && when.hasTime)) return null;
    const happens = isHappening(line, clause);
    const act = actIn(line, clause, when);
    const { hasDay, hasTime } = when;
    if (noun === null && !happens && doesIn(line, clause)) return null;
    const isVisit = act && hasDay && hasTime && line.isOwn && goesIn(line, clause);
    if (isVisit && noun === null) return this.titled(index, line, clause, noun, when);
    if (act && !(noun !== null && hasTime) && !(happens && hasTime && !line.isOwn)) return null;
    const isEvent =
      hasDay && hasTime
        ? noun !== null || happens || this.isExact(index, clause, when)
        : hasDay
          ? noun !== null ||
            isNamedDay(line, clause, when) ||
            isHad(line, clause, when) ||
            (happens && isOfSpeakers(line, clause))
          : hasTime && (noun !== null || happens);
    if (isEvent) return this.titled(index, line, clause, noun, when);
    const { before } = clause;
    const named = before && hasDay && startsWithCopula(line, clause) ? nounAt(line, before) : null;
    return named === null
      ? null
      : this.titled(index, line, { ...clause, from: before?.from ?? 0 }, named, when);
  }

  /** A day and a time that were mentioned together, or "at half past two" after "on Sunday at mine". */
  private isExact(index: number, clause: Clause, when: When): boolean {
    const isInherited = 'isInherited' in when;
    if (!isInherited) return when.days.length > 0; // "in ten minutes" mentions no day
    return this.day?.line === index && isBare(clause, when);
  }

  private titled(
    index: number,
    line: Line,
    clause: Part,
    noun: number | null,
    said: When,
    isAccepted = false,
  ): Found | null {
    if (noun !== null) {
      const title = titleAround(line, clause, noun, said);
      return { title, when: this.inEvening(said, title), hasNoun: true, isBare: false, lines: [index] };
    }
    const when = this.inEvening(said, this.topic?.line === index - 1 ? this.topic.title : '');
    const { before } = clause;
    const subject = isAccepted ? null : namedDayTitle(line, clause, when);
    if (subject !== null) return { title: subject, when, hasNoun: false, isBare: false, lines: [index] };
    const own =
      titleOf(line, clause, when) ??
      (before && isHappening(line, before) ? plainWords(line, before, when) || null : null);
    const isClear = own !== null && contentOf(tokensOf(own), line.language).length >= CLEAR_WORDS;
    const topic = isClear ? null : this.topicFor(index, line, clause, isAccepted);
    const named = [own, topic?.title].filter(each => each).join(', ');
    const title = named || plainWords(line, clause, when) || plainWords(line, clause.before, when);
    if (title === '') return null;
    const lines = topic && topic.line !== index ? [topic.line, index] : [index];
    return {
      title: title.slice(0, MAX_TITLE_CHARS).trim(),
      when,
      hasNoun: false,
      isBare: own === null,
      lines,
    };
  }

  /** "The concert is at eight." */
  private inEvening(when: When, title: string): When {
    const { day, minute } = this.context.wallTime(when.at);
    const isOpen = when.hasTime && !when.hasPart && minute >= 6 * 60 && minute <= 11 * 60;
    return isOpen && IN_EVENING.test(title)
      ? { ...when, at: this.context.instantOf({ day, minute: minute + 12 * 60 }) }
      : when;
  }

  /** The event mentioned last, otherwise the thing mentioned last. */
  private topicFor(index: number, line: Line, { from }: Part, isAccepted: boolean): Topic | null {
    if (this.topic && index - this.topic.line <= TOPIC_LINES) return this.topic;
    const matter = isAccepted ? this.matter() : null;
    if (matter) return matter;
    const own = from > 0 && line.when && titleOf(line, { from: 0, to: from }, line.when, TOPIC_WORDS);
    if (own && isThing(own, line)) return { title: own, line: index };
    const previous = this.lines[index - 1];
    const noun = previous && nounIn(previous, this.context);
    if (noun) return { title: noun, line: index - 1 };
    return own ? { title: own, line: index } : null;
  }

  /** Finds the reason of a call: the first thing that the owner mentions. */
  private matter(): Topic | null {
    for (const [at, line] of this.lines.slice(0, MATTER_LINES).entries()) {
      const noun = line.isOwn ? nounIn(line, this.context) : null;
      if (noun) return { title: noun, line: at };
    }
    return null;
  }

  /** A task of the owner on that day. */
  private isTask(line: Line, clause: Clause, { title, when, hasNoun }: Found): boolean {
    const isAsked = actIn(line, clause, when);
    const tasks = this.tasks.get(line.segment.id) ?? [];
    return tasks.some(({ text, dueAt }) => {
      if (dueAt === null || this.context.wallTime(dueAt).day !== when.day) return false;
      if (isAsked && !hasNoun) return true;
      const words = stemsOf(text, line.language);
      return !(hasNoun && !isAsked) && [...stemsOf(title, line.language)].every(stem => words.has(stem));
    });
  }

  /** "I can't on Monday." */
  private dropRefused(index: number, line: Line): void {
    const last = this.found.at(-1);
    if (!last || !line.when?.days.includes(last.when.day)) return;
    const place = last.lines.at(-1) ?? 0;
    const asked = this.lines[place];
    if (index - place !== 1 || asked?.segment.speaker === line.segment.speaker) return;
    const end = line.tokens.findIndex(endsSentence);
    const words = line.tokens.slice(0, end < 0 ? line.tokens.length : end + 1);
    if (!words.some((_, at) => line.when?.tokens.has(at))) return;
    if (words.some(({ word }) => line.language.acts.negations.has(word) || /n't$/.test(word)))
      this.found.pop();
  }

  private sharesWord(title: string, event: Found): boolean {
    const language = this.lines[event.lines[0] ?? 0]?.language;
    if (!language) return false;
    const words = stemsOf(title, language);
    return [...stemsOf(event.title, language)].some(stem => words.has(stem));
  }

  /** Merges repeated mentions of an appointment, with or without more detail. */
  private add(event: Found): void {
    const line = event.lines.at(-1) ?? 0;
    const same = this.found.findIndex(
      ({ when, lines, title, isBare: isBareToo }) =>
        when.at === event.when.at ||
        (when.day === event.when.day &&
          line - (lines.at(-1) ?? 0) <= SAME_LINES &&
          (event.isBare || isBareToo || isTimeOf(event, when) || this.sharesWord(title, event)) &&
          (!(when.hasTime && event.when.hasTime) || Math.abs(when.at - event.when.at) === HALF_DAY_MS)),
    );
    const known = this.found[same];
    const titled = { ...event, title: event.title.replace(/^\p{L}/u, letter => letter.toUpperCase()) };
    if (!known) {
      this.found.push(titled);
      return;
    }
    const isBetter = titled.hasNoun && !known.hasNoun;
    const when = event.when.hasTime && !known.when.hasTime ? event.when : known.when;
    this.found[same] = {
      title: isBetter ? titled.title : known.title,
      when: { ...when, minutes: when.minutes ?? event.when.minutes },
      lines: [...new Set([...known.lines, ...event.lines])].sort((a, b) => a - b),
      hasNoun: known.hasNoun || event.hasNoun,
      isBare: known.isBare && event.isBare,
    };
  }
}

/** Asks for a day or a time. */
const WHEN =
  /(?<!\p{L})(?:when(?:'s|’s)?|what (?:time|day|date)|how many (?:sleeps|days)|wann|um wie ?viel uhr|welche[mnr] tag|quand|(?:à )?quelle (?:heure|date)|quel jour|cuándo|a qué hora|qué día)(?!\p{L})/iu;
const HOW_LONG = /(?<!\p{L})(?:how long|wie lange|combien de temps|cuánto (?:tiempo|dura|tarda))(?!\p{L})/iu;

/** "At half past two." */
function isBare({ from, to }: Clause, when: When): boolean {
  let others = 0;
  for (let at = from; at < to; at++) if (!when.tokens.has(at)) others++;
  return others <= BARE_WORDS;
}

/** More than one significant word, and in German a noun. */
function isThing(title: string, { language, segment }: Line): boolean {
  const isNamed = language.code !== 'de' || !/\p{Lu}/u.test(segment.text) || /(?<!^)\p{Lu}/u.test(title);
  return isNamed && contentOf(tokensOf(title), language).length > 1;
}

/** "On Saturday is the away match. We leave at half past nine." */
function isTimeOf({ when, hasNoun }: Found, known: When): boolean {
  return !known.hasTime && when.hasTime && ('isInherited' in when || !hasNoun);
}

function stemsOf(text: string, language: Language): ReadonlySet<string> {
  return new Set(contentOf(tokensOf(text), language).map(stemOf));
}

/** A promise or a request with that date. */
function actIn({ acts }: Line, { from, to }: Clause, when: When): boolean {
  return acts.some(
    ({ index, kind, verb }) =>
      index >= from &&
      index < to &&
      !STATEMENTS.has(kind) &&
      !(kind === 'reminder' && verb === null) &&
      [...when.tokens].some(at => at > index),
  );
}
/** In languages that omit subjects, "the plumber comes" counts as one of these. */
const STATEMENTS: ReadonlySet<ActKind> = new Set(['present', 'taking']);

/** "It's the third of May", after the thing was mentioned. */
function startsWithCopula({ tokens, language }: Line, { from, to }: Clause): boolean {
  return tokens
    .slice(from, Math.min(to, from + COPULA_WORDS))
    .some(({ word }) => language.acts.copulas.has(word.replace(/^it(?='s$)/, '')));
}

/** "We fly", "on emménage", "llegamos". */
function isOfSpeakers({ tokens, language }: Line, { from, to }: Clause): boolean {
  const said = tokens.slice(from, to);
  if (said.some(({ word }) => SPEAKERS.has(word) || /.{3}mos$/.test(word))) return true;
  const whose = said.findIndex(({ word }) => WHOSE.has(word));
  const near = range(from + whose + 2, Math.min(to, from + whose + 4));
  return whose >= 0 && near.some(at => language.acts.happenings.at(tokens, at, to) !== null);
}
/** "My mum's coming on Friday." */
const WHOSE = new Set('my our mein meine unser unsere mon ma mes notre mi mis nuestra nuestro'.split(' '));
const SPEAKERS = new Set(
  'i we wir ich je on nous nos me my our mein meine unser unsere mon ma mes notre mi mis nuestra nuestro'.split(
    ' ',
  ),
);

/** "She has a recital on Friday", "ich hab Dienstag Training", "tengo dentista el martes". */
function isHad({ tokens, language }: Line, { from, to }: Clause, when: When): boolean {
  const having = HAVING[language.code];
  const at = range(from, to).find(each => having?.has(tokens[each]?.word ?? ''));
  if (at === undefined) return false;
  const start = tokens[at + 1]?.word === 'got' ? at + 2 : at + 1;
  const end = Math.min(to, start + HAD_WORDS);
  const said = range(start, end).flatMap(each => (when.tokens.has(each) ? [] : (tokens[each] ?? [])));
  if (said.some(({ word }) => NOT_HAD.test(word))) return false;
  return contentOf(said, language).length > 0 && range(start, end + 1).some(each => when.tokens.has(each));
}
const HAD_WORDS = 6;
const HAVING: Readonly<Record<string, ReadonlySet<string>>> = {
  en: new Set("has have i've we've they've".split(' ')),
  de: new Set('hab habe hat haben'.split(' ')),
  fr: new Set('ai a avons'.split(' ')),
  es: new Set('tengo tiene tenemos'.split(' ')),
};
/** Words after "have" that rule out an appointment: "time", "to", participles. */
const NOT_HAD =
  /^(?:to|que|à|zu|time|free|off|work|question|problem|idea|headache|cold|fever|money|days?|been|done|got|frei|zeit|lust|hunger|geld|frage|urlaub|ge\p{Ll}{2,20}(?:t|en)|temps|libre|faim|besoin|envie|tiempo|hambre|ganas|fun|\p{Ll}{1,20}(?:é|ed))$/u;

/** "I'm sending the estimate on Tuesday at four" is an activity, not an appointment. */
function doesIn({ acts }: Line, { from, to }: Clause): boolean {
  return acts.some(
    ({ index, kind, verb }) =>
      index >= from && index < to && kind === 'present' && verb !== null && !verb.isState,
  );
}

/** "Tomorrow I have to go to the clinic at nine." */
function goesIn({ acts }: Line, { from, to }: Clause): boolean {
  return acts.some(
    ({ index, kind, verb }) =>
      index >= from && index < to && OWN.has(kind) && GOING.has(verb?.infinitive ?? ''),
  );
}
const OWN: ReadonlySet<ActKind> = new Set(['promise', 'wish', 'shared']);
const GOING = new Set('go be gehen hingehen fahren hinfahren aller ir'.split(' '));

/** "Can you send it on Friday at four?" is a task. */
function asksFor({ acts }: Line, { from, to }: Clause): boolean {
  return acts.some(
    ({ kind, index, verb }) =>
      index >= from && index < to && ASKING.has(kind) && verb !== null && !VISITS.has(verb.infinitive),
  );
}
const ASKING: ReadonlySet<ActKind> = new Set(['request', 'imperative', 'reminder']);
const VISITS = new Set(
  'come see meet do make kommen vorbeikommen sehen treffen venir passer voir pasar ver'.split(' '),
);

/** "That works", "passt", "ça m'arrange"; false for a refusal. */
function accepts({ tokens, language: { acts: words } }: Line): boolean {
  const end = tokens.findIndex(endsSentence);
  const first = tokens.slice(0, Math.min(end < 0 ? tokens.length : end + 1, ANSWER_WORDS));
  if (first.some(({ word }) => words.negations.has(word) || /n't$/.test(word))) return false;
  if (words.refusals.at(tokens, 0)) return false;
  return words.yes.at(tokens, 0) !== null || first.some(({ bare }) => SUITS.has(bare));
}
const ANSWER_WORDS = 8;
const SUITS = new Set(
  'works suits fine perfect lovely great good passt gut perfekt super prima convient arrange parfait va bien perfecto genial vale'.split(
    ' ',
  ),
);
const OR = new Set('or oder ou o'.split(' '));
/** Events that take place in the evening if only the hour is mentioned. */
const IN_EVENING =
  /(?:abend|evening|dinner|party|konzert|concert|concierto|theat|kino|cinema|gig|soirée|apéro|dîner|cena|fiesta|pub|drinks|spectacle|raclette|oper(?!ation))/iu;

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, place) => from + place);
}

/**
 * Said by the owner or a known person, or to an owner who takes part; excludes television in the background.
 */
function isHeardIn(lines: readonly Line[], index: number, { people }: LineContext, isTalk: boolean): boolean {
  const line = lines[index];
  if (!line) return false;
  if (line.isOwn || people.includes(line.segment.speaker)) return true;
  return isTalk && [1, -1].some(step => lines[index + step]?.isOwn);
}

/** Returns the reason why a clause is no appointment: conditions and reported speech, or past events and negations. */
function obstacleIn(line: Line, { from, to }: Clause, when: When): 'past' | 'open' | null {
  const {
    tokens,
    segment,
    language: { acts: words },
  } = line;
  const isReminder = REMINDED.test(segment.text.slice(tokens[from]?.start, tokens[to - 1]?.end));
  let isOpen = false;
  for (let at = from; at < to; at++) {
    const word = tokens[at]?.word ?? '';
    const isMoved =
      MOVED.has(tokens[at + 1]?.word ?? '') ||
      (word === 'pasado' && /^al?$/.test(tokens[at + 1]?.word ?? '')) || // "la han pasado al lunes"
      (word === 'got' && /(?:'ve|'s|have|has)$/.test(tokens[at - 1]?.word ?? ''));
    if ((words.negations.has(word) || /n't$/.test(word)) && !isReminder) return 'past';
    if (words.over.has(word) && !isMoved) return 'past';
    if (isPerfect(line, at, to, when)) return 'past';
    if (PAST.test(word) && PRONOUNS.has(tokens[at - 1]?.word ?? '')) return 'past';
    if (words.cancels.at(tokens, at, to)) return 'past';
    const isDated = when.tokens.has(at + 1); // "say Thursday"
    isOpen ||= words.noPlanBefore.at(tokens, at, to) !== null && !isDated;
  }
  return isOpen ? 'open' : null;
}
/** "Encontró", "vino", "hab … angezündet", "l'ai refusée", but not "a été décalé". */
function isPerfect({ tokens, language: { code, acts } }: Line, at: number, to: number, when: When): boolean {
  const { word = '' } = tokens[at] ?? {};
  if (code === 'es') return /^(?:vino|hizo|fui|fuimos|dijo|\p{L}{3,20}ó)$/u.test(word);
  if (!PERFECTS[code]?.has(word)) return false;
  const isLast = code === 'de';
  const end = Math.min(to, at + (isLast ? PERFECT_WORDS.last : PERFECT_WORDS.next));
  const place = range(at + 1, end).find(
    each =>
      acts.gerunds?.has(tokens[each]?.bare ?? '') && /(?:é|ée|és|ées|[tn])$/u.test(tokens[each]?.word ?? ''),
  );
  if (place === undefined || MOVED.has(tokens[place]?.word ?? '')) return false;
  return !isLast || [...when.tokens].every(each => each < place); // "hab ich gemacht, kommt am neunten"
}
const PERFECTS: Readonly<Record<string, ReadonlySet<string>>> = {
  de: new Set('hab habe hat haben'.split(' ')),
  fr: new Set('ai as a ont avons avez'.split(' ')),
};
/** The participle stands at the end of a German clause, and behind its verb in French. */
const PERFECT_WORDS = { last: 12, next: 3 };

/** "Don't forget that Mum is coming on Friday." */
const REMINDED =
  /(?<!\p{L})(?:do(?:n't|n’t| not) forget|n['’]oubli\p{L}+ pas|vergiss\p{L}* (?:bitte )?nicht|nicht vergessen|no (?:te |se |os )?(?:te )?olvid\p{L}+)(?!\p{L})/iu;
/** "It's been moved to the nineteenth." */
const MOVED = new Set(
  'moved shifted bumped rearranged planned scheduled booked set put pushed changed postponed brought verlegt verschoben geplant angesetzt vereinbart eingetragen décalé décalée reporté reportée avancé avancée fixé fixée prévu prévue réservé réservée'.split(
    ' ',
  ),
);
/** "I signed that on Friday." */
const PAST = /^\p{L}{2,}ed$/u;
const PRONOUNS = new Set('i you he she we they it'.split(' '));

/** "By Friday", "bis Freitag": a deadline. "From two till four" is not one. */
function isDeadlineIn({ tokens, language }: Line, { from, to }: Clause, when: When): boolean {
  for (let at = from; at < to; at++) {
    if (!when.tokens.has(at)) continue;
    if (language.acts.deadlines.has(tokens[at]?.word ?? '')) return true;
    if (!language.dates.lead.has(tokens[at]?.word ?? '')) return false;
  }
  return false;
}

/** "The next is on Friday": of something said before. */
const INCOMPLETE =
  /^(?:(?:nächste|erste|zweite|letzte)[rsn]?|next|first|last|short|it'd|prochaine?|próxim[oa])$/iu;

/** "Homecoming is October third": what the sentence is about. */
function namedDayTitle(line: Line, { from, to }: Clause, when: When): string | null {
  const { copulas } = line.language.acts;
  const at = range(from + 1, to).find(each => copulas.has(line.tokens[each]?.word ?? ''));
  const isDated =
    at !== undefined && range(at + 1, at + 1 + COPULA_WORDS).some(each => when.tokens.has(each));
  const title = isDated ? titleOf(line, { from, to: at }, when) : null;
  return title === null || INCOMPLETE.test(title) ? null : title;
}

/** "The fair is on the ninth", "la crémaillère, ce sera le dix": a thing that takes place on a day. */
function isNamedDay({ tokens, language }: Line, { from, to }: Clause, when: When): boolean {
  const { copulas } = language.acts;
  for (let at = from + 1; at < to; at++) {
    if (!copulas.has(tokens[at]?.word ?? '')) continue;
    for (let next = at + 1; next <= at + COPULA_WORDS && next < to; next++)
      if (when.tokens.has(next)) return contentOf(tokens.slice(from, at), language).length > 0;
  }
  return false;
}
