import { z } from 'zod';
import type { ActionItem, Clock } from '../../contract/model.ts';
import type { CalendarOutlet, PluginStateStore, RemoteCalendar, Storage } from '../../contract/plugin.ts';
import { AppError, toAppError } from '../../runtime/errors.ts';
import type { EventBus } from '../../runtime/events.ts';
import type { JobHandler } from '../../runtime/jobs.ts';
import type { Log } from '../../runtime/log.ts';
import { addressSchema, allowedAddress, parseAddress, secretFieldsOf } from '../addresses.ts';
import type { CheckUrl } from '../apps/hooks.ts';
import type { ActionItems } from '../tasks/action-items.ts';
import type { CalendarFeed } from './calendar-feed.ts';
import { digestOf, enclosed, isCompleted, mergedInto } from './entry-text.ts';
import { eventText, taskText } from './icalendar.ts';
import {
  CALENDAR_STATE,
  forgetEntries,
  readEntries,
  saveEntries,
  type WrittenEntry,
} from './written-entries.ts';

export const CALENDAR_JOB = 'calendar.sync';

/** Errors in opening a calendar that its user can correct: a wrong address or password, or a server that is down. */
const REFUSALS: ReadonlySet<string> = new Set(['config_error', 'upstream_error', 'unavailable', 'timeout']);
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Interval at which the calendar is read, for tasks that were completed there. */
const EVERY_MS = 15 * MINUTE_MS;
/** Delay after a change here, so that several in quick succession are written together. */
const SOON_MS = 2000;
const AGAIN_MS = MINUTE_MS;
/** Days for which an appointment is kept up to date in the calendar. */
const PAST_DAYS = 30;
const MAX_ENTRIES = 1000;
/** Maximum characters of an entry that are read. */
const MAX_TEXT_CHARS = 100_000;

const Account = z.object({
  outlet: z.string(),
  address: z.record(z.string(), z.unknown()),
  name: z.string(),
  connectedAt: z.number(),
  syncedAt: z.number().nullable(),
  failure: z.string().nullable(),
});
type Account = z.output<typeof Account>;

interface Wanted {
  uid: string;
  text: string;
  digest: string;
  task: ActionItem | null;
}

export interface CalendarAccount extends Omit<Account, 'address'> {
  /** The account, without its secrets. */
  address: Record<string, unknown>;
}

export type CalendarSync = ReturnType<typeof createCalendarSync>;

/**
 * Keeps the tasks and appointments of users in calendars elsewhere, and takes back which tasks were completed there.
 * Each entry has a UID of its own, so that none is there twice. Where an entry was changed on both sides, the completion
 * of the calendar counts first, and the rest is written over the newest version of the entry.
 */
export function createCalendarSync({
  storage,
  feed,
  actionItems,
  outlets,
  checkUrl,
  events,
  clock,
  log,
}: {
  storage: Pick<Storage, 'pluginState' | 'jobs'>;
  feed: Pick<CalendarFeed, 'events' | 'tasks'>;
  actionItems: Pick<ActionItems, 'get' | 'edit'>;
  /** Lists the plugins that run now. */
  outlets(): { name: string; outlet: CalendarOutlet }[];
  checkUrl: CheckUrl;
  events: EventBus;
  clock: Clock;
  log: Log;
}) {
  const { pluginState } = storage;

  async function accountOf(userId: string): Promise<{ account: Account; version: number } | null> {
    const stored = await pluginState.get(CALENDAR_STATE, userId);
    return stored && { account: Account.parse(stored.value), version: stored.version };
  }

  function outletOf(name: string): CalendarOutlet {
    const all = outlets();
    const found = all.find(each => each.name === name);
    if (found) return found.outlet;
    const names = all.map(each => each.name).join(', ') || 'none';
    throw new AppError(
      'invalid_request',
      `There is no calendar service ${JSON.stringify(name)}; there are: ${names}`,
    );
  }

  /** Opens a calendar. An error of the server is reported as invalid input, because the user chose its address. */
  async function opened(outlet: CalendarOutlet, address: Record<string, unknown>) {
    try {
      return await outlet.open(address, new AbortController().signal);
    } catch (cause) {
      if (!(cause instanceof AppError) || !REFUSALS.has(cause.code)) throw cause;
      const issues = [{ loc: ['body', 'address'], msg: cause.message, type: 'not_opened' }];
      throw new AppError('invalid_request', cause.message, { cause, issues });
    }
  }

  /** Replaces the previous account. Rejects where the calendar cannot be opened. */
  async function connect(
    userId: string,
    { service, address: given }: { service: string; address: Record<string, unknown> },
  ): Promise<CalendarAccount> {
    const outlet = outletOf(service);
    const address = allowedAddress(outlet, given, checkUrl);
    const remote = await opened(outlet, address);
    const before = await accountOf(userId);
    const account = {
      outlet: service,
      address,
      name: remote.name,
      connectedAt: clock.now(),
      syncedAt: null,
      failure: null,
    };
    if (!(await pluginState.compareAndSet(CALENDAR_STATE, userId, before?.version ?? 0, account)))
      throw new AppError('conflict', 'The calendar is being connected elsewhere at this moment');
    await forgetEntries(pluginState, userId);
    await plan(userId, 0);
    return shown(outlet, account);
  }

  /** Disconnects the account; its entries stay in the calendar. `not_found`. */
  async function disconnect(userId: string): Promise<void> {
    if (!(await accountOf(userId))) throw new AppError('not_found', 'No calendar is connected');
    await forgetCalendarIn({ pluginState }, userId);
    await storage.jobs.cancel(CALENDAR_JOB, userId);
  }

  async function get(userId: string): Promise<CalendarAccount | null> {
    const found = await accountOf(userId);
    return found && shown(outlets().find(({ name }) => name === found.account.outlet)?.outlet, found.account);
  }

  function plan(userId: string, delayMs: number): Promise<void> {
    return storage.jobs.enqueue({
      kind: CALENDAR_JOB,
      key: userId,
      runAt: clock.now() + delayMs,
      payload: { userId },
    });
  }

  /** Schedules a sync for now, and clears the last failure. `not_found`. */
  async function syncNow(userId: string): Promise<void> {
    if (!(await accountOf(userId))) throw new AppError('not_found', 'No calendar is connected');
    await note(userId, { failure: null });
    await plan(userId, 0);
  }

  /** Schedules a sync soon, where a calendar is connected. */
  function soon({ userId }: { userId: string }): void {
    accountOf(userId)
      .then(found => (found ? plan(userId, SOON_MS) : undefined))
      .catch(error => log.warn({ err: error }, 'a calendar is brought up to date later'));
  }

  function start(): void {
    events.on('changed', soon);
    events.on('conversation.processed', soon);
  }

  function stop(): void {
    events.off('changed', soon);
    events.off('conversation.processed', soon);
  }

  const sync: JobHandler = async (job, signal) => {
    const { userId } = z.object({ userId: z.string() }).parse(job.payload);
    const found = await accountOf(userId);
    if (!found) return;
    const { account } = found;
    try {
      const outlet = outletOf(account.outlet);
      const remote = await outlet.open(parseAddress(outlet, account.address), signal);
      const hasConflict = await bringUpToDate(userId, remote, signal);
      await note(userId, { syncedAt: clock.now(), failure: null });
      return { again: clock.now() + (hasConflict ? AGAIN_MS : EVERY_MS) };
    } catch (error) {
      signal.throwIfAborted();
      const { code, expose, message } = toAppError(error);
      log.info({ code }, 'a calendar could not be brought up to date');
      await note(userId, { failure: expose ? message : 'The calendar could not be reached' });
      return { again: clock.now() + EVERY_MS };
    }
  };

  async function note(userId: string, changes: Partial<Account>): Promise<void> {
    const found = await accountOf(userId);
    if (found)
      await pluginState.compareAndSet(CALENDAR_STATE, userId, found.version, {
        ...found.account,
        ...changes,
      });
  }

  /** Resolves to whether an entry was changed in the calendar meanwhile, so that another sync is needed. */
  async function bringUpToDate(
    userId: string,
    remote: RemoteCalendar,
    signal: AbortSignal,
  ): Promise<boolean> {
    const entries = await readEntries(pluginState, userId);
    const listed = new Map((await remote.list()).map(({ uid, etag }) => [uid, etag]));
    const wanted = await wantedOf(userId, remote, entries);
    const isNews = (uid: string) => listed.has(uid) && entries.get(uid)?.etag !== listed.get(uid);
    const texts = new Map<string, string>();
    for (const { uid, etag, text } of await remote.read([...wanted.keys()].filter(isNews))) {
      listed.set(uid, etag);
      texts.set(uid, text.slice(0, MAX_TEXT_CHARS));
    }
    for (const [uid, text] of texts)
      await takeBack(userId, uid, text, { entries, wanted, etag: listed.get(uid) ?? null });

    let hasConflict = false;
    try {
      for (const { uid, text, digest, task } of wanted.values()) {
        signal.throwIfAborted();
        const [known, etag] = [entries.get(uid), listed.get(uid) ?? null];
        if (known && etag === null) entries.set(uid, { ...known, isGone: true });
        else if (known?.digest !== digest || known.isGone) {
          const merged =
            etag === null ? text : mergedInto(texts.get(uid) ?? (await textOf(remote, uid)), text);
          const written = await remote.write(uid, merged, etag).catch(conflicted);
          if (written === false) hasConflict = true;
          else
            entries.set(uid, { etag: written, digest, completed: task?.completed ?? false, isGone: false });
        }
      }
      for (const uid of [...entries.keys()].filter(each => !wanted.has(each))) {
        signal.throwIfAborted();
        const etag = listed.get(uid);
        const removed = etag === undefined ? undefined : await remote.remove(uid, etag).catch(conflicted);
        if (removed === false) hasConflict = true;
        else entries.delete(uid);
      }
    } finally {
      await saveEntries(pluginState, userId, entries);
    }
    return hasConflict;
  }

  async function wantedOf(
    userId: string,
    { takesTasks }: RemoteCalendar,
    entries: ReadonlyMap<string, WrittenEntry>,
  ): Promise<Map<string, Wanted>> {
    const wanted = new Map<string, Wanted>();
    const from = clock.now() - PAST_DAYS * DAY_MS;
    if (takesTasks)
      for await (const task of feed.tasks(userId)) {
        const each = wantedTask(task);
        if (wanted.size < MAX_ENTRIES && (!task.completed || entries.has(each.uid)))
          wanted.set(each.uid, each);
      }
    for await (const event of feed.events(userId)) {
      const text = enclosed(eventText(event));
      if (wanted.size < MAX_ENTRIES && (event.startAt >= from || entries.has(event.uid)))
        wanted.set(event.uid, { uid: event.uid, text, digest: digestOf(text), task: null });
    }
    return wanted;
  }

  /** Completes or reopens a task as in the calendar, unless it was changed here as well. */
  async function takeBack(
    userId: string,
    uid: string,
    text: string,
    {
      entries,
      wanted,
      etag,
    }: { entries: Map<string, WrittenEntry>; wanted: Map<string, Wanted>; etag: string | null },
  ): Promise<void> {
    const was = wanted.get(uid);
    const task = was?.task;
    const known = entries.get(uid);
    const completed = isCompleted(text);
    if (known) entries.set(uid, { ...known, etag });
    const before = known?.completed ?? false;
    if (!task || completed === null || completed === before || task.completed !== before) return;
    const edited = await actionItems.edit(userId, task.id, { completed }).catch(error => {
      log.info({ err: error }, 'a task that was completed in a calendar is not here any more');
      return null;
    });
    if (!edited) return;
    const now = wantedTask(edited);
    wanted.set(uid, now);
    const isSame = was?.digest === known?.digest; // otherwise it was changed here as well, and is written
    entries.set(uid, { etag, digest: isSame ? now.digest : '', completed, isGone: false });
  }

  return {
    connect,
    disconnect,
    get,
    syncNow,
    sync,
    start,
    stop,
    services: () => outlets().map(({ name }) => name),
  };
}

/** Forgets a user's calendar, in the transaction that removes the account or on its own. */
export async function forgetCalendarIn(
  { pluginState }: { pluginState: PluginStateStore },
  userId: string,
): Promise<void> {
  await forgetEntries(pluginState, userId);
  await pluginState.delete(CALENDAR_STATE, userId);
}

function shown(outlet: CalendarOutlet | undefined, { address, ...account }: Account): CalendarAccount {
  const known = outlet ? Object.keys(addressSchema(outlet).properties ?? {}) : [];
  const secret = outlet ? secretFieldsOf(outlet) : new Set();
  const isPublic = ([field]: [string, unknown]) => known.includes(field) && !secret.has(field);
  return { ...account, address: Object.fromEntries(Object.entries(address).filter(isPublic)) };
}

function wantedTask(task: ActionItem): Wanted {
  const text = enclosed(taskText(task));
  return { uid: `task-${task.id}@earshot`, text, digest: digestOf(text), task };
}

async function textOf(remote: RemoteCalendar, uid: string): Promise<string> {
  return (await remote.read([uid]))[0]?.text.slice(0, MAX_TEXT_CHARS) ?? '';
}

/** False: the entry was changed in the calendar meanwhile. */
function conflicted(error: unknown): false {
  if (toAppError(error).code === 'conflict') return false;
  throw error;
}
