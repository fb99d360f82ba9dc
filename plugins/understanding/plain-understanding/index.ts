import type { Plugin, Understanding } from '../../../core/contract/plugin.ts';

const understand: Understanding['understand'] = async (transcript, context, signal) => {
  signal.throwIfAborted();
  const pacer = new Pacer(signal);
  const lines = await readLines(transcript, context, pacer);
  const tasks = await tasksOf(lines, context, pacer);
  const events = await eventsOf(lines, tasks, context, pacer);
  const { overview, category, ...title } = await structure(transcript, context.languages[0] ?? null, pacer);
  const isEnglish = context.languages[0]?.toLowerCase().startsWith('en') ?? true;
  return {
    discard: saysNothing(transcript) || isBroadcast(transcript),
    overview,
    category,
    title: titleWith(title, events, tasks, isEnglish),
    tasks: tasks.map(task => (isInstant(task.dueAt) ? task : { ...task, dueAt: null })),
    events: events.filter(({ startAt }) => isInstant(startAt)),
    memories: await memoriesOf(transcript, context, pacer),
  };
};

export default {
  name: 'plain-understanding',
  api: 1,
  title: 'Titles, overviews, categories, tasks and appointments by rules, offline and without a model',
  setup: () => ({ understanding: { understand } }),
} satisfies Plugin;
