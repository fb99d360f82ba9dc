/** Changes to a conversation by its owner: each step inside a transaction of its caller. */

import type { Conversation, Geolocation } from '../../contract/model.ts';
import type { Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { checkExpected } from '../expected.ts';
import { isId } from '../ids.ts';
import { moveSourcesIn } from '../memories/heard-memories.ts';
import { indexTitle } from '../search/passages.ts';
import { folderIn } from './folders.ts';

export interface ConversationEdit {
  title?: string;
  discarded?: boolean;
  starred?: boolean;
  /** Null: none. */
  folderId?: string | null;
  /** Null: not known. */
  geolocation?: Geolocation | null;
  /** Values that the change is based on. */
  expected?: { title?: string };
}

/** Returns the changed conversation. `not_found` where it, or its folder, does not exist; `locked`, `conflict`. */
export async function editIn(
  tx: Stores,
  userId: string,
  id: string,
  { title, expected, ...flags }: ConversationEdit,
): Promise<Conversation> {
  const found = await writable(tx, userId, id);
  checkExpected({ title: found.structured.title }, expected, title === undefined ? {} : { title });
  if (flags.folderId != null) await folderIn(tx, userId, flags.folderId);
  const patch =
    title === undefined ? flags : { ...flags, structured: { ...found.structured, title, titled: true } };
  if (!(await tx.conversations.update(userId, id, patch, found.status)))
    throw new AppError('conflict', 'The conversation has just changed: try again.');
  const edited = { ...found, ...patch };
  const isIndexed = found.status === 'completed'; // otherwise it is indexed when its processing ends
  if (isIndexed && (title !== undefined || flags.discarded !== undefined))
    await indexTitle(tx, found, edited);
  return edited;
}

/**
 * Deletes a conversation with its transcript, and its content in the log of deliveries; its action items stay.
 * `not_found`, `locked`.
 */
export async function removeIn(tx: Stores, userId: string, id: string, now: number): Promise<void> {
  const conversation = await writable(tx, userId, id);
  await moveSourcesIn(tx, conversation, async () => null);
  await tx.deliveries.forget(userId, id, now);
  await tx.conversations.remove(userId, id);
  await tx.actionItems.moveAll(userId, id, null);
}

/** `not_found`, `locked`. */
export async function writable(tx: Stores, userId: string, id: string): Promise<Conversation> {
  const found = isId(id) ? await tx.conversations.get(userId, id) : null;
  if (!found) throw new AppError('not_found', 'Conversation not found');
  if (found.locked) throw new AppError('locked', 'Conversation is locked');
  return found;
}
