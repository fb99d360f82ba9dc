/**
 * Action items from conversations: each step inside a transaction of its caller. Their ids are derived from the conversation
 * and the text, so that processing it again creates no duplicates.
 */
import type { ActionItem, ActionItemDraft, Conversation } from '../../contract/model.ts';
import type { ActionItemFilter, Stores } from '../../contract/plugin.ts';
import { derivedId } from '../ids.ts';
import { followIn } from './reminders.ts';

/** Maximum open tasks that a new one is compared with: those due first, then the newest. */
const MAX_OPEN = 1000;
/** Maximum items of one conversation that are read; a run stores at most 50. */
const MAX_OF_CONVERSATION = 1000;

/** Maximum texts of settled tasks that a conversation keeps. */
const MAX_SETTLED = 200;
/** Share of common words from which two tasks count as the same. */
const REWORDED = 0.6;
/** Letters at the beginning by which words are compared, because inflected forms share them. */
const STEM_LETTERS = 5;

/**
 * Stores new drafts, and removes tasks of an earlier run that this one did not find, unless their owner has changed or
 * completed them. A draft that is worded like an open task, or like one of this conversation, is not stored again, nor is one
 * that its owner has settled, in these words or in others.
 * @param conversation as it was before this run: its structure contains the result of the earlier run
 * @param settled see `settledIn`
 */
export async function storeHeardIn(
  tx: Stores,
  conversation: Conversation,
  drafts: readonly ActionItemDraft[],
  settled: readonly string[],
  now: number,
): Promise<void> {
  const { userId, id } = conversation;
  const heard = new Map(drafts.map(draft => [heardId(conversation, draft), draft]));
  const before = await itemsOf(tx, userId, { conversationId: id, limit: MAX_OF_CONVERSATION });
  const isStale = (item: ActionItem) =>
    isUntouched(conversation, item) && heard.get(item.id)?.dueAt !== item.dueAt;
  for (const item of before.filter(isStale)) await takeBack(tx, item, now);

  const kept = before.filter(item => !isStale(item));
  const present = new Set(before.map(item => item.id));
  const deleted = conversation.structured.actionItems
    .map(draft => heardId(conversation, draft))
    .filter(known => !present.has(known));
  const done = new Set([...deleted, ...kept.map(item => item.id)]);
  const open = await openItemsOf(tx, userId);
  const worded = new Set([...kept, ...open].map(wording));
  const isSettled = ({ description }: ActionItemDraft) => settled.some(each => isReworded(each, description));
  for (const [itemId, draft] of heard)
    if (!done.has(itemId) && !worded.has(wording(draft)) && !isSettled(draft))
      await store(tx, { ...draft, id: itemId, userId, conversationId: id }, now);
}

/** Returns the original texts of tasks of a conversation that its owner has deleted, changed or completed since. */
export async function settledIn(tx: Stores, conversation: Conversation): Promise<string[]> {
  const { userId, id, structured } = conversation;
  const items = await itemsOf(tx, userId, { conversationId: id, limit: MAX_OF_CONVERSATION });
  const untouched = new Set(items.filter(item => isUntouched(conversation, item)).map(item => item.id));
  const present = new Set((await openItemsOf(tx, userId)).map(wording));
  const settled = structured.actionItems.filter(
    draft => !untouched.has(heardId(conversation, draft)) && !present.has(wording(draft)),
  );
  const all = [...(structured.settledTasks ?? []), ...settled.map(({ description }) => description)];
  return [...new Set(all)].slice(-MAX_SETTLED);
}

/** Removes the tasks of a conversation that nobody has changed since, as if it had not been processed yet. */
export async function takeBackHeardIn(tx: Stores, conversation: Conversation, now: number): Promise<void> {
  const { userId, id, structured } = conversation;
  const items = await itemsOf(tx, userId, { conversationId: id, limit: MAX_OF_CONVERSATION });
  const untouched = items.filter(item => isUntouched(conversation, item));
  for (const item of untouched) await takeBack(tx, item, now);
  const taken = new Set(untouched.map(item => item.id));
  const actionItems = structured.actionItems.filter(draft => !taken.has(heardId(conversation, draft)));
  await tx.conversations.update(userId, id, { structured: { ...structured, actionItems } });
}

function itemsOf(
  tx: Stores,
  userId: string,
  filter: Omit<ActionItemFilter, 'offset'>,
): Promise<ActionItem[]> {
  return tx.actionItems.list(userId, { ...filter, offset: 0 });
}

/** Asks for locked ones apart: together, all open tasks of the account would be read and sorted. */
async function openItemsOf(tx: Stores, userId: string): Promise<ActionItem[]> {
  const open = { completed: false, limit: MAX_OPEN };
  const items = await itemsOf(tx, userId, { ...open, locked: false });
  return [...items, ...(await itemsOf(tx, userId, { ...open, locked: true }))];
}

function heardId({ userId, id }: Conversation, draft: Pick<ActionItemDraft, 'description'>): string {
  return derivedId(`action item ${userId} ${id} ${wording(draft)}`);
}

/** Normalises a text: texts that only differ in case or punctuation are the same task. */
function wording({ description }: Pick<ActionItemDraft, 'description'>): string {
  const words = description
    .normalize('NFKC')
    .toLowerCase()
    .match(/[\p{L}\p{M}\p{N}]+/gu);
  return words?.join(' ') ?? description;
}

/** Returns whether most significant words of two texts are the same, in any order and with any endings. */
function isReworded(one: string, other: string): boolean {
  const [a, b] = [stemsOf(one), stemsOf(other)];
  const shared = [...a].filter(stem => b.has(stem)).length;
  return shared > 0 && shared / Math.max(a.size, b.size) >= REWORDED;
}

function stemsOf(text: string): Set<string> {
  const words = wording({ description: text }).split(' ');
  const telling = words.filter(word => word.length > 3 || /\P{Script=Latin}/u.test(word));
  return new Set(
    (telling.length > 0 ? telling : words).map(word => [...word].slice(0, STEM_LETTERS).join('')),
  );
}

/** Returns whether the pipeline created it from this conversation, and nobody has changed it since. */
function isUntouched(conversation: Conversation, item: ActionItem): boolean {
  const { createdAt, updatedAt, completed, locked } = item;
  return item.id === heardId(conversation, item) && createdAt === updatedAt && !completed && !locked;
}

async function store(
  tx: Stores,
  item: Pick<ActionItem, 'id' | 'userId' | 'conversationId'> & ActionItemDraft,
  now: number,
): Promise<void> {
  const after = {
    ...item,
    createdAt: now,
    updatedAt: now,
    completedAt: item.completed ? now : null,
    segmentId: item.segmentId ?? null,
    locked: false,
  };
  await tx.actionItems.insert([after]);
  await followIn(tx, { before: null, after, dueGiven: true }, now);
}

async function takeBack(tx: Stores, before: ActionItem, now: number): Promise<void> {
  await tx.actionItems.remove(before.userId, before.id);
  await followIn(tx, { before, after: null, dueGiven: false }, now);
}
