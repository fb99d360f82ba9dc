import { randomUUID } from 'node:crypto';
import type { Storage } from '../../../core/contract/plugin.ts';

/** Storages with one fault each, and the check that must detect it. */
export interface BrokenStorage {
  fault: string;
  caughtBy: string;
  breakIt(storage: Storage): Storage;
}

export const brokenStorages: readonly BrokenStorage[] = [
  {
    fault: 'keys are remembered',
    caughtBy: 'a key that another process replaced or removed is no longer found',
    breakIt: storage => {
      const known = new Map<string, NonNullable<Awaited<ReturnType<Storage['keys']['byHash']>>>>();
      const byHash: Storage['keys']['byHash'] = async hash => {
        const found = known.get(hash) ?? (await storage.keys.byHash(hash));
        if (found) known.set(hash, found);
        return found;
      };
      return { ...storage, keys: { ...storage.keys, byHash } };
    },
  },
  {
    fault: 'keys are used whoever says so',
    caughtBy: "another user's rows are not changed or removed",
    breakIt: storage => {
      const used: Storage['keys']['used'] = uses =>
        storage.keys.used(uses.map(use => ({ ...use, userId: 'anna' })));
      return { ...storage, keys: { ...storage.keys, used } };
    },
  },
  {
    fault: 'a grant of one is a grant of all',
    caughtBy: 'a grant belongs to its holder until all grants of the holder are removed',
    breakIt: storage => {
      const has: Storage['grants']['has'] = (_userId, grantee, name) =>
        storage.grants.has('anna', grantee, name);
      return { ...storage, grants: { ...storage.grants, has } };
    },
  },
  {
    fault: 'marks of a conversation that is split all stay',
    caughtBy: 'marks move to another conversation, all or from an instant on, and are removed with it',
    breakIt: storage => {
      const moveAll: Storage['marks']['moveAll'] = async (userId, from, to, since) => {
        if (since === undefined) await storage.marks.moveAll(userId, from, to);
      };
      return { ...storage, marks: { ...storage.marks, moveAll } };
    },
  },
  {
    fault: 'rate limits go back to what another process counted',
    caughtBy: 'a rate limit only moves forward, and is removed once it is full again',
    breakIt: storage => {
      const put: Storage['rateLimits']['put'] = async limits => {
        await storage.rateLimits.removeFull(Number.MAX_SAFE_INTEGER);
        await storage.rateLimits.put(limits);
      };
      return { ...storage, rateLimits: { ...storage.rateLimits, put } };
    },
  },
  {
    fault: 'a change of a user is one of every user',
    caughtBy: 'an update changes one user alone',
    breakIt: storage => {
      const update: Storage['users']['update'] = async (id, patch) => {
        for (const each of await storage.users.list()) await storage.users.update(each.id, patch);
        return (await storage.users.get(id)) !== null;
      };
      return { ...storage, users: { ...storage.users, update } };
    },
  },
  {
    fault: 'attempts are counted by reading first',
    caughtBy: 'simultaneous attempts from two processes are all counted',
    breakIt: storage => {
      const { attempts } = storage;
      const add: Storage['attempts']['add'] = async (key, by, now, until) => {
        const found = await attempts.get(key, now);
        return storage.transaction('replace', async tx => {
          await tx.attempts.remove(key);
          return tx.attempts.add(key, (found?.count ?? 0) + by, now, found?.until ?? until);
        });
      };
      return { ...storage, attempts: { ...attempts, add } };
    },
  },
  {
    fault: 'each attempt puts the end of its count off',
    caughtBy: 'attempts are counted by key until they expire, and then start again',
    breakIt: storage => {
      const { attempts } = storage;
      const add: Storage['attempts']['add'] = async (key, by, now, until) => {
        const count = (await attempts.get(key, now))?.count ?? 0;
        await attempts.remove(key);
        return attempts.add(key, count + by, now, until);
      };
      return { ...storage, attempts: { ...attempts, add } };
    },
  },
  {
    fault: 'all attempts are forgotten with those that are over',
    caughtBy: 'expired attempts are deleted, and no others',
    breakIt: storage => {
      const prune: Storage['attempts']['prune'] = () => storage.attempts.prune(Number.MAX_SAFE_INTEGER);
      return { ...storage, attempts: { ...storage.attempts, prune } };
    },
  },
  {
    fault: 'conversations are found whoever asks',
    caughtBy: "another user's rows are not found",
    breakIt: storage => {
      const get: Storage['conversations']['get'] = (_userId, id) => storage.conversations.get('anna', id);
      return { ...storage, conversations: { ...storage.conversations, get } };
    },
  },
  {
    fault: 'conversations are removed whoever asks',
    caughtBy: "another user's rows are not changed or removed",
    breakIt: storage => {
      const remove: Storage['conversations']['remove'] = (_userId, id) =>
        storage.conversations.remove('anna', id);
      return { ...storage, conversations: { ...storage.conversations, remove } };
    },
  },
  {
    fault: 'a segment is owned by whoever wrote its id first',
    caughtBy: "a row with the id of another user's row does not touch it",
    breakIt: storage => {
      const upsert: Storage['segments']['upsert'] = segments =>
        storage.segments.upsert(segments.map(segment => ({ ...segment, userId: 'anna' })));
      return { ...storage, segments: { ...storage.segments, upsert } };
    },
  },
  {
    fault: 'a segment that is there already is not replaced',
    caughtBy: 'segments are inserted, or replaced by id',
    breakIt: storage => {
      const upsert: Storage['segments']['upsert'] = async segments => {
        for (const segment of segments) {
          const present = await storage.segments.list(segment.userId, [segment.conversationId]);
          if (!present.some(({ id }) => id === segment.id)) await storage.segments.upsert([segment]);
        }
      };
      return { ...storage, segments: { ...storage.segments, upsert } };
    },
  },
  {
    fault: 'conversations come oldest first',
    caughtBy: 'conversations are listed newest first, ties by id, in pages',
    breakIt: storage => {
      const list: Storage['conversations']['list'] = async (userId, filter) =>
        (await storage.conversations.list(userId, filter)).reverse();
      return { ...storage, conversations: { ...storage.conversations, list } };
    },
  },
  {
    fault: 'a status is changed without a look at the one before',
    caughtBy: 'one of several simultaneous changes of a status succeeds',
    breakIt: storage => {
      const update: Storage['conversations']['update'] = (userId, id, patch) =>
        storage.conversations.update(userId, id, patch);
      return { ...storage, conversations: { ...storage.conversations, update } };
    },
  },
  {
    fault: 'a claimed id is given to everybody who asks',
    caughtBy: 'a claimed id is taken once, by one of several claimants, and for its user alone',
    breakIt: storage => ({ ...storage, claims: { take: async () => true } }),
  },
  {
    fault: 'discarded conversations are counted',
    caughtBy: 'the conversations of a folder are counted without discarded ones',
    breakIt: storage => {
      const counts: Storage['folders']['counts'] = async userId => {
        const rows = await storage.conversations.list(userId, { limit: 100, offset: 0 });
        const folders = Map.groupBy(rows, row => row.folderId ?? '');
        return new Map([...folders].map(([id, conversations]) => [id, conversations.length]));
      };
      return { ...storage, folders: { ...storage.folders, counts } };
    },
  },
  {
    fault: 'a circle ends at the 180th meridian',
    caughtBy:
      'conversations are found by their distance from a point, also across the 180th meridian and at a pole',
    breakIt: storage => {
      const list: Storage['conversations']['list'] = async (userId, filter) => {
        const found = await storage.conversations.list(userId, filter);
        const isOnSide = ({ geolocation }: (typeof found)[number]) =>
          !filter.near || Math.abs((geolocation?.longitude ?? 0) - filter.near.longitude) < 180;
        return found.filter(isOnSide);
      };
      return { ...storage, conversations: { ...storage.conversations, list } };
    },
  },
  {
    fault: 'action items come in the order in which they were made',
    caughtBy: 'action items are listed open before done, by due date, then newest first, ties by id',
    breakIt: storage => {
      const list: Storage['actionItems']['list'] = async (userId, filter) =>
        (await storage.actionItems.list(userId, filter)).sort((a, b) => b.createdAt - a.createdAt);
      return { ...storage, actionItems: { ...storage.actionItems, list } };
    },
  },
  {
    fault: 'only some of several action items are stored',
    caughtBy: 'an action item is returned as stored until it is removed; several are stored all or none',
    breakIt: storage => {
      const insert: Storage['actionItems']['insert'] = async items => {
        for (const item of items) await storage.actionItems.insert([item]);
      };
      return { ...storage, actionItems: { ...storage.actionItems, insert } };
    },
  },
  {
    fault: 'a goal keeps the first value of a day',
    caughtBy: 'the progress of a goal has one value a day, the last, and is removed with the goal',
    breakIt: storage => {
      const record: Storage['goals']['record'] = async progress => {
        const known = await storage.goals.progress(progress.userId, progress.goalId, progress.day);
        if (known.length === 0) await storage.goals.record(progress);
      };
      return { ...storage, goals: { ...storage.goals, record } };
    },
  },
  {
    fault: 'a suggestion for a goal is answered twice',
    caughtBy: 'a suggestion for a goal is returned as stored, and answered once',
    breakIt: storage => {
      const update: Storage['goalSuggestions']['update'] = (userId, id, patch) =>
        storage.goalSuggestions.update(userId, id, patch);
      return { ...storage, goalSuggestions: { ...storage.goalSuggestions, update } };
    },
  },
  {
    fault: 'conversations are found by what they said before',
    caughtBy: 'the texts of a conversation replace its earlier ones, and are removed with it',
    breakIt: storage => {
      const texts = new Map<string, readonly string[]>();
      const put: Storage['passages']['put'] = (userId, id, added) => {
        texts.set(id, [...(texts.get(id) ?? []), ...added]);
        return storage.passages.put(userId, id, texts.get(id) ?? []);
      };
      return { ...storage, passages: { ...storage.passages, put } };
    },
  },
  {
    fault: 'a title is added to the one before',
    caughtBy: 'the first text of a conversation is replaced alone, or nothing is replaced',
    breakIt: storage => {
      const retitle: Storage['passages']['retitle'] = (userId, id, from, to) =>
        storage.passages.retitle(userId, id, from, `${to} ${from}`);
      return { ...storage, passages: { ...storage.passages, retitle } };
    },
  },
  {
    fault: 'segments that are moved begin when they did',
    caughtBy: 'segments are moved to another time, or to another conversation, all or from one on',
    breakIt: storage => {
      const move: Storage['segments']['move'] = (userId, from, change) =>
        storage.segments.move(userId, from, { ...change, seconds: 0 });
      return { ...storage, segments: { ...storage.segments, move } };
    },
  },
  {
    fault: 'a job that runs is asked for again though it was taken back',
    caughtBy: 'a withdrawn job does not run, or, if it is running, does not run again',
    breakIt: storage => {
      const cancel: Storage['jobs']['cancel'] = async (kind, key) => {
        const waits = (await storage.jobs.nextRunAt([kind])) !== null;
        return waits && storage.jobs.cancel(kind, key === 'k' ? 'none' : key);
      };
      return { ...storage, jobs: { ...storage.jobs, cancel } };
    },
  },
  {
    fault: 'jobs are told of before they are committed',
    caughtBy: 'enqueued jobs are announced after the commit, and not after a rollback',
    breakIt: storage => {
      const listeners: Parameters<Storage['onEnqueued']>[0][] = [];
      const onEnqueued: Storage['onEnqueued'] = listener => {
        listeners.push(listener);
        return storage.onEnqueued(listener);
      };
      const transaction: Storage['transaction'] = (name, work) =>
        storage.transaction(name, tx => {
          for (const listener of listeners) listener(new Map([['finish', 0]]));
          return work(tx);
        });
      return { ...storage, onEnqueued, transaction };
    },
  },
  {
    fault: 'locked memories are listed',
    caughtBy: 'memories are listed by score, highest first, ties by id, in pages, without locked ones',
    breakIt: storage => {
      const list: Storage['memories']['list'] = async (userId, { limit }) =>
        (await storage.memories.page(userId, null, limit)).toSorted((a, b) =>
          a.scoring < b.scoring ? 1 : -1,
        );
      return { ...storage, memories: { ...storage.memories, list } };
    },
  },
  {
    fault: 'memories are found by what they said before',
    caughtBy: 'a memory is found by its current text, and not when it is locked or removed',
    breakIt: storage => {
      const update: Storage['memories']['update'] = async (userId, id, patch) => {
        const { content: _, ...rest } = patch;
        return storage.memories.update(userId, id, rest);
      };
      return { ...storage, memories: { ...storage.memories, update } };
    },
  },
  {
    fault: 'a change is settled though the memory has changed again',
    caughtBy: 'changes of memories are kept until they are settled; a newer change stays',
    breakIt: storage => {
      const settle: Storage['embeddings']['settle'] = async changes => {
        for (const { userId, id } of changes) {
          const now = (await storage.embeddings.changes(userId, 100)).filter(change => change.id === id);
          await storage.embeddings.settle(now);
        }
      };
      return { ...storage, embeddings: { ...storage.embeddings, settle } };
    },
  },
  {
    fault: 'state is written over any version',
    caughtBy: 'state is written only if the version matches',
    breakIt: storage => {
      const compareAndSet: Storage['pluginState']['compareAndSet'] = async (plugin, key, _version, value) => {
        const current = await storage.pluginState.get(plugin, key);
        return await storage.pluginState.compareAndSet(plugin, key, current?.version ?? 0, value);
      };
      return { ...storage, pluginState: { ...storage.pluginState, compareAndSet } };
    },
  },
  {
    fault: 'a claimed job stays free for others',
    caughtBy: 'two claimers never get the same job',
    breakIt: storage => {
      const claim: Storage['jobs']['claim'] = async (kinds, now, leaseMs, limit) => {
        const claimed = await storage.jobs.claim(kinds, now, leaseMs, limit);
        for (const job of claimed) await storage.jobs.retryAt(job, now, null);
        return claimed;
      };
      return { ...storage, jobs: { ...storage.jobs, claim } };
    },
  },
  {
    fault: 'a node that starts takes the jobs of all others',
    caughtBy: 'the jobs of a holder that has ended are due at once, unlike those of others',
    breakIt: storage => {
      const one = '33333333-3333-4333-8333-333333333333';
      const claim: Storage['jobs']['claim'] = (kinds, now, leaseMs, limit) =>
        storage.jobs.claim(kinds, now, leaseMs, limit, one);
      const release: Storage['jobs']['release'] = (_holder, now) => storage.jobs.release(one, now);
      return { ...storage, jobs: { ...storage.jobs, claim, release } };
    },
  },
  {
    fault: 'a lease never runs out',
    caughtBy:
      'the job of a claimer that died comes back when its lease has run out, and the dead hand has no say',
    breakIt: storage => {
      const claim: Storage['jobs']['claim'] = (kinds, now, _leaseMs, limit) =>
        storage.jobs.claim(kinds, now, Number.MAX_SAFE_INTEGER - now, limit);
      return { ...storage, jobs: { ...storage.jobs, claim } };
    },
  },
  {
    fault: 'a transaction is only a way of speaking',
    caughtBy: 'a transaction whose work throws changes nothing, and passes the error on unchanged',
    breakIt: storage => ({ ...storage, transaction: (_name, work) => work(storage) }),
  },
  {
    fault: 'the same data goes by two ids',
    caughtBy: 'a storage describes itself: its data, its version, and whether it is empty',
    breakIt: storage => {
      const id = randomUUID();
      return { ...storage, describe: async () => ({ ...(await storage.describe()), id }) };
    },
  },
  {
    fault: 'rows of other users are handed over',
    caughtBy: 'the rows of one user alone are returned table by table, parents first',
    breakIt: storage => ({
      ...storage,
      owned: async () => (await storage.owned()).map(table => ({ ...table, rows: () => table.rows('eve') })),
    }),
  },
  {
    fault: 'tables come children first',
    caughtBy: 'tables are returned completely, in byte order of their keys, parents first',
    breakIt: storage => ({
      ...storage,
      tables: work => storage.tables(tables => work(tables.toReversed())),
    }),
  },
  {
    fault: 'rows stay though the work failed',
    caughtBy: 'rows written to a table are visible to its store, unless the work fails',
    breakIt: storage => ({
      ...storage,
      async tables(work) {
        const ended = await storage.tables(tables =>
          work(tables).then(
            value => ({ value }),
            (error: unknown) => ({ error }),
          ),
        );
        if ('error' in ended) throw ended.error;
        return ended.value;
      },
    }),
  },
  {
    fault: 'whoever installed an app is told of everyone',
    caughtBy: 'events of a user go to their own webhooks, and to those of installed apps, while enabled',
    breakIt: storage => {
      const targets: Storage['hooks']['targets'] = async (_userId, types) =>
        (await storage.hooks.targets('anna', types)).concat(await storage.hooks.targets('ben', types));
      return { ...storage, hooks: { ...storage.hooks, targets } };
    },
  },
  {
    fault: 'the last of many attempts is lost',
    caughtBy: 'attempts are stored with the outcomes of their deliveries, many at once',
    breakIt: storage => {
      const record: Storage['deliveries']['record'] = async outcomes => {
        await storage.deliveries.record(outcomes.slice(0, -1));
      };
      return { ...storage, deliveries: { ...storage.deliveries, record } };
    },
  },
];
