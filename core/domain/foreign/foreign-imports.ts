import type { Clock, ForeignImport, ForeignItem, User } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Conversations } from '../conversations/conversations.ts';
import { OWN_FORMAT } from '../export/import.ts';
import { newId } from '../ids.ts';
import type { Recordings } from '../recordings/recordings.ts';
import { noteIn } from '../search/embedding.ts';
import { followIn } from '../tasks/reminders.ts';
import type { ForeignSource } from './foreign-item.ts';
import { createForeignStore, idOfThing, type Run } from './foreign-store.ts';

/** Items between two updates of a run's progress. */
const NOTED_EVERY = 500;
const UNDONE_AT_ONCE = 250;
const MAX_LISTED = 100;
/** Minimum length of the beginning or end of an id that identifies it. */
const MIN_PART_CHARS = 8;
/** Counts skipped items of the same kind, which are reported once. */
const MAX_NOTES = 50;

/** The result of a run, or of its dry run. */
export interface ForeignOutcome {
  /** Null: nothing was changed. */
  id: string | null;
  format: string;
  counts: Record<string, number>;
  /** Items that were imported before. */
  known: number;
  /** Items that were not imported, with the reason and their number. */
  leftOut: { what: string; why: string; count: number }[];
}

export type ForeignImports = ReturnType<typeof createForeignImports>;

/**
 * Imports a user's data from another product. Everything is read and checked before anything is stored; when storing
 * fails, what was stored is removed. Other work continues meanwhile.
 */
export function createForeignImports({
  storage,
  clock,
  conversations,
  recordings,
}: {
  storage: Storage;
  clock: Clock;
  conversations: Pick<Conversations, 'remove'>;
  recordings: Pick<Recordings, 'add' | 'find' | 'remove'>;
}) {
  const foreign = createForeignStore(storage, recordings);

  /** Reads everything, and changes nothing. */
  async function check(user: User, source: ForeignSource, onProgress: (done: number) => void) {
    const outcome = startOf(source);
    const seen = new Set<string>();
    let done = 0;
    for await (const thing of source.things()) {
      onProgress(++done);
      if (thing.kind === 'left_out') {
        noteLeftOut(outcome, thing);
        continue;
      }
      const id = idOfThing(user.id, thing);
      if (seen.has(id) || (await foreign.isThere(user.id, thing))) outcome.known += 1;
      else {
        seen.add(id);
        count(outcome, thing.kind);
        if (thing.kind === 'conversation') for (const _ of thing.tasks) count(outcome, 'task');
      }
    }
    if (done === 0) throw new AppError('invalid_request', `${source.name} has nothing in it`);
    return outcome;
  }

  /** @throws {AppError} `invalid_request` that names the file and what is wrong with it; nothing is stored then */
  async function take(user: User, source: ForeignSource, onProgress: (done: number) => void = () => {}) {
    const checked = await check(user, source, () => {});
    const now = clock.now();
    const run: Run = { userId: user.id, importId: newId(now) };
    const outcome = { ...startOf(source), leftOut: checked.leftOut, id: run.importId };
    const { format, name } = source;
    await storage.foreignImports.insert({
      id: run.importId,
      userId: user.id,
      format,
      name,
      state: 'running',
      counts: {},
      startedAt: now,
      endedAt: null,
    });
    try {
      let done = 0;
      for await (const thing of source.things()) {
        if (thing.kind === 'left_out') continue;
        for (const stored of await foreign.store(run, thing, clock.now()))
          if (stored === null) outcome.known += 1;
          else count(outcome, stored);
        onProgress(++done);
        if (done % NOTED_EVERY === 0) await update(run, { counts: outcome.counts });
      }
      await update(run, { counts: outcome.counts, state: 'done', endedAt: clock.now() });
    } catch (error) {
      await removeItems(run, 'failed');
      throw error;
    }
    return outcome;
  }

  function update({ userId, importId }: Run, patch: Partial<ForeignImport>) {
    return storage.foreignImports.update(userId, importId, patch);
  }

  /** Removes the items of an import. Returns their number by kind. `not_found`, `conflict`. */
  async function undo(user: User, id: string): Promise<Record<string, number>> {
    const found = (await storage.foreignImports.list(user.id, MAX_LISTED)).filter(
      run => run.id === id || (id.length >= MIN_PART_CHARS && (run.id.endsWith(id) || run.id.startsWith(id))),
    );
    const [run] = found;
    if (!run || found.length > 1)
      throw new AppError(
        'not_found',
        `There is no import ${id}, or several match: earshot import --user ${user.name} --list shows all`,
      );
    requireUndoable(run);
    return removeItems({ userId: user.id, importId: run.id }, 'undone');
  }

  async function removeItems(run: Run, state: 'undone' | 'failed'): Promise<Record<string, number>> {
    const { userId, importId } = run;
    await update(run, { state: 'undoing' });
    const counts: Record<string, number> = {};
    const people: string[] = [];
    for (;;) {
      const items = await storage.foreignImports.items(userId, importId, UNDONE_AT_ONCE);
      for (const item of items) {
        if (item.kind === 'person') people.push(item.id);
        else if (!(await remove(item))) continue;
        counts[item.kind] = (counts[item.kind] ?? 0) + 1;
      }
      await storage.foreignImports.forget(
        userId,
        items.map(({ id }) => id),
      );
      if (items.length < UNDONE_AT_ONCE) break;
    }
    await storage.people.removeUnnamed(userId, people);
    await update(run, { state, endedAt: clock.now() });
    return counts;
  }

  /** Resolves to whether it existed; locked items stay. */
  async function remove({ userId, id, kind }: ForeignItem): Promise<boolean> {
    if (kind === 'conversation') return removeConversation(userId, id);
    if (kind === 'recording') return removeRecording(userId, id);
    const now = clock.now();
    return storage.transaction('undo import', async tx => {
      const before = await (kind === 'task' ? tx.actionItems : tx.memories).get(userId, id);
      if (!before || before.locked) return false;
      if ('description' in before) {
        await tx.actionItems.remove(userId, id);
        await followIn(tx, { before, after: null, dueGiven: false }, now);
      } else {
        await tx.memories.remove(userId, id);
        await noteIn(tx, userId, [{ id, updatedAt: now }], now);
      }
      return true;
    });
  }

  async function removeConversation(userId: string, id: string): Promise<boolean> {
    return conversations.remove(userId, id).then(
      () => true,
      error => {
        if (error instanceof AppError && ['not_found', 'locked'].includes(error.code)) return false;
        throw error;
      },
    );
  }

  /** Removes a recording with its conversations. */
  async function removeRecording(userId: string, id: string): Promise<boolean> {
    const found = await recordings.find(userId, id);
    if (!found) return false;
    await recordings.remove(userId, id);
    for (const each of found.conversationIds) await removeConversation(userId, each);
    return true;
  }

  return {
    check: (user: User, source: ForeignSource, onProgress: (done: number) => void = () => {}) =>
      check(user, source, onProgress),
    take,
    undo,
    /** Newest first. */
    list: (user: User): Promise<ForeignImport[]> => storage.foreignImports.list(user.id, MAX_LISTED),
  };
}

/** @throws {AppError} `conflict` */
export function requireUndoable({ id, format, state }: ForeignImport): void {
  if (format === OWN_FORMAT)
    throw new AppError('conflict', `The import ${id} created a whole account: delete the account to undo it`);
  if (state === 'undone') throw new AppError('conflict', `The import ${id} was undone already`);
  if (state === 'failed') throw new AppError('conflict', `The import ${id} failed, and stored nothing`);
}

function startOf({ format }: ForeignSource): ForeignOutcome {
  return { id: null, format, counts: {}, known: 0, leftOut: [] };
}

function count({ counts }: ForeignOutcome, kind: string): void {
  counts[kind] = (counts[kind] ?? 0) + 1;
}

function noteLeftOut({ leftOut }: ForeignOutcome, { what, why }: { what: string; why: string }): void {
  const same = leftOut.find(each => each.what === what && each.why === why);
  if (same) same.count += 1;
  else if (leftOut.length < MAX_NOTES) leftOut.push({ what, why, count: 1 });
}
