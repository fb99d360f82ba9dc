/** Stores what processing found in a conversation. */
import type { Clock, Conversation, ConversationStatus, Structured } from '../../contract/model.ts';
import type { Storage, Stores } from '../../contract/plugin.ts';
import type { EventBus } from '../../runtime/events.ts';
import { lookAtDayIn, tellOfConversationIn } from '../apps/deliveries.ts';
import { type HeardMemory, storeHeardMemoriesIn } from '../memories/heard-memories.ts';
import { index, indexTitle } from '../search/passages.ts';
import { type HeardProgress, suggestProgressIn } from '../tasks/heard-goals.ts';
import { settledIn, storeHeardIn } from '../tasks/heard-tasks.ts';
import { folderFor } from './folders.ts';
import { endOfSpeech, hadNothing, reprocessIn } from './lifecycle.ts';

/** Time from a provisional structure to the next attempt. */
const BETTER_AFTER_MS = 60_000;

/** Results of processing, apart from the structure. */
export interface Heard {
  memories: readonly HeardMemory[];
  progress: readonly HeardProgress[];
}

const NOTHING_HEARD: Heard = { memories: [], progress: [] };

type Result =
  | { status: 'completed'; structured: Structured }
  | { status: 'completed'; discarded: true }
  | { status: 'failed' };

/** Events are emitted after the commit. */
export function createConclusions({
  storage,
  clock,
  events,
}: {
  storage: Storage;
  clock: Clock;
  events: EventBus;
}) {
  /**
   * Stores the results of processing: the structure, its tasks as action items, memories, and suggestions for goals.
   * Resolves to whether this call did: a second run changes nothing.
   */
  async function complete(
    userId: string,
    conversationId: string,
    structured: Structured,
    heard: Heard = NOTHING_HEARD,
  ): Promise<boolean> {
    return conclude(userId, conversationId, { status: 'completed', structured }, heard);
  }

  /**
   * Marks a conversation in which nothing was said as discarded, without a structure. Resolves to whether this call
   * did it.
   */
  async function discard(userId: string, conversationId: string): Promise<boolean> {
    return conclude(userId, conversationId, { status: 'completed', discarded: true });
  }

  /**
   * Marks a conversation as failed after the last attempt to process it; the transcript stays. Resolves to whether
   * this call did it.
   */
  async function fail(userId: string, conversationId: string): Promise<boolean> {
    return conclude(userId, conversationId, { status: 'failed' });
  }

  /**
   * Replaces the structure of an ended conversation after it was processed again; null: nothing was said in it. The
   * owner's edits stay. Resolves to whether this call did it.
   */
  async function revise(
    userId: string,
    conversationId: string,
    structured: Structured | null,
    heard: Heard = NOTHING_HEARD,
  ): Promise<boolean> {
    const result = structured ? { structured } : ({ discarded: true } as const);
    return conclude(userId, conversationId, { status: 'completed', ...result }, heard, [
      'completed',
      'failed',
    ]);
  }

  /** Makes a provisional structure final, because no better one will come. */
  async function settle(userId: string, conversationId: string): Promise<void> {
    await storage.transaction('settle conversation', async tx => {
      const structured = (await tx.conversations.get(userId, conversationId))?.structured;
      if (!structured?.by) return;
      const by = { ...structured.by, provisional: false };
      await tx.conversations.update(userId, conversationId, { structured: { ...structured, by } });
    });
  }

  /** @param from allowed statuses before */
  async function conclude(
    userId: string,
    conversationId: string,
    result: Result,
    { memories, progress }: Heard = NOTHING_HEARD,
    from: ConversationStatus[] = ['processing'],
  ): Promise<boolean> {
    const found = await storage.conversations.get(userId, conversationId);
    if (!found || !from.includes(found.status)) return false;
    const indexed = { ...found, ...withOwners(result, found) };
    await index(storage, indexed); // before the transaction, which would block other writers; search finds it only after the commit
    const conversation = await storage.transaction('conclude conversation', async tx => {
      const current = await tx.conversations.get(userId, conversationId);
      const last = await tx.segments.last(userId, conversationId);
      const finishedAt = current?.finishedAt ?? endOfSpeech(current, last);
      const filed = current && (await filedIn(tx, current, result, clock.now()));
      const kept = current && 'structured' in result && hadNothing(current) ? { discarded: false } : {};
      const settled = current && 'structured' in result ? await settledIn(tx, current) : [];
      const owners = withOwners(result, current, settled);
      if (filed?.folderId && 'structured' in owners) owners.structured.filedIn = filed.folderId;
      const patch = { ...owners, ...filed, ...kept, finishedAt };
      const changed = await tx.conversations.update(userId, conversationId, patch, found.status);
      if (!current || !changed) return null;
      if ('structured' in result)
        await storeHeardIn(tx, current, result.structured.actionItems, settled, clock.now());
      const concluded = await rememberIn(tx, current, { ...current, ...patch }, memories, clock.now());
      if (result.status === 'completed') await suggestProgressIn(tx, current, progress, clock.now());
      if (found.status === 'processing' && concluded.structured.by?.provisional)
        await reprocessIn(tx, concluded, clock.now() + BETTER_AFTER_MS);
      if (concluded.structured.title !== indexed.structured.title) await indexTitle(tx, indexed, concluded);
      if (concluded.status === 'completed' && !concluded.discarded) {
        await tellOfConversationIn(tx, concluded, clock.now());
        await lookAtDayIn(tx, userId, clock.now());
      }
      return concluded;
    });
    if (!conversation) return false;
    events.emit('conversation.processed', { userId, conversation });
    return true;
  }

  return { complete, discard, fail, revise, settle };
}

/** Chooses the folder by subject, else by category, unless its owner has filed or discarded the conversation. */
async function filedIn(tx: Stores, conversation: Conversation, result: Result, now: number) {
  const { userId, folderId, discarded, structured: before } = conversation;
  const isFiled = folderId !== null && folderId !== before.filedIn;
  if (!('structured' in result) || isFiled || discarded) return {};
  const { category, folderId: found } = result.structured;
  const own = found == null ? null : await tx.folders.get(userId, found);
  return { folderId: own?.id ?? (await folderFor(tx, userId, category, now)) };
}

/** Stores the memories, and their ids in the structure. */
async function rememberIn(
  tx: Stores,
  before: Conversation,
  after: Conversation,
  memories: readonly HeardMemory[],
  now: number,
): Promise<Conversation> {
  if (after.status !== 'completed') return after;
  const ids = await storeHeardMemoriesIn(tx, before, memories, now);
  if (ids.length === 0 && !after.structured.memories) return after;
  const structured = { ...after.structured, memories: ids };
  await tx.conversations.update(after.userId, after.id, { structured });
  return { ...after, structured };
}

/** Keeps the owner's decisions: the title, the summary template and settled tasks. */
function withOwners(result: Result, conversation: Conversation | null, settled: string[] = []): Result {
  if (!('structured' in result) || !conversation) return result;
  const { title, titled, templateId } = conversation.structured;
  const owners = {
    ...(titled ? { title, titled } : {}),
    ...(templateId === undefined ? {} : { templateId }),
    ...(settled.length === 0 ? {} : { settledTasks: settled }),
  };
  return { ...result, structured: { ...result.structured, ...owners } };
}
