/** Sources of answers: one entry for each kind. A further kind needs an entry here, and a name in `SOURCE_TYPES`. */
import type { ActionItem, ChatSource, Conversation, Memory, Segment } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Principal } from '../accounts/credentials.ts';
import type { Conversations } from '../conversations/conversations.ts';
import type { Search } from '../search/search.ts';
import { wholeText } from '../search/whole-text.ts';
import { wordShares } from '../search/word-share.ts';
import { toldTime } from '../wall-clock.ts';
import type { Span } from './asked-time.ts';
import { type AskedLanguage, plainWords } from './question-words.ts';

export const SOURCE_TYPES = ['conversation', 'memory', 'action_item'] as const;
export type SourceType = (typeof SOURCE_TYPES)[number];

export interface Source {
  type: SourceType;
  id: string;
  /** Title; for a memory or a task, the beginning of its text. */
  title: string;
  /** A passage of the conversation, the memory, or the task with its state. */
  text: string;
  /** Time at which it was said, or noted. */
  createdAt: number;
  /** Segment of a conversation; null: the whole conversation, or not known yet. */
  segmentId: string | null;
}

/** For whom texts are written. */
export interface Reader {
  timeZone: string;
  language: AskedLanguage;
}

/** A question in the form in which sources are searched. */
export interface Asked extends Reader {
  principal: Principal;
  /** Words of its subject; empty where it only names a time. */
  words: string;
  /** Earlier questions that this one continues. */
  earlier: string;
  spans: readonly Span[];
}

interface SourceKind {
  type: SourceType;
  /** Finds candidates, in no particular order. */
  find(asked: Asked): Promise<Source[]>;
  /** Returns cited sources that the user may still see, in their present form, by id. */
  show(principal: Principal, cited: readonly ChatSource[], reader: Reader): Promise<Map<string, Source>>;
}

const MAX_PASSAGES = 40;
/** Called where only sources of a certain time are wanted. */
const MAX_PASSAGES_OF_TIME = 300;
const MAX_OF_TIME = 30;
const MAX_MEMORIES = 10;
const MAX_TASKS = 300;
const MAX_FOUND_TASKS = 30;
const MAX_TITLE_CHARS = 80;
const MAX_TEXT_CHARS = 1500;
const SEGMENTS_AT_ONCE = 500;

/** Words that ask for tasks in general. */
const TASK_WORDS = new Set(
  'task tasks todo todos errand errands aufgabe aufgaben erledigen tache taches tarea tareas pendiente pendientes'.split(
    ' ',
  ),
);

/** Words that say which tasks, beside those that ask for them. */
const STATE_WORDS = new Set(
  'open due left outstanding undone offen offene offenen fallig fallige falligen ouverte ouvertes restent reste abierta abiertas quedan queda'.split(
    ' ',
  ),
);

/** "Which tasks are open?" is about tasks alone. */
function isAboutTasks(words: string): boolean {
  const all = words.split(' ');
  return (
    all.some(word => TASK_WORDS.has(word)) && all.every(word => TASK_WORDS.has(word) || STATE_WORDS.has(word))
  );
}

export type Sources = ReturnType<typeof createSources>;

export function createSources({
  storage,
  conversations,
  search,
}: {
  storage: Pick<Storage, 'conversations' | 'segments' | 'memories' | 'actionItems'>;
  conversations: Pick<Conversations, 'passages'>;
  search: Pick<Search, 'permit' | 'search'>;
}) {
  const memories: SourceKind = {
    type: 'memory',
    async find({ principal, words, earlier }) {
      const text = `${words} ${earlier}`.trim();
      if (text === '' || !(await mayReadMemories(principal))) return [];
      const hits = await search.search(principal.user.id, text, MAX_MEMORIES);
      return hits.map(({ memory }) => memorySource(memory));
    },
    async show(principal, cited) {
      if (!(await mayReadMemories(principal))) return new Map();
      const ids = cited.map(({ id }) => id);
      const rows = await storage.memories.some(principal.user.id, ids);
      return byId(rows.filter(({ locked }) => !locked).map(memorySource));
    },
  };

  async function mayReadMemories(principal: Principal): Promise<boolean> {
    if (!holds(principal, 'memories:read')) return false;
    try {
      await search.permit(principal);
      return true;
    } catch (error) {
      if (error instanceof AppError && error.code === 'forbidden') return false;
      throw error;
    }
  }

  const spoken: SourceKind = {
    type: 'conversation',
    async find({ principal: { user }, words, earlier, spans }) {
      const most = spans.length > 0 ? MAX_PASSAGES_OF_TIME : MAX_PASSAGES;
      const texts = [words, `${words} ${earlier}`.trim()].filter(text => text !== '');
      const found = await Promise.all(
        [...new Set(texts)].map(text => conversations.passages(user.id, text, most)),
      );
      const passages = found
        .flat()
        .filter(({ conversation }) => isWithin(spans, beganAt(conversation)))
        .slice(0, 2 * MAX_PASSAGES)
        .map(({ conversation, passage }) =>
          conversationSource(conversation, withoutRepeats(passage, conversation.structured)),
        );
      const whole = (await ofTime(user.id, spans)).map(each =>
        conversationSource(each, each.structured.overview),
      );
      const said = new Set(passages.map(({ id }) => id));
      return [...passages, ...whole.filter(({ id }) => !said.has(id))];
    },
    async show({ user }, cited) {
      const ids = [...new Set(cited.map(({ id }) => id))];
      const rows = await storage.conversations.list(user.id, {
        ...{ ids, locked: false, limit: ids.length, offset: 0 },
      });
      const shown = new Map<string, Source>();
      for (const conversation of rows) {
        const { segmentId = null } = cited.find(({ id }) => id === conversation.id) ?? {};
        const segment = segmentId === null ? null : await storage.segments.get(user.id, segmentId);
        const text = segment?.text ?? conversation.structured.overview;
        const source = conversationSource(conversation, text);
        shown.set(conversation.id, { ...source, segmentId: segment?.id ?? null });
      }
      return shown;
    },
  };

  /** Returns the newest conversations that began in these spans. */
  async function ofTime(userId: string, spans: readonly Span[]): Promise<Conversation[]> {
    const lists = await Promise.all(
      spans.map(({ from, to }) =>
        storage.conversations.list(userId, {
          ...{ statuses: ['completed'], discarded: false, locked: false },
          ...{ createdFrom: from, startedFrom: from, startedTo: to - 1 }, // none is created before it begins
          ...{ limit: MAX_OF_TIME, offset: 0 },
        }),
      ),
    );
    return lists.flat();
  }

  const tasks: SourceKind = {
    type: 'action_item',
    async find({ principal, words, earlier, spans, timeZone, language }) {
      if (!holds(principal, 'action_items:read')) return [];
      const all = await storage.actionItems.list(principal.user.id, {
        ...{ locked: false, limit: MAX_TASKS, offset: 0 },
      });
      const asked = `${words} ${earlier}`.trim();
      const shares = wordShares(
        asked,
        all.map(({ description }) => description),
      );
      const asksForTasks = words.split(' ').some(word => TASK_WORDS.has(word));
      const isMeant = (item: ActionItem, place: number) =>
        (shares[place] ?? 0) > 0 ||
        (spans.length > 0 && item.dueAt !== null && isWithin(spans, item.dueAt)) ||
        (asksForTasks && spans.length === 0 && !item.completed);
      return all
        .filter(isMeant)
        .slice(0, MAX_FOUND_TASKS)
        .map(item => taskSource(item, { timeZone, language }));
    },
    async show(principal, cited, reader) {
      if (!holds(principal, 'action_items:read')) return new Map();
      const rows = await Promise.all(cited.map(({ id }) => storage.actionItems.get(principal.user.id, id)));
      const there = rows.filter(item => item !== null).filter(({ locked }) => !locked);
      return byId(there.map(item => taskSource(item, reader)));
    },
  };

  const kinds: readonly SourceKind[] = [memories, spoken, tasks];

  /** Returns the segment of a passage that contains most of the question's words. */
  async function momentOf(userId: string, { id, text }: Source, words: string): Promise<string | null> {
    const isPart = (said: string) => said !== '' && (text.includes(said) || said.includes(text.slice(0, 80)));
    for (let after: Segment | null = null; ; ) {
      const page: Segment[] = await storage.segments.page(userId, id, after, SEGMENTS_AT_ONCE);
      const parts = page.filter(segment => isPart(segment.text.trim()));
      const shares = wordShares(
        words,
        parts.map(part => part.text),
      );
      const best = parts[shares.indexOf(Math.max(...shares))];
      if (best) return best.id;
      after = page.at(-1) ?? null;
      if (page.length < SEGMENTS_AT_ONCE) return null;
    }
  }

  return {
    async find(asked: Asked): Promise<Source[]> {
      const wanted = isAboutTasks(asked.words) ? [tasks] : kinds;
      return (await Promise.all(wanted.map(kind => kind.find(asked)))).flat();
    },
    /** Shows the sources of a stored answer in their present form and order, without deleted ones. */
    async show(principal: Principal, cited: readonly ChatSource[], reader: Reader): Promise<Source[]> {
      const shown = await Promise.all(
        kinds.map(async ({ type, show }) => {
          const own = cited.filter(each => each.type === type);
          return [type, own.length === 0 ? null : await show(principal, own, reader)] as const;
        }),
      );
      const of = new Map<string, Map<string, Source> | null>(shown);
      return cited.flatMap(({ type, id }) => of.get(type)?.get(id) ?? []);
    },
    /** Adds the segments of conversations to sources. */
    locate(userId: string, sources: readonly Source[], words: string): Promise<Source[]> {
      const located = async (source: Source) => {
        if (source.type !== 'conversation') return source;
        return { ...source, segmentId: await momentOf(userId, source, words) };
      };
      return Promise.all(sources.map(located));
    },
  };
}

function holds({ scopes }: Principal, scope: 'memories:read' | 'action_items:read'): boolean {
  return scopes === 'all' || scopes.has(scope);
}

function isWithin(spans: readonly Span[], at: number): boolean {
  return spans.length === 0 || spans.some(({ from, to }) => from <= at && at < to);
}

function beganAt({ startedAt, createdAt }: Pick<Conversation, 'startedAt' | 'createdAt'>): number {
  return startedAt ?? createdAt;
}

function byId(sources: readonly Source[]): Map<string, Source> {
  return new Map(sources.map(source => [source.id, source]));
}

function memorySource({ id, content, createdAt }: Memory): Source {
  const title = wholeText(content, MAX_TITLE_CHARS);
  return { type: 'memory', id, title, text: content, createdAt, segmentId: null };
}

function conversationSource(conversation: Conversation, text: string): Source {
  const { id, structured } = conversation;
  const createdAt = beganAt(conversation);
  const passage = wholeText(text, MAX_TEXT_CHARS);
  return { type: 'conversation', id, title: structured.title, text: passage, createdAt, segmentId: null };
}

/** The state of a task, and what precedes its due date. */
const TASK_STATES: Readonly<Record<AskedLanguage, { open: string; done: string; due: string }>> = {
  en: { open: 'open', done: 'done', due: 'due' },
  de: { open: 'offen', done: 'erledigt', due: 'fällig' },
  fr: { open: 'à faire', done: 'fait', due: 'pour le' },
  es: { open: 'pendiente', done: 'hecho', due: 'para el' },
};

/** Tells an instant as its reader would, such as "Mon 2 Nov, 09:00". */
export function toldTo({ timeZone, language }: Reader, at: number): string {
  if (language === 'en') return toldTime(at, timeZone);
  const day = { weekday: 'short', day: 'numeric', month: 'short' } as const;
  return new Date(at).toLocaleString(language, { ...day, hour: '2-digit', minute: '2-digit', timeZone });
}

function taskSource(item: ActionItem, reader: Reader): Source {
  const { id, description, completed, dueAt, createdAt } = item;
  const words = TASK_STATES[reader.language];
  const due = dueAt === null ? '' : `, ${words.due} ${toldTo(reader, dueAt)}`;
  const text = `${description} (${completed ? words.done : words.open}${due})`;
  const title = wholeText(description, MAX_TITLE_CHARS);
  return { type: 'action_item', id, title, text, createdAt, segmentId: null };
}

/**
 * Removes the title, which is shown next to it, and an overview that repeats the transcript from a conversation's
 * first passage.
 */
function withoutRepeats(passage: string, { title, overview }: Conversation['structured']): string {
  const untitled = withoutStart(passage, title);
  const said = withoutStart(untitled, overview);
  const plain = plainWords(said).join(' ');
  const isRepeated = overview
    .split(/(?<=[.!?…])\s/)
    .every(sentence => plain.includes(plainWords(sentence).join(' ')));
  return (isRepeated ? said : untitled) || passage;
}

function withoutStart(text: string, start: string): string {
  const begin = start.trim();
  return text.startsWith(begin) ? text.slice(begin.length).trimStart() : text;
}
