/**
 * Measures an understanding plugin, by default plain-understanding, on the written conversations of
 * test/fixtures/conversations.
 */
import type {
  LanguageModel,
  SpokenSegment,
  Understanding,
  UnderstandingContext,
  Understood,
} from '../../core/contract/plugin.ts';
import { instantOf, wallTime } from '../../core/domain/wall-clock.ts';
import { spoken } from '../../core/pipeline/understanding.ts';
import plugin from '../../plugins/understanding/plain-understanding/index.ts';
import type { Cell, Table } from '../bench/benchmark.ts';
import { holds, readConversations } from './conversations.ts';

const PLAIN = plugin.setup().understanding;

type Conversation = ReturnType<typeof readConversations>[number];
type Precision = 'minute' | 'hour' | 'day';

const LANGUAGES = ['en', 'de', 'fr', 'es', 'multi', 'all'] as const;
/** How far an instant may be from the expected one. With `day`, only the day counts. */
const TOLERANCE_MS = { minute: 60_000, hour: 3_600_000 };

/** Sums over conversations; every figure is a ratio of two of them. */
const NONE = {
  ...{ conversations: 0, discards: 0, categories: 0, titles: 0, titled: 0 },
  ...{ tasks: 0, tasksWanted: 0, tasksRight: 0, due: 0 },
  ...{ events: 0, eventsWanted: 0, eventsRight: 0, starts: 0, durations: 0 },
  ...{ sentences: 0, said: 0, chosen: 0 },
};
type Sums = typeof NONE;

export async function understandingQuality(
  by = 'without a model',
  understanding: Understanding = PLAIN,
  models: readonly LanguageModel[] = [],
): Promise<Table[]> {
  const counted: { conversation: Conversation; sums: Sums }[] = [];
  for (const conversation of readConversations())
    counted.push({ conversation, sums: await count(conversation, understanding, models) }); // a model answers one question at a time
  const sums = (['tune', 'report'] as const).flatMap(half =>
    LANGUAGES.map(language => {
      const chosen = counted.filter(
        ({ conversation: each }) => each.half === half && (language === 'all' || each.language === language),
      );
      return { row: [half, language], sum: total(chosen.map(each => each.sums)) };
    }),
  );
  const tableOf = (title: string, columns: string[], cells: (sum: Sums) => Cell[]): Table => ({
    title,
    columns: ['half', 'language', 'conversations', ...columns],
    rows: sums.map(({ row, sum }) => [...row, sum.conversations, ...cells(sum)]),
  });
  return [
    tableOf(
      `Tasks of the owner, ${by}`,
      ['noted', 'precision', 'recall', 'F1', 'due dates right'],
      ({ tasks, tasksWanted, tasksRight, due }) => [
        tasksWanted,
        ...scores(tasksRight, tasks, tasksWanted),
        share(due, tasksRight),
      ],
    ),
    tableOf(
      `Events, ${by}`,
      ['noted', 'precision', 'recall', 'F1', 'starts right', 'durations right'],
      ({ events, eventsWanted, eventsRight, starts, durations }) => [
        eventsWanted,
        ...scores(eventsRight, events, eventsWanted),
        share(starts, eventsRight),
        share(durations, eventsRight),
      ],
    ),
    tableOf(
      `Category, title and overview, ${by}`,
      ['category right', 'discard right', 'title right', 'sentences said', 'sentences on noted segments'],
      ({ conversations: all, categories, discards, titles, titled, sentences, said, chosen }) => [
        share(categories, all),
        share(discards, all),
        share(titled, titles),
        share(said, sentences),
        share(chosen, sentences),
      ],
    ),
  ];
}

async function count(
  conversation: Conversation,
  understanding: Understanding,
  models: readonly LanguageModel[],
): Promise<Sums> {
  const { transcript, context: known } = given(conversation);
  const context = { ...known, models };
  const answer = await understanding.understand(transcript, context, new AbortController().signal);
  const { expected } = conversation;
  const sums = { ...NONE, conversations: 1 };
  sums.discards = Number(answer.discard === expected.discard);
  sums.categories = Number((expected.category as string[]).includes(answer.category));
  if (expected.discard || answer.discard)
    return answer.discard
      ? withWanted(sums, expected)
      : { ...sums, tasks: answer.tasks.length, events: answer.events.length };
  countTasks(sums, conversation, answer);
  countEvents(sums, conversation, answer);
  sums.titles = Math.min(1, expected.title.length);
  sums.titled = Number(expected.title.some(stem => holds(answer.title.text, [stem])));
  const textOf = new Map(transcript.map(({ id, text }) => [id, text]));
  const noted = new Set(expected.overview.map(index => transcript[index]?.id));
  for (const { text, from } of answer.overview) {
    sums.sentences++;
    if (isSaid(text, from.map(id => textOf.get(id) ?? '').join(' '))) sums.said++;
    if (from.some(id => noted.has(id))) sums.chosen++;
  }
  return sums;
}

function withWanted(sums: Sums, { tasks, events }: Conversation['expected']): Sums {
  return { ...sums, tasksWanted: ownTasks(tasks).length, eventsWanted: events.length };
}

/** Each found task is matched to at most one expected task, so that a duplicate counts as wrong. */
function countTasks(sums: Sums, { expected, timeZone }: Conversation, { tasks }: Understood): void {
  const wanted = ownTasks(expected.tasks);
  const left = new Set(tasks);
  sums.tasks += tasks.length;
  sums.tasksWanted += wanted.length;
  for (const { what, due, precision } of wanted) {
    const hit = [...left].find(({ text }) => holds(text, what));
    if (!hit) continue;
    left.delete(hit);
    sums.tasksRight++;
    if (isAt(hit.dueAt, due, precision ?? 'day', timeZone)) sums.due++;
  }
}

/** The owner must not get tasks of others. */
function ownTasks(tasks: Conversation['expected']['tasks']) {
  return tasks.filter(({ who }) => who === 'owner');
}

/** The same event: its title and its day are correct. */
function countEvents(sums: Sums, { expected, timeZone }: Conversation, { events }: Understood): void {
  const left = new Set(events);
  sums.events += events.length;
  sums.eventsWanted += expected.events.length;
  for (const { title, start, precision, durationMin } of expected.events) {
    const hit = [...left].find(
      ({ text, startAt }) => holds(text, title) && isAt(startAt, start, 'day', timeZone),
    );
    if (!hit) continue;
    left.delete(hit);
    sums.eventsRight++;
    if (isAt(hit.startAt, start, precision, timeZone)) sums.starts++;
    if (hit.minutes === durationMin) sums.durations++;
  }
}

function isAt(at: number | null, expected: string | null, precision: Precision, timeZone: string): boolean {
  if (at === null || expected === null) return at === expected;
  const wanted = Date.parse(expected);
  if (precision === 'day') return wallTime(at, timeZone).day === wallTime(wanted, timeZone).day;
  return Math.abs(wanted - at) <= TOLERANCE_MS[precision];
}

/** Every word of the sentence is in one of the segments that it cites, in the same order. */
function isSaid(sentence: string, segments: string): boolean {
  const words = (text: string) => text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const said = words(segments)[Symbol.iterator]();
  return words(sentence).every(word => {
    for (let next = said.next(); !next.done; next = said.next()) if (next.value === word) return true;
    return false;
  });
}

function total(all: readonly Sums[]): Sums {
  const sum = { ...NONE };
  for (const each of all) for (const name of Object.keys(NONE) as (keyof Sums)[]) sum[name] += each[name];
  return sum;
}

function scores(right: number, found: number, wanted: number): Cell[] {
  return [share(right, found), share(right, wanted), share(2 * right, found + wanted)];
}

function share(part: number, whole: number): Cell {
  return whole === 0 ? '-' : (part / whole).toFixed(2);
}

/** Builds the context that core would pass. */
function given({ owner, people, language, timeZone, openTasks, segments, startedAt }: Conversation): {
  transcript: SpokenSegment[];
  context: UnderstandingContext;
} {
  const begin = Date.parse(startedAt);
  return {
    transcript: spoken(segments, { startedAt: begin, createdAt: begin }, ({ isUser, speakerId }) =>
      isUser ? owner : (people[String(speakerId)] ?? `Speaker ${speakerId}`),
    ),
    context: {
      ...{ owner, timeZone, folders: [], people: Object.values(people) },
      languages: language === 'multi' ? [] : [language],
      ...{ models: [], embedder: null, summaryLanguage: null, template: null, templates: [] },
      goals: [],
      openTasks: openTasks.map(description => ({ description, dueAt: null })),
      memoriesNear: async () => [],
      wallTime: at => wallTime(at, timeZone),
      instantOf: time => instantOf(time, timeZone),
    },
  };
}
