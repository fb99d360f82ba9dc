/** Stores which entries were last written to a user's calendar. */
import { hash } from 'node:crypto';
import { z } from 'zod';
import type { PluginStateStore } from '../../contract/plugin.ts';

/** Key for core's own state, which no plugin's name can equal. */
export const CALENDAR_STATE = 'core.calendar';

/** The last written state of an entry. `isGone`: it was deleted in the calendar, and is not written again. */
const WrittenEntry = z.object({
  etag: z.string().nullable(),
  digest: z.string(),
  completed: z.boolean(),
  isGone: z.boolean(),
});
export type WrittenEntry = z.output<typeof WrittenEntry>;
const Shard = z.record(z.string(), WrittenEntry);

/**
 * Entries are stored in several values, selected by the last digit of the digest of their UID, because the size of a
 * value is limited.
 */
const shardOf = (uid: string) => hash('sha256', uid).slice(-1);

export async function readEntries(
  pluginState: PluginStateStore,
  userId: string,
): Promise<Map<string, WrittenEntry>> {
  const entries = new Map<string, WrittenEntry>();
  for (const key of await pluginState.list(`${CALENDAR_STATE}/${userId}`, '')) {
    const stored = await pluginState.get(`${CALENDAR_STATE}/${userId}`, key);
    for (const [uid, known] of Object.entries(Shard.parse(stored?.value ?? {}))) entries.set(uid, known);
  }
  return entries;
}

export async function saveEntries(
  pluginState: PluginStateStore,
  userId: string,
  entries: ReadonlyMap<string, WrittenEntry>,
): Promise<void> {
  const owner = `${CALENDAR_STATE}/${userId}`;
  const shards = new Map<string, Record<string, WrittenEntry>>();
  for (const key of await pluginState.list(owner, '')) shards.set(key, {});
  for (const [uid, known] of entries) {
    const shard = shards.get(shardOf(uid)) ?? {};
    shards.set(shardOf(uid), { ...shard, [uid]: known });
  }
  for (const [key, shard] of shards) {
    const stored = await pluginState.get(owner, key);
    if (JSON.stringify(stored?.value) !== JSON.stringify(shard))
      await pluginState.compareAndSet(owner, key, stored?.version ?? 0, shard);
  }
}

export async function forgetEntries(pluginState: PluginStateStore, userId: string): Promise<void> {
  const owner = `${CALENDAR_STATE}/${userId}`;
  for (const key of await pluginState.list(owner, '')) await pluginState.delete(owner, key);
}
