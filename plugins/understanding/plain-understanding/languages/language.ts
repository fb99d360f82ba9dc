/** Vocabulary of a language. One file per language holds the words; nothing else depends on the language. */
import type { Table } from '../tokens.ts';

export interface Language {
  /** ISO 639-1. */
  code: string;
  /** Words that say nothing of what is talked about. They also tell which language it is. */
  stopWords: ReadonlySet<string>;
  dates: DateWords;
  acts: ActWords;
}

/** A length of time. Months have their own unit, as they are not equally long. */
export type Unit = 'minute' | 'hour' | 'day' | 'week' | 'month';

export type Period =
  | 'this week'
  | 'next week'
  | 'weekend'
  | 'end of week'
  | 'end of month'
  | 'next month'
  | 'end of year'
  | 'christmas'
  | 'new year';

/** Minutes are minutes after midnight, except where it says otherwise. */
export interface DateWords {
  numbers: Table<number>;
  /** "third", in the forms that days of a month have. */
  ordinals: Table<number>;
  weekdays: Table<{ weekday: number; minute?: number }>;
  months: Table<number>;
  /** "tomorrow": days from today. */
  days: Table<{ days: number; minute?: number }>;
  /** Parts of the day that stand by themselves, as "in the morning". */
  parts: Table<number>;
  /** Parts of the day that need a day before them, such as "morning". */
  dayParts: Table<number>;
  units: Table<Unit>;
  /** Lengths of time, in minutes, as "half an hour". */
  lengths: Table<number>;
  /** Before a length of time: "in". */
  within: Table<true>;
  /** After a length of time: "from now". */
  fromNow: Table<true>;
  periods: Table<Period>;
  /** Before a day, and it is over: "last". */
  last: Table<true>;
  /** Before a day, and there are many: "every". */
  every: Table<true>;
  nextBefore: Table<true>;
  nextAfter: Table<true>;
  /** "Next Friday" is the one of the next week, and not the first one to come. */
  nextIsNextWeek: boolean;
  /** Before or after a day: so many days later, as "a week from" and "week". */
  laterBefore: Table<number>;
  laterAfter: Table<number>;
  /** Before a weekday: the one that was mentioned. After it: the one before or after what was mentioned. */
  thatBefore: Table<true>;
  relativeAfter: Table<'before' | 'after'>;
  /** Before a day of the month without its month; the strong ones need nothing after it. */
  dayOfMonth: Table<{ isStrong: boolean }>;
  /** A day of the month may be a plain number: "le quinze". */
  hasCardinalDays: boolean;
  /** Between a day and its month, if anything: "of". */
  ofMonth: Table<true>;
  at: Table<true>;
  oClock: Table<true>;
  /** It is never a length of time: "Uhr", but not "heures". */
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
  /** Between the two ends of a span. */
  through: Table<true>;
  /** Before what is said better: "no wait". */
  corrections: Table<true>;
  /** Goes with a date that is taken out of a text. */
  lead: ReadonlySet<string>;
  /** After a number, and it is no time of day: "percent". */
  counted: ReadonlySet<string>;
}

/** How people take things on, ask for them, and refuse. */
export interface ActWords {
  /** Where the infinitive stands: "to send a letter", "einen Brief schicken". */
  isVerbLast: boolean;
  /** By every form without accents: what a person alone says of himself, and tells another. */
  firstPerson: ReadonlyMap<string, Verb>;
  imperatives: ReadonlyMap<string, Verb>;
  /** Verb forms in the second person, with which another person addresses the listener: "du bringst". */
  secondPerson: ReadonlyMap<string, Verb>;
  infinitives: ReadonlyMap<string, Verb>;
  /** Beside a verb of the first person: "ich". Null: the verb alone is enough. */
  subject: ReadonlySet<string> | null;
  /** The same beside a verb of the second person. */
  listener: ReadonlySet<string> | null;
  /** Between a subject and its verb, or after an imperative: "te", "moi". */
  clitics: ReadonlySet<string>;
  /** Parts of verbs that stand at the end: "an" of "anrufen". */
  particles: ReadonlySet<string>;
  /** Before an infinitive. */
  promises: Table<true>;
  /** Wishes and offers: a plan only with a day or time. */
  wishes: Table<true>;
  /** The same of several people; alone they are too vague. */
  sharedPromises: Table<true>;
  /** Before an infinitive, to another person. */
  requests: Table<true>;
  /** Before an infinitive, to another person or to oneself. */
  reminders: Table<true>;
  /** Before an infinitive, to nobody in particular. */
  openRequests: Table<true>;
  /** Before something to do that one says to oneself: "number two". */
  listMarks: Table<true>;
  /** Says yes to what was asked, in so many words. */
  takings: Table<true>;
  yes: Table<true>;
  refusals: Table<true>;
  /** It is over with before the conversation is. */
  done: Table<true>;
  /** Takes back what was said before. */
  cancels: Table<true>;
  negations: ReadonlySet<string>;
  /** Before it, in the same sentence: no plan, but a condition, a wish, or the words of another. */
  noPlanBefore: Table<true>;
  /** Inside of it: no task. */
  noPlanInside: Table<true>;
  /** Begins another clause. */
  clauseStarts: Table<true>;
  /** Stand for what was said before. */
  pronouns: ReadonlySet<string>;
  /** Pronouns of them that stand for people alone. */
  personal: ReadonlySet<string>;
  /** Objects that are the subject itself, and are left out of a task: "mich". */
  reflexives: ReadonlySet<string>;
  /** Before a noun. */
  determiners: ReadonlySet<string>;
  prepositions: ReadonlySet<string>;
  /** "me", "to me" in what is asked: stands for the speaker. */
  toMe: Table<true>;
  /** "you", "to you" in what is promised: stands for the listener. */
  toYou: Table<true>;
  /** "your" is the owner's own where the owner is asked. */
  yours: ReadonlyMap<string, string>;
  /** Adds nothing to a task: "just". */
  fillers: ReadonlySet<string>;
  /** Events that take place at a time and that people attend. */
  appointments: ReadonlySet<string>;
  /** Tell of what is over. */
  over: ReadonlySet<string>;
  /** Before a date: it is the last one. */
  deadlines: ReadonlySet<string>;
  /** Done at once where they are asked for without a day: "open". */
  momentary: ReadonlySet<string>;
  /** After these something is carried to where people meet. */
  carrying: ReadonlySet<string>;
}

export interface Verb {
  infinitive: string;
  /** It may as well be a state or a habit, and is a plan only with a day or time. */
  isWeak: boolean;
  /** It tells where somebody is or goes, or of a habit: said of the present, it is no task. */
  isState?: boolean;
}
