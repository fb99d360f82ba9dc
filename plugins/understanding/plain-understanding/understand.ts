import type { Understanding } from '../../../core/contract/plugin.ts';
import { createBackgroundPace } from '../../kit/kit.ts';
import { isBroadcast } from './broadcast.ts';
import { eventsOf } from './events.ts';
import { readLines } from './lines.ts';
import { beginningOf, divided } from './long-segments.ts';
import { memoriesOf } from './memories.ts';
import { saysNothing } from './nothing.ts';
import { structure } from './structure.ts';
import { tasksOf } from './tasks.ts';
import { titleWith } from './titles.ts';

export const understand: Understanding['understand'] = async (transcript, context, signal) => {
  signal.throwIfAborted();
  const pace = createBackgroundPace(signal);
  const heard = beginningOf(transcript);
  const segments = divided(heard);
  const lines = await readLines(segments, context, pace);
  const tasks = await tasksOf(lines, context, pace);
  const events = await eventsOf(lines, tasks, context, pace);
  const { overview, category, ...title } = await structure(segments, context.languages[0] ?? null, pace);
  const isEnglish = context.languages[0]?.toLowerCase().startsWith('en') ?? true;
  return {
    discard: saysNothing(heard) || (await isBroadcast(heard, pace)),
    overview,
    category,
    title: titleWith(title, events, tasks, isEnglish),
    tasks: tasks.map(task => (isInstant(task.dueAt) ? task : { ...task, dueAt: null })),
    events: events.filter(({ startAt }) => isInstant(startAt)),
    memories: await memoriesOf(segments, context, pace),
  };
};

/**
 * Returns whether the API can represent this instant: a recording of the year 0 may mention one that it
 * cannot.
 */
function isInstant(at: number | null): boolean {
  return at === null || (at >= 0 && at <= LATEST);
}
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
