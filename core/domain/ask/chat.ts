/** Stored chats with the server, so that a question can continue earlier ones. */
import type { ChatMessage, ChatSession, Clock, User } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Principal } from '../accounts/credentials.ts';
import { isId, newId } from '../ids.ts';
import type { Notifications } from '../notifications/notifications.ts';
import { inPages, type List, mapPages } from '../pages.ts';
import { wholeText } from '../search/whole-text.ts';
import type { Ask, Following, Question, Turn } from './ask.ts';
import { languageOf, plainWords } from './question-words.ts';
import type { Source, Sources } from './sources.ts';

/** Maximum sessions per user; the least recently used is deleted first. */
const MAX_SESSIONS = 200;
/** Maximum messages per session; the oldest are deleted first. */
const MAX_MESSAGES = 1000;
const MAX_TITLE_CHARS = 80;
/** Earlier messages that a question may refer to. */
const MAX_EARLIER = 8;
/** Messages of the newest chat that an app's prompt may contain. */
const MAX_RECENT = 20;
const MAX_RECENT_CHARS = 4000;

export interface ShownMessage extends Omit<ChatMessage, 'sources'> {
  /** Sources in their present form; deleted and hidden ones are left out. */
  sources: Source[];
}

export type Chat = ReturnType<typeof createChat>;

export function createChat({
  storage,
  ask: { ask },
  sources,
  notifications,
  clock,
}: {
  storage: Storage;
  ask: Ask;
  sources: Pick<Sources, 'show'>;
  notifications: Pick<Notifications, 'settings'>;
  clock: Clock;
}) {
  async function begin(userId: string): Promise<ChatSession> {
    const now = clock.now();
    const session = { id: newId(now), userId, title: '', createdAt: now, updatedAt: now };
    await storage.transaction('begin chat', async tx => {
      for (const { id } of await tx.chat.sessions(userId, { limit: MAX_SESSIONS, offset: MAX_SESSIONS - 1 }))
        await tx.chat.removeSession(userId, id);
      await tx.chat.insertSession(session);
    });
    return session;
  }

  /** Returns the named session (`not_found`), or the one that was used last; null: there is none. */
  async function find(userId: string, id: string | null): Promise<ChatSession | null> {
    if (id === null) return (await storage.chat.sessions(userId, { limit: 1, offset: 0 }))[0] ?? null;
    const found = isId(id) ? await storage.chat.session(userId, id) : null;
    if (!found) throw notFound();
    return found;
  }

  /** Newest first. `not_found` */
  async function messages(
    principal: Principal,
    id: string | null,
    page: { limit: number; offset: number },
  ): Promise<List<ShownMessage>> {
    const { id: userId } = principal.user;
    const [session, { timeZone }] = await Promise.all([find(userId, id), notifications.settings(userId)]);
    const load = (part: typeof page) =>
      session ? storage.chat.messages(userId, session.id, part) : Promise.resolve([]);
    return mapPages(await inPages(load, page), async rows => {
      const shown: ShownMessage[] = [];
      for (const message of rows) {
        const language = languageOf(plainWords(message.text));
        shown.push({
          ...message,
          sources: await sources.show(principal, message.sources, { timeZone, language }),
        });
      }
      return shown;
    });
  }

  /**
   * Stores a question and, once it is complete, its answer, and resolves to that. An answer that breaks off, or whose
   * session is deleted meanwhile, is not stored. Rejects as `ask` does, and with `not_found` where there is no such
   * session.
   * @param sessionId null: the one that was used last, or a new one
   */
  async function send(
    principal: Principal,
    { sessionId, ...asked }: Omit<Question, 'earlier'> & { sessionId: string | null },
    following: Following,
  ): Promise<ShownMessage> {
    const { id: userId } = principal.user;
    const session = (await find(userId, sessionId)) ?? (await begin(userId));
    const before = await storage.chat.messages(userId, session.id, { limit: MAX_EARLIER, offset: 0 });
    await keep(session, { sender: 'human', text: asked.text, model: null, sources: [] });
    const given = await ask(principal, { ...asked, earlier: turnsOf(before) }, following);
    const kept = await keep(session, {
      ...{ sender: 'ai', text: given.answer, model: given.model },
      sources: given.sources.map(({ type, id, segmentId }) => ({ type, id, segmentId })),
    });
    return { ...kept, sources: given.sources };
  }

  async function keep(
    { id: sessionId, userId, title }: ChatSession,
    content: Pick<ChatMessage, 'sender' | 'text' | 'model' | 'sources'>,
  ): Promise<ChatMessage> {
    const now = clock.now();
    const message = { id: newId(now), userId, sessionId, ...content, createdAt: now };
    const named = title === '' && content.sender === 'human';
    const changes = {
      updatedAt: now,
      ...(named ? { title: wholeText(content.text, MAX_TITLE_CHARS) } : {}),
    };
    await storage.transaction('keep chat message', async tx => {
      if (!(await tx.chat.updateSession(userId, sessionId, changes))) throw notFound();
      await tx.chat.insertMessage(message);
      const [oldest] = await tx.chat.messages(userId, sessionId, { limit: 1, offset: MAX_MESSAGES - 1 });
      if (oldest) await tx.chat.forgetMessages(userId, sessionId, oldest.id);
    });
    return message;
  }

  return {
    begin,
    send,
    messages,
    sessions: (userId: string, page: { limit: number; offset: number }): Promise<ChatSession[]> =>
      storage.chat.sessions(userId, page),
    /** Deletes a session with its messages; without a name, the one that was used last. `not_found` */
    async remove(userId: string, id: string | null): Promise<void> {
      const session = await find(userId, id);
      if (session) await storage.chat.removeSession(userId, session.id);
    },
    /** Builds the greeting of a cleared session; it is not stored. */
    greeting(userId: string, text: string): ShownMessage {
      const now = clock.now();
      return {
        id: newId(now),
        userId,
        sessionId: '',
        sender: 'ai',
        text,
        model: null,
        sources: [],
        createdAt: now,
      };
    },
    /**
     * Returns the end of the newest chat as lines of text, oldest first: `user_chat` in apps' prompts. Without
     * answers, which may quote memories, where memories are closed to programs.
     */
    async recent(user: User): Promise<string> {
      const session = await find(user.id, null);
      if (!session) return '';
      const latest = await storage.chat.messages(user.id, session.id, { limit: MAX_RECENT, offset: 0 });
      const open = user.memoryAccess ? latest : latest.filter(({ sender }) => sender === 'human');
      const lines = open.map(({ sender, text }) => `${sender === 'human' ? user.name : 'Earshot'}: ${text}`);
      return newestThatFit(lines).toReversed().join('\n');
    },
  };
}

function notFound(): AppError {
  return new AppError('not_found', 'Chat session not found');
}

function newestThatFit(newestFirst: readonly string[]): string[] {
  let left = MAX_RECENT_CHARS;
  return newestFirst.filter(line => {
    left -= line.length + 1;
    return left >= 0;
  });
}

/** Pairs questions with their answers, oldest first; '' for one that was not answered. */
function turnsOf(newestFirst: readonly ChatMessage[]): Turn[] {
  const turns: Turn[] = [];
  for (const { sender, text, sources } of newestFirst.toReversed()) {
    const last = turns.at(-1);
    if (sender === 'human') turns.push({ question: text, answer: '', cited: [] });
    else if (last) turns[turns.length - 1] = { ...last, answer: text, cited: sources.map(({ id }) => id) };
  }
  return turns;
}
