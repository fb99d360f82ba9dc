import type {
  Cited,
  Plugin,
  SpokenSegment,
  UnderstandingContext,
  Understood,
} from '../../../core/contract/plugin.ts';
import type { Whole } from './answers.ts';
import { createAsker, goalsIn } from './asking.ts';
import { createEvidence, likeness } from './evidence.ts';
import { notesOf } from './notes.ts';
import { instantIn } from './times.ts';
import { harmless, knownIn, linesOf } from './transcript.ts';

interface Options {
  partCharacters: number;
}

const MAX_TITLE_CHARS = 200;
const MAX_ITEM_CHARS = 500;
const MAX_ITEMS = 50;
const MAX_MEMORIES = 4;
const MAX_EVENT_MINUTES = 7 * 24 * 60;
/** Maximum words of a conversation that a model may discard. */
const MAX_NOTHING_WORDS = 12;
/** Similarity from which two texts count as the same. */
const SAME = 0.75;
/** Segments after a stranger's request in which an answer of a known person is looked for. */
const REPLY_SEGMENTS = 2;

const NOTHING: Understood = {
  discard: true,
  title: { text: '', from: [] },
  overview: [],
  category: 'other',
  tasks: [],
  events: [],
  memories: [],
};

export default {
  name: 'llm-understanding',
  api: 1,
  title: 'Titles, overviews, tasks, appointments and memories, where `llm` names a language model',
  options: z =>
    z.strictObject({
      partCharacters: z.coerce
        .number()
        .int()
        .min(2000)
        .max(400_000)
        .default(12_000)
        .describe(
          'Characters of a transcript that the model reads at once; longer ones are read in parts. 12,000 need a context of 8,192 tokens',
        ),
    }),

  setup({ options: { partCharacters }, error }) {
    const carriesNothing = () =>
      error(
        'upstream_error',
        'llm-understanding: the model cites nothing for what it writes, or what does not say it',
      );

    async function understand(
      transcript: readonly SpokenSegment[],
      context: UnderstandingContext,
      signal: AbortSignal,
    ): Promise<Understood> {
      signal.throwIfAborted();
      if (!transcript.some(({ text }) => /[\p{L}\p{N}]/u.test(text))) return NOTHING;
      if (context.models.length === 0)
        throw error('unavailable', 'llm-understanding: no language model that "llm" names works now');
      const asker = await createAsker(transcript, context, signal);
      const isKnown = knownIn(transcript, context);
      const notes = await notesOf(linesOf(transcript, isKnown), asker, {
        partCharacters,
        hasGoals: context.goals.length > 0,
        tooLong: (parts, most) =>
          error(
            'too_large',
            `llm-understanding: the conversation has ${parts} parts, and at most ${most} are read; raise plugins.llm-understanding.partCharacters if the model reads more at once`,
          ),
      });
      const understood = await checked(notes, { transcript, context, isKnown, signal });
      if (!understood.discard && understood.overview.length === 0) throw carriesNothing();
      return understood;
    }

    return { understanding: { needsModel: true, understand } };
  },
} satisfies Plugin<Options>;

interface Asked {
  transcript: readonly SpokenSegment[];
  context: UnderstandingContext;
  isKnown(segment: SpokenSegment): boolean;
  signal: AbortSignal;
}

/** Keeps the parts of a model's answer that the transcript supports. */
async function checked(notes: Whole, asked: Asked): Promise<Understood> {
  const { transcript, context, isKnown, signal } = asked;
  if (notes.discard && wordsIn(transcript) <= MAX_NOTHING_WORDS) return NOTHING;
  const texts = transcript.map(({ text }) => harmless(text));
  const names = [context.owner, ...context.people, ...transcript.map(({ speaker }) => speaker)];
  const evidence = createEvidence(texts, {
    names: [...new Set(names)],
    embedder: context.embedder,
    signal,
  });
  const isTranslated = context.summaryLanguage !== null && context.summaryLanguage !== context.languages[0];
  const startedAt = transcript[0]?.startAt ?? 0;

  /** Keeps items whose segments support them, each once, as texts that core and people can show. */
  async function kept<Item extends { text: string; from: number[] }>(
    items: readonly Item[],
  ): Promise<Item[]> {
    const result: Item[] = [];
    for (const item of items) {
      const text = harmless(item.text);
      const isPlain = text !== '' && text.length <= MAX_ITEM_CHARS && !text.includes('://');
      const isCited = item.from.length > 0 && item.from.every(number => transcript[number - 1] !== undefined);
      if (!isPlain || !isCited || result.some(other => likeness(other.text, text) >= SAME)) continue;
      if (isTranslated || (await evidence.carries(text, item.from))) result.push({ ...item, text });
    }
    return result;
  }

  const spokenIn = (from: readonly number[]) => from.flatMap(number => transcript[number - 1] ?? []);
  const cited = ({ text, from }: { text: string; from: number[] }): Cited => ({
    text,
    from: [...new Set(spokenIn(from).map(({ id }) => id))],
  });
  /** Keeps progress of existing goals that the owner spoke of. */
  const reported = ({ goal, value, adds, from }: NonNullable<Whole['progress']>[number]) => {
    const goalId = goalsIn(context)[goal - 1]?.id;
    const own = spokenIn(from).filter(({ isUser }) => isUser);
    return goalId === undefined || own.length === 0
      ? []
      : [{ goalId, value, adds, from: own.map(({ id }) => id) }];
  };
  const isAnyKnown = transcript.some(isKnown);
  /** Returns whether a known person said it, or answered right after it; true where nobody is known. */
  const concernsKnown = ({ from }: { from: number[] }) =>
    !isAnyKnown || from.some(number => transcript.slice(number - 1, number + REPLY_SEGMENTS).some(isKnown));
  const isNew = ({ text }: { text: string }) =>
    !context.openTasks.some(({ description }) => likeness(description, text) >= SAME);

  const tasks = await kept(notes.tasks.filter(({ who }) => who === 'owner').filter(concernsKnown));
  const events = await kept(notes.events.filter(concernsKnown));
  const memories = await kept(notes.memories.filter(({ from }) => spokenIn(from).some(isKnown)));
  const overview = await kept(notes.overview);
  const [title] = await kept([notes.title]);
  return {
    discard: false,
    title: titleOf(title, overview[0], transcript, cited),
    overview: overview.map(cited),
    category: notes.category,
    folder: context.folders.find(({ name }) => name === notes.folder?.trim())?.name ?? null,
    tasks: tasks
      .filter(isNew)
      .slice(0, MAX_ITEMS)
      .map(task => ({ ...cited(task), dueAt: instantIn(task.due, startedAt, context)?.at ?? null })),
    events: events.slice(0, MAX_ITEMS).flatMap(event => {
      const start = instantIn(event.start, startedAt, context);
      if (!start?.hasTime) return [];
      return [{ ...cited(event), startAt: start.at, minutes: minutesOf(event.minutes) }];
    }),
    memories: memories.slice(0, MAX_MEMORIES).map(cited),
    ...(context.goals.length > 0 && {
      progress: (notes.progress ?? []).slice(0, MAX_ITEMS).flatMap(reported),
    }),
  };
}

/** Returns the model's title, otherwise the first sentence of the overview, otherwise the first words said. */
function titleOf<Item extends { text: string; from: number[] }>(
  title: Item | undefined,
  sentence: Item | undefined,
  transcript: readonly SpokenSegment[],
  cited: (item: Item) => Cited,
): Cited {
  const best = title ?? sentence;
  if (best) return { ...cited(best), text: cut(best.text) };
  const first = transcript.find(({ text }) => harmless(text) !== '');
  return { text: cut(harmless(first?.text ?? '')), from: first ? [first.id] : [] };
}

/** Removes the full stop, and shortens a long title at a word. */
function cut(text: string): string {
  const title = text.replace(/\.$/, '');
  if (title.length <= MAX_TITLE_CHARS) return title;
  const head = title.slice(0, MAX_TITLE_CHARS - 1).toWellFormed();
  return `${head.slice(0, head.lastIndexOf(' ') + 1 || undefined).trim()}…`;
}

function minutesOf(minutes: number | null): number | null {
  const whole = Math.round(minutes ?? 0);
  return whole >= 1 && whole <= MAX_EVENT_MINUTES ? whole : null;
}

function wordsIn(transcript: readonly SpokenSegment[]): number {
  return transcript.reduce((sum, { text }) => sum + (text.match(/[\p{L}\p{N}]+/gu)?.length ?? 0), 0);
}
