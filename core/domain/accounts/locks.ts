import type { Lockable } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { isId } from '../ids.ts';

/**
 * Stores whose items can be locked. A locked item is left out of lists, not found, and not changed, until it is
 * unlocked.
 */
const STORES = {
  memory: 'memories',
  conversation: 'conversations',
  'action-item': 'actionItems',
} as const satisfies Record<Lockable, keyof Storage>;

export type Locks = ReturnType<typeof createLocks>;

export function createLocks({ storage }: { storage: Storage }) {
  return {
    /** Locks or unlocks an item of any user. Resolves to its owner's name; `not_found`. */
    async set({ kind, id, locked }: { kind: Lockable; id: string; locked: boolean }): Promise<string> {
      for (const user of isId(id) ? await storage.users.list() : [])
        if (await storage[STORES[kind]].update(user.id, id, { locked })) return user.name;
      throw new AppError('not_found', `There is no ${kind} ${id}`);
    },
  };
}
