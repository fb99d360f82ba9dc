import type { ActionItem, ActionItemDraft, Clock } from '../../contract/model.ts';
import type { ActionItemFilter, ActionItemPatch, Storage, Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Change, EventBus } from '../../runtime/events.ts';
import { checkExpected } from '../expected.ts';
import { isId, newId } from '../ids.ts';
import { followIn } from './reminders.ts';

/** Absent: unchanged. */
export interface ActionItemEdit {
  description?: string;
  completed?: boolean;
  /** Null: none. */
  dueAt?: number | null;
  /** Values that the change is based on: `conflict` if they have changed. */
  expected?: { description?: string; dueAt?: number | null };
}

export type ActionItems = ReturnType<typeof createActionItems>;

/**
 * Writes action items for people and programs; `heard-tasks.ts` writes those of the pipeline. The transaction that sets a due
 * date also enqueues notices and reminders. A locked item is left out of lists, not found, and not changed (`locked`).
 */
export function createActionItems({
  storage,
  clock,
  events,
}: {
  storage: Storage;
  clock: Clock;
  events: EventBus;
}) {
  /** Lists open items before done ones; within each by due date, then those without one, newest first. */
  async function list(userId: string, filter: Omit<ActionItemFilter, 'locked'>): Promise<ActionItem[]> {
    if (filter.conversationId !== undefined && !isId(filter.conversationId)) return [];
    return storage.actionItems.list(userId, { ...filter, locked: false });
  }

  /** `not_found`. */
  async function get(userId: string, id: string): Promise<ActionItem> {
    const found = await find(storage, userId, id);
    if (found.locked) throw notFound();
    return found;
  }

  /**
   * Creates all items or none, in the given order.
   * @param conversationId conversation that they come from; null: none
   */
  async function create(
    userId: string,
    drafts: readonly ActionItemDraft[],
    conversationId: string | null = null,
  ): Promise<ActionItem[]> {
    const now = clock.now();
    const items = drafts.map(draft => itemOf(userId, draft, conversationId, now));
    await storage.transaction('create action items', async tx => {
      await tx.actionItems.insert(items);
      for (const after of items) await followIn(tx, { before: null, after, dueGiven: true }, now);
    });
    for (const { id } of items) tell(userId, id, 'created');
    return items;
  }

  /** Changes an item; of two simultaneous edits both apply. `not_found`, `locked`. */
  async function edit(
    userId: string,
    id: string,
    { expected, ...changes }: ActionItemEdit,
  ): Promise<ActionItem> {
    const now = clock.now();
    const edited = await storage.transaction('edit action item', async tx => {
      const before = await writable(tx, userId, id);
      checkExpected(shownOf(before), expected && shownOf(expected), shownOf(changes));
      const updatedAt = Math.max(now, before.updatedAt + 1); // clients take an equal time for no change
      const patch = { ...changes, ...completion(before, changes, now), updatedAt };
      const after = { ...before, ...patch };
      await tx.actionItems.update(userId, id, patch);
      await followIn(tx, { before, after, dueGiven: changes.dueAt !== undefined }, now);
      return after;
    });
    tell(userId, id, 'changed');
    return edited;
  }

  /** Deletes an item permanently. `not_found`, `locked`. */
  async function remove(userId: string, id: string): Promise<void> {
    const now = clock.now();
    await storage.transaction('delete action item', async tx => {
      const before = await writable(tx, userId, id);
      await tx.actionItems.remove(userId, id);
      await followIn(tx, { before, after: null, dueGiven: false }, now);
    });
    tell(userId, id, 'removed');
  }

  function tell(userId: string, id: string, change: Change): void {
    events.emit('changed', { userId, kind: 'action_item', id, change });
  }

  return { list, get, create, edit, remove };
}

/** Fields that can be expected, as the interface shows them. */
function shownOf({ description, dueAt }: Pick<ActionItemEdit, 'description' | 'dueAt'>) {
  return {
    ...(description !== undefined && { description }),
    ...(dueAt !== undefined && { due_at: dueAt === null ? null : new Date(dueAt).toISOString() }),
  };
}

function itemOf(
  userId: string,
  { description, completed, dueAt }: ActionItemDraft,
  conversationId: string | null,
  now: number,
): ActionItem {
  return {
    id: newId(now),
    userId,
    description,
    completed,
    createdAt: now,
    updatedAt: now,
    dueAt,
    completedAt: completed ? now : null,
    conversationId,
    segmentId: null,
    locked: false,
  };
}

/** Sets or clears the time of completion; a completed item keeps its time. */
function completion(
  { completedAt }: ActionItem,
  { completed }: ActionItemEdit,
  now: number,
): ActionItemPatch {
  if (completed === undefined) return {};
  return { completedAt: completed ? (completedAt ?? now) : null };
}

async function writable(tx: Stores, userId: string, id: string): Promise<ActionItem> {
  const found = await find(tx, userId, id);
  if (found.locked) throw new AppError('locked', 'Action item is locked');
  return found;
}

async function find(stores: Stores, userId: string, id: string): Promise<ActionItem> {
  const found = isId(id) ? await stores.actionItems.get(userId, id) : null;
  if (!found) throw notFound();
  return found;
}

function notFound(): AppError {
  return new AppError('not_found', 'Action item not found');
}
