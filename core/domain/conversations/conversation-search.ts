import type { Conversation } from '../../contract/model.ts';
import type { ConversationFilter, Storage } from '../../contract/plugin.ts';

/** Filter of conversation lists. */
const SHOWN = {
  statuses: ['completed'],
  discarded: false,
  locked: false,
} satisfies Partial<ConversationFilter>;
/** Maximum passages that one search examines. */
const MAX_PASSAGES = 1000;

/** Inclusive bounds of the creation time. */
type Span = Pick<ConversationFilter, 'createdFrom' | 'createdTo'>;

export interface Found {
  conversation: Conversation;
  /** A few sentences of the conversation. */
  passage: string;
}

/** Finds conversations by the words in their titles, overviews and transcripts. */
export function createConversationSearch({ storage }: { storage: Storage }) {
  /**
   * Returns conversations whose title, overview or transcript has words of the text, best first, each with its best
   * passage. Examines the best 1000 passages.
   */
  async function search(
    userId: string,
    text: string,
    { limit, offset }: { limit: number; offset: number },
  ): Promise<Found[]> {
    const best = await bestPassages(userId, text);
    const ids = [...best.keys()].slice(offset, offset + limit);
    const shown = await shownOf(userId, ids);
    return ids.flatMap(id => foundIn(shown, id, best.get(id)));
  }

  /** Without a text to search for: returns all conversations, newest first. */
  async function newest(userId: string, page: { limit: number; offset: number }): Promise<Found[]> {
    const found = await storage.conversations.list(userId, { ...SHOWN, ...page });
    return found.map(conversation => ({ conversation, passage: '' }));
  }

  /**
   * The same for conversations created within a time, optionally including discarded ones, and their total number.
   */
  async function searchWithin(
    userId: string,
    text: string,
    {
      limit,
      offset,
      withDiscarded,
      ...span
    }: Span & { withDiscarded: boolean; limit: number; offset: number },
  ): Promise<{ total: number; found: Found[] }> {
    const best = await bestPassages(userId, text, withDiscarded);
    const shown = await shownOf(userId, [...best.keys()], span, withDiscarded);
    const ids = [...best.keys()].filter(id => shown.has(id));
    const found = ids.slice(offset, offset + limit).flatMap(id => foundIn(shown, id, best.get(id)));
    return { total: ids.length, found };
  }

  /** Best passage by conversation, best first. */
  async function bestPassages(userId: string, text: string, discarded = false): Promise<Map<string, string>> {
    const all = await storage.passages.match(userId, text, MAX_PASSAGES, { discarded });
    const best = new Map<string, string>();
    for (const passage of all)
      if (!best.has(passage.conversationId)) best.set(passage.conversationId, passage.text);
    return best;
  }

  /** Returns passages with words of the text, best first, possibly several of one conversation. At most 1000. */
  async function passages(userId: string, text: string, limit: number): Promise<Found[]> {
    const found = await storage.passages.match(userId, text, limit);
    const shown = await shownOf(userId, [...new Set(found.map(passage => passage.conversationId))]);
    return found.flatMap(passage => foundIn(shown, passage.conversationId, passage.text));
  }

  async function shownOf(
    userId: string,
    ids: string[],
    span: Span = {},
    withDiscarded = false,
  ): Promise<Map<string, Conversation>> {
    if (ids.length === 0) return new Map();
    const { discarded, ...shown } = SHOWN;
    const filter = { ...shown, ...(withDiscarded ? {} : { discarded }), ...span };
    const rows = await storage.conversations.list(userId, { ...filter, ids, limit: ids.length, offset: 0 });
    return new Map(rows.map(conversation => [conversation.id, conversation]));
  }

  return { search, newest, searchWithin, passages };
}

/** None if the conversation was deleted just now. */
function foundIn(shown: Map<string, Conversation>, id: string, passage = ''): Found[] {
  const conversation = shown.get(id);
  return conversation ? [{ conversation, passage }] : [];
}
