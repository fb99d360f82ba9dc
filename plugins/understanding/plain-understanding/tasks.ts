/**
 * Tasks of the owner: what the owner promised to do, and what others asked of the owner and the owner did not refuse.
 * Built from words that were said only.
 */
import type { UnderstandingContext, UnderstoodTask } from '../../../core/contract/plugin.ts';
import type { Act } from './acts.ts';
import { type When, whenOf } from './dates.ts';
import type { Line, Pacer } from './lines.ts';
import { contentOf, describe, describeLine, sharesContent, stemOf } from './task-text.ts';
import { sentenceEnd, sentenceStart, type Token, tokensOf } from './tokens.ts';

const MAX_TASKS = 50;
/** The owner answers a request within so many lines. */
const REPLY_LINES = 2;
/** Lines before "I'll do it" in which the request is looked for. */
const REQUEST_LINES = 3;
/** Lines after a task in which it may be cancelled. */
const CANCEL_LINES = 4;
/** Said later in a line, it is about what the line itself says. */
const CANCEL_WORDS = 5;
/** An appointment that something is brought to was mentioned within so many lines. */
const APPOINTMENT_LINES = 10;
/** Words before an act that may show that it is no plan. */
const BEFORE_WORDS = 7;
/** Words before an act that may say when it is to be done. */
const DATE_WORDS_BEFORE = 12;
/** Words after what is to be done that may say when. */
const DATE_WORDS_AFTER = 8;
/** A line of so many words that says when, and little else, belongs to what was said before. */
const SHORT_LINE = 8;
const ECHO_WORDS = 18;
/** "I'll do it" stands for one of the last so many things that were asked for in a line. */
const MAX_ACTS = 20;
/** Share of the shorter task's words from which two tasks are the same. */
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
  /** It stands for something that was said before. */
  isVague: boolean;
}

/** In the order they were said, each once, without those that are open already. */
export async function tasksOf(
  lines: readonly Line[],
  context: TaskContext,
  pacer: Pacer,
): Promise<UnderstoodTask[]> {
  if (!lines.some(({ isOwn }) => isOwn)) return [];
  const finder = new Finder(lines, context);
  for (const index of lines.keys()) {
    await pacer.pause();
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

  constructor(lines: readonly Line[], context: TaskContext) {
    this.lines = lines;
    this.context = context;
    this.isAlone = lines.every(({ isOwn }) => isOwn);
    this.isMemo = this.isAlone && !isCall(lines);
    this.speakers = new Set(lines.map(({ segment }) => segment.speaker)).size;
  }

  read(index: number): void {
    const line = this.lines[index];
    if (!line) return;
    this.cancelAt(index, line);
    let hasAct = false;
    for (const [place, act] of line.acts.entries()) {
      const task = line.isOwn
        ? this.ownTask(index, line, place, act)
        : this.askedTask(index, line, place, act);
      hasAct ||= act.kind === 'promise' || act.kind === 'taking' || task !== null;
      if (task) this.add(task);
    }
    if (line.isOwn && !hasAct && !this.found.some(task => task.lines.includes(index))) {
      const echo = this.echoedTask(index, line);
      if (echo) this.add(echo);
    }
  }

  private ownTask(index: number, line: Line, place: number, act: Act): Found | null {
    if (isNoPlan(line, act)) return null;
    switch (act.kind) {
      case 'promise':
        return this.build(index, line, place, act, act.verb?.isWeak ?? false);
      case 'wish':
        return this.build(index, line, place, act, true);
      case 'shared':
        return this.isTakenByAnother(index) ? null : this.sharedTask(index, line, place, act);
      case 'present':
        return act.verb?.isState ? null : this.build(index, line, place, act, act.verb?.isWeak ?? true, true);
      case 'taking':
        return this.takenTask(index, line);
      case 'reminder':
        return this.isMemo ? this.build(index, line, place, act, false) : null;
      case 'imperative':
      case 'note':
        return this.isMemo && !act.verb?.isWeak ? this.build(index, line, place, act, false) : null;
      default:
        return null;
    }
  }

  private sharedTask(index: number, line: Line, place: number, act: Act): Found | null {
    const task = this.build(index, line, place, act, true);
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
    if (act.kind !== 'request' && act.kind !== 'reminder' && act.kind !== 'imperative') return null;
    if (isNoPlan(line, act) || this.isForAnother(line, act)) return null;
    const reply = this.replyTo(index);
    const isPolite = act.kind !== 'imperative' || hasPlease(line, act);
    if (act.verb === null ? act.from - act.index < 2 : act.verb.isWeak && !isPolite) return null;
    const answer = reply === null ? 'none' : this.answerOf(line, act, this.lines[reply] as Line);
    if (answer === 'no') return null;
    if (answer === 'none' && !(isPolite && this.context.people.includes(line.segment.speaker))) return null;
    if (
      answer === 'other' &&
      !(isPolite && (this.speakers <= 2 || this.context.people.includes(line.segment.speaker)))
    )
      return null;
    const isAtOnce = isMomentary(line, act);
    const needsDate = isAtOnce || act.verb?.isState || (!isPolite && act.verb?.isWeak);
    const task = this.build(index, line, place, act, needsDate ?? false, isAtOnce);
    if (task?.due === null && (answer !== 'yes' || !isPolite)) return null;
    if (!task || reply === null) return task;
    const said = this.lines[reply] as Line;
    const due =
      answer !== 'other' && said.tokens.length <= ECHO_WORDS * 2 ? combined(said.when, task.due) : task.due;
    return { ...task, due, lines: [...task.lines, reply] };
  }

  /** "I'll do it": the last thing that was asked for. */
  private takenTask(index: number, line: Line): Found | null {
    for (let at = index - 1; at >= Math.max(0, index - REQUEST_LINES); at--) {
      const asked = this.lines[at];
      if (!asked || asked.isOwn) continue;
      const wanted = ['request', 'reminder', 'imperative', 'open', 'shared'];
      const latest = asked.acts.slice(-MAX_ACTS);
      const act = latest.findLast(each => wanted.includes(each.kind) && !isNoPlan(asked, each));
      const place = act ? asked.acts.lastIndexOf(act) : 0;
      const task = act && this.build(at, asked, place, act, false);
      if (task) return { ...task, due: combined(line.when, task.due), lines: [...task.lines, index] };
    }
    return null;
  }

  /** "Okay, sheet three by Tuesday": the owner says again what another wants, and when. */
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
      ...{ stems: stemsOf(text, line), verb: null, isVague: false },
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
    if (needsDate && !(needsDay ? own?.hasDay : own)) return null;
    const described = describe(this.lines, index, act, this.context, own?.tokens ?? NO_TOKENS);
    if (!described) return null;
    const { text, from, isVague } = described;
    const due = own ?? this.dueAround(index, line, act, from);
    if (isVague && !due) return null;
    return {
      ...{ text, due, lines: [...new Set([...from, index])].sort((a, b) => a - b) },
      ...{ stems: stemsOf(text, line), verb: act.verb?.infinitive ?? null, isVague },
    };
  }

  /** In the words around it. */
  private dueIn(line: Line, place: number, act: Act): When | null {
    const { tokens } = line;
    const sentenceFrom = sentenceStart(tokens, act.index);
    const previous = line.acts[place - 1];
    const earliest = Math.max(sentenceFrom, previous ? previous.to : 0, act.index - DATE_WORDS_BEFORE);
    const begin = Math.max(sentenceFrom, act.prefieldFrom);
    const next = line.acts[place + 1]?.index ?? tokens.length;
    const latest = Math.max(act.to, Math.min(next, act.to + DATE_WORDS_AFTER));
    const to = Math.min(latest, sentenceEnd(tokens, act.from));
    const after = this.whenIn(line, begin, to);
    if (after?.hasDay) return after;
    const all = this.whenIn(line, earliest, to);
    if (all?.hasDay) return all;
    if (after || all) return after ?? all;
    const isLast = place === line.acts.length - 1;
    const end = sentenceEnd(tokens, to);
    return isLast && end - to <= DATE_WORDS_BEFORE ? this.whenIn(line, to, end) : null;
  }

  private whenIn(line: Line, from: number, to: number): When | null {
    return whenOf(line.tokens, from, to, line.language, {
      ...{ at: line.segment.startAt, zone: this.context, mentioned: line.mentioned },
    });
  }

  /** In the lines around it. */
  private dueAround(index: number, line: Line, act: Act, from: readonly number[]): When | null {
    for (const at of from) if (at !== index && this.lines[at]?.when) return this.lines[at].when;
    for (let at = index + 1; at <= index + 3; at++) {
      const next = this.lines[at];
      if (!next || next.tokens.length > SHORT_LINE) break;
      if (next.when?.hasDay && next.acts.length === 0) return next.when;
    }
    const { acts: words } = line.language;
    if (act.verb && words.carrying.has(act.verb.infinitive)) {
      for (let at = index; at >= Math.max(0, index - APPOINTMENT_LINES); at--) {
        const when = this.lines[at]?.when;
        if (when?.hasDay || when?.hasTime) return when;
      }
    }
    const previous = this.found.at(-1);
    const isAddition = act.index > 0 && act.index <= 2 && AND.has(line.tokens[act.index - 1]?.word ?? '');
    return isAddition && previous?.lines.includes(index - 1) ? previous.due : null;
  }

  /** The line in which the owner answers. */
  private replyTo(index: number): number | null {
    for (let at = index + 1; at <= index + REPLY_LINES; at++) {
      const line = this.lines[at];
      if (line?.isOwn) return at;
      if (line && line.segment.speaker !== this.lines[index]?.segment.speaker && saysYes(line)) return null;
    }
    return null;
  }

  private answerOf(line: Line, act: Act, reply: Line): 'yes' | 'no' | 'other' {
    const { acts: words } = reply.language;
    const at = firstWord(reply);
    const yes = words.yes.at(reply.tokens, at)?.length ?? 0;
    const no = words.refusals.at(reply.tokens, at)?.length ?? 0;
    const isTaking = reply.acts.some(
      ({ kind }) => kind === 'taking' || kind === 'promise' || kind === 'present',
    );
    if (no > yes && act.kind === 'reminder' && reply.tokens.length <= SHORT_LINE) return 'yes';
    if (no > yes) return 'no';
    const isDone = reply.tokens.slice(0, 6).some((_, place) => words.done.at(reply.tokens, place));
    if (isDone && !reply.when?.hasDay && !reply.acts.some(({ kind }) => kind === 'taking')) return 'no';
    if (reply.tokens.slice(0, 8).some((_, place) => words.cancels.at(reply.tokens, place))) return 'no';
    if (yes > 0 || isTaking || sharesContent(reply, line)) return 'yes';
    return 'other';
  }

  /** "Ben, can you …" is for Ben. */
  private isForAnother(line: Line, act: Act): boolean {
    const near = line.tokens.slice(Math.max(0, act.index - 4), act.to + 1).map(({ word }) => word); // an act has few
    const nearby = new Set(near);
    const owner = tokensOf(this.context.owner)[0]?.word ?? '';
    if (nearby.has(owner)) return false;
    return this.context.people.some(name => {
      const first = tokensOf(name)[0]?.word ?? '';
      if (name === line.segment.speaker || !nearby.has(first)) return false;
      const at = Math.max(0, act.index - 4) + near.indexOf(first);
      return at < act.index || at >= act.to - 1;
    });
  }

  /** Takes back what was promised just before, or says that it is done. */
  private cancelAt(index: number, line: Line): void {
    const { acts: words } = line.language;
    const isShort = line.tokens.length <= 3;
    const takesBack =
      line.tokens.slice(0, CANCEL_WORDS).some((_, at) => words.cancels.at(line.tokens, at)) ||
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

  /** Adds a task; a repetition makes the earlier one more exact. */
  private add(task: Found): void {
    const same = this.found.findIndex(
      each =>
        overlap(each.stems, task.stems) >= SAME_TASK ||
        isSameMatter(each, task) ||
        (task.isVague && each.verb !== null && each.verb === task.verb) ||
        (task.isVague && each.lines.length > 1 && each.lines.at(-1) === task.lines.at(-1)) ||
        (each.verb !== null && each.verb === task.verb && each.lines.some(at => task.lines.includes(at))),
    );
    const known = this.found[same];
    if (!known) {
      this.found.push(task);
      return;
    }
    const isBetter = !task.isVague && (known.isVague || task.stems.size > known.stems.size + 1);
    this.found[same] = {
      ...(isBetter ? task : known),
      due: combined(task.due, known.due),
      lines: [...new Set([...known.lines, ...task.lines])].sort((a, b) => a - b),
    };
  }
}

const NO_TOKENS: ReadonlySet<number> = new Set();
const AND = new Set(['and', 'und', 'et', 'y']);
const PLEASE = new Set(['please', 'bitte', 'favor', 'plaît', 'plait']);
const GREETINGS = new Set('hi hello hey hallo bonjour hola allô allo'.split(' '));
const YOU = new Set('you your du dich dir sie ihnen tu vous te usted'.split(' '));

/** One who speaks alone may speak to somebody who cannot be heard. */
function isCall(lines: readonly Line[]): boolean {
  const first = lines[0]?.tokens.slice(0, 3) ?? [];
  return (
    first.some(({ word }) => GREETINGS.has(word)) &&
    lines.some(({ tokens }) => tokens.some(({ word }) => YOU.has(word)))
  );
}

/** "Then don't write": the verb of a task is negated, and nothing else is its object. */
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

/** "Close the window": where the verb is not known, it is the word where a verb stands. */
function isMomentary({ tokens, language: { acts: words } }: Line, { verb, from, to }: Act): boolean {
  const place = words.isVerbLast ? to - 1 : from;
  return words.momentary.has(verb?.infinitive ?? tokens[place]?.word ?? '');
}

function hasDeadline({ tokens, language, when }: Line): boolean {
  const isInside = (at: number) => when?.tokens.has(at) && when.tokens.has(at - 1);
  return when !== null && tokens.some(({ word }, at) => language.acts.deadlines.has(word) && !isInside(at));
}

function hasPlease({ tokens }: Line, { index, to }: Act): boolean {
  return tokens.slice(Math.max(0, index - 2), to + 2).some(({ word }) => PLEASE.has(word));
}

function saysYes({ tokens, language }: Line): boolean {
  return language.acts.yes.at(tokens, 0) !== null || language.acts.takings.at(tokens, 0) !== null;
}

/** After what is no word of an answer. */
function firstWord({ tokens, language }: Line): number {
  const at = tokens.findIndex(
    ({ word }) => !HESITATIONS.has(word) && !(language.acts.fillers.has(word) && word.length <= 3),
  );
  return Math.max(0, at);
}
const HESITATIONS = new Set('oh ah um uh er hm hmm äh ähm euh eh well na ach'.split(' '));

/** A condition, a wish, the words of another, a question, what is over or is not to be. */
function isNoPlan({ tokens, language }: Line, { kind, index, from, to, verbAt, prefieldFrom }: Act): boolean {
  const { acts: words } = language;
  const sentence = sentenceStart(tokens, index);
  const earliest = Math.max(sentence, index - BEFORE_WORDS);
  let resumed = earliest;
  for (let at = earliest; at < index; at++) if (words.yes.at(tokens, at)) resumed = at;
  for (let at = resumed; at < Math.max(index + 1, from); at++)
    if (words.noPlanBefore.at(tokens, at) && !((kind === 'request' || kind === 'promise') && at >= index))
      return true;
  if (
    words.subject === null &&
    [1, 2].some(back => tokens[index - back]?.word === 'no' && isUnbroken(tokens, index - back, index))
  )
    return true;
  const begin = kind === 'present' ? prefieldFrom : from;
  for (let at = begin; at < to; at++) {
    if (words.negations.has(tokens[at]?.word ?? '') && !isContrast(tokens, at)) return true;
    if (words.noPlanInside.at(tokens, at, to + 3)) return true;
  }
  const after = tokens[to];
  if (after && words.noPlanInside.at(tokens, to, to + 3)) return true;
  const isOwnQuestion = kind !== 'request' && tokens[Math.max(from, to - 1)]?.stop === '?';
  return isOwnQuestion && verbAt !== null;
}

function isUnbroken(tokens: readonly Token[], from: number, to: number): boolean {
  return tokens.slice(from, to).every(({ stop }) => stop === '');
}

/** "Black folders, not blue ones" is no refusal. */
function isContrast(tokens: readonly Token[], at: number): boolean {
  return tokens[at - 1]?.stop === ',';
}

/** The day of the newer one, and the time of day of whichever says one. */
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

function stemsOf(text: string, line: Line | undefined): ReadonlySet<string> {
  return line ? new Set(contentOf(tokensOf(text), line.language).map(stemOf)) : new Set();
}

/** Something else is done with the same things, and not on another day: "do the budget", "send the budget by Friday". */
function isSameMatter(a: Found, b: Found): boolean {
  if (a.due && b.due && a.due.day !== b.due.day) return false;
  const objects = ({ stems, verb }: Found) =>
    new Set([...stems].filter(stem => verb === null || stem !== stemOf(verb)));
  const [of, other] = [objects(a), objects(b)];
  return of.size > 0 && other.size > 0 && overlap(of, other) >= (of.size + other.size > 3 ? SAME_TASK : 1);
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
