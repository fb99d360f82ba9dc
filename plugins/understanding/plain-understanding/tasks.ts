/**
 * Finds the owner's tasks: promises of the owner, and requests of others that the owner did not refuse. The
 * text uses only words that were said.
 */
import type { UnderstandingContext, UnderstoodTask } from '../../../core/contract/plugin.ts';
import type { Pace } from '../../kit/kit.ts';
import type { Act } from './acts.ts';
import { type When, whenOf } from './dates.ts';
import type { Language } from './languages/language.ts';
import { type Line, mentionedBefore } from './lines.ts';
import { contentOf, describe, describeLine, nounIn, sharesContent, stemOf } from './task-text.ts';
import { sentenceEnd, sentenceStart, type Token, tokensOf, withoutAccents } from './tokens.ts';

const MAX_TASKS = 50;
/** Maximum lines between a request and the owner's answer. */
const REPLY_LINES = 2;
/** Lines before "I'll do it" that are searched for the request. */
const REQUEST_LINES = 3;
/** Lines after a task in which it may be cancelled. */
const CANCEL_LINES = 4;
/** From this word on, a cancellation refers to its own line. */
const CANCEL_WORDS = 5;
/** Maximum lines back to the appointment to which something is brought. */
const APPOINTMENT_LINES = 10;
/** Words before an act that are checked for signs that it is not a plan. */
const BEFORE_WORDS = 7;
/** Words before an act that are searched for its time. */
const DATE_WORDS_BEFORE = 12;
/** Words after the task that are searched for its time. */
const DATE_WORDS_AFTER = 8;
/** A line with at most this many words besides its time belongs to the line before. */
const SHORT_LINE = 8;
const ECHO_WORDS = 18;
/** Lines in which a caller says why: "je vous appelle au sujet de". */
const OPENING_LINES = 3;
const CALLING = new Set(
  'appeler téléphoner contacter llamar anrufen telefonieren call ring phone'.split(' '),
);
/** An unknown verb needs this many significant words, or a date. */
const MIN_UNKNOWN_STEMS = 3;
/** Lines after "who does what?" in which people say what they will do. */
const SHARING_LINES = 5;
/** "I'll do it" refers to one of this many requests in a line. */
const MAX_ACTS = 20;
/** Share of the shorter task's words from which two tasks count as the same. */
const SAME_TASK = 0.6;

export type TaskContext = Pick<
  UnderstandingContext,
  'owner' | 'people' | 'languages' | 'openTasks' | 'wallTime' | 'instantOf'
>;

interface Found {
  text: string;
  due: When | null;
  /** Indices of the lines it rests on, ascending. */
  lines: number[];
  stems: ReadonlySet<string>;
  verb: string | null;
  /** Whether it stands for something mentioned before. */
  isVague: boolean;
  /** Whether a pronoun in it was replaced by its antecedent. */
  isReferring: boolean;
  /** Whether nothing to do precedes it in its line. */
  isFirst?: boolean;
  /** Whether its line ends with its sentence. */
  isLast?: boolean;
}

/** In the order they were said, each once, without tasks that are already open. */
export async function tasksOf(
  lines: readonly Line[],
  context: TaskContext,
  pace: Pace,
): Promise<UnderstoodTask[]> {
  if (!lines.some(({ isOwn }) => isOwn)) return [];
  const finder = new Finder(lines, context);
  for (const index of lines.keys()) {
    await pace();
    finder.read(index);
    if (finder.found.length >= MAX_TASKS) break;
  }
  const open = context.openTasks.map(({ description }) => stemsOf(description, lines[0]));
  return finder.found
    .filter(({ stems }) => !open.some(each => overlap(each, stems) >= SAME_TASK))
    .map(({ text, due, lines: from }) => ({
      ...{ text, dueAt: due?.at ?? null },
      from: from.flatMap(index => lines[index]?.segment.id ?? []),
    }));
}

class Finder {
  readonly found: Found[] = [];
  private readonly lines: readonly Line[];
  private readonly context: TaskContext;
  private readonly isAlone: boolean;
  private readonly isMemo: boolean;
  private readonly speakers: number;
  /** Imperatives without a date, by speaker. */
  private readonly instructions: ReadonlyMap<string, number>;
  /** Stems of the names of known people. */
  private readonly names: ReadonlySet<string>;

  constructor(lines: readonly Line[], context: TaskContext) {
    this.lines = lines;
    this.context = context;
    this.isAlone = lines.every(({ isOwn }) => isOwn);
    this.isMemo = this.isAlone && !isCall(lines);
    this.instructions = instructionsIn(lines);
    this.names = new Set([context.owner, ...context.people].flatMap(wordStems));
    this.speakers = new Set(lines.map(({ segment }) => segment.speaker)).size;
  }

  read(index: number): void {
    const line = this.lines[index];
    if (!line) return;
    this.cancelAt(index, line);
    let hasAct = false;
    for (const [place, act] of line.acts.entries()) {
      if (line.isOwn && this.datesLast(index, line, place, act)) continue;
      const task = line.isOwn
        ? this.ownTask(index, line, place, act)
        : this.askedTask(index, line, place, act);
      hasAct ||= act.kind === 'promise' || act.kind === 'taking' || task !== null;
      if (task) this.add(task);
    }
    if (line.isOwn && !hasAct && !this.found.some(task => task.lines.includes(index))) {
      const task = this.echoedTask(index, line) ?? this.notedNeed(index, line);
      if (task) this.add(task);
    }
  }

  /** "I'll book the room. Let me do that this week." */
  private datesLast(index: number, line: Line, place: number, act: Act): boolean {
    const last = this.found.at(-1);
    const said = line.segment.text.slice(line.tokens[act.index]?.start, line.tokens[act.to - 1]?.end);
    if (place === 0 || !last?.lines.includes(index) || !DO_IT.test(said.slice(0, DO_IT_CHARS))) return false;
    const due = this.dueIn(line, place, act);
    if (due) last.due = combined(due, last.due);
    return due !== null;
  }

  private ownTask(index: number, line: Line, place: number, act: Act): Found | null {
    if (isNoPlan(line, act) || isNoting(line, act)) return null;
    const echo = this.repeatedTask(index, line, place, act);
    if (echo) return echo;
    switch (act.kind) {
      case 'offer':
        return this.isWelcome(index, line, act) ? this.build(index, line, place, act, false) : null;
      case 'promise':
        if (isPresence(act, line)) return null;
        if (isMomentary(line, act) && !isSoon(line, act))
          return this.build(index, line, place, act, true, true);
        return this.build(index, line, place, act, act.verb?.isState === true);
      case 'wish':
        return this.isMemo && act.verb?.isWeak === false
          ? this.build(index, line, place, act, false)
          : (this.build(index, line, place, act, true) ??
              this.metNeed(index, line, place, act) ??
              this.welcomedTask(index, line, place, act));
      case 'shared':
        if (this.isMemo && act.verb?.isWeak === false) return this.build(index, line, place, act, false);
        return this.isTakenByAnother(index) ? null : this.sharedTask(index, line, place, act);
      case 'present':
        if (index < OPENING_LINES && saysWhyCalling(line, act)) return null;
        if (isEmphatic(line, act) || this.isShared(index))
          return this.sharedTask(index, line, place, act, false);
        if (act.verb?.isState) return null;
        return this.answeredTask(
          index,
          line,
          act,
          this.build(index, line, place, act, (act.verb?.isWeak ?? true) && !isHandingOver(line, act), true),
        );
      case 'taking':
        return this.takenTask(index, line, act);
      case 'reminder':
        return this.isMemo ? this.build(index, line, place, act, false) : null;
      case 'imperative':
      case 'note':
        if (!this.isMemo || act.verb?.isState) return null;
        return this.build(index, line, place, act, act.verb?.isWeak === true);
      default:
        return null;
    }
  }

  /** "Have you collected the samples?" "Not yet, I'll go by there tomorrow." */
  private answeredTask(index: number, line: Line, act: Act, task: Found | null): Found | null {
    const asked = this.lines[index - 1];
    const isAsked =
      asked && !asked.isOwn && asked.acts.some(({ kind, verb }) => kind === 'open' && verb !== null);
    if (!isAsked || !line.when?.hasDay || (task && !task.isVague && task.stems.size > 1)) return task;
    return this.takenTask(index, line, act) ?? task;
  }

  /** "Tell your brother to ring me." "I'll tell him": repeats the verb of the request, with its object. */
  private repeatedTask(index: number, line: Line, place: number, act: Act): Found | null {
    if (act.verb === null || (act.kind !== 'promise' && act.kind !== 'present')) return null;
    const words = line.tokens
      .slice(act.from, act.to)
      .filter((_, at) => !line.when?.tokens.has(act.from + at));
    const verbs = new Set([act.verb.infinitive, line.tokens[act.verbAt ?? -1]?.word]);
    if (contentOf(words, line.language).some(word => !verbs.has(word))) return null;
    for (let at = index - 1; at >= Math.max(0, index - REPLY_LINES); at--) {
      const asked = this.lines[at];
      if (!asked || asked.isOwn || this.isToAnother(line, asked)) continue;
      const same = asked.acts.findLast(
        each => each.verb?.infinitive === act.verb?.infinitive && REQUESTS.has(each.kind),
      );
      if (!same || isNoPlan(asked, same) || this.isForAnother(asked, same)) continue;
      const task = this.build(at, asked, asked.acts.indexOf(same), same, false);
      const due = this.dueIn(line, place, act);
      if (task) return { ...task, due: combined(due, task.due), lines: [...task.lines, index] };
    }
    return null;
  }

  /** "Shall I help you with the mower?" "That would be lovely." */
  private isWelcome(index: number, { tokens, segment }: Line, { from, to }: Act): boolean {
    const end = sentenceEnd(tokens, from);
    return tokens[Math.max(to, end) - 1]?.stop === '?' && this.isWelcomed(index, { segment });
  }

  /** "I can redo the poster." "Great." */
  private welcomedTask(index: number, line: Line, place: number, act: Act): Found | null {
    const isAble = line.tokens.slice(act.index, act.from).some(({ word }) => ABLE.has(word));
    const reply = this.lines[index + 1]?.tokens.slice(0, CANCEL_WORDS) ?? [];
    const isGlad = reply.some(({ word }) => WELCOMES.has(word) || GLAD.has(word));
    const isOffer = isAble && isGlad && this.isWelcomed(index, line) && act.verb?.isWeak === false;
    return isOffer ? this.build(index, line, place, act, false) : null;
  }

  private isWelcomed(index: number, { segment }: Pick<Line, 'segment'>): boolean {
    const reply = this.lines[index + 1];
    if (!reply || reply.segment.speaker === segment.speaker) return false;
    const { acts: words } = reply.language;
    const first = reply.tokens.slice(0, CANCEL_WORDS);
    if (
      words.refusals.at(reply.tokens, firstWord(reply)) ||
      first.some((_, at) => words.cancels.at(reply.tokens, at))
    )
      return false;
    return saysYes(reply) || first.some(({ word }) => WELCOMES.has(word));
  }

  /** "They want photographs by Friday." "I can take those." */
  private metNeed(index: number, line: Line, place: number, act: Act): Found | null {
    const before = this.lines[index - 1];
    const refers = line.tokens
      .slice(act.from, act.to)
      .some(({ word }) => line.language.acts.pronouns.has(word));
    if (!before || before.isOwn || !before.when?.hasDay || !refers) return null;
    const task = this.build(index, line, place, act, false);
    return task && { ...task, due: combined(task.due, before.when) };
  }

  /** "Who does what?" was asked just before. */
  private isShared(index: number): boolean {
    const before = this.lines.slice(Math.max(0, index - SHARING_LINES), index);
    return before.some(({ tokens, language: { acts } }) =>
      tokens.some((_, at) => acts.sharing.at(tokens, at)),
    );
  }

  private sharedTask(index: number, line: Line, place: number, act: Act, needsDate = true): Found | null {
    if (isPresence(act, line) || act.verb?.infinitive === 'be') return null; // "we'll be with you on Friday"
    const task = this.build(index, line, place, act, needsDate);
    return task?.isVague ? null : task;
  }

  /** "We need bread." "I'll get some." */
  private isTakenByAnother(index: number): boolean {
    const next = this.lines[index + 1];
    return (
      next !== undefined &&
      !next.isOwn &&
      next.acts.some(({ kind }) => kind === 'taking' || kind === 'promise' || kind === 'present')
    );
  }

  /** Finds a request of another speaker that the owner accepts. */
  private askedTask(index: number, line: Line, place: number, act: Act): Found | null {
    if (act.kind === 'imperative' && !line.when && this.isInstructor(line) && !hasPlease(line, act))
      return null;
    if (act.kind !== 'request' && act.kind !== 'reminder' && act.kind !== 'imperative') return null;
    if (isNoPlan(line, act) || this.isForAnother(line, act) || isInvitation(act)) return null;
    const reply = this.replyTo(index);
    const isPolite = act.kind !== 'imperative' || hasPlease(line, act) || this.isAddressed(line, act);
    if (act.verb === null ? act.from - act.index < 2 : act.verb.isWeak && !isPolite) return null;
    const answer = reply === null ? 'none' : this.answerOf(line, act, this.lines[reply] as Line);
    if (answer === 'no') return null;
    if (answer === 'none' && !(isPolite && this.context.people.includes(line.segment.speaker))) return null;
    if (
      answer === 'other' &&
      !(isPolite && (this.speakers <= 2 || this.context.people.includes(line.segment.speaker)))
    )
      return null;
    const said = reply === null ? undefined : this.lines[reply];
    const isRepeated = said?.acts.some(({ verb }) => verb?.infinitive === act.verb?.infinitive) ?? false;
    const isAtOnce = isMomentary(line, act) && !(isRepeated || (answer === 'yes' && said?.when?.hasDay));
    const isVague = act.verb?.isState || (!isPolite && act.verb?.isWeak) || isPermission(line, act);
    const task = this.build(index, line, place, act, isAtOnce || (isVague ?? false), isAtOnce);
    if (!task) return null;
    const isOther = said?.acts.some(own => isOfOther(said, own, act));
    const isAnswer =
      said !== undefined && !isOther && answer !== 'other' && said.tokens.length <= ECHO_WORDS * 2;
    const due = isAnswer ? combined(said.when, task.due) : task.due;
    if (due === null && (answer !== 'yes' || !isPolite)) return null;
    return reply === null ? task : { ...task, due, lines: [...task.lines, reply] };
  }

  /**
   * Returns whether somebody explains a recipe, a game or an exercise: several instructions without a day.
   */
  private isInstructor({ segment: { speaker } }: Line): boolean {
    const own = this.instructions.get(speaker) ?? 0;
    return own >= INSTRUCTIONS;
  }

  /** "I'll do it": the most recent request. */
  private takenTask(index: number, line: Line, taking: Act): Found | null {
    const own = line.acts.findLast(({ index: at, kind }) => at < taking.index && NEEDS.has(kind));
    const mine = own && !isNoPlan(line, own) && this.build(index, line, line.acts.indexOf(own), own, false);
    if (mine)
      return { ...mine, due: combined(this.dueIn(line, line.acts.indexOf(taking), taking), mine.due) };
    const need = this.ownNeed(index, line, taking) ?? this.promisedAnswer(index, line, taking);
    if (need) return need;
    for (let at = index - 1; at >= Math.max(0, index - REQUEST_LINES); at--) {
      const asked = this.lines[at];
      if (!asked || asked.isOwn || this.isToAnother(line, asked)) continue;
      const wanted = ['request', 'reminder', 'imperative', 'open', 'shared'];
      const latest = asked.acts.slice(-MAX_ACTS);
      for (const act of latest
        .filter(each => wanted.includes(each.kind) && !isNoPlan(asked, each))
        .reverse()) {
        const task = this.build(at, asked, asked.acts.lastIndexOf(act), act, false);
        if (task) return { ...task, due: combined(line.when, task.due), lines: [...task.lines, index] };
      }
    }
    return this.neededTask(index, line, taking);
  }

  /** "The scanners have to be charged, I'll do that on Thursday." */
  private ownNeed(index: number, line: Line, { index: at }: Act): Found | null {
    const said = { ...line, tokens: line.tokens.slice(sentenceStart(line.tokens, at), at) };
    const { musts } = line.language.acts;
    if (!said.tokens.some((_, place) => musts.at(said.tokens, place))) return null;
    const text = describeLine({ ...said, when: null }, line, this.context);
    if (!text) return null;
    return {
      ...{ text, due: line.when, lines: [index], verb: null, isVague: false, isReferring: false },
      stems: stemsOf(text, line),
    };
  }

  /** "The car's MOT runs out on Friday so that wants booking", in a memo. */
  private notedNeed(index: number, line: Line): Found | null {
    const { tokens, language, when } = line;
    const { musts, clauseStarts, negations } = language.acts;
    const at = tokens.findIndex((_, place) => musts.at(tokens, place) !== null || isUndone(tokens, place));
    if (!this.isMemo || at < 0 || !when?.hasDay) return null;
    const from = sentenceStart(tokens, at);
    const last = sentenceEnd(tokens, at);
    const next = range(at + 2, last).find(place => clauseStarts.at(tokens, place) !== null);
    const passive = range(at, last).find(place => tokens[place]?.word === 'werden');
    const said = tokens.slice(from, Math.min(next ?? last, passive === undefined ? last : passive + 1));
    if (![...when.tokens].some(place => place >= from && place < from + said.length)) return null;
    if (said.some(({ word }) => negations.has(word))) return null;
    const dated = new Set([...when.tokens].map(place => place - from));
    const text = describeLine(
      { ...line, tokens: said, when: { ...when, tokens: dated } },
      line,
      this.context,
    );
    if (!text) return null;
    return {
      ...{ text, due: when, lines: [index], verb: null, isVague: false, isReferring: false },
      stems: stemsOf(text, line),
    };
  }

  /** "The pallets have to leave by noon." "I'll see to it." */
  private neededTask(index: number, line: Line, { index: from, to }: Act): Found | null {
    const before = this.lines[index - 1];
    const { musts } = line.language.acts;
    if (!before || before.isOwn) return null;
    const isOpen = before.tokens.some(
      (_, at) => isUndone(before.tokens, at) || (before.when !== null && musts.at(before.tokens, at)),
    );
    const isDelivery = line.tokens.slice(from, to).some(({ word }) => DELIVERING.has(word));
    if (!isOpen) return isDelivery ? this.deliveredTask(index, line, before) : null;
    const [text, previous] = [describeLine(before, line, this.context), this.lines[index - 2]];
    if (!text) return null;
    const isContinued =
      previous !== undefined && before.language.acts.pronouns.has(before.tokens[0]?.word ?? '');
    const noun = isContinued ? nounIn(previous, this.context) : null;
    return {
      ...{ text: noun ? `${noun}: ${text}` : text, due: combined(line.when, before.when) },
      ...{ lines: [...(noun ? [index - 2] : []), index - 1, index], verb: null, isVague: false },
      ...{ stems: stemsOf(text, before), isReferring: false },
    };
  }

  /** "When will you have the menus?" "You'll have them on Friday." */
  private promisedAnswer(index: number, line: Line, { index: from, to }: Act): Found | null {
    const before = this.lines[index - 1];
    const isAsked = before?.tokens.at(-1)?.stop === '?' && !before.isOwn && before.acts.length === 0;
    const isDelivery = line.tokens.slice(from, to).some(({ word }) => DELIVERING.has(word));
    return before && isAsked && isDelivery ? this.deliveredTask(index, line, before) : null;
  }

  /** "How is the report coming along?" "You'll have it by Friday." */
  private deliveredTask(index: number, line: Line, before: Line): Found | null {
    const named = line.when?.hasDay ? nounIn(before, this.context, true) : null;
    if (named === null) return null;
    const noun = named.replace(/ \p{L}{2,}ing(?: .*)?$/su, ''); // "the report coming along"
    return {
      ...{
        text: noun.replace(/^\p{L}/u, letter => letter.toUpperCase()),
        due: line.when,
        lines: [index - 1, index],
      },
      ...{ stems: stemsOf(noun, before), verb: null, isVague: false, isReferring: false },
    };
  }

  /** "Okay, sheet three by Tuesday": the owner repeats a request of another speaker with its date. */
  private echoedTask(index: number, line: Line): Found | null {
    const before = this.lines[index - 1];
    const { acts: words } = line.language;
    if (!before || before.isOwn || !line.when || line.tokens.length > ECHO_WORDS) return null;
    if (line.tokens.some(({ stop }) => stop === '?') || line.acts.some(act => act.kind === 'request'))
      return null;
    if (line.tokens.some((_, at) => words.noPlanBefore.at(line.tokens, at))) return null;
    if (line.tokens.some(({ word }) => words.negations.has(word) && word !== 'no')) return null;
    if (!line.tokens.some((_, at) => words.yes.at(line.tokens, at)) || !hasDeadline(before)) return null;
    if (!sharesContent(line, before) || words.done.at(line.tokens, 0)) return null;
    const text = describeLine(line, before, this.context);
    if (!text) return null;
    return {
      ...{ text, due: combined(line.when, before.when), lines: [index - 1, index] },
      ...{ stems: stemsOf(text, line), verb: null, isVague: false, isReferring: false },
    };
  }

  private build(
    index: number,
    line: Line,
    place: number,
    act: Act,
    needsDate: boolean,
    needsDay = false,
  ): Found | null {
    const own = this.dueIn(line, place, act);
    if (needsDate && !(needsDay ? own?.hasDay : own) && !(line.isOwn && isSoon(line, act))) return null;
    const described = describe(this.lines, index, act, this.context, own?.tokens ?? NO_TOKENS);
    if (!described) return null;
    const { text, from, isVague } = described;
    const due = this.joined(index, act, own) ?? this.dueAround(index, line, act, from);
    if (isVague && !due) return null;
    if (act.verb?.isUnknown && !due && stemsOf(text, line).size < MIN_UNKNOWN_STEMS) return null;
    return {
      ...{ text, due, lines: [...new Set([...from, index])].sort((a, b) => a - b) },
      ...{ stems: this.stemsOf(text, line), verb: act.verb?.infinitive ?? null, isVague },
      isReferring: from.length > 0,
      isFirst: line.acts.slice(0, place).every(({ kind }) => kind === 'taking'),
      isLast: sentenceEnd(line.tokens, act.to - 1) >= line.tokens.length,
    };
  }

  /** Without people's names, as two tasks for the same person may differ. */
  private stemsOf(text: string, line: Line): ReadonlySet<string> {
    const stems = stemsOf(text, line);
    const others = [...stems].filter(stem => !this.names.has(stem));
    return others.length > 0 ? new Set(others) : stems;
  }

  /** "I have to be there on Friday at seven." "I'll pick you up at half past six": on the same day. */
  private joined(index: number, act: Act, own: When | null): When | null {
    const verb = act.verb?.infinitive ?? '';
    if (!own?.hasTime || own.hasDay || !this.lines[index]?.language.acts.joining.has(verb)) return own;
    for (let at = index - 1; at >= Math.max(0, index - 2); at--) {
      const when = this.lines[at]?.when;
      if (when?.hasDay) return onDayOf(own, when, this.context);
    }
    return own;
  }

  /** Searches the surrounding words. */
  private dueIn(line: Line, place: number, act: Act): When | null {
    const { tokens } = line;
    const sentenceFrom = sentenceStart(tokens, act.index);
    const previous = line.acts[place - 1];
    const earliest = Math.max(sentenceFrom, previous ? previous.to : 0, act.index - DATE_WORDS_BEFORE);
    const begin = Math.max(sentenceFrom, act.prefieldFrom);
    const next = line.acts[place + 1]?.index ?? tokens.length;
    const latest = Math.max(act.to, Math.min(next, act.to + DATE_WORDS_AFTER));
    const to = Math.min(latest, sentenceEnd(tokens, act.from), this.clauseEnd(line, act.to));
    const after = this.whenIn(line, begin, to);
    const inside = tokens[act.to - 1]?.stop === ',' ? this.whenIn(line, earliest, act.to) : null;
    if (inside?.hasDay && after?.hasDay && after.day !== inside.day) return inside; // "mañana la cambio, hoy no tengo"
    if (after?.hasDay) return after;
    const all = this.whenIn(line, earliest, to);
    if (all?.hasDay) return all;
    if (after) return after;
    if (all && !this.isApart(line, all, begin)) return all;
    const isLast = place === line.acts.length - 1;
    const end = Math.min(sentenceEnd(tokens, to), this.clauseEnd(line, to));
    return isLast && end - to <= DATE_WORDS_BEFORE ? this.whenIn(line, to, end) : null;
  }

  /** "I want to cancel it, it runs out on the thirtieth": the date of another thing. */
  private clauseEnd({ tokens, language }: Line, from: number): number {
    for (let at = from; at < Math.min(tokens.length, from + DATE_WORDS_AFTER); at++) {
      const isOther = THINGS.has(tokens[at]?.word ?? '') && tokens[at + 1]?.stop === '';
      const isDeadline = ({ word }: Token) => language.acts.deadlines.has(word) || EXPIRES.has(word);
      if (isOther && !tokens.slice(at, at + 4).some(isDeadline)) return at;
    }
    return tokens.length;
  }

  /** "I wake up at four, I should sleep more": another statement stands between. */
  private isApart({ tokens, language }: Line, when: When, begin: number): boolean {
    const last = Math.max(-1, ...[...when.tokens].filter(at => at < begin));
    if (last < 0) return false;
    const between = range(last + 1, begin);
    return between.some(at => tokens[at]?.stop !== '' || language.acts.clauseStarts.at(tokens, at, begin));
  }

  private whenIn(line: Line, from: number, to: number): When | null {
    return whenOf(line.tokens, from, to, line.language, {
      ...{
        at: line.segment.startAt,
        zone: this.context,
        mentioned: mentionedBefore(line, from, this.context),
      },
    });
  }

  /** Searches the surrounding lines. */
  private dueAround(index: number, line: Line, act: Act, from: readonly number[]): When | null {
    for (const at of from) if (at !== index && this.lines[at]?.when) return this.lines[at].when;
    for (let at = index + 1; at <= index + 3; at++) {
      const next = this.lines[at];
      const isOfIt = next !== undefined && DO_IT.test(next.segment.text.slice(0, DO_IT_CHARS));
      if (!next || (next.tokens.length > SHORT_LINE && !isOfIt)) break;
      if (next.when?.hasDay && (isOfIt || next.acts.length === 0)) return next.when;
    }
    const said = line.tokens.slice(act.from, act.to);
    const isAbout = said.some(({ word }) => word === 'about' || word === 'wegen');
    if (line.when?.hasDay && !isAbout && said.some(({ bare }) => OCCASION.test(bare))) return line.when;
    const { acts: words } = line.language;
    const isDish = said.some(({ bare }) => DISH.test(bare));
    if (act.verb && (words.carrying.has(act.verb.infinitive) || isDish)) {
      const earlier = range(Math.max(0, index - APPOINTMENT_LINES), index + 1).reverse();
      const times = earlier.flatMap(at => this.lines[at]?.when ?? []);
      const appointment = times.find(({ hasDay }) => hasDay) ?? times.find(({ hasTime }) => hasTime);
      if (appointment) return appointment;
    }
    if (act.kind === 'open' && line.when?.hasDay) return line.when;
    const told = this.dueOfAnswer(line, act);
    if (told) return told;
    const asked = this.lines[index - 1];
    const isAnswer = line.isOwn && asked !== undefined && !asked.isOwn && asked.when?.hasDay === true;
    if (isAnswer && act.kind !== 'offer' && !isPastTalk(asked) && sharesContent(line, asked))
      return asked.when;
    const previous = this.found.at(-1);
    const isAddition = act.index > 0 && act.index <= 2 && AND.has(line.tokens[act.index - 1]?.word ?? '');
    return isAddition && previous?.lines.includes(index - 1) ? previous.due : null;
  }

  /** "I'll have to ask my boss, I'll let you know by Friday." */
  private dueOfAnswer(line: Line, act: Act): When | null {
    const place = line.acts.indexOf(act);
    const next = line.acts[place + 1];
    if (!next || place < 0 || !line.when?.hasDay) return null;
    const end = Math.min(sentenceEnd(line.tokens, next.index), next.index + DATE_WORDS_AFTER); // "you know" begins a clause
    const said = line.segment.text.slice(line.tokens[next.index]?.start, line.tokens[end - 1]?.end);
    return ANSWERS.test(said) ? this.dueIn(line, place + 1, next) : null;
  }

  /** The line in which the owner answers. */
  private replyTo(index: number): number | null {
    for (let at = index + 1; at <= index + REPLY_LINES; at++) {
      const line = this.lines[at];
      if (line?.isOwn) return at;
      if (line && line.segment.speaker !== this.lines[index]?.segment.speaker && takesOn(line)) return null;
    }
    return null;
  }

  private answerOf(line: Line, act: Act, reply: Line): 'yes' | 'no' | 'other' {
    const { acts: words } = reply.language;
    const at = firstWord(reply);
    if (CONDITIONS.has(reply.tokens[at]?.word ?? '') || this.isToAnother(reply, line)) return 'no';
    const yes =
      (words.yes.at(reply.tokens, at) ?? words.yes.at(reply.tokens, behindDate(reply, at)))?.length ?? 0;
    const no = words.refusals.at(reply.tokens, at)?.length ?? 0;
    const isTaking = reply.acts.some(
      own =>
        own.kind === 'taking' ||
        ((own.kind === 'promise' || own.kind === 'present') && !isOfOther(reply, own, act)),
    );
    if (no > yes && act.kind === 'reminder' && reply.tokens.length <= SHORT_LINE) return 'yes';
    const refusesAgain = [1, 2, 3, 4].some(ahead => {
      const refusal = words.refusals.at(reply.tokens, at + ahead);
      return refusal !== null && refusal.length > (words.yes.at(reply.tokens, at + ahead)?.length ?? 0);
    });
    if (no > yes && asksIfMinds(line, act) && !refusesAgain) return 'yes';
    if (no > yes) return 'no';
    const isDone = reply.tokens.slice(0, 6).some((_, place) => words.done.at(reply.tokens, place));
    if (isDone && !reply.when?.hasDay && !reply.acts.some(({ kind }) => kind === 'taking')) return 'no';
    if (reply.tokens.slice(0, 8).some((_, place) => words.cancels.at(reply.tokens, place))) return 'no';
    const isSameDay = reply.when?.hasDay && line.when?.hasDay && reply.when.day === line.when.day;
    const isSameVerb = reply.tokens.some(({ bare }) => isFormOf(bare, act.verb?.infinitive ?? ''));
    if (yes > 0 || isTaking || isSameDay || isSameVerb || sharesContent(reply, line)) return 'yes';
    return 'other';
  }

  /** "Ben, call them": the owner is addressed by name or in the second person. */
  private isAddressed({ tokens, language }: Line, act: Act): boolean {
    const begin = Math.max(sentenceStart(tokens, act.index), act.index - 3);
    const owner = tokensOf(this.context.owner)[0]?.word ?? '';
    if (tokens.slice(begin, act.index).some(({ word }) => word === owner)) return true;
    const isQuestion = tokens[sentenceEnd(tokens, act.from) - 1]?.stop === '?';
    const { listener } = language.acts;
    return (
      isQuestion &&
      listener !== null &&
      tokens.slice(act.index, act.index + 2).some(({ word }) => listener.has(word))
    );
  }

  /** "You'll have them by noon, Greg" is said to Greg only. */
  private isToAnother(reply: Line, asked: Line): boolean {
    const said = new Set(reply.tokens.map(({ word }) => word));
    const named = this.context.people.filter(name => said.has(tokensOf(name)[0]?.word ?? ''));
    const { speaker } = asked.segment;
    return !this.context.people.includes(speaker) && named.length > 0 && !named.includes(speaker);
  }

  /** "Ben, can you …" is for Ben. */
  private isForAnother(line: Line, act: Act): boolean {
    const begin = Math.max(sentenceStart(line.tokens, act.index), act.leadIndex - 4);
    const near = line.tokens.slice(begin, act.to + 1).map(({ word }) => word); // an act has few
    const nearby = new Set(near);
    const owner = tokensOf(this.context.owner)[0]?.word ?? '';
    if (nearby.has(owner)) return false;
    return this.context.people.some(name => {
      const first = tokensOf(name)[0]?.word ?? '';
      if (name === line.segment.speaker || !nearby.has(first)) return false;
      const at = begin + near.indexOf(first);
      return at < act.index || at >= act.to - 1;
    });
  }

  /** Cancels the promise made just before, or reports it as done. */
  private cancelAt(index: number, line: Line): void {
    const { acts: words } = line.language;
    const isShort = line.tokens.length <= 3;
    const isReassuring = line.isOwn && REASSURING.test(line.segment.text.slice(0, DO_IT_CHARS));
    const takesBack =
      (!isReassuring &&
        line.tokens.slice(0, CANCEL_WORDS).some((_, at) => words.cancels.at(line.tokens, at))) ||
      (isShort && line.isOwn && words.done.at(line.tokens, 0) !== null);
    for (let place = this.found.length - 1; place >= 0; place--) {
      const task = this.found[place];
      const last = task?.lines.at(-1) ?? 0;
      if (!task || index - last > CANCEL_LINES) break;
      const isNegated = index > last && isRefused(task, line);
      if ((takesBack && index - last <= (isShort ? 1 : 2) && index > last) || isNegated) {
        this.found.splice(place, 1);
        if (takesBack) return;
      }
    }
  }

  /** Whether nothing else was asked for in the line of this request. */
  private isOnlyRequest({ lines: [asked], isLast = false }: Found): boolean {
    return isLast && this.found.filter(({ lines }) => lines[0] === asked).length === 1;
  }

  /** Adds a task; a repetition adds detail to the earlier one. */
  private add(task: Found): void {
    const same = this.found.findIndex(
      each =>
        overlap(each.stems, task.stems) >= SAME_TASK ||
        isSameMatter(each, task) ||
        isOfSameThing(each, task) ||
        isAnswerTo(each, task, this.isOnlyRequest(each)) ||
        (task.isVague && each.verb !== null && each.verb === task.verb) ||
        (task.isVague && each.lines.length > 1 && each.lines.at(-1) === task.lines.at(-1)) ||
        (each.verb !== null && each.verb === task.verb && each.lines.some(at => task.lines.includes(at))),
    );
    const known = this.found[same];
    if (!known) {
      this.found.push(task);
      return;
    }
    const isBetter =
      !task.isVague && !task.isReferring && (known.isVague || task.stems.size > known.stems.size + 1);
    this.found[same] = {
      ...(isBetter ? task : known),
      due: combined(task.due, known.due),
      lines: [...new Set([...known.lines, ...task.lines])].sort((a, b) => a - b),
    };
  }
}

/** The owner says so with a promise, and others to take one off the owner's hands. */
const REASSURING =
  /(?<!\p{L})(?:don['’]t worry|no te preocupes|no se preocupe|ne t['’]inquiète pas|ne vous inquiétez pas)(?!\p{L})/iu;

/** "The invoice wants paying", "the hedge needs cutting". */
function isUndone(tokens: readonly Token[], at: number): boolean {
  return UNDONE.has(tokens[at]?.word ?? '') && /.{2}ing$/.test(tokens[at + 1]?.word ?? '');
}
const UNDONE = new Set('want wants need needs'.split(' '));

function isPastTalk({ tokens, language: { acts: words } }: Line): boolean {
  return tokens.some(({ word }) => words.over.has(word));
}

/** "Would you mind …?" "No." agrees. */
function asksIfMinds({ tokens }: Line, { index, from }: Act): boolean {
  return tokens.slice(index, from).some(({ word }) => MINDING.has(word));
}
const MINDING = new Set(
  'mind ausmachen aus dérange embête ennuie ennuierait embêterait importa importaría importan'.split(' '),
);

/** A reply that begins with one of these is not a promise. */
const CONDITIONS = new Set('if unless wenn falls'.split(' '));
/** Begin a clause about a thing: "it runs out". */
const THINGS = new Set("it it's it'll they er es sie dass c' ça il elle ils elles que".split(' '));
const EXPIRES = new Set('expires expire läuft verfällt caduca vence'.split(' '));
const NO_TOKENS: ReadonlySet<number> = new Set();
const AND = new Set(['and', 'und', 'et', 'y']);
/** A present is due on the day of its occasion: "a present for Mum, she turns seventy on the twentieth". */
const OCCASION =
  /(?:birthday|wedding|anniversary|graduation|christening|geburtstag|hochzeit|jubilaum|taufe|anniversaire|mariage|bapteme|cumpleanos|boda|aniversario|bautizo)/;
/** Food that is made for an occasion. */
const DISH =
  /^(?:cakes?|desserts?|puddings?|salads?|cookies|brownies|muffins|pies?|trifle|quiche|lasagn[ea]|casserole|\p{Ll}*kuchen|\p{Ll}*salat|nachtisch|torte|gateau|tarte|salade|postre|tarta|ensalada|empanadas?|pastel)$/u;
/** "I'll ask my boss. I'll let you know by Friday": the date also applies to the task before. */
const ANSWERS =
  /(?<!\p{L})(?:let (?:you|him|her|them) know|get back to (?:you|him|her|them)|sag\p{L}* (?:dir|ihnen|euch)|geb\p{L}* (?:dir|ihnen|euch) bescheid|meld\p{L}* mich|(?:te|vous) (?:dis|redis|dirai|tiens au courant)|(?:te|le|os) (?:digo|aviso|diré))(?!\p{L})/iu;
/** "You'll need to fast." "Okay, I'll get the vitamins tonight": the owner answers with another task. */
function isOfOther({ tokens, language, when }: Line, own: Act, { verb }: Act): boolean {
  if (!OWN.has(own.kind) || own.verb === null || own.verb.infinitive === verb?.infinitive) return false;
  const said = tokens.slice(Math.min(own.index, own.prefieldFrom), own.to);
  if (said.some(({ word }) => language.acts.pronouns.has(word) && !language.acts.determiners.has(word)))
    return false;
  const verbs = new Set([own.verb.infinitive, tokens[own.verbAt ?? -1]?.word]);
  const told = tokens.slice(own.from, own.to).filter((_, at) => !when?.tokens.has(own.from + at));
  return (
    contentOf(told, language).some(word => !verbs.has(word)) && !said.some(({ bare }) => OBJECTS.has(bare))
  );
}
/** Romance pronouns that are articles as well, before a verb. */
const OBJECTS = new Set('los las les lo'.split(' '));
/** "Do it before Thursday" refers to the last promise. */
const DO_IT =
  /(?<!\p{L})(?:do (?:it|that|so)|get (?:it|that) done|mach(?:en Sie)? (?:es|das)|erledig\p{L}* (?:es|das)|(?:fais|faites)[- ](?:le|la|ça)|hazlo|h[aá]galo)(?!\p{L})/iu;
const DO_IT_CHARS = 100;
const PLEASE = new Set(['please', 'bitte', 'favor', 'plaît', 'plait']);
const GREETINGS = new Set('hi hello hey hallo bonjour hola allô allo'.split(' '));
const YOU = new Set('you your du dich dir sie ihnen tu vous te usted'.split(' '));

/** A single speaker may be talking to somebody who is not recorded. */
function isCall(lines: readonly Line[]): boolean {
  const first = lines[0]?.tokens.slice(0, 3) ?? [];
  return (
    first.some(({ word }) => GREETINGS.has(word)) &&
    lines.some(({ tokens }) => tokens.some(({ word }) => YOU.has(word)))
  );
}

/** "Then don't write": negates the verb of a task without another object. */
function isRefused({ verb, stems }: Found, { tokens, language: { acts: words } }: Line): boolean {
  if (verb === null) return false;
  return tokens.some(({ word }, at) => {
    if (!words.negations.has(word)) return false;
    const ahead = tokens.slice(at + 1, at + 4).findIndex(each => stemOf(each.word) === stemOf(verb));
    if (ahead < 0) return false;
    const place = at + 1 + ahead;
    const next = tokens[place + 1];
    return (
      !next || tokens[place]?.stop !== '' || words.pronouns.has(next.word) || stems.has(stemOf(next.word))
    );
  });
}

/** "Close the window": an unknown word counts as a verb if it stands where a verb would. */
function isMomentary({ tokens, language: { acts: words } }: Line, { verb, from, to }: Act): boolean {
  const place = words.isVerbLast ? to - 1 : from;
  if (tokens.slice(from, to).some(({ word }) => words.appointments.has(word))) return false; // "einen Termin ausmachen"
  const isPassingBy = verb?.infinitive === 'pasar' && tokens[place + 1]?.word === 'por';
  return words.momentary.has(verb?.infinitive ?? tokens[place]?.word ?? '') && !isPassingBy;
}

function hasDeadline({ tokens, language, when }: Line): boolean {
  const isInside = (at: number) => when?.tokens.has(at) && when.tokens.has(at - 1);
  return when !== null && tokens.some(({ word }, at) => language.acts.deadlines.has(word) && !isInside(at));
}

function hasPlease({ tokens }: Line, { index, to }: Act): boolean {
  const end = Math.min(to + PLEASE_WORDS_AFTER, sentenceEnd(tokens, index));
  return tokens.slice(Math.max(0, index - 2), Math.max(to + 2, end)).some(({ word }) => PLEASE.has(word));
}
/** "…, s'il vous plaît". */
const PLEASE_WORDS_AFTER = 12;

/** "Je vous appelle au sujet de", but not "je l'appelle en sortant". */
function saysWhyCalling(line: Line, { index, from, to, verb, verbAt, ...act }: Act): boolean {
  if (!verb || !CALLING.has(verb.infinitive) || line.when) return false;
  const isThird = line.tokens.slice(index, verbAt ?? index).some(({ word }) => THIRD.has(word));
  return !isThird && !isSoon(line, { index, from, to, verb, verbAt, ...act });
}
const THIRD = new Set("l' la les lo los las ihn".split(' '));

/** "Se lo digo", "os la paso": something for somebody. */
function isHandingOver({ tokens, language: { acts: words } }: Line, { index, verbAt }: Act): boolean {
  const before = tokens.slice(index, verbAt ?? index).map(({ word }) => word);
  return words.subject === null && before.length === 2 && before[0] !== 'me' && OBJECTS.has(before[1] ?? '');
}

/** "We'll eat at six" is an appointment, not a task. */
function isPresence({ verb, from, to }: Act, { tokens }: Line): boolean {
  if (verb === null) return false;
  const isGoing = GOING.has(verb.infinitive); // "vamos a ir a comer"
  return (
    PRESENCE.has(verb.infinitive) ||
    (isGoing && tokens.slice(from, to).some(({ word }) => PRESENCE.has(word)))
  );
}
const GOING = new Set('ir aller gehen go'.split(' '));
const PRESENCE = new Set(
  'see sleep eat drink sit sehen schlafen essen trinken voir dormir manger boire ver comer beber'.split(' '),
);

/** "Let me write that down", "das trag ich mir ein", "je le note": the note itself is no task. */
function isNoting({ tokens, segment }: Line, { index, from, to, verb, verbAt, prefieldFrom }: Act): boolean {
  const infinitive = verb?.infinitive ?? '';
  const isSigningUp = infinitive === 'apuntar' && tokens[(verbAt ?? 0) - 1]?.word === 'me'; // "me apunto al curso"
  if (NOTED.has(infinitive)) return !isSigningUp;
  if (!NOTING.has(infinitive)) return false;
  const said = segment.text.slice(tokens[Math.min(index, prefieldFrom)]?.start, tokens[to - 1]?.end);
  return tokens.slice(from, to).some(({ word }) => word === 'down') || NOTEBOOK.test(said);
}
const NOTED = new Set('aufschreiben notieren vormerken noter apuntar anotar'.split(' '));
const NOTING = new Set('write put note pop add stick make eintragen'.split(' '));
const NOTEBOOK =
  /(?<!\p{L})(?:(?:in|on) (?:my|the|our) (?:phone|diary|calendar|notebook|planner|book)|a note(?=$| of| that| here| to)|mir|uns)(?!\p{L})/iu;

/** "Come to dinner on Sunday" is an appointment as well. */
function isInvitation({ verb }: Act): boolean {
  return verb !== null && COMING.has(verb.infinitive);
}
const COMING = new Set('come see meet kommen sehen treffen venir voir ver'.split(' '));

/** "Yo hago el postre": a speaker who says "yo" takes the task on. */
function isEmphatic({ tokens, language: { acts: words } }: Line, { index, verb, verbAt }: Act): boolean {
  const isBehind =
    verbAt !== null && tokens[verbAt]?.stop === '' && words.emphatic.at(tokens, verbAt + 1, verbAt + 2);
  const hasSubject =
    isBehind || [1, 2].some(back => words.emphatic.at(tokens, index - back, index + 1) !== null);
  return hasSubject && verb !== null && !verb.isState;
}

/** "I'll ring them on the way home". */
function isSoon({ tokens, language }: Line, { index, from, to }: Act): boolean {
  const end = Math.min(sentenceEnd(tokens, from), to + 3);
  return range(index - 2, end).some(at => language.acts.soon.at(tokens, at, end) !== null);
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, place) => from + place);
}

function instructionsIn(lines: readonly Line[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { segment, acts, when } of lines) {
    if (when) continue;
    const own = acts.filter(({ kind }) => kind === 'imperative').length;
    counts.set(segment.speaker, (counts.get(segment.speaker) ?? 0) + own);
  }
  return counts;
}
const INSTRUCTIONS = 2;

/** Whether another speaker than the owner answers. */
function takesOn(line: Line): boolean {
  return saysYes(line) || line.acts.some(({ kind }) => kind === 'taking' || kind === 'promise');
}

/** "You can keep the number." */
function isPermission({ tokens }: Line, { kind, index, from }: Act): boolean {
  const isStatement = tokens[sentenceEnd(tokens, from) - 1]?.stop !== '?';
  return (
    kind === 'request' &&
    isStatement &&
    YOU.has(tokens[index]?.word ?? '') &&
    CAN.has(tokens[index + 1]?.word ?? '')
  );
}
const CAN = new Set('can kannst können könnt'.split(' '));
/** Acts in which the owner says what comes next. */
const OWN: ReadonlySet<Act['kind']> = new Set(['promise', 'wish', 'present']);
const REQUESTS: ReadonlySet<Act['kind']> = new Set(['request', 'reminder', 'imperative', 'open', 'shared']);
/** Verbs of necessity without a person. */
const NEEDS: ReadonlySet<Act['kind']> = new Set(['open', 'shared', 'promise', 'wish']);
/** Words that accept an offer. */
const WELCOMES = new Set(
  "please love lovely that'd would lieb wär wäre bitte gern gerne gentil serait volontiers carrément sería favor porfa claro".split(
    ' ',
  ),
);

const ABLE = new Set('can could kann könnte peux pourrais puedo podría'.split(' '));
const GLAD = new Set(
  'great perfect brilliant fantastic wonderful amazing wunderbar super prima toll klasse genial perfecto estupendo parfait nickel génial vendu'.split(
    ' ',
  ),
);

function saysYes({ tokens, language }: Line): boolean {
  return language.acts.yes.at(tokens, 0) !== null || language.acts.takings.at(tokens, 0) !== null;
}

/** "Next Tuesday, okay." */
function behindDate({ when }: Line, from: number): number {
  let at = from;
  while (when?.tokens.has(at)) at++;
  return at;
}

/** Skips words that do not belong to an answer. */
function firstWord({ tokens, language }: Line): number {
  const at = tokens.findIndex(
    ({ word }) => !HESITATIONS.has(word) && !(language.acts.fillers.has(word) && word.length <= 3),
  );
  return Math.max(0, at);
}
const HESITATIONS = new Set('oh ah um uh er hm hmm äh ähm euh eh well na ach'.split(' '));

const OPENED: ReadonlySet<Act['kind']> = new Set(['request', 'promise', 'offer', 'taking']);

/** In "you'll have it", "die bekommst du", "tu l'auras". */
const DELIVERING = new Set(
  "have get be haben hast bekommst bekommen kriegst kriegen auras aurez tendrás tendrá paso it'll they'll".split(
    ' ',
  ),
);

/** The speaker's own words go on: "they said Monday, so I'll call them". */
const RESUMES = new Set('so but aber also deshalb mais donc pero'.split(' '));

/** Conditions, wishes, reported speech, questions, past events and negations. */
function isNoPlan({ tokens, language }: Line, { kind, index, from, to, verbAt, prefieldFrom }: Act): boolean {
  const { acts: words } = language;
  if (kind === 'reminder' && remindsOf(tokens, from, to, language)) return true;
  if (
    language.code === 'es' &&
    tokens[verbAt ?? -1]?.word === 'llevo' &&
    isLength(tokens, to > from ? from + 1 : from, language)
  )
    return true; // "llevo quince años pidiéndolo"
  const sentence = sentenceStart(tokens, index);
  const earliest = Math.max(sentence, index - BEFORE_WORDS);
  let resumed = earliest;
  for (let at = earliest; at < index; at++)
    if (words.yes.at(tokens, at) || RESUMES.has(tokens[at]?.word ?? '')) resumed = at;
  for (let at = resumed; at < Math.max(index + 1, from); at++)
    if (words.noPlanBefore.at(tokens, at) && !(OPENED.has(kind) && at >= index)) return true;
  if (
    words.subject === null &&
    [1, 2].some(
      back =>
        tokens[index - back]?.word === 'no' &&
        !NOT_YET.has(tokens[index - back - 1]?.word ?? '') &&
        isUnbroken(tokens, index - back, index),
    )
  )
    return true;
  if (kind === 'present' && isHabit(tokens, from, unbrokenEnd(tokens, to, 3), language)) return true;
  const begin = kind === 'present' ? prefieldFrom : from;
  for (let at = begin; at < to; at++) {
    if (words.negations.has(tokens[at]?.word ?? '') && !isContrast(tokens, at)) return true;
    if (words.noPlanInside.at(tokens, at, to + 3)) return true;
  }
  const after = tokens[to];
  if (after && words.noPlanInside.at(tokens, to, to + 3)) return true;
  const isAsking =
    kind === 'request' ||
    kind === 'open' ||
    kind === 'offer' ||
    (kind === 'imperative' && [index, index + 1].some(at => words.listener?.has(tokens[at]?.word ?? '')));
  const isOwnQuestion = !isAsking && tokens[Math.max(from, to - 1)]?.stop === '?';
  return isOwnQuestion && verbAt !== null;
}

/** "Todavía no": an answer of its own. */
const NOT_YET = new Set(['todavía', 'aún']);

/** "Remember that the plumber is coming": what happens, and nothing to do, unless "you" do it. */
function remindsOf(tokens: readonly Token[], from: number, to: number, { acts, code }: Language): boolean {
  if (code !== 'es' || ![from - 1, from].some(at => tokens[at]?.word === 'que')) return false;
  return !tokens.slice(from, to + 1).some(({ bare }) => acts.secondPerson.has(bare));
}

function isLength(tokens: readonly Token[], at: number, { dates }: Language): boolean {
  const number = dates.numbers.at(tokens, at);
  return (
    dates.lengths.at(tokens, at) !== null ||
    (number !== null &&
      (dates.units.at(tokens, at + number.length) !== null || tokens[at + number.length]?.word === 'años'))
  );
}

/** "I check it every evening." */
function isHabit(tokens: readonly Token[], from: number, to: number, { dates, code }: Language): boolean {
  return range(from, to).some(at => {
    const every = dates.every.at(tokens, at);
    if (!every) return false;
    const next = at + every.length;
    const isTime = [dates.weekdays, dates.units, dates.dayParts].some(table => table.at(tokens, next));
    return isTime || (every.length > 1 && code !== 'en');
  });
}

/** "Firmo" of "firmar": forms of a verb share their beginning. */
function isFormOf(form: string, infinitive: string): boolean {
  const stem = withoutAccents(infinitive).slice(0, Math.max(MIN_STEM, infinitive.length - 2));
  return infinitive.length >= MIN_STEM + 1 && form.startsWith(stem);
}
const MIN_STEM = 4;

/** At most this many words further, but not beyond a comma. */
function unbrokenEnd(tokens: readonly Token[], from: number, words: number): number {
  let to = from;
  while (to < from + words && tokens[to - 1]?.stop === '') to++;
  return to;
}

function isUnbroken(tokens: readonly Token[], from: number, to: number): boolean {
  return tokens.slice(from, to).every(({ stop }) => stop === '');
}

/** "Black folders, not blue ones" is not a refusal. */
function isContrast(tokens: readonly Token[], at: number): boolean {
  return tokens[at - 1]?.stop === ',';
}

/** The day of the newer mention, and the time of day of whichever has one. */
function combined(newer: When | null, older: When | null): When | null {
  if (!newer || !older) return newer ?? older;
  if (newer.hasDay && !newer.hasTime && older.hasTime && newer.day === older.day) return older;
  return newer.hasDay || !older.hasDay
    ? newer
    : newer.at > older.at - DAY_MS && newer.day === older.day
      ? newer
      : older;
}
const DAY_MS = 86_400_000;

/**
 * Moves the time of day to another day; if it may be morning or evening, the one nearer to the other time.
 */
function onDayOf(own: When, other: When, { wallTime, instantOf }: TaskContext): When {
  const { minute } = wallTime(own.at);
  const candidates = [minute, (minute + 12 * 60) % (24 * 60)].map(each =>
    instantOf({ day: other.day, minute: each }),
  );
  const near = other.hasTime && !own.hasPart ? candidates : candidates.slice(0, 1);
  const at = near.reduce((a, b) => (Math.abs(b - other.at) < Math.abs(a - other.at) ? b : a));
  return { ...own, at, day: other.day, hasDay: true };
}

function wordStems(name: string): string[] {
  return tokensOf(name).map(({ word }) => stemOf(word));
}

function stemsOf(text: string, line: Line | undefined): ReadonlySet<string> {
  return line ? new Set(contentOf(tokensOf(text), line.language).map(stemOf)) : new Set();
}

/** Another action with the same things on the same day: "do the budget", "send the budget by Friday". */
function isSameMatter(a: Found, b: Found): boolean {
  if (a.due && b.due && a.due.day !== b.due.day) return false;
  const objects = ({ stems, verb }: Found) =>
    new Set([...stems].filter(stem => verb === null || stem !== stemOf(verb)));
  const [of, other] = [objects(a), objects(b)];
  return of.size > 0 && other.size > 0 && overlap(of, other) >= (of.size + other.size > 3 ? SAME_TASK : 1);
}

/**
 * "I'll send you the forms and the letter. I'll post them tomorrow": the same things, mentioned shortly after
 * each other.
 */
function isOfSameThing(known: Found, task: Found): boolean {
  if (!task.isReferring || (known.due && task.due && known.due.day !== task.due.day)) return false;
  const isNear = (task.lines.at(-1) ?? 0) - (known.lines.at(-1) ?? 0) <= 2;
  const objects = [...task.stems].filter(stem => task.verb === null || stem !== stemOf(task.verb));
  return isNear && objects.some(stem => stem.length > 3 && known.stems.has(stem));
}

/** "Can you phone the landlord?" "Yes, I'll call him tomorrow": the request in other words. */
function isAnswerTo(
  known: Found,
  { isFirst, isVague, isReferring, lines, due, stems }: Found,
  isOnlyRequest: boolean,
): boolean {
  const [asked = 0] = known.lines;
  const isReply = known.lines.length > 1 && known.lines.at(-1) === lines.at(-1);
  const isSameDay = !known.due || !due || known.due.day === due.day;
  // "clear the bench, and flick me a photo": "I'll text it to you" is of the photo
  const isOfOtherThing =
    !isOnlyRequest && lines.includes(asked) && ![...stems].some(stem => known.stems.has(stem));
  return isReply && isSameDay && isFirst === true && (isVague || (isReferring && !isOfOtherThing));
}

/** "Chapter 2" is not "chapter 3". */
function numbersOf(stems: ReadonlySet<string>): string {
  return [...stems].filter(stem => /^\d+$/.test(stem)).join(' ');
}

function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const smaller = Math.min(a.size, b.size);
  if (smaller === 0) return 0;
  if (numbersOf(a) !== numbersOf(b)) return 0;
  let common = 0;
  for (const stem of a) if (b.has(stem)) common++;
  return common / Math.max(smaller, Math.min(2, Math.max(a.size, b.size)));
}
