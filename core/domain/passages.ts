/** What of conversations can be found by its words: each step inside a transaction of its caller. */
import type { Conversation } from '../model.ts';
import type { Stores } from '../plugin.ts';

/** To be called whenever one is processed, or changed by its owner. */
export async function indexIn(tx: Stores, conversation: Conversation): Promise<void> {
  const { userId, id, status } = conversation;
  await tx.passages.put(userId, id, status === 'completed' ? await textsOf(tx, conversation) : []);
}

async function textsOf(tx: Stores, { userId, id, structured }: Conversation): Promise<string[]> {
  const segments = await tx.segments.list(userId, [id]);
  return [structured.title, structured.overview, ...segments.map(({ text }) => text)];
}
