import test from 'ava';
import type { VectorItem, VectorSpace } from '../../../../core/contract/plugin.ts';
import { type VectorsSubject, vectorsChecks } from '../../../../plugins/kit/suites/vectors.ts';

type Fault =
  | 'answers the worst first'
  | 'measures lengths'
  | 'mixes users up'
  | 'removes from all users'
  | 'trims ids'
  | 'never replaces'
  | 'always replaces'
  | 'lets a slow write win'
  | 'cannot remove'
  | 'answers all that it has'
  | 'answers a hundred at most'
  | 'fails where there is no space'
  | 'lists no empty spaces'
  | 'changes ids'
  | 'drops everything'
  | 'gives the same id again'
  | 'takes zeros for a direction'
  | 'cuts vectors to size'
  | 'keeps the first of a refused batch'
  | 'keeps nonsense'
  | 'does not listen'
  | 'forgets all';

/** A refusal as core understands it. */
const refusal = () => Object.assign(new Error('refused'), { code: 'invalid_input' });
const lengthOf = (vector: Float32Array) => Math.hypot(...vector);

interface Space {
  id: string;
  dimensions: number;
  items: Map<string, VectorItem>;
}

/** Everything in memory, compared with everything; with `fault`, wrong in one way. */
function plain(fault?: Fault): VectorsSubject {
  const spaces = new Map<string, Space>();
  let made = 0;
  const keyOf = (userId: string, id: string) =>
    JSON.stringify([fault === 'mixes users up' ? '' : userId, id]);

  function check({ dimensions }: { dimensions: number }, vector: Float32Array): void {
    if (vector.length !== dimensions && fault !== 'cuts vectors to size') throw refusal();
    if (!vector.every(Number.isFinite) && fault !== 'keeps nonsense') throw refusal();
  }

  function make({ name, dimensions }: VectorSpace): Space {
    const id = fault === 'gives the same id again' ? name : `${name}-${made++}`;
    const space = { id, dimensions, items: new Map() };
    spaces.set(name, space);
    return space;
  }

  function put({ items }: Space, item: VectorItem): void {
    const key = keyOf(item.userId, fault === 'trims ids' ? item.id.slice(0, 100) : item.id);
    const held = items.get(key);
    if (held && fault === 'never replaces') return;
    if (held && held.updatedAt > item.updatedAt && fault !== 'always replaces') return;
    items.set(key, item);
  }

  const index: VectorsSubject['index'] = {
    async upsert(wanted, items) {
      const space = spaces.get(wanted.name) ?? make(wanted);
      const last = items.at(-1);
      if (fault === 'keeps the first of a refused batch' && items[0]) put(space, items[0]);
      for (const { vector } of items) check(space, vector);
      if (fault === 'changes ids') space.id = `${wanted.name}-${made++}`;
      if (fault !== 'lets a slow write win' || items.length !== 1 || !last) {
        for (const item of items) put(space, item);
        return;
      }
      const held = space.items.get(keyOf(last.userId, last.id));
      await new Promise(resolve => setImmediate(resolve));
      if (!held || held.updatedAt <= last.updatedAt) space.items.set(keyOf(last.userId, last.id), last);
    },
    async search({ name }, userId, query, limit, signal) {
      if (fault !== 'does not listen') {
        signal.throwIfAborted();
        await new Promise(resolve => setImmediate(resolve));
        signal.throwIfAborted();
      }
      const space = spaces.get(name);
      if (!space && fault === 'fails where there is no space') throw new Error('no space');
      if (!space) return [];
      check(space, query);
      const isOwn = (item: VectorItem) => fault === 'mixes users up' || item.userId === userId;
      const isSomething = (vector: Float32Array) =>
        fault === 'takes zeros for a direction' || lengthOf(vector) > 0;
      if (!isSomething(query)) return [];
      const hits = [...space.items.values()]
        .filter(item => isOwn(item) && isSomething(item.vector))
        .map(({ id, vector }) => {
          const dot = vector.reduce((sum, value, at) => sum + value * (query[at] ?? 0), 0);
          const lengths = fault === 'measures lengths' ? 1 : lengthOf(vector) * lengthOf(query) || 1;
          return { id, score: dot / lengths };
        })
        .sort((a, b) => (fault === 'answers the worst first' ? a.score - b.score : b.score - a.score));
      if (fault === 'answers all that it has') return hits;
      return hits.slice(0, fault === 'answers a hundred at most' ? Math.min(limit, 100) : limit);
    },
    async remove({ name }, userId, ids) {
      const items = spaces.get(name)?.items;
      if (fault === 'cannot remove') return;
      for (const [key, item] of items ?? [])
        if (ids.includes(item.id) && (item.userId === userId || fault === 'removes from all users'))
          items?.delete(key);
    },
    async spaces() {
      const all = [...spaces].filter(([, { items }]) => items.size > 0 || fault !== 'lists no empty spaces');
      return all.map(([name, { id }]) => ({ name, id }));
    },
    async drop(name) {
      if (fault === 'drops everything') spaces.clear();
      spaces.delete(name);
    },
  };
  return {
    index,
    async restart() {
      if (fault === 'forgets all') for (const { items } of spaces.values()) items.clear();
      return index;
    },
  };
}

/** Which check has to catch which fault. */
const CAUGHT: Record<Fault, string> = {
  'answers the worst first': 'finds the nearest, best first, with the cosine as score',
  'measures lengths': 'compares the direction of vectors, not their length',
  'mixes users up': 'separates users, also where their ids are the same',
  'removes from all users': 'separates users, also where their ids are the same',
  'trims ids': 'accepts ids of any characters',
  'never replaces': 'replaces an item of the same id',
  'always replaces': 'ignores an item that is older than the one held',
  'lets a slow write win': 'keeps the newest of writes that overlap',
  'cannot remove': 'removes the named items, and nothing else',
  'answers all that it has': 'returns at most as many as requested, and accepts the largest batch',
  'answers a hundred at most': 'returns at most as many as requested, and accepts the largest batch',
  'fails where there is no space': 'treats a missing space as empty',
  'lists no empty spaces': 'lists existing spaces, also empty ones',
  'changes ids': 'lists existing spaces, also empty ones',
  'drops everything': 'drops one space alone; created again, it has another id',
  'gives the same id again': 'drops one space alone; created again, it has another id',
  'takes zeros for a direction': 'never finds a vector of zeros, and nothing for one',
  'cuts vectors to size': 'refuses vectors of other dimensions, and changes nothing',
  'keeps the first of a refused batch': 'refuses vectors of other dimensions, and changes nothing',
  'keeps nonsense': 'refuses a vector with values that are not numbers',
  'does not listen': 'rejects an aborted search, and serves the next one',
  'forgets all': 'still has 10,000 items after a restart',
};

for (const check of vectorsChecks)
  test(`an index without fault ${check.title}`, async t => {
    await t.notThrowsAsync(check.run(plain()));
  });

test('every check catches a fault', t => {
  const caught = new Set(Object.values(CAUGHT));
  t.deepEqual(
    vectorsChecks.map(({ title }) => title).filter(title => !caught.has(title)),
    [],
  );
});

for (const [fault, title] of Object.entries(CAUGHT)) {
  test(`an index that ${fault} is caught`, async t => {
    const check = vectorsChecks.find(each => each.title === title);
    await t.throwsAsync(async () => check?.run(plain(fault as Fault)));
  });
}
