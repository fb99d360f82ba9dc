/** Stored summaries of days, one for each user and day. */
import { z } from 'zod';
import type { PluginStateStore, Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';

/** Key for core's own state, which no plugin's name can equal. */
export const DAY_SUMMARIES = 'core.day-summary';
/** Maximum conversations, and tasks, in one summary. */
const MAX_IDS = 300;

const DaySummary = z.object({
  summary: z.string(),
  timeZone: z.string(),
  /** Epoch ms. */
  createdAt: z.number(),
  conversationIds: z.array(z.string()),
  actionItemIds: z.array(z.string()),
});
export type DaySummary = z.output<typeof DaySummary> & {
  /** `YYYY-MM-DD` in the time zone. */
  day: string;
};

export type DaySummaries = ReturnType<typeof createDaySummaries>;

export function createDaySummaries({ storage }: { storage: Pick<Storage, 'pluginState'> }) {
  async function find(userId: string, day: string): Promise<DaySummary | null> {
    const stored = await storage.pluginState.get(ownerOf(userId), day);
    return stored && { day, ...DaySummary.parse(stored.value) };
  }

  async function* read(userId: string, days: readonly string[]): AsyncGenerator<DaySummary> {
    for (const day of days) {
      const found = await find(userId, day);
      if (found) yield found;
    }
  }

  return {
    /** Lists summaries, the latest day first, reading each on demand. */
    async list(
      userId: string,
      { limit, offset }: { limit: number; offset: number },
    ): Promise<AsyncGenerator<DaySummary>> {
      const days = await storage.pluginState.list(ownerOf(userId), '');
      return read(userId, days.toReversed().slice(offset, offset + limit));
    },
    /** `not_found`. */
    async get(userId: string, day: string): Promise<DaySummary> {
      const found = DAY.test(day) ? await find(userId, day) : null;
      if (!found) throw new AppError('not_found', 'Daily summary not found');
      return found;
    },
  };
}
const DAY = /^\d{4}-\d\d-\d\d$/;

/** Stores a day's summary in the caller's transaction; an earlier summary of that day is kept in front of it. */
export async function addDaySummaryIn(
  { pluginState }: { pluginState: PluginStateStore },
  userId: string,
  { day, ...fresh }: DaySummary,
): Promise<void> {
  const owner = ownerOf(userId);
  const stored = await pluginState.get(owner, day);
  const before = stored && DaySummary.parse(stored.value);
  const after = before ? joined(before, fresh) : fresh;
  if (!(await pluginState.compareAndSet(owner, day, stored?.version ?? 0, after)))
    throw new AppError('conflict', 'Another process is summarising this day');
}

/** Deletes a user's summaries and their progress. */
export async function forgetDaySummariesIn(
  { pluginState }: { pluginState: PluginStateStore },
  userId: string,
): Promise<void> {
  const owner = ownerOf(userId);
  for (const day of await pluginState.list(owner, '')) await pluginState.delete(owner, day);
  await pluginState.delete(DAY_SUMMARIES, userId);
}

type Stored = z.output<typeof DaySummary>;

function joined(before: Stored, fresh: Stored): Stored {
  const union = (one: string[], other: string[]) => [...new Set([...one, ...other])].slice(0, MAX_IDS);
  return {
    ...fresh,
    summary: `${before.summary}\n\n${fresh.summary}`,
    conversationIds: union(before.conversationIds, fresh.conversationIds),
    actionItemIds: union(before.actionItemIds, fresh.actionItemIds),
  };
}

/** Key prefix of one user, so that lists read no one else's summaries. */
function ownerOf(userId: string): string {
  return `${DAY_SUMMARIES}/${userId}`;
}
