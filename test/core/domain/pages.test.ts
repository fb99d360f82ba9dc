import test from 'ava';
import { inPages, inPagesBefore, type List, mapPages, PagedList } from '../../../core/domain/pages.ts';

interface Row {
  id: string;
}

const ROWS: Row[] = Array.from({ length: 250 }, (_, id) => ({ id: String(id) }));

/** Loads from these rows, and notes each part that is asked for. */
function loader(rows = ROWS) {
  const asked: { limit: number; offset: number }[] = [];
  const load = async (part: { limit: number; offset: number }) => {
    asked.push(part);
    return rows.slice(part.offset, part.offset + part.limit);
  };
  return { asked, load };
}

async function all<Item>(list: List<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of list) items.push(item);
  return items;
}

test('a list that fits into one page is loaded at once', async t => {
  const { asked, load } = loader();
  const list = await inPages(load, { limit: 25, offset: 10 });
  t.deepEqual(list, ROWS.slice(10, 35));
  t.deepEqual(asked, [{ limit: 25, offset: 10 }]);
});

test('a longer one is loaded page by page, to its limit or to its end', async t => {
  const { asked, load } = loader();
  const list = await inPages(load, { limit: 130, offset: 0 });
  t.true(list instanceof PagedList);
  t.deepEqual(asked, [], 'nothing before it is read');
  t.deepEqual(await all(list), ROWS.slice(0, 130));
  t.deepEqual(await all(await inPages(load, { limit: 1000, offset: 100 })), ROWS.slice(100));
});

test('a row that moves to the next page meanwhile is in the list once', async t => {
  const rows = [...ROWS];
  const { load } = loader(rows);
  const list = await inPages(load, { limit: 1000, offset: 0 });
  const ids: string[] = [];
  for await (const { id } of list) {
    if (id === '99') rows.unshift({ id: 'new' });
    ids.push(id);
  }
  t.is(ids.filter(id => id === '99').length, 1);
  t.is(new Set(ids).size, ids.length);
});

test('a list that continues after its last row is loaded from there', async t => {
  const asked: (string | undefined)[] = [];
  const load = async ({ limit, beforeId }: { limit: number; beforeId: string | undefined }) => {
    asked.push(beforeId);
    const first = beforeId === undefined ? 0 : ROWS.findIndex(({ id }) => id === beforeId) + 1;
    return ROWS.slice(first, first + limit);
  };
  t.deepEqual(await all(await inPagesBefore(load, { limit: 1000, beforeId: undefined })), ROWS);
  t.deepEqual(asked, [undefined, '99', '199']);
  t.deepEqual(await inPagesBefore(load, { limit: 2, beforeId: '3' }), ROWS.slice(4, 6));
});

test('rows and pages are converted, whether all are in memory or not', async t => {
  const { load } = loader();
  for (const limit of [100, 250]) {
    const list = await inPages(load, { limit, offset: 0 });
    const ids = await all(list.map(({ id }) => id));
    t.deepEqual(
      ids,
      ROWS.slice(0, limit).map(({ id }) => id),
    );
    const again = await inPages(load, { limit, offset: 0 });
    t.deepEqual(await all(await mapPages(again, async page => page.map(({ id }) => id))), ids);
  }
});
