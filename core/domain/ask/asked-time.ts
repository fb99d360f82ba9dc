/**
 * The time that a question is about: "last Tuesday", "yesterday evening", "im Oktober", "le 3 octobre", "hace dos días".
 * Phrases come from tables; a date with its month is read by chrono-node. Pure.
 */
import type { ParsedComponents } from 'chrono-node';
// Each by itself: the package as a whole has 266 modules, and starting the server would load the languages of them all.
import * as de from 'chrono-node/de';
import * as en from 'chrono-node/en';
import * as es from 'chrono-node/es';
import * as fr from 'chrono-node/fr';
import { dayAfter, instantOf, wallTime } from '../wall-clock.ts';
import { plainWords } from './question-words.ts';
import { type Days, type DaysOf, one, type Part, timeOf } from './time-phrases.ts';

/** Epoch ms; `to` is exclusive. */
export interface Span {
  from: number;
  to: number;
}

export interface AskedTime {
  /** Empty: the question names no time. A weekday alone may be the last one or the next one: then both. */
  spans: Span[];
  /** The remaining words of the question. */
  words: string[];
}

const WHOLE: Part = [0, 24];
/** Number of words in the longest phrase: "il y a 3 jours", with an article. */
const MAX_WORDS = 6;
/** Maximum characters of a question that are searched for dates, at 0.1 ms each. */
const MAX_DATED_CHARS = 300;

/** @param now epoch ms of the question */
export function askedTime(question: string, now: number, timeZone: string): AskedTime {
  const today = wallTime(now, timeZone).day;
  const dated = datesIn(question, today);
  const words = plainWords(dated.rest);
  const found = phrasesIn(words);
  const days = [...dated.days, ...found.days.flatMap(daysOf => daysOf(today))];
  const part = found.part ?? WHOLE;
  if (days.length === 0 && found.part) days.push(...one(today));
  const spans = days.map(({ first, last }) => ({
    from: clock(first, part[0], timeZone),
    to: clock(last, part[1], timeZone),
  }));
  return { spans, words: found.others };
}

function clock(day: string, hour: number, timeZone: string): number {
  return instantOf({ day: dayAfter(day, Math.floor(hour / 24)), minute: (hour % 24) * 60 }, timeZone);
}

/** Takes the longest phrase that begins at each word. */
function phrasesIn(words: readonly string[]): { days: DaysOf[]; part: Part | null; others: string[] } {
  const days: DaysOf[] = [];
  const others: string[] = [];
  let part: Part | null = null;
  for (let at = 0; at < words.length; ) {
    const phrase = phraseAt(words, at);
    if (phrase.days) days.push(phrase.days);
    part = phrase.part ?? part;
    if (phrase.length === 0) others.push(words[at] ?? '');
    at += Math.max(1, phrase.length);
  }
  return { days, part, others };
}

function phraseAt(words: readonly string[], at: number) {
  for (let length = Math.min(MAX_WORDS, words.length - at); length > 0; length -= 1) {
    const { days, part } = timeOf(words.slice(at, at + length).join(' '));
    if (days || part) return { days, part, length };
  }
  return { days: undefined, part: undefined, length: 0 };
}

/** Finds dates with their month, independent of the time zone. */
function datesIn(question: string, today: string): { days: Days[]; rest: string } {
  const instant = new Date(`${today}T12:00:00Z`);
  for (const { strict } of [en, de, fr, es]) {
    const results = strict.parse(question.slice(0, MAX_DATED_CHARS), { instant, timezone: 0 });
    const dates = results.filter(
      ({ text, start }) => start.isCertain('day') && start.isCertain('month') && IS_CLEAR.test(text),
    );
    if (dates.length === 0) continue;
    const rest = dates.reduce((left, { text }) => left.replace(text, ' '), question);
    return { days: dates.flatMap(({ start }) => datesOf(start, today)), rest };
  }
  return { days: [], rest: question };
}
/** `3/4` is the third of April, or the fourth of March. */
const IS_CLEAR = /\p{L}|^\d{4}-|^\d{1,2}\.\s?\d/u;

/** A date without a year is the last such day, or the next one. */
function datesOf(start: ParsedComponents, today: string): Days[] {
  const [month, date] = [start.get('month') ?? 1, start.get('day') ?? 1];
  const dayIn = (year: number) => new Date(Date.UTC(year, month - 1, date)).toISOString().slice(0, 10);
  const thisYear = Number(today.slice(0, 4));
  if (start.isCertain('year')) return one(dayIn(start.get('year') ?? thisYear));
  const day = dayIn(thisYear);
  return day > today ? [...one(dayIn(thisYear - 1)), ...one(day)] : one(day);
}
