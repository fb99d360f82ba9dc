/** How much was said: on which days, at which hours, and by whom. */
import type { Conversation, Segment, User } from '../../contract/model.ts';
import { inPages } from '../pages.ts';
import { dayAfter, instantOf, wallTime } from '../wall-clock.ts';
import type { Conversations } from './conversations.ts';
import { LATEST_START_MS } from './lifecycle.ts';

const HOURS = 24;

export interface Said {
  words: number;
  conversations: number;
}

export interface Statistics {
  /** Every day of the period, the first one first. */
  days: ({ date: string } & Said)[];
  /** Words by the hour of the day at which they began. */
  hours: number[];
  /** Speakers, most words first; `conversations`: the number that each spoke in. */
  people: ({ name: string; personId: string | null; isUser: boolean } & Said)[];
}

/** Speakers without a name count as one. */
const UNKNOWN = 'unknown';

/**
 * Counts the conversations that began on the last days of this time zone, up to `now`. Reads their transcripts piece
 * by piece, and yields to other work in between.
 */
export async function statisticsOf(
  conversations: Pick<Conversations, 'list' | 'transcript' | 'speakerNames'>,
  user: User,
  { days: count, timeZone, now }: { days: number; timeZone: string; now: number },
): Promise<Statistics> {
  const today = wallTime(now, timeZone).day;
  const dates = Array.from({ length: count }, (_, index) => dayAfter(today, index + 1 - count));
  const days = new Map(dates.map(date => [date, { date, words: 0, conversations: 0 }]));
  const hours = Array.from({ length: HOURS }, () => 0);
  const people = new Map<string, Statistics['people'][number]>();
  const nameOf = await conversations.speakerNames(user);
  const startedFrom = instantOf({ day: dates[0] ?? today, minute: 0 }, timeZone);
  const createdFrom = startedFrom - LATEST_START_MS;
  const filter = { createdFrom, startedFrom, startedTo: now, discarded: false, locked: false };
  const all = await inPages<Conversation>(page => conversations.list(user.id, { ...filter, ...page }), {
    limit: Number.POSITIVE_INFINITY,
    offset: 0,
  });
  for await (const { id, startedAt, createdAt } of all) {
    const from = startedAt ?? createdAt;
    const day = days.get(wallTime(from, timeZone).day);
    if (day) day.conversations += 1;
    const present = new Set<string>();
    for await (const segment of conversations.transcript(user.id, id, Number.POSITIVE_INFINITY)) {
      const words = wordsIn(segment.text);
      const at = wallTime(from + segment.start * 1000, timeZone);
      const spokenOn = days.get(at.day);
      if (spokenOn) spokenOn.words += words;
      const hour = Math.floor(at.minute / 60);
      hours[hour] = (hours[hour] ?? 0) + words;
      const key = segment.isUser ? user.id : (segment.personId ?? UNKNOWN);
      const person = people.get(key) ?? personOf(segment, nameOf(segment));
      people.set(key, person);
      person.words += words;
      if (!present.has(key)) person.conversations += 1;
      present.add(key);
    }
  }
  return {
    days: [...days.values()],
    hours,
    people: [...people.values()].sort((a, b) => b.words - a.words),
  };
}

function personOf({ isUser, personId }: Segment, name: string): Statistics['people'][number] {
  const isNamed = isUser || personId !== null;
  return { name: isNamed ? name : '', personId, isUser, words: 0, conversations: 0 };
}

function wordsIn(text: string): number {
  return text.split(/\s+/).filter(word => word !== '').length;
}
