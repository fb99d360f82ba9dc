/**
 * Finds dates and times of day in speech, relative to the time of the utterance. Recognisers spell numbers
 * out and omit punctuation, so the text is matched word by word against the vocabulary of its language
 * (languages/). Dates in digits, such as "27/11" or "2026-11-27", are read by chrono-node.
 */
import { GB } from 'chrono-node/en'; // importing the whole package would load every language
import type { UnderstandingContext } from '../../../core/contract/plugin.ts';
import type { DateWords, Edge, Holiday, Language, Period, Stretch } from './languages/language.ts';
import { type Match, sentenceStart, type Token } from './tokens.ts';

export type Zone = Pick<UnderstandingContext, 'wallTime' | 'instantOf'>;

export interface When {
  /** Epoch ms. */
  at: number;
  /** `YYYY-MM-DD` in the owner's time zone. */
  day: string;
  /** All mentioned days, in order. */
  days: readonly string[];
  /** A day was mentioned. */
  hasDay: boolean;
  /** A time of day was mentioned. */
  hasTime: boolean;
  /** A part of the day was mentioned, such as the morning. */
  hasPart: boolean;
  /** Duration, if both ends were mentioned. */
  minutes: number | null;
  /** Indices of the tokens that express it. */
  tokens: ReadonlySet<number>;
}

/** Time of the utterance, and the dates mentioned before it. */
export interface Said {
  /** Epoch ms. */
  at: number;
  zone: Zone;
  /** Days that were mentioned before, in order: "the Friday before". */
  mentioned?: readonly string[];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const NOON = 12 * 60;
const _MORNING = 9 * 60;
const EVENING = 20 * 60;
const LAST_MINUTE = 24 * 60 - 1;
/** Appointments are seldom before seven: "at three" means the afternoon. */
const EARLIEST_HOUR = 7;

/** Days mentioned in one text; they resolve "that Friday". */
const MAX_NAMED_DAYS = 50;

/** How precisely a phrase identifies a day; the most precise phrase wins. */
const RANK = { part: 0, period: 1, relative: 2, weekday: 3, dayOfMonth: 4, date: 5 };

type Element =
  | { kind: 'day'; rank: number; day: string; minute?: number; isAnchored?: true }
  | { kind: 'time'; minute: number; isCertain: boolean; end: { minute: number; isCertain: boolean } | null }
  | { kind: 'part'; minute: number }
  | { kind: 'elapsed'; ms: number }
  | { kind: 'ignored' }
  | { kind: 'correction' };

type Placed = Element & { index: number; length: number };

/**
 * Returns the time that a part of a text names for something planned; null without a time, or if it has
 * passed.
 */
export function whenOf(
  tokens: readonly Token[],
  from: number,
  to: number,
  { dates: words }: Language,
  said: Said,
): When | null {
  const reader = new Reader(tokens, to, words, said);
  const all = corrected(reader.read(from));
  const spans = ranged(
    all.filter(({ kind }) => kind !== 'correction' && kind !== 'ignored'),
    tokens,
    words,
  );
  if (spans.length === 0) return null;
  if (all.some(({ kind }) => kind === 'ignored') && !spans.some(({ kind }) => kind === 'day')) return null;
  const covered = coveredBy(spans, tokens, from, words);
  const elapsed = all.find(each => each.kind === 'elapsed');
  if (elapsed?.kind === 'elapsed') {
    const at = said.at + elapsed.ms;
    const { day } = said.zone.wallTime(at);
    return { at, day, days: [], hasDay: true, hasTime: true, hasPart: true, minutes: null, tokens: covered };
  }
  return compose(spans, covered, said);
}

/** Returns the duration of something: "half an hour", "drei Stunden"; null without one. */
export function minutesIn(
  tokens: readonly Token[],
  from: number,
  to: number,
  { dates: { lengths, numbers, units, within } }: Language,
  dated: ReadonlySet<number> = new Set(),
): number | null {
  for (let at = from; at < to; at++) {
    if (dated.has(at) || (at > from && within.at(tokens, at - 1, at))) continue;
    const known = lengths.at(tokens, at, to)?.value;
    const number = numbers.at(tokens, at, to);
    const unit = number && units.at(tokens, at + number.length, to)?.value;
    const minutes = known ?? (number && unit ? number.value * (LENGTHS.get(unit) ?? DAY_MS) : null);
    if (minutes !== null && minutes >= MIN_LENGTH && minutes < LAST_MINUTE) return minutes;
  }
  return null;
}
const LENGTHS = new Map([
  ['minute', 1],
  ['hour', 60],
]);
/** "Just a minute" is not the duration of an appointment. */
const MIN_LENGTH = 5;

function compose(
  elements: readonly Placed[],
  covered: ReadonlySet<number>,
  { at: saidAt, zone }: Said,
): When | null {
  const now = zone.wallTime(saidAt);
  const days = elements.flatMap(each => (each.kind === 'day' ? [each] : []));
  const best = days.reduce((a, b) => (a && a.rank >= b.rank ? a : b), days[0]);
  const times = elements.flatMap(each => (each.kind === 'time' ? [each] : []));
  const time = times.find(each => best && each.index > best.index) ?? times[0];
  const part =
    elements.find(each => each.kind === 'part' && (!best || Math.abs(each.index - best.index) < 8)) ?? null;
  const partMinute = best?.minute ?? (part?.kind === 'part' ? part.minute : undefined);
  const day = best?.day ?? now.day;
  if (!best && !time && partMinute === undefined) return null;
  const minute = time
    ? clockMinute(time, partMinute)
    : (partMinute ?? usualMinute(day === now.day, now.minute));
  let at = zone.instantOf({ day, minute });
  if (at <= saidAt && day === now.day)
    at = later(
      {
        day,
        minute,
        isTime: time !== undefined,
        hasDay: best !== undefined,
        isMorning: isMorning(partMinute),
      },
      saidAt,
      zone,
    );
  if (at < saidAt) return null;
  return {
    ...{
      at,
      day: zone.wallTime(at).day,
      days: namedDays(days.filter(({ isAnchored }) => !isAnchored)),
      hasDay: best !== undefined,
      hasTime: time !== undefined,
    },
    hasPart: partMinute !== undefined,
    minutes: time?.end ? lengthOf(minute, clockMinute(time.end, partMinute)) : null,
    tokens: covered,
  };
}

/** A weekday after a date identifies that date: "the twenty seventh, that is a Saturday". */
function namedDays(days: readonly { day: string; rank: number }[]): string[] {
  const named: { day: string; rank: number }[] = [];
  for (const each of days.slice(0, MAX_NAMED_DAYS)) {
    const same = named.find(({ day, rank }) => rank > each.rank && weekdayOf(day) === weekdayOf(each.day));
    if (!same) named.push(each);
  }
  return named.map(({ day }) => day);
}

function lengthOf(from: number, to: number): number | null {
  const length = to > from ? to - from : to + NOON - from;
  return length > 0 && length < NOON ? length : null;
}

function clockMinute(
  { minute, isCertain }: { minute: number; isCertain: boolean },
  part: number | undefined,
): number {
  if (isCertain || minute >= NOON) return minute;
  if (part !== undefined) return part >= NOON ? minute + NOON : minute;
  return minute < EARLIEST_HOUR * 60 ? minute + NOON : minute;
}

/**
 * A time of day that has passed today means the afternoon, otherwise tomorrow, unless today was mentioned.
 */
function later(
  {
    day,
    minute,
    isTime,
    hasDay,
    isMorning,
  }: { day: string; minute: number; isTime: boolean; hasDay: boolean; isMorning: boolean },
  saidAt: number,
  zone: Zone,
): number {
  const afternoon =
    isTime && !isMorning && minute < NOON ? zone.instantOf({ day, minute: minute + NOON }) : 0;
  if (afternoon > saidAt) return afternoon;
  if (!hasDay) return zone.instantOf({ day: plusDays(day, 1), minute });
  return isTime ? 0 : zone.instantOf({ day, minute: LAST_MINUTE });
}

function isMorning(part: number | undefined): boolean {
  return part !== undefined && part < NOON;
}

function usualMinute(isToday: boolean, now: number): number {
  if (!isToday || now < NOON) return NOON;
  return now < EVENING ? EVENING : LAST_MINUTE;
}

/** "From the second to the sixth of February" begins on the second of February. */
function ranged(
  spans: readonly Placed[],
  tokens: readonly Token[],
  { through }: DateWords,
): readonly Placed[] {
  return spans.map((span, place) => {
    const next = spans[place + 1];
    if (span.kind !== 'day' || next?.kind !== 'day' || span.rank >= next.rank) return span;
    if (span.rank !== RANK.dayOfMonth || next.index - (span.index + span.length) > 1) return span;
    const isThrough = [next.index - 1, next.index].some(at => through.at(tokens, at) !== null);
    const day = `${next.day.slice(0, 8)}${span.day.slice(8)}`;
    return isThrough && day < next.day ? { ...span, day, rank: next.rank } : span;
  });
}

/** Applies corrections: dates after "no wait" replace the earlier ones, except for a day that is not named again. */
function corrected(elements: readonly Placed[]): readonly Placed[] {
  const at = elements.findLastIndex(({ kind }) => kind === 'correction');
  if (at < 0) return elements;
  const after = elements.slice(at + 1);
  if (after.length === 0) return elements;
  return after.some(({ kind }) => kind === 'day')
    ? after
    : [...elements.slice(0, at).filter(({ kind }) => kind === 'day'), ...after];
}

/**
 * Includes the prepositions before them, so that none is left over when the dates are removed from a text.
 */
function coveredBy(
  spans: readonly Placed[],
  tokens: readonly Token[],
  from: number,
  { lead }: DateWords,
): ReadonlySet<number> {
  const covered = new Set<number>();
  for (const { index, length } of spans) {
    for (let at = index; at < index + length; at++) covered.add(at);
    for (let at = index - 1; at >= from && lead.has(tokens[at]?.word ?? '') && tokens[at]?.stop !== '.'; at--)
      covered.add(at);
  }
  return covered;
}

/** Reads expressions of time from left to right. */
class Reader {
  private readonly tokens: readonly Token[];
  private readonly to: number;
  private readonly words: DateWords;
  private readonly mentioned: string[];
  private readonly today: string;
  /** Mentioned earlier without a day: "in December … on the twelfth". */
  private month: number | null = null;

  constructor(tokens: readonly Token[], to: number, words: DateWords, { at, zone, mentioned = [] }: Said) {
    this.tokens = tokens;
    this.to = to;
    this.words = words;
    this.mentioned = [...mentioned];
    this.today = zone.wallTime(at).day;
  }

  read(from: number): Placed[] {
    const found: Placed[] = [];
    for (let at = sentenceStart(this.tokens, from); at < from; at++)
      this.month = this.words.months.at(this.tokens, at)?.value ?? this.month;
    for (let index = from; index < this.to; ) {
      const last = found.at(-1);
      const isBeside =
        last !== undefined && last.kind !== 'correction' && index - (last.index + last.length) <= 1;
      const element = this.elementAt(index, isBeside);
      if (element) found.push({ ...element.value, index, length: element.length });
      if (element?.value.kind === 'day' && !element.value.isAnchored) this.mentioned.push(element.value.day);
      if (!element) this.month = this.words.months.at(this.tokens, index, this.to)?.value ?? this.month;
      index += element?.length ?? 1;
    }
    return found;
  }

  private elementAt(index: number, isBeside: boolean): Match<Element> | null {
    return (
      this.correctionAt(index) ??
      this.ignoredAt(index) ??
      this.elapsedAt(index) ??
      this.laterDayAt(index) ??
      this.dayAt(index) ??
      (isBeside ? this.partAt(index, isBeside) : null) ??
      this.timeAt(index, isBeside) ??
      this.partAt(index, isBeside)
    );
  }

  private correctionAt(index: number): Match<Element> | null {
    const match = this.words.corrections.at(this.tokens, index, this.to);
    return match && { value: { kind: 'correction' }, length: match.length };
  }

  /** "Last Friday", "every Friday". */
  private ignoredAt(index: number): Match<Element> | null {
    const { last, every, weekdays, units, dayParts, periods, holidays } = this.words;
    const before = last.at(this.tokens, index, this.to) ?? every.at(this.tokens, index, this.to);
    if (before) {
      const at = index + before.length;
      const day = [weekdays, units, dayParts, periods, holidays]
        .map(table => table.at(this.tokens, at, this.to))
        .find(each => each !== null);
      return day ? { value: { kind: 'ignored' }, length: before.length + day.length } : null;
    }
    const day = weekdays.at(this.tokens, index, this.to);
    const after = day && last.at(this.tokens, index + day.length, this.to);
    return after ? { value: { kind: 'ignored' }, length: day.length + after.length } : null;
  }

  /** "In three weeks" is a day, "in half an hour" is an instant. */
  private elapsedAt(index: number): Match<Element> | null {
    const within = this.words.within.at(this.tokens, index, this.to);
    const at = index + (within?.length ?? 0);
    const length = this.lengthAt(at);
    if (!length) return null;
    const after = this.words.fromNow.at(this.tokens, at + length.length, this.to);
    if (!within && !after) return null;
    const total = (within?.length ?? 0) + length.length + (after?.length ?? 0);
    const { minutes, months } = length.value;
    if (months > 0) return dayMatch(plusMonths(this.today, months), RANK.relative, total);
    if (minutes % 1440 === 0) return dayMatch(plusDays(this.today, minutes / 1440), RANK.relative, total);
    return { value: { kind: 'elapsed', ms: minutes * MINUTE_MS }, length: total };
  }

  private lengthAt(index: number): Match<{ minutes: number; months: number }> | null {
    const known = this.words.lengths.at(this.tokens, index, this.to);
    if (known) return { value: { minutes: known.value, months: 0 }, length: known.length };
    const number = this.numberAt(index);
    const unit = number && this.words.units.at(this.tokens, index + number.length, this.to);
    if (!number || !unit) return null;
    const minutes = { minute: 1, hour: 60, day: 1440, week: 7 * 1440, month: 0 }[unit.value] * number.value;
    const months = unit.value === 'month' ? number.value : 0;
    return { value: { minutes, months }, length: number.length + unit.length };
  }

  /** "A week from Thursday", "Friday week", "lundi en huit". */
  private laterDayAt(index: number): Match<Element> | null {
    const before = this.words.laterBefore.at(this.tokens, index, this.to);
    const at = index + (before?.length ?? 0);
    const day = this.simpleDayAt(at);
    if (!day) return null;
    const after = this.words.laterAfter.at(this.tokens, at + day.length, this.to);
    const days = (before?.value ?? 0) + (after?.value ?? 0);
    if (days === 0) return null;
    const length = (before?.length ?? 0) + day.length + (after?.length ?? 0);
    const isToday = day.value.weekday !== undefined && before && weekdayOf(this.today) === day.value.weekday;
    const first = isToday ? this.today : day.value.day;
    return dayMatch(plusDays(first, days), RANK.dayOfMonth, length, day.value.minute);
  }

  private simpleDayAt(
    index: number,
  ): Match<{ day: string; minute?: number | undefined; weekday?: number }> | null {
    const relative = this.words.days.at(this.tokens, index, this.to);
    if (relative) {
      const { days, minute } = relative.value;
      return { value: { day: plusDays(this.today, days), minute }, length: relative.length };
    }
    const holiday = this.words.holidays.at(this.tokens, index, this.to);
    if (holiday) return { value: { day: nextHoliday(holiday.value, this.today) }, length: holiday.length };
    const weekday = this.words.weekdays.at(this.tokens, index, this.to);
    if (!weekday) return null;
    const { weekday: number, minute } = weekday.value;
    return { value: { day: this.weekdayAfter(number), minute, weekday: number }, length: weekday.length };
  }

  private dayAt(index: number): Match<Element> | null {
    return (
      this.edgeAt(index) ??
      this.holidayAt(index) ??
      this.dateAt(index) ??
      this.periodAt(index) ??
      this.weekdayAt(index) ??
      this.relativeDayAt(index) ??
      this.dayOfMonthAt(index) ??
      this.writtenAt(index)
    );
  }

  /** "The third of March", "March third", "3 mars". */
  private dateAt(index: number): Match<Element> | null {
    const { dayOfMonth, ofMonth, months } = this.words;
    const lead = dayOfMonth.at(this.tokens, index, this.to);
    const start = index + (lead?.length ?? 0);
    const day = this.ordinalAt(start) ?? this.numberAt(start);
    if (day) {
      const of = ofMonth.at(this.tokens, start + day.length, this.to);
      const at = start + day.length + (of?.length ?? 0);
      const month = months.at(this.tokens, at, this.to);
      if (month) return this.dateMatch(month.value, day.value, at + month.length - index);
    }
    const month = months.at(this.tokens, index, this.to);
    if (!month) return null;
    const article = dayOfMonth.at(this.tokens, index + month.length, this.to)?.length ?? 0;
    const after = index + month.length + article;
    const number = this.ordinalAt(after) ?? this.numberAt(after);
    if (!number || this.isCounted(after + number.length)) return null;
    return this.dateMatch(month.value, number.value, month.length + article + number.length);
  }

  private dateMatch(month: number, number: number, length: number): Match<Element> | null {
    const year = Number(this.today.slice(0, 4));
    const day = [dayString(year, month, number), dayString(year + 1, month, number)].find(
      each => each !== null && each >= this.today,
    );
    return day ? dayMatch(day, RANK.date, length) : null;
  }

  /** "The end of next month", "early next week", "mid June". */
  private edgeAt(index: number): Match<Element> | null {
    const { edges, stretches, months } = this.words;
    const edge = edges.at(this.tokens, index, this.to);
    if (!edge) return null;
    const at = index + edge.length;
    const stretch = stretches.at(this.tokens, at, this.to);
    const month = this.isVerb(edge, at) ? null : months.at(this.tokens, at, this.to);
    const hasDay = month && (this.ordinalAt(at + month.length) ?? this.numberAt(at + month.length));
    const day = stretch
      ? edgeOf(edge.value, stretch.value, this.today)
      : month && !hasDay && edgeOfMonth(edge.value, month.value, this.today);
    const length = edge.length + ((stretch ?? month)?.length ?? 0);
    return day && day >= this.today ? dayMatch(day, RANK.weekday, length) : null;
  }

  /** "Sorry I'm late may I come in". */
  private isVerb({ length }: Match<Edge>, at: number): boolean {
    const { word = '', text = '' } = this.tokens[at] ?? {};
    return length === 1 && text === word && (word === 'may' || word === 'march');
  }

  /** "At Easter", but not "Easter eggs"; a day that is named as well counts more. */
  private holidayAt(index: number): Match<Element> | null {
    const holiday = this.words.holidays.at(this.tokens, index, this.to);
    if (!holiday || OF_HOLIDAYS.test(this.tokens[index + holiday.length]?.word ?? '')) return null;
    return dayMatch(nextHoliday(holiday.value, this.today), RANK.relative, holiday.length);
  }

  private periodAt(index: number): Match<Element> | null {
    const period = this.words.periods.at(this.tokens, index, this.to);
    if (!period) return null;
    // "Tuesday next week", "next week on Tuesday"
    const weeks = WEEKS_AHEAD[period.value];
    if (weeks !== undefined)
      for (const skip of [0, 1]) {
        const at = index + period.length + skip;
        const weekday = this.words.weekdays.at(this.tokens, at, this.to);
        if (weekday)
          return dayMatch(
            inWeek(this.today, weekday.value.weekday, weeks),
            RANK.weekday,
            period.length + skip + weekday.length,
            weekday.value.minute,
          );
      }
    return dayMatch(dayOfPeriod(period.value, this.today), RANK.period, period.length);
  }

  private weekdayAt(index: number): Match<Element> | null {
    const { nextBefore, thatBefore, weekdays, nextAfter, relativeAfter, periods } = this.words;
    const next = nextBefore.at(this.tokens, index, this.to);
    const that = thatBefore.at(this.tokens, index, this.to);
    const lead = next?.length ?? that?.length ?? 0;
    const weekday = weekdays.at(this.tokens, index + lead, this.to);
    if (!weekday) return null;
    const { weekday: number, minute } = weekday.value;
    const at = index + lead + weekday.length;
    const relative = relativeAfter.at(this.tokens, at, this.to);
    const anchor = this.mentioned.at(-1);
    const isRelative = relative && this.isEndOfPhrase(at + relative.length); // but "Friday after work"
    if (isRelative && anchor && !this.isDayAhead(at + relative.length))
      return dayMatch(
        beside(anchor, number, relative.value),
        RANK.date,
        lead + weekday.length + relative.length,
        minute,
      );
    if (that) {
      const mentioned = this.mentioned.findLast(day => weekdayOf(day) === number);
      if (mentioned) return dayMatch(mentioned, RANK.date, lead + weekday.length, minute);
    }
    const beyond = this.besideHolidayAt(at, number);
    if (beyond) return dayMatch(beyond.value, RANK.date, lead + weekday.length + beyond.length, minute);
    const period = periods.at(this.tokens, at, this.to);
    const weeks = period && WEEKS_AHEAD[period.value];
    if (period && weeks)
      return dayMatch(
        inWeek(this.today, number, weeks),
        RANK.weekday,
        lead + weekday.length + period.length,
        minute,
      );
    const after = nextAfter.at(this.tokens, at, this.to);
    const isNext = next !== null || after !== null;
    const day =
      isNext && this.words.nextIsNextWeek && number > 0
        ? inWeek(this.today, number, 1)
        : this.weekdayAfter(number);
    return dayMatch(day, RANK.weekday, lead + weekday.length + (after?.length ?? 0), minute);
  }

  /** "The Tuesday after Easter". */
  private besideHolidayAt(index: number, weekday: number): Match<string> | null {
    const side = HOLIDAY_SIDES[this.tokens[index]?.word ?? ''];
    if (!side) return null;
    for (const skip of [1, 2]) {
      const holiday = this.words.holidays.at(this.tokens, index + skip, this.to);
      if (holiday)
        return {
          value: beside(nextHoliday(holiday.value, this.today), weekday, side),
          length: skip + holiday.length,
        };
    }
    return null;
  }

  /** "After" may belong to the next words: "Friday after the seventh". */
  private isDayAhead(index: number): boolean {
    return [0, 1].some(
      skip =>
        this.ordinalAt(index + skip) !== null ||
        this.numberAt(index + skip) !== null ||
        this.words.periods.at(this.tokens, index + skip, this.to) !== null ||
        this.words.days.at(this.tokens, index + skip, this.to) !== null ||
        this.words.weekdays.at(this.tokens, index + skip, this.to) !== null,
    );
  }

  private relativeDayAt(index: number): Match<Element> | null {
    const anchor = this.mentioned.at(-1);
    const beside = anchor && this.words.relativeDays.at(this.tokens, index, this.to);
    if (anchor && beside && !this.isDayAhead(index + beside.length))
      return {
        value: { kind: 'day', rank: RANK.date, day: plusDays(anchor, beside.value), isAnchored: true },
        length: beside.length,
      };
    const relative = this.words.days.at(this.tokens, index, this.to);
    if (!relative) return null;
    const { days, minute } = relative.value;
    return dayMatch(plusDays(this.today, days), RANK.relative, relative.length, minute);
  }

  private dayOfMonthAt(index: number): Match<Element> | null {
    const lead = this.words.dayOfMonth.at(this.tokens, index, this.to);
    const previous = this.tokens[index - 1];
    const isAfterWeekday =
      !lead && previous !== undefined && this.words.weekdays.at(this.tokens, index - 1, index) !== null;
    if (!lead && !isAfterWeekday) return null;
    const at = index + (lead?.length ?? 0);
    const ordinal = this.ordinalAt(at);
    const number = ordinal ?? (this.words.hasCardinalDays ? this.numberAt(at) : null);
    if (!number || number.value > 31) return null;
    if (!ordinal && isAfterWeekday && number.value < 13 && !this.isThatWeekday(index - 1, number.value))
      return null;
    const end = at + number.length;
    const isStrong = (lead?.value.isStrong ?? true) && this.tokens[end]?.text === this.tokens[end]?.word;
    if (!isStrong && !this.isEndOfPhrase(end)) return null;
    if (this.isCounted(end) || this.words.oClock.at(this.tokens, end, this.to)) return null;
    const day = nextDayOfMonth(number.value, this.month === null ? this.today : this.startOf(this.month));
    return day ? dayMatch(day, RANK.dayOfMonth, end - index) : null;
  }

  /** The first day of the next month with that name; today if today is that day. */
  private startOf(month: number): string {
    const [year = 0, now = 1] = this.today.split('-').map(Number);
    if (now === month) return this.today;
    return dayString(now < month ? year : year + 1, month, 1) ?? this.today;
  }

  /** "Martes once" is a date if the eleventh is a Tuesday, not a time of day. */
  private isThatWeekday(index: number, number: number): boolean {
    const weekday = this.words.weekdays.at(this.tokens, index, index + 1)?.value.weekday;
    const day = nextDayOfMonth(number, this.today);
    return day !== null && weekdayOf(day) === weekday;
  }

  /** "The second is a Friday", but not "the second movement". */
  private isEndOfPhrase(index: number): boolean {
    const token = this.tokens[index];
    if (!token || index >= this.to || this.tokens[index - 1]?.stop !== '') return true;
    return this.words.lead.has(token.word) || token.word.length <= 2 || FOLLOWS_DATE.has(token.word);
  }

  /** Dates as people and some recognisers write them. */
  private writtenAt(index: number): Match<Element> | null {
    const token = this.tokens[index];
    if (!token || !/^\d{1,4}$/.test(token.word)) return null;
    const rest = this.tokens.slice(index, Math.min(index + 3, this.to));
    const text = rest.map(({ text: each }, place) => each + (place < 2 ? '/' : '')).join('');
    if (!/^(?:\d{4}\/\d{1,2}\/\d{1,2}|\d{1,2}\/\d{1,2}\/\d{4})$/.test(text)) return null;
    const [result] = GB.parse(text, new Date(`${this.today}T12:00:00Z`));
    const part = (name: 'year' | 'month' | 'day') => result?.start.get(name) ?? 0;
    const day = dayString(part('year'), part('month'), part('day'));
    return day ? dayMatch(day, RANK.date, rest.length) : null;
  }

  private timeAt(index: number, isBeside: boolean): Match<Element> | null {
    const lead = this.words.at.at(this.tokens, index, this.to)?.length ?? 0;
    const time = this.clockAt(index + lead, isBeside || lead > 0);
    if (!time) return null;
    let length = lead + time.length;
    const through = this.words.through.at(this.tokens, index + length, this.to);
    const end = through && this.clockAt(index + length + through.length, true);
    if (through && end) length += through.length + end.length;
    const { minute, isCertain } = time.value;
    return { value: { kind: 'time', minute, isCertain, end: end?.value ?? null }, length };
  }

  /** @param isLikely a neighbouring word indicates that the number is a time of day */
  private clockAt(index: number, isLikely: boolean): Match<{ minute: number; isCertain: boolean }> | null {
    const named = this.words.namedTimes.at(this.tokens, index, this.to);
    if (named) return { value: { minute: named.value, isCertain: true }, length: named.length };
    const time = this.wordedTimeAt(index) ?? this.digitalAt(index) ?? this.hourAt(index, isLikely);
    if (!time) return null;
    const meridiem = this.words.meridiem.at(this.tokens, index + time.length, this.to);
    if (!meridiem)
      return { value: { minute: time.value, isCertain: time.value >= 13 * 60 }, length: time.length };
    const hours = time.value % NOON;
    return {
      value: { minute: meridiem.value === 'pm' ? hours + NOON : hours, isCertain: true },
      length: time.length + meridiem.length,
    };
  }

  /** "Half past seven", "quarter to three", "fünf vor halb neun". */
  private wordedTimeAt(index: number): Match<number> | null {
    const half = this.halfAt(index);
    if (half) return half;
    const quarter = this.words.quarter.at(this.tokens, index, this.to);
    const amount = quarter ?? this.numberAt(index);
    if (!amount || amount.value >= 60) return null;
    const at = index + amount.length;
    const past = this.words.past.at(this.tokens, at, this.to);
    const to = past ? null : this.words.to.at(this.tokens, at, this.to);
    const join = past ?? to;
    if (!join) return null;
    const hourFrom = at + join.length;
    const whole = this.halfAt(hourFrom);
    const hour = whole ?? this.numberAt(hourFrom);
    if (!hour || (!whole && hour.value > 24)) return null;
    const isSpan = !quarter && amount.value !== 5 && amount.value % 10 !== 0 && !whole;
    if (isSpan || this.isCounted(hourFrom + hour.length)) return null;
    const base = whole ? hour.value : hour.value * 60;
    const oClock = this.words.oClock.at(this.tokens, hourFrom + hour.length, this.to)?.length ?? 0;
    return {
      value: wrapped(base + (past ? amount.value : -amount.value)),
      length: amount.length + join.length + hour.length + oClock,
    };
  }

  private halfAt(index: number): Match<number> | null {
    const half = this.words.halfBefore.at(this.tokens, index, this.to);
    const hour = half && this.numberAt(index + half.length);
    if (!half || !hour || hour.value > 12) return null;
    const oClock = this.words.oClock.at(this.tokens, index + half.length + hour.length, this.to)?.length ?? 0;
    return { value: wrapped(hour.value * 60 + half.value), length: half.length + hour.length + oClock };
  }

  /** "17:30", "18h15", "5pm". */
  private digitalAt(index: number): Match<number> | null {
    const { word = '' } = this.tokens[index] ?? {};
    const [, hour, minute = '0', half] = /^(\d{1,2})(?:[:h](\d{2})?)?(am|pm)?$/.exec(word) ?? [];
    if (hour === undefined || /^\d+$/.test(word) || Number(hour) > 24 || Number(minute) > 59) return null;
    const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (half === 'pm' ? 12 : 0);
    return { value: wrapped(hours * 60 + Number(minute)), length: 1 };
  }

  private hourAt(index: number, isLikely: boolean): Match<number> | null {
    const { oClock, hourTails, minuteJoins } = this.words;
    const hour = this.hourNumberAt(index);
    if (!hour) return null;
    let length = hour.length;
    const clock = oClock.at(this.tokens, index + length, this.to);
    length += clock?.length ?? 0;
    const tail = hourTails.at(this.tokens, index + length, this.to);
    if (tail && (clock || isLikely))
      return { value: wrapped(hour.value * 60 + tail.value), length: length + tail.length };
    const isRange = BETWEEN.has(this.tokens[index - 1]?.word ?? '');
    const join = isRange ? null : minuteJoins.at(this.tokens, index + length, this.to);
    const at = index + length + (join?.length ?? 0);
    const minutes = this.tokens[at - 1]?.stop === '' ? this.numberAt(at) : null;
    const hasMinutes =
      minutes !== null &&
      minutes.value < 60 &&
      (minutes.value >= 10 || join !== null || minutes.length > 1) &&
      !this.isCounted(at + minutes.length) &&
      !this.words.months.at(this.tokens, at + minutes.length, this.to);
    const isPair = hasMinutes && minutes.value % 15 === 0 && hour.value <= 12;
    if (hasMinutes && (clock || isLikely || isPair)) {
      const end = at + minutes.length;
      return {
        value: wrapped(hour.value * 60 + minutes.value * (join?.value ?? 1)),
        length: end + (oClock.at(this.tokens, end, this.to)?.length ?? 0) - index,
      };
    }
    if (clock && !isLikely && !this.words.oClockIsEnough) return null;
    const isOfPart = this.words.parts.at(this.tokens, index + length, this.to) !== null; // "eight in the morning"
    const isTime = isLikely || isOfPart;
    if (!clock && !(isTime && !this.isCounted(index + length) && !this.isUnitAhead(index + length)))
      return null;
    return { value: wrapped(hour.value * 60), length };
  }

  /** Not the tens of a longer number: "three" of "three fifteen", but not "one" of "one hundred". */
  private hourNumberAt(index: number): Match<number> | null {
    const number = this.numberAt(index);
    return number && number.value >= 1 && number.value <= 24 ? number : null;
  }

  private isUnitAhead(index: number): boolean {
    return (
      this.words.units.at(this.tokens, index, this.to) !== null ||
      this.words.months.at(this.tokens, index, this.to) !== null
    );
  }

  private isCounted(index: number): boolean {
    return index < this.to && this.words.counted.has(this.tokens[index]?.word ?? '');
  }

  private partAt(index: number, isBeside: boolean): Match<Element> | null {
    const part =
      this.words.parts.at(this.tokens, index, this.to) ??
      (isBeside ? this.words.dayParts.at(this.tokens, index, this.to) : null);
    return part && { value: { kind: 'part', minute: part.value }, length: part.length };
  }

  private numberAt(index: number): Match<number> | null {
    const { word = '' } = (index < this.to && this.tokens[index]) || {};
    if (/^\d{1,2}$/.test(word)) return { value: Number(word), length: 1 };
    return this.words.numbers.at(this.tokens, index, this.to);
  }

  private ordinalAt(index: number): Match<number> | null {
    const { word = '' } = (index < this.to && this.tokens[index]) || {};
    const [, digits] = /^(\d{1,2})(?:st|nd|rd|th|er|º|ª)?$/.exec(word) ?? [];
    if (digits !== undefined) return { value: Number(digits), length: 1 };
    return this.words.ordinals.at(this.tokens, index, this.to);
  }

  /** The next weekday with this name; if it is today's name, in a week. 0 is Thanksgiving. */
  private weekdayAfter(weekday: number): string {
    if (weekday === 0) return thanksgivingAfter(this.today);
    return beside(this.today, weekday, 'after');
  }
}

/** "Entre cuatro y seis" is two times, "las cuatro y seis" is one. */
const BETWEEN = new Set(['entre', 'between', 'zwischen']);
/** Words after a date that are not a noun belonging to it. */
const FOLLOWS_DATE = new Set(
  'that she they you for and then priya who okay right what where est sera nous vous pour avec donc voilà oui non que con para luego entonces vale tengo ist das wir ich dann und oder'.split(
    ' ',
  ),
);

function dayMatch(day: string, rank: number, length: number, minute?: number): Match<Element> {
  return { value: { kind: 'day', rank, day, ...(minute !== undefined && { minute }) }, length };
}

function wrapped(minute: number): number {
  return (minute + 24 * 60) % (24 * 60);
}

function dayOfPeriod(period: Period, today: string): string {
  const year = today.slice(0, 4);
  switch (period) {
    case 'this week':
      return weekdayOf(today) >= 6 ? inWeek(today, 5, 1) : dayOfPeriod('end of week', today); // on a weekend, the next one
    case 'end of week':
      return weekdayOf(today) >= 5 ? today : beside(today, 5, 'after');
    case 'weekend':
      return weekdayOf(today) >= 6 ? today : beside(today, 6, 'after');
    case 'next week':
      return inWeek(today, 1, 1);
    case 'week after next':
      return inWeek(today, 1, 2);
    case 'next weekend':
      return inWeek(today, 6, 1);
    case 'end of month':
      return plusDays(firstOfNextMonth(today), -1);
    case 'next month':
      return firstOfNextMonth(today);
    case 'in a month':
      return plusMonths(today, 1);
    case 'end of year':
      return `${year}-12-31`;
    case 'christmas':
      return `${year}-12-24`;
    case 'new year':
      return `${Number(year) + 1}-01-01`;
  }
}

/** The nearest weekday to a day, other than that day itself. */
function beside(day: string, weekday: number, side: 'before' | 'after'): string {
  const ahead = (weekday - weekdayOf(day) + 7) % 7 || 7;
  return plusDays(day, side === 'after' ? ahead : ahead - 7 || -7);
}

const WEEKS_AHEAD: Readonly<Partial<Record<Period | Stretch, number>>> = {
  'next week': 1,
  'week after next': 2,
};
const HOLIDAY_SIDES: Readonly<Record<string, 'before' | 'after'>> = {
  ...{ after: 'after', nach: 'after', après: 'after', después: 'after', tras: 'after' },
  ...{ before: 'before', vor: 'before', avant: 'before', antes: 'before' },
};

const OF_HOLIDAYS =
  /^(?:eggs?|bunny|cards?|costumes?|cakes?|holidays?|break|eier|ferien|urlaub|œufs|vacances|huevos|vacaciones)$/;

/** @param weeks 0 is the week of today */
function inWeek(today: string, weekday: number, weeks: number): string {
  return plusDays(today, 7 * weeks - weekdayOf(today) + weekday);
}

/** Weeks end on Friday. */
const WEEK_EDGES: Readonly<Record<Edge, number>> = { start: 1, middle: 3, end: 5 };

function edgeOf(edge: Edge, stretch: Stretch, today: string): string {
  const [year = 0, month = 1] = today.split('-').map(Number);
  switch (stretch) {
    case 'this month':
      return edgeIn(edge, year, month);
    case 'next month':
      return edgeIn(edge, year, month + 1);
    case 'this year':
      return edgeOfYear(edge, year);
    case 'next year':
      return edgeOfYear(edge, year + 1);
    default: {
      const day = inWeek(today, WEEK_EDGES[edge], WEEKS_AHEAD[stretch] ?? 0);
      return edge === 'end' && day < today ? today : day;
    }
  }
}

/** Edge of the next month with that number. */
function edgeOfMonth(edge: Edge, month: number, today: string): string {
  const year = Number(today.slice(0, 4));
  const day = edgeIn(edge, year, month);
  return day >= today ? day : edgeIn(edge, year + 1, month);
}

function edgeIn(edge: Edge, year: number, month: number): string {
  const first = dayString(year, month, 1) ?? '';
  if (edge === 'end') return plusDays(firstOfNextMonth(first), -1);
  return edge === 'start' ? first : plusDays(first, 14);
}

function edgeOfYear(edge: Edge, year: number): string {
  return { start: `${year}-01-01`, middle: `${year}-07-01`, end: `${year}-12-31` }[edge];
}

function nextHoliday(holiday: Holiday, today: string): string {
  const year = Number(today.slice(0, 4));
  const of = (each: number) =>
    'easter' in holiday
      ? plusDays(easterOf(each), holiday.easter)
      : (dayString(each, holiday.month, holiday.day) ?? today);
  return of(year) >= today ? of(year) : of(year + 1);
}

/** The anonymous Gregorian algorithm. */
function easterOf(year: number): string {
  const a = year % 19;
  const b = Math.floor(year / 100);
  const c = year % 100;
  const d = (19 * a + b - Math.floor(b / 4) - Math.floor((b - Math.floor((b + 8) / 25) + 1) / 3) + 15) % 30;
  const e = (32 + 2 * (b % 4) + 2 * Math.floor(c / 4) - d - (c % 4)) % 7;
  const f = d + e - 7 * Math.floor((a + 11 * d + 22 * e) / 451) + 114;
  return dayString(year, Math.floor(f / 31), (f % 31) + 1) ?? '';
}

/** The fourth Thursday of November. */
function thanksgivingAfter(today: string): string {
  const year = Number(today.slice(0, 4));
  const of = (each: number) => {
    const first = `${each}-11-01`;
    return plusDays(first, ((4 - weekdayOf(first) + 7) % 7) + 21);
  };
  return of(year) >= today ? of(year) : of(year + 1);
}

/** 1 is Monday. */
function weekdayOf(day: string): number {
  return new Date(`${day}T00:00:00Z`).getUTCDay() || 7;
}

function nextDayOfMonth(number: number, today: string): string | null {
  const [year = 0, month = 1, day = 1] = today.split('-').map(Number);
  for (let ahead = number < day ? 1 : 0; ahead < 4; ahead++) {
    const found = dayString(year, month + ahead, number);
    if (found !== null) return found;
  }
  return null;
}

/** Null if there is no such day. Months beyond December continue in the next year. */
function dayString(year: number, month: number, day: number): string | null {
  const date = new Date(Date.UTC(year, month - 1, day));
  return day >= 1 && date.getUTCDate() === day ? date.toISOString().slice(0, 10) : null;
}

function firstOfNextMonth(today: string): string {
  const [year = 0, month = 1] = today.split('-').map(Number);
  return dayString(year, month + 1, 1) ?? today;
}

function plusMonths(day: string, months: number): string {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return dayString(year, month + months, date) ?? dayString(year, month + months, 28) ?? day;
}

function plusDays(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}
