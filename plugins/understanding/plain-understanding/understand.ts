import type { Understanding } from '../../../core/contract/plugin.ts';
import { isBroadcast } from './broadcast.ts';
import { eventsOf } from './events.ts';
import { readLines } from './lines.ts';
import { divided } from './long-segments.ts';
import { memoriesOf } from './memories.ts';
import { saysNothing } from './nothing.ts';
import { Pacer } from './pacer.ts';
import { structure } from './structure.ts';
import { tasksOf } from './tasks.ts';
import { titleWith } from './titles.ts';

export const understand: Understanding['understand'] = async (transcript, context, signal) => {
  signal.throwIfAborted();
  const pacer = new Pacer(signal);
  const segments = divided(transcript);
  const lines = await readLines(segments, context, pacer);
  const tasks = await tasksOf(lines, context, pacer);
  const events = await eventsOf(lines, tasks, context, pacer);
  const { overview, category, ...title } = await structure(segments, context.languages[0] ?? null, pacer);
  const isEnglish = context.languages[0]?.toLowerCase().startsWith('en') ?? true;
  return {
    discard: saysNothing(transcript) || isBroadcast(transcript),
    overview,
    category,
    title: titleWith(title, events, tasks, isEnglish),
    tasks: tasks.map(task => (isInstant(task.dueAt) ? task : { ...task, dueAt: null })),
    events: events.filter(({ startAt }) => isInstant(startAt)),
    memories: await memoriesOf(segments, context, pacer),
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
