/** Phrases for times, in the languages of questions. Pure. */
import { dayAfter } from '../wall-clock.ts';
import { LANGUAGES, plainWords } from './question-words.ts';

/** Days, both inclusive. */
export interface Days {
  first: string;
  last: string;
}
export type DaysOf = (today: string) => Days[];
/** Hours of a day; those past 24 belong to the next day. */
export type Part = readonly [from: number, to: number];

const MORNING: Part = [5, 12];
const NOON: Part = [11, 14];
const AFTERNOON: Part = [12, 18];
const EVENING: Part = [17, 24];
const NIGHT: Part = [20, 29];

const MAX_COUNT = 31;
/** Numbers as words, for such counts. */
const NUMBERS: Record<string, string> = {
  en: 'one two three four five six seven eight nine ten eleven twelve',
  de: 'einem zwei drei vier fünf sechs sieben acht neun zehn elf zwölf',
  fr: 'un deux trois quatre cinq six sept huit neuf dix onze douze',
  es: 'un dos tres cuatro cinco seis siete ocho nueve diez once doce',
};

const DAYS = new Map<string, DaysOf>();
const PARTS = new Map<string, Part>();
/** A day and a part of it. */
const BOTH = new Map<string, { days: DaysOf; part: Part }>();

const single =
  (shift: number): DaysOf =>
  today =>
    one(dayAfter(today, shift));
export const one = (day: string): Days[] => [{ first: day, last: day }];

function add<T>(map: Map<string, T>, phrases: string, value: T): void {
  for (const phrase of phrases.split('|')) map.set(plainWords(phrase).join(' '), value);
}

const week =
  (shift: number): DaysOf =>
  today => {
    const monday = dayAfter(today, 7 * shift - ((weekdayOf(today) + 6) % 7));
    return [{ first: monday, last: dayAfter(monday, 6) }];
  };

const weekend =
  (shift: number): DaysOf =>
  today => {
    const saturday = dayAfter(today, 7 * shift - ((weekdayOf(today) + 1) % 7));
    return [{ first: saturday, last: dayAfter(saturday) }];
  };

const month =
  (shift: number): DaysOf =>
  today => [monthOf(Number(today.slice(0, 4)), Number(today.slice(5, 7)) - 1 + shift)];

/** Fills the tables at the first question, because that would slow down the start. */
function fill(): void {
  add(DAYS, 'today|heute|aujourd’hui|hoy', single(0));
  add(DAYS, 'yesterday|gestern|hier|ayer', single(-1));
  add(
    DAYS,
    'the day before yesterday|day before yesterday|vorgestern|avant-hier|anteayer|antier',
    single(-2),
  );
  add(DAYS, 'tomorrow|morgen|demain|mañana', single(1));
  add(DAYS, 'the day after tomorrow|day after tomorrow|übermorgen|après-demain|pasado mañana', single(2));
  add(
    DAYS,
    'last week|past week|letzte woche|letzter woche|vorige woche|voriger woche|vergangene woche|la semaine dernière|semaine dernière|semaine passée|la semana pasada|semana pasada',
    week(-1),
  );
  add(DAYS, 'this week|diese woche|dieser woche|cette semaine|esta semana', week(0));
  add(
    DAYS,
    'next week|nächste woche|nächster woche|kommende woche|la semaine prochaine|semaine prochaine|la semana que viene|la próxima semana|próxima semana',
    week(1),
  );
  add(
    DAYS,
    'last weekend|the weekend|at the weekend|on the weekend|letztes wochenende|letzten wochenende|am wochenende|le week-end dernier|week-end dernier|ce week-end|le week-end|el fin de semana pasado|fin de semana pasado|el fin de semana',
    weekend(0),
  );
  add(
    DAYS,
    'last month|letzten monat|letztem monat|vorigen monat|le mois dernier|mois dernier|el mes pasado|mes pasado',
    month(-1),
  );
  add(DAYS, 'this month|diesen monat|diesem monat|ce mois|ce mois-ci|este mes', month(0));
  addCounts();
  addWeekdays();
  addMonths();
  add(PARTS, 'this morning|in the morning|morning|früh|vormittag|vormittags|am vormittag', MORNING);
  add(PARTS, 'ce matin|matin|le matin|esta mañana|por la mañana|de la mañana', MORNING);
  add(PARTS, 'at noon|noon|lunchtime|mittag|mittags|midi|à midi|mediodía|al mediodía', NOON);
  add(PARTS, 'this afternoon|in the afternoon|afternoon|nachmittag|nachmittags|am nachmittag', AFTERNOON);
  add(PARTS, 'cet après-midi|après-midi|l’après-midi|esta tarde|por la tarde|de la tarde|tarde', AFTERNOON);
  add(
    PARTS,
    'this evening|in the evening|evening|tonight|abend|abends|am abend|ce soir|soir|le soir',
    EVENING,
  );
  add(PARTS, 'esta noche|por la noche|de la noche', EVENING);
  add(PARTS, 'at night|night|nacht|nachts|in der nacht|nuit|la nuit|cette nuit', NIGHT);
  add(BOTH, 'last night|anoche', { days: single(-1), part: [EVENING[0], NIGHT[1]] });
  add(BOTH, 'heute morgen', { days: single(0), part: MORNING });
  add(BOTH, 'gestern morgen', { days: single(-1), part: MORNING });
  add(BOTH, 'vorgestern morgen', { days: single(-2), part: MORNING });
}

function addCounts(): void {
  for (const language of LANGUAGES)
    for (let count = 1; count <= MAX_COUNT; count += 1)
      for (const number of [String(count), NUMBERS[language]?.split(' ')[count - 1]])
        if (number !== undefined) addCount(language, number, count);
}

function addCount(language: string, number: string, count: number): void {
  const ago = single(-count);
  const weeksAgo = single(-7 * count);
  const within: DaysOf = today => [{ first: dayAfter(today, 1 - count), last: today }];
  if (language === 'en') {
    add(DAYS, `${number} days ago|${number} day ago`, ago);
    add(DAYS, `${number} weeks ago|${number} week ago`, weeksAgo);
    add(DAYS, `the last ${number} days|last ${number} days|past ${number} days`, within);
  }
  if (language === 'de') {
    add(DAYS, `vor ${number} tagen|vor ${number} tag`, ago);
    add(DAYS, `vor ${number} wochen|vor ${number === 'einem' ? 'einer' : number} woche`, weeksAgo);
    add(DAYS, `letzten ${number} tage|letzten ${number} tagen`, within);
  }
  if (language === 'fr') {
    add(DAYS, `il y a ${number} jours|il y a ${number} jour`, ago);
    add(DAYS, `il y a ${number} semaines|il y a ${number === 'un' ? 'une' : number} semaine`, weeksAgo);
    add(DAYS, `${number} derniers jours`, within);
  }
  if (language === 'es') {
    add(DAYS, `hace ${number} días|hace ${number} día`, ago);
    add(DAYS, `hace ${number} semanas|hace ${number === 'un' ? 'una' : number} semana`, weeksAgo);
    add(DAYS, `últimos ${number} días`, within);
  }
}

function addWeekdays(): void {
  for (let weekday = 0; weekday < 7; weekday += 1) {
    const last: DaysOf = today => one(lastWeekday(today, weekday));
    const next: DaysOf = today =>
      one(dayAfter(lastWeekday(today, weekday), 7 + (isOn(today, weekday) ? 7 : 0)));
    const either: DaysOf = today => [
      ...last(today),
      ...one(isOn(today, weekday) ? today : dayAfter(lastWeekday(today, weekday), 7)),
    ];
    const [en, de, fr, es] = LANGUAGES.map(language => weekdayName(language, weekday));
    add(DAYS, `last ${en}|past ${en}|letzten ${de}|letzter ${de}|vorigen ${de}|vergangenen ${de}`, last);
    add(DAYS, `${fr} dernier|${fr} passé|${es} pasado|el ${es} pasado|el pasado ${es}|pasado ${es}`, last);
    add(DAYS, `next ${en}|nächsten ${de}|kommenden ${de}|${fr} prochain|próximo ${es}|${es} que viene`, next);
    add(DAYS, `${en}|on ${en}|${de}|am ${de}|${fr}|${es}|el ${es}`, either);
    add(BOTH, `${de} morgen|${de}morgen|${de}vormittag`, { days: either, part: MORNING });
    add(BOTH, `${de}mittag`, { days: either, part: NOON });
    add(BOTH, `${de}nachmittag`, { days: either, part: AFTERNOON });
    add(BOTH, `${de}abend`, { days: either, part: EVENING });
  }
}

function addMonths(): void {
  for (let index = 0; index < 12; index += 1) {
    const latest: DaysOf = today => {
      const [year, current] = [Number(today.slice(0, 4)), Number(today.slice(5, 7)) - 1];
      return [monthOf(index <= current ? year : year - 1, index)];
    };
    const [en, de, fr, es] = LANGUAGES.map(language =>
      new Intl.DateTimeFormat(language, { month: 'long', timeZone: 'UTC' }).format(Date.UTC(2026, index, 15)),
    );
    add(DAYS, `in ${en}|last ${en}|im ${de}|letzten ${de}|en ${fr}|en ${es}`, latest);
  }
}

function weekdayName(language: string, weekday: number): string {
  // 4 January 1970 was a Sunday
  const at = Date.UTC(1970, 0, 4 + weekday);
  return new Intl.DateTimeFormat(language, { weekday: 'long', timeZone: 'UTC' }).format(at);
}

/** 0 is Sunday. */
function weekdayOf(day: string): number {
  return new Date(`${day}T00:00:00Z`).getUTCDay();
}

function isOn(day: string, weekday: number): boolean {
  return weekdayOf(day) === weekday;
}

/** Returns the last day before this one that is such a weekday. */
function lastWeekday(today: string, weekday: number): string {
  return dayAfter(today, -(((weekdayOf(today) - weekday + 6) % 7) + 1));
}

function monthOf(year: number, index: number): Days {
  const day = (date: number) => new Date(date).toISOString().slice(0, 10);
  return { first: day(Date.UTC(year, index, 1)), last: day(Date.UTC(year, index + 1, 0)) };
}

/** Interprets a phrase in lower case without accents; empty if it names no time. */
export function timeOf(phrase: string): { days?: DaysOf | undefined; part?: Part | undefined } {
  if (DAYS.size === 0) fill();
  return BOTH.get(phrase) ?? { days: DAYS.get(phrase), part: PARTS.get(phrase) };
}
