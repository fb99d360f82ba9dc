import type { AccessEntry, Clock } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import type { Log } from '../../runtime/log.ts';
import { isId, newId } from '../ids.ts';

/** Maximum number and age of entries that are kept for one user. */
const MAX_KEPT = 5000;
const KEPT_MS = 90 * 24 * 3_600_000;
/** Entries in memory past which reads of single items are counted together. */
const MAX_SINGLE = 10_000;
/** Entries in memory past which further reads are not recorded. */
const MAX_NOTED = 20_000;
const ROWS_AT_ONCE = 200;

/** One read. */
export type Access = Pick<
  AccessEntry,
  'userId' | 'reader' | 'readerId' | 'via' | 'operation' | 'data' | 'subject'
>;

type Noted = Omit<AccessEntry, 'id'>;

/** Entry with the present name of its key or app; null: none, or deleted. */
export type NamedAccess = AccessEntry & { readerName: string | null };

export type Accesses = ReturnType<typeof createAccesses>;

/** Log of who read data of a user. A read is recorded in memory, and stored within a minute. */
export function createAccesses({
  storage,
  clock,
  log,
}: {
  storage: Storage;
  clock: Pick<Clock, 'now'>;
  log: Log;
}) {
  let noted = new Map<string, Noted>();
  let lost = 0;
  let flushing: Promise<void> = Promise.resolve();

  /** @param count number of reads, or of items that were read */
  function record(given: Access, count = 1): void {
    const access = noted.size < MAX_SINGLE ? given : { ...given, subject: null };
    const { userId, reader, readerId, via, operation, data, subject } = access;
    const key = [userId, reader, readerId, via, operation, data, subject].join(' ');
    const known = noted.get(key);
    const now = clock.now();
    if (known) {
      known.count += count;
      known.lastAt = now;
    } else if (noted.size < MAX_NOTED) noted.set(key, { ...access, count, firstAt: now, lastAt: now });
    else lost += 1;
  }

  async function store(): Promise<void> {
    const entries = [...noted.values()];
    noted = new Map();
    if (lost > 0) log.warn({ reads: lost }, 'too many reads at once: some are missing from the access log');
    lost = 0;
    for (let at = 0; at < entries.length; at += ROWS_AT_ONCE) {
      const some = entries.slice(at, at + ROWS_AT_ONCE);
      try {
        await storage.privacy.addAccesses(some.map(entry => ({ ...entry, id: newId(clock.now()) })));
      } catch (error) {
        for (const entry of entries.slice(at)) restore(entry);
        throw error;
      }
    }
  }

  /** Puts an entry back into memory, to be stored the next time. */
  function restore(entry: Noted): void {
    const { userId, reader, readerId, via, operation, data, subject, count } = entry;
    record({ userId, reader, readerId, via, operation, data, subject }, count);
  }

  /** Stores the recorded entries. */
  function flush(): Promise<void> {
    const storing = flushing.then(store);
    flushing = storing.catch(() => {});
    return storing;
  }

  return {
    record,
    flush,

    /** Newest first. An unknown id to start from gives none. */
    async list(
      userId: string,
      page: { beforeId?: string | undefined; limit: number },
    ): Promise<NamedAccess[]> {
      if (page.beforeId !== undefined && !isId(page.beforeId)) return [];
      if (page.beforeId === undefined) await flush();
      const entries = await storage.privacy.accesses(userId, page);
      const names = new Map((await storage.keys.list(userId)).map(({ id, name }) => [id, name]));
      for (const { reader, readerId } of entries)
        if (reader === 'app' && readerId !== null && !names.has(readerId))
          names.set(readerId, (await storage.apps.get(readerId))?.name ?? '');
      return entries.map(entry => ({ ...entry, readerName: names.get(entry.readerId ?? '') || null }));
    },

    /** Called each night: deletes entries past the maximum number and age. */
    async prune(): Promise<void> {
      const { privacy } = storage;
      while ((await privacy.pruneAccesses(clock.now() - KEPT_MS, ROWS_AT_ONCE)) === ROWS_AT_ONCE);
      while ((await privacy.trimAccesses(MAX_KEPT, ROWS_AT_ONCE)) === ROWS_AT_ONCE);
    },
  };
}
