import type { Storage, Stores, Table } from '../contract/plugin.ts';
import { STORE_NAMES } from './shapes.ts';

/** A storage that stays valid across restarts of its plugin: each use finds the running one. */
export function stableStorage(running: () => Storage): Storage {
  const listeners = new Set<Parameters<Storage['onEnqueued']>[0]>();
  const heard = new WeakSet<Storage>();
  function current(): Storage {
    const storage = running();
    if (heard.has(storage)) return storage;
    heard.add(storage);
    storage.onEnqueued(jobs => {
      for (const listener of listeners) listener(jobs);
    });
    return storage;
  }
  const stable: Omit<Storage, keyof Stores> = {
    transaction: <T>(name: string, work: (tx: Stores) => Promise<T>) => current().transaction(name, work),
    onEnqueued(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    migrate: () => current().migrate(),
    upkeep: () => current().upkeep(),
    describe: () => current().describe(),
    snapshot: (target: string) => current().snapshot(target),
    owned: () => current().owned(),
    tables: <T>(work: (tables: Table[]) => Promise<T>) => current().tables(work),
  };
  const stores = STORE_NAMES.map(name => [name, { get: () => current()[name], enumerable: true }]);
  return Object.defineProperties(stable, Object.fromEntries(stores)) as Storage; // every store, by name
}
