import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { PagedList } from '../../../core/domain/pages.ts';
import { jsonAnswer } from '../../../core/http/json-answer.ts';

async function* pagesOf<Item>(...pages: Item[][]): AsyncGenerator<Item[]> {
  yield* pages;
}

async function* itemsOf<Item>(...items: Item[]): AsyncGenerator<Item> {
  yield* items;
}

test('a short value is sent whole', async t => {
  t.is(await jsonAnswer({ id: 'a', tags: ['b'] }), '{"id":"a","tags":["b"]}');
  t.is(await jsonAnswer([{ id: 'a' }, { id: 'b' }]), '[{"id":"a"},{"id":"b"}]');
  t.is(await jsonAnswer([]), '[]');
});

test('the pages of a list follow each other', async t => {
  t.is(await jsonAnswer(new PagedList(pagesOf([1, 2], [], [3]))), '[1,2,3]');
  t.is(await jsonAnswer(new PagedList(pagesOf())), '[]');
  t.is(
    await jsonAnswer({ total: 3, items: new PagedList(pagesOf([1, 2], [3])) }),
    '{"total":3,"items":[1,2,3]}',
  );
});

test('a list without pages is sent item by item', async t => {
  t.is(await jsonAnswer(itemsOf({ id: 'a' }, { id: 'b' })), '[{"id":"a"},{"id":"b"}]');
});

test('a list that is loaded on demand may be in an item of another list', async t => {
  const of = (...segments: string[]) => new PagedList(pagesOf(segments));
  const expected = '[{"id":"a","segments":["1","2"]},{"id":"b","segments":[]}]';
  const items = () => [
    { id: 'a', segments: of('1', '2') },
    { id: 'b', segments: of() },
  ];
  t.is(await jsonAnswer(items()), expected);
  t.is(await jsonAnswer(new PagedList(pagesOf(items()))), expected);
});

test('a long list is streamed, whether it is an array or has pages', async t => {
  const items = Array.from({ length: 100 }, (_, id) => ({ id, text: 'x'.repeat(10_000) }));
  for (const list of [items, new PagedList(pagesOf(items.slice(0, 50), items.slice(50)))]) {
    const answer = await jsonAnswer(list);
    if (!(answer instanceof Readable)) return t.fail('it is not streamed');
    t.deepEqual(JSON.parse(await text(answer)), items);
  }
});

test('a failure before the answer has begun rejects, and a later one ends the stream with it', async t => {
  async function* failing(before: string[]): AsyncGenerator<string[]> {
    yield before;
    throw new Error('no further page');
  }
  await t.throwsAsync(jsonAnswer(new PagedList(failing(['a']))), { message: 'no further page' });
  const answer = await jsonAnswer(new PagedList(failing(Array(100).fill('x'.repeat(10_000)))));
  if (!(answer instanceof Readable)) return t.fail('it is not streamed');
  await t.throwsAsync(text(answer), { message: 'no further page' });
});
