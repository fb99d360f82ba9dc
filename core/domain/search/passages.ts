/** Texts of conversations in the word index. */
import type { Conversation, Segment } from '../../contract/model.ts';
import type { Stores } from '../../contract/plugin.ts';

const SEGMENTS_AT_ONCE = 500;
/** Maximum passages, more than any conversation has. */
const MOST_PHOTOS = 10_000;

/**
 * Replaces the indexed texts of a conversation; only one that is completed has any. On a transaction, other writes wait
 * meanwhile: for seconds, where the transcript is long.
 */
export async function index(stores: Stores, conversation: Conversation): Promise<void> {
  const { userId, id, status } = conversation;
  await stores.passages.put(userId, id, status === 'completed' ? await textsOf(stores, conversation) : []);
}

/** The same after a change of its title alone, which takes no longer where the transcript is long. */
export async function indexTitle(
  stores: Stores,
  before: Conversation,
  after: Pick<Conversation, 'structured'>,
): Promise<void> {
  const [from, to] = [before, after].map(({ structured }) => structured.title);
  const { userId, id } = before;
  if (!(await stores.passages.retitle(userId, id, from ?? '', to ?? '')))
    await index(stores, { ...before, ...after });
}

async function textsOf(stores: Stores, { userId, id, structured }: Conversation): Promise<string[]> {
  const texts = [structured.title, structured.overview];
  for (let after: Segment | null = null, isLast = false; !isLast; ) {
    const segments: Segment[] = await stores.segments.page(userId, id, after, SEGMENTS_AT_ONCE);
    for (const { text } of segments) texts.push(text);
    after = segments.at(-1) ?? null;
    isLast = segments.length < SEGMENTS_AT_ONCE;
  }
  for (const { description } of await stores.photos.list(userId, id, MOST_PHOTOS))
    if (description !== null) texts.push(description);
  return texts;
}
