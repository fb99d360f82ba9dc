import { z } from 'zod';
import type { Clock, Conversation, RetentionRule, RetentionSettings } from '../../contract/model.ts';
import type { ExpiryFilter, Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { JobHandler } from '../../runtime/jobs.ts';
import type { Log } from '../../runtime/log.ts';
import type { Conversations } from '../conversations/conversations.ts';
import type { Photos } from '../photos/photos.ts';
import type { Accesses } from './accesses.ts';
import { ruleOf, ruleWords } from './retention-words.ts';

/** Deletes what a user's rules say; its key is the user. */
export const RETENTION_JOB = 'retention';

export const MAX_RULES = 50;
/** Maximum conversations or photos that one run of the job deletes, so that other jobs run in between. */
const DELETED_AT_ONCE = 50;
const DELIVERIES_AT_ONCE = 500;
const USERS_AT_ONCE = 500;
const MAX_EXAMPLES = 20;
const DAY_MS = 24 * 3_600_000;

const Payload = z.object({ userId: z.string() });

export type RetentionChoice = Omit<RetentionSettings, 'userId'>;

/** Number of items that a run would delete now. */
export interface RetentionPreview {
  conversations: number;
  photos: number;
  audioFiles: number;
  deliveries: number;
  /** The first conversations that would be deleted. */
  oldest: Conversation[];
}

/** Files of audio that no recogniser could transcribe. */
export interface UntranscribedAudio {
  /** Paths of a user's files that were written before this instant. */
  before(userId: string, before: number): Promise<string[]>;
  remove(path: string): Promise<void>;
}

export type Retention = ReturnType<typeof createRetention>;

/** Deletes data by users' retention rules, in the same way as they would themselves. */
export function createRetention({
  storage,
  accesses,
  clock,
  log,
  conversations,
  photos,
  audio,
}: {
  storage: Storage;
  accesses: Pick<Accesses, 'record'>;
  clock: Clock;
  log: Log;
  conversations: Pick<Conversations, 'remove'>;
  photos: Pick<Photos, 'remove'>;
  audio: UntranscribedAudio;
}) {
  const get = async (userId: string): Promise<RetentionChoice> => {
    const { keepStarred = true, rules = [] } = (await storage.privacy.retention(userId)) ?? {};
    return { keepStarred, rules };
  };

  /** `invalid_request` with the wrong rule, or `not_found` where its folder does not exist. */
  async function check(userId: string, { rules }: RetentionChoice): Promise<void> {
    if (rules.length > MAX_RULES)
      throw new AppError('invalid_request', `There are at most ${MAX_RULES} retention rules`);
    const folders = new Set((await storage.folders.list(userId)).map(({ id }) => id));
    const seen = new Set<string>();
    for (const { data, folderId } of rules) {
      const isFiled = data === 'conversations' || data === 'photos';
      if (folderId !== null && !isFiled)
        throw new AppError('invalid_request', `A rule for ${data} has no folder: they are in none`);
      if (folderId !== null && !folders.has(folderId)) throw new AppError('not_found', 'Folder not found');
      const place = `${data} ${folderId}`;
      if (seen.has(place))
        throw new AppError('invalid_request', `There are two rules for the same ${data}: keep one of them`);
      seen.add(place);
    }
  }

  async function put(userId: string, choice: RetentionChoice): Promise<RetentionChoice> {
    await check(userId, choice);
    await storage.privacy.putRetention({ userId, ...choice });
    return choice;
  }

  async function preview(userId: string, choice: RetentionChoice): Promise<RetentionPreview> {
    await check(userId, choice);
    const now = clock.now();
    const found: RetentionPreview = { conversations: 0, photos: 0, audioFiles: 0, deliveries: 0, oldest: [] };
    for (const filter of filtersOf(choice, 'conversations', now)) {
      found.conversations += await storage.conversations.countExpired(userId, filter);
      found.oldest.push(...(await storage.conversations.expired(userId, filter, MAX_EXAMPLES)));
    }
    for (const filter of filtersOf(choice, 'photos', now))
      found.photos += await storage.photos.countExpired(userId, filter);
    const [audioBefore, deliveriesBefore] = [
      limitOf(choice, 'audio', now),
      limitOf(choice, 'deliveries', now),
    ];
    if (audioBefore !== null) found.audioFiles = (await audio.before(userId, audioBefore)).length;
    if (deliveriesBefore !== null)
      found.deliveries = await storage.deliveries.countBefore(userId, deliveriesBefore);
    found.oldest = found.oldest.sort((a, b) => a.createdAt - b.createdAt).slice(0, MAX_EXAMPLES);
    return found;
  }

  /** Handler of `RETENTION_JOB`: deletes some, and runs again while there is more. */
  const run: JobHandler = async (job, signal) => {
    const { userId } = Payload.parse(job.payload);
    const choice = await get(userId);
    const now = clock.now();
    const deleted = {
      conversations: await removeConversations(userId, choice, now, signal),
      photos: await removePhotos(userId, choice, now, signal),
      audioFiles: await removeAudio(userId, choice, now),
      deliveries: await removeDeliveries(userId, choice, now),
    };
    if (Object.values(deleted).some(count => count > 0)) log.info(deleted, 'retention rules deleted data');
    for (const [data, count] of Object.entries(deleted)) {
      const what = { operation: 'retention', data, subject: null };
      if (count > 0)
        accesses.record({ userId, reader: 'server', readerId: null, via: 'server', ...what }, count);
    }
    const areMore =
      deleted.conversations >= DELETED_AT_ONCE ||
      deleted.photos >= DELETED_AT_ONCE ||
      deleted.deliveries >= DELIVERIES_AT_ONCE;
    return areMore ? { again: now } : undefined;
  };

  async function removeConversations(
    userId: string,
    choice: RetentionChoice,
    now: number,
    signal: AbortSignal,
  ): Promise<number> {
    let removed = 0;
    for (const filter of filtersOf(choice, 'conversations', now)) {
      const due = await storage.conversations.expired(userId, filter, DELETED_AT_ONCE - removed);
      for (const { id } of due) {
        if (signal.aborted) return removed;
        const present = await storage.conversations.get(userId, id);
        if (choice.keepStarred && present?.starred) continue; // changed since it was listed
        if (await isRemoved(conversations.remove(userId, id))) removed += 1;
      }
      if (removed >= DELETED_AT_ONCE) break;
    }
    return removed;
  }

  async function removePhotos(
    userId: string,
    choice: RetentionChoice,
    now: number,
    signal: AbortSignal,
  ): Promise<number> {
    let removed = 0;
    for (const filter of filtersOf(choice, 'photos', now)) {
      for (const { id } of await storage.photos.expired(userId, filter, DELETED_AT_ONCE - removed)) {
        if (signal.aborted) return removed;
        if (await isRemoved(photos.remove(userId, id))) removed += 1;
      }
      if (removed >= DELETED_AT_ONCE) break;
    }
    return removed;
  }

  async function removeAudio(userId: string, choice: RetentionChoice, now: number): Promise<number> {
    const before = limitOf(choice, 'audio', now);
    if (before === null) return 0;
    const paths = await audio.before(userId, before);
    for (const path of paths) await audio.remove(path);
    return paths.length;
  }

  async function removeDeliveries(userId: string, choice: RetentionChoice, now: number): Promise<number> {
    const before = limitOf(choice, 'deliveries', now);
    return before === null ? 0 : storage.deliveries.pruneOf(userId, before, DELIVERIES_AT_ONCE);
  }

  const foldersOf = (userId: string) => storage.folders.list(userId);

  return {
    get,
    put,
    preview,
    run,
    /** Reads rules as people write them, such as `conversations/Work=30`. `invalid_request`. */
    async rulesOf(userId: string, texts: readonly string[]): Promise<RetentionRule[]> {
      const folders = await foldersOf(userId);
      return texts.map(text => ruleOf(text, folders));
    },
    /** Writes rules as people write them. */
    async wordsOf(userId: string, rules: readonly RetentionRule[]): Promise<string[]> {
      const folders = await foldersOf(userId);
      return rules.map(rule => ruleWords(rule, folders));
    },
    /** Begins a run for each user who has rules. */
    async nightly(): Promise<void> {
      for (let after: string | null = null; ; ) {
        const users: string[] = await storage.privacy.withRetention(after, USERS_AT_ONCE);
        for (const userId of users)
          await storage.jobs.enqueue({
            kind: RETENTION_JOB,
            key: userId,
            runAt: clock.now(),
            payload: { userId },
          });
        after = users.at(-1) ?? null;
        if (users.length < USERS_AT_ONCE) return;
      }
    },
  };
}

/** Whether it was deleted. It may be gone already, or locked since it was listed. */
async function isRemoved(removing: Promise<unknown>): Promise<boolean> {
  try {
    await removing;
    return true;
  } catch (error) {
    if (error instanceof AppError && ['not_found', 'locked', 'conflict'].includes(error.code)) return false;
    throw error;
  }
}

/** Returns a filter for each rule; rules for folders come before the general one. */
function filtersOf({ keepStarred, rules }: RetentionChoice, data: RetentionRule['data'], now: number) {
  const own = rules.filter(rule => rule.data === data);
  const otherThan = own.flatMap(({ folderId }) => (folderId === null ? [] : [folderId]));
  return own.flatMap(({ folderId, days }): ExpiryFilter[] =>
    days === null ? [] : [{ before: now - days * DAY_MS, folderId, otherThan, keepStarred }],
  );
}

/** Returns the time before which data without a folder is deleted; null: it is kept. */
function limitOf({ rules }: RetentionChoice, data: RetentionRule['data'], now: number): number | null {
  const days = rules.find(rule => rule.data === data)?.days ?? null;
  return days === null ? null : now - days * DAY_MS;
}
