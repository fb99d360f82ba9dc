/** Vocabulary of a language. One file per language holds the words; no other code depends on the language. */
import type { Table } from '../tokens.ts';

export interface Language {
  /** ISO 639-1. */
  code: string;
  /** Common words without a subject of their own. They also identify the language. */
  stopWords: ReadonlySet<string>;
  dates: DateWords;
  /** Contractions that recognisers write without their apostrophe, as written. */
  contractions?: ReadonlyMap<string, string>;
  acts: ActWords;
}

/** A unit of time. Months have their own unit, as they differ in length. */
export type Unit = 'minute' | 'hour' | 'day' | 'week' | 'month';

export type Period =
  | 'this week'
  | 'next week'
  | 'week after next'
  | 'weekend'
  | 'next weekend'
  | 'end of week'
  | 'end of month'
  | 'next month'
  | 'in a month'
  | 'end of year'
  | 'christmas'
  | 'new year';

export type Edge = 'start' | 'middle' | 'end';

/** Period that has edges. */
export type Stretch =
  | 'this week'
  | 'next week'
  | 'week after next'
  | 'this month'
  | 'next month'
  | 'this year'
  | 'next year';

/** On the same day every year, or this many days from Easter Sunday. */
export type Holiday = { month: number; day: number } | { easter: number };

/** Minutes are minutes after midnight unless stated otherwise. */
export interface DateWords {
  numbers: Table<number>;
  /** "third", in the forms that days of a month have. */
  ordinals: Table<number>;
  weekdays: Table<{ weekday: number; minute?: number }>;
  months: Table<number>;
  /** "tomorrow": days from today. */
  days: Table<{ days: number; minute?: number }>;
  /** Parts of the day that stand alone, such as "in the morning". */
  parts: Table<number>;
  /** Parts of the day that follow a day, such as "morning". */
  dayParts: Table<number>;
  units: Table<Unit>;
  /** Durations in minutes, such as "half an hour". */
  lengths: Table<number>;
  /** Before a duration: "in". */
  within: Table<true>;
  /** After a duration: "from now". */
  fromNow: Table<true>;
  periods: Table<Period>;
  /** Before a stretch or the name of a month: "the end of". */
  edges: Table<Edge>;
  /** After an edge: "next week". */
  stretches: Table<Stretch>;
  holidays: Table<Holiday>;
  /** Before a day in the past: "last". */
  last: Table<true>;
  /** Before a repeated day: "every". */
  every: Table<true>;
  nextBefore: Table<true>;
  nextAfter: Table<true>;
  /** "Next Friday" is in the next week, not the first Friday to come. */
  nextIsNextWeek: boolean;
  /** Before or after a day: this many days later, such as "a week from" and "week". */
  laterBefore: Table<number>;
  laterAfter: Table<number>;
  /** Before a weekday: the one mentioned last. After it: the one before or after the mentioned day. */
  thatBefore: Table<true>;
  relativeAfter: Table<'before' | 'after'>;
  /** "The day before": days from the day mentioned last. */
  relativeDays: Table<number>;
  /** Before a day of the month without its month; the strong ones need no word after it. */
  dayOfMonth: Table<{ isStrong: boolean }>;
  /** A day of the month may be a cardinal number: "le quinze". */
  hasCardinalDays: boolean;
  /** Optional word between a day and its month: "of". */
  ofMonth: Table<true>;
  at: Table<true>;
  oClock: Table<true>;
  /** Never a duration: "Uhr", but not "heures". */
  oClockIsEnough: boolean;
  /** "half seven": minutes to add to the hour that follows. */
  halfBefore: Table<number>;
  /** "quarter", as minutes. */
  quarter: Table<number>;
  past: Table<true>;
  to: Table<true>;
  /** After an hour, minutes to add: "et demie". */
  hourTails: Table<number>;
  /** After an hour, before a number of minutes: 1 adds, -1 takes away. */
  minuteJoins: Table<1 | -1>;
  /** Times by name: "noon". */
  namedTimes: Table<number>;
  meridiem: Table<'am' | 'pm'>;
  /** Between the two ends of a period. */
  through: Table<true>;
  /** Before a correction: "no wait". */
  corrections: Table<true>;
  /** Removed together with a date. */
  lead: ReadonlySet<string>;
  /** After a number that is not a time of day: "percent". */
  counted: ReadonlySet<string>;
}

/** Phrases with which people take tasks on, request them and refuse them. */
export interface ActWords {
  /** Position of the infinitive: "to send a letter", "einen Brief schicken". */
  isVerbLast: boolean;
  /** Verbs in the first person, by every form without accents. */
  firstPerson: ReadonlyMap<string, Verb>;
  imperatives: ReadonlyMap<string, Verb>;
  /** Verb forms in the second person, addressed to the listener: "du bringst". */
  secondPerson: ReadonlyMap<string, Verb>;
  infinitives: ReadonlyMap<string, Verb>;
  /** Forms after "would you mind", "you haven't" and "hast du": "calling", "called". */
  gerunds?: ReadonlyMap<string, Verb>;
  /** Next to a verb in the first person: "ich". Null: the verb alone is enough. */
  subject: ReadonlySet<string> | null;
  /** Next to a verb in the second person. */
  listener: ReadonlySet<string> | null;
  /** Between a subject and its verb, or after an imperative: "te", "moi". */
  clitics: ReadonlySet<string>;
  /** Separable parts of verbs, which stand at the end: "an" of "anrufen". */
  particles: ReadonlySet<string>;
  /** Before an infinitive. */
  promises: Table<true>;
  /** Wishes and offers: a plan only with a day or time. */
  wishes: Table<true>;
  /** The same in the plural; alone they are too vague. */
  sharedPromises: Table<true>;
  /** Before an infinitive, addressed to another person. */
  requests: Table<true>;
  /** Before an infinitive, addressed to another person or to oneself. */
  reminders: Table<true>;
  /** Before an infinitive, addressed to nobody in particular. */
  openRequests: Table<true>;
  /** Before an infinitive, in an offer: "shall I". */
  offers: Table<true>;
  /** Before a task in a spoken list: "number two". */
  listMarks: Table<true>;
  /** Agrees to a request, in explicit words. */
  takings: Table<true>;
  yes: Table<true>;
  refusals: Table<true>;
  /** Tasks that are finished before the conversation ends. */
  done: Table<true>;
  /** Cancels an earlier statement. */
  cancels: Table<true>;
  negations: ReadonlySet<string>;
  /** Earlier in the sentence: marks a condition, a wish or reported speech, not a plan. */
  noPlanBefore: Table<true>;
  /** Inside the phrase: not a task. */
  noPlanInside: Table<true>;
  /** Begins another clause. */
  clauseStarts: Table<true>;
  /** Pronouns for something mentioned before. */
  pronouns: ReadonlySet<string>;
  /** Pronouns that stand only for people. */
  personal: ReadonlySet<string>;
  /** Reflexive objects, which are omitted from a task: "mich". */
  reflexives: ReadonlySet<string>;
  /** Before a noun. */
  determiners: ReadonlySet<string>;
  prepositions: ReadonlySet<string>;
  /** "me", "to me" in a request: stands for the speaker. */
  toMe: Table<true>;
  /** "you", "to you" in a promise: stands for the listener. */
  toYou: Table<true>;
  /** "your" is the owner's if the owner is asked. */
  yours: ReadonlyMap<string, string>;
  /** Filler words in a task: "just". */
  fillers: ReadonlySet<string>;
  /** Events that take place at a time and that people attend. */
  appointments: ReadonlySet<string>;
  /** Finite verbs of events that take place, and of people who come, leave or meet. */
  happenings: Table<true>;
  /** Between an event and its date: "is". */
  copulas: ReadonlySet<string>;
  /** Indicate the past. */
  over: ReadonlySet<string>;
  /** Before a date that is a deadline. */
  deadlines: ReadonlySet<string>;
  /** Verbs done at once if requested without a day: "open". */
  momentary: ReadonlySet<string>;
  /** Verbs of bringing something to a meeting, after which its date applies. */
  carrying: ReadonlySet<string>;
  /** Verbs of going to meet somebody, at the time mentioned before. */
  joining: ReadonlySet<string>;
  /** Before a verb in the first person: the speaker alone. */
  emphatic: Table<true>;
  /** Asks who does what. */
  sharing: Table<true>;
  /** Not now, but soon, without a day or time: "on the way home". */
  soon: Table<true>;
  /** Verbs of thinking and feeling, which are not plans. */
  statives: ReadonlySet<string>;
  /** Ending of infinitives, where position alone does not identify one. */
  infinitiveEnding: RegExp | null;
  /** Finite verbs of necessity: "needs to". */
  musts: Table<true>;
}

export interface Verb {
  infinitive: string;
  /** May also be a state or a habit; a plan only with a day or time. */
  isWeak: boolean;
  /** States a location, a movement or a habit: not a task in the present tense. */
  isState?: boolean;
  /** Taken for a verb only because of its position. */
  isUnknown?: boolean;
  /** Its first-person form is also a noun; a verb only after a pronoun. */
  isNounToo?: boolean;
}
