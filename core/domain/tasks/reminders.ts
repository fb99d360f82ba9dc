/**
 * Enqueues notifications of due dates, inside a transaction of the caller: two kinds of durable jobs. Their key is the
 * item, so each item has at most one of each kind, however often it changes before delivery.
 */
import type { ActionItem } from '../../contract/model.ts';
import type { Stores } from '../../contract/plugin.ts';

/** Job that is due at once, with a `Notice`. */
export const NOTICE_JOB = 'action_item.notice';
/** Job at the due date of an open item, with `{ userId, id }`. Its handler reads the item again. */
export const REMINDER_JOB = 'action_item.reminder';

/** Notice for apps, which keep their own reminders: an update sets or moves one, a delete removes it. */
export interface Notice extends Record<string, unknown> {
  type: 'action_item_update' | 'action_item_delete';
  userId: string;
  id: string;
  description: string;
  completed: boolean;
  /** Epoch ms. */
  dueAt: number | null;
}

/** Change of an item; null: it does not exist before, or after. */
export interface Change {
  before: ActionItem | null;
  after: ActionItem | null;
  /** Whether the due date was given, even if it is the same as before. */
  dueGiven: boolean;
}

export async function followIn(tx: Stores, change: Change, now: number): Promise<void> {
  const item = change.after ?? change.before;
  if (!item) return;
  const type = noticeOf(change);
  if (type)
    await tx.jobs.enqueue({ kind: NOTICE_JOB, key: item.id, runAt: now, payload: notice(type, item) });
  await remind(tx, item, change, now);
}

function noticeOf({ before, after, dueGiven }: Change): Notice['type'] | null {
  const [was, is] = [awaitedAt(before) !== null, awaitedAt(after) !== null];
  if (after && after.dueAt !== null && (dueGiven || (is && !was))) return 'action_item_update';
  return was && !is ? 'action_item_delete' : null;
}

function notice(type: Notice['type'], { userId, id, description, completed, dueAt }: ActionItem): Notice {
  return { type, userId, id, description, completed, dueAt };
}

/** Moves the reminder. A due date in the past gets none. */
async function remind(tx: Stores, { userId, id }: ActionItem, change: Change, now: number): Promise<void> {
  const [before, after] = [awaitedAt(change.before), awaitedAt(change.after)];
  if (before === after) return;
  if (before !== null) await tx.jobs.cancel(REMINDER_JOB, id);
  if (after !== null && after > now)
    await tx.jobs.enqueue({ kind: REMINDER_JOB, key: id, runAt: after, payload: { userId, id } });
}

/** When it is to be done, if it still is. */
function awaitedAt(item: ActionItem | null): number | null {
  return item && !item.completed ? item.dueAt : null;
}
