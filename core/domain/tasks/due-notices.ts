/** Notifies users of due dates: handles the two kinds of jobs that `reminders.ts` enqueues. */
import { z } from 'zod';
import type { ActionItem, Clock } from '../../contract/model.ts';
import type { Storage, Stores } from '../../contract/plugin.ts';
import type { JobHandler } from '../../runtime/jobs.ts';
import type { Notifications, Telling } from '../notifications/notifications.ts';
import { toldTime } from '../wall-clock.ts';
import type { Notice } from './reminders.ts';

const NoticePayload = z.object({
  type: z.enum(['action_item_update', 'action_item_delete']),
  userId: z.string(),
  id: z.string(),
  description: z.string(),
  completed: z.boolean(),
  dueAt: z.number().nullable(),
}) satisfies z.ZodType<Notice>;
const ReminderPayload = z.object({ userId: z.string(), id: z.string() });

const RULES = {
  action_item_update: 'The due date of a task was set or changed',
  action_item_delete: 'A task with a due date was done, removed, or has no due date any more',
  action_item_reminder: 'A task is due',
} as const;

interface Due {
  id: string;
  description: string;
  dueAt: number | null;
}

/** The handlers of `NOTICE_JOB` and `REMINDER_JOB`. They notify in the transaction that ends the job, and so exactly once. */
export function createDueNotices({
  storage,
  clock,
  notifications,
}: {
  storage: Storage;
  clock: Clock;
  notifications: Pick<Notifications, 'tellIn' | 'settings'>;
}): { notice: JobHandler; reminder: JobHandler } {
  async function tellingOf(userId: string, event: keyof typeof RULES, due: Due): Promise<Telling> {
    const { timeZone } = await notifications.settings(userId);
    const at = due.dueAt === null ? '' : toldTime(due.dueAt, timeZone);
    const titles = {
      action_item_update: `Due ${at}`,
      action_item_delete: 'No longer due',
      action_item_reminder: at === '' ? 'Due now' : `Due now (${at})`,
    };
    return {
      appId: null,
      event,
      rule: RULES[event],
      title: titles[event],
      text: due.description,
      data: {
        id: due.id,
        description: due.description,
        due_at: due.dueAt === null ? null : new Date(due.dueAt).toISOString(),
      },
    };
  }

  async function notice(job: Parameters<JobHandler>[0]): ReturnType<JobHandler> {
    const { userId, type, ...due } = NoticePayload.parse(job.payload);
    const telling = await tellingOf(userId, type, due);
    return {
      async commit(tx) {
        await notifications.tellIn(tx, userId, telling);
      },
    };
  }

  /** Decides by the current state of the task, which may have been changed, completed, removed or locked meanwhile. */
  async function reminder(job: Parameters<JobHandler>[0]): ReturnType<JobHandler> {
    const { userId, id } = ReminderPayload.parse(job.payload);
    const item = await awaited(storage, userId, id);
    if (!item) return;
    if (item.dueAt > clock.now()) return { again: item.dueAt };
    const telling = await tellingOf(userId, 'action_item_reminder', item);
    return {
      async commit(tx) {
        const still = await awaited(tx, userId, id); // it may have been moved since: then its new job notifies
        if (still?.dueAt === item.dueAt) await notifications.tellIn(tx, userId, telling);
      },
    };
  }

  return { notice, reminder };
}

/** Returns the item if it is open and has a due date; else null. */
async function awaited(
  stores: Pick<Stores, 'actionItems'>,
  userId: string,
  id: string,
): Promise<(ActionItem & { dueAt: number }) | null> {
  const item = await stores.actionItems.get(userId, id);
  if (!item || item.completed || item.locked || item.dueAt === null) return null;
  return { ...item, dueAt: item.dueAt };
}
