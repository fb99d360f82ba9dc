import test from 'ava';
import words from '../../../plugins/embedder/words/index.ts';
import { readTable, writeTable } from '../../../plugins/embedder/words/table.ts';
import { embedderChecks } from '../../../plugins/kit/suites/embedder.ts';
import { DISTRACTORS, PAIRS, recallOf } from '../../helpers/recall.ts';
import { contextOf } from '../stt/context.ts';

const never = new AbortController().signal;

function embedder() {
  return words.setup({ ...contextOf().context, options: {} as never, dataDir: '' }).embedder;
}

async function likeness(one: string, other: string): Promise<number> {
  const [first, second] = await embedder().embed([one, other], never);
  return first?.reduce((sum, number, index) => sum + number * (second?.[index] ?? 0), 0) ?? 0;
}

for (const check of embedderChecks) {
  test(`words ${check.title}`, async t => {
    await t.notThrowsAsync(check.run({ embedder: embedder() }));
  });
}

test('words ranks the intended text among the best 5 for 85 of 100 paraphrases', async t => {
  const { at5 } = await recallOf(embedder(), PAIRS.test);
  t.true(at5 >= 0.85, `${at5}`);
});

test('words finds most of them among hundreds of other memories', async t => {
  const { at10 } = await recallOf(embedder(), PAIRS.test, DISTRACTORS);
  t.true(at10 >= 0.7, `${at10}`);
});

test('words treats inflected forms, accents, capitals and both apostrophes alike', async t => {
  for (const [one, other] of [
    ['Bookshelfs', 'bookshelf'],
    ['naïve CAFÉ', 'naive cafe'],
    ["Anna's dog", 'Anna dog'],
    ['Anna’s dog', "Anna's dog"],
    ['wine-drinkingest', 'wine drinking'],
    ["I don't know", 'I know'],
  ] as const) {
    t.true((await likeness(one, other)) > 0.99, `${one}: ${await likeness(one, other)}`);
  }
});

test('words finds unknown names and numbers again', async t => {
  t.true((await likeness('Zorbulak moved in next door', 'who is Zorbulak')) > 0.3);
  t.true((await likeness('zorbulak', 'zorbulaks')) > 0.7, 'written alike');
  t.true(Math.abs(await likeness('zorbulak', 'quxifying')) < 0.3);
  t.is(Math.round((await likeness('the code is 471193', '471193')) * 10) > 3, true);
});

test('words returns no vector for other scripts, for punctuation, and for endless words', async t => {
  const texts = ['Привет, мир', '你好', '🚀 !?', 'x'.repeat(1000)];
  for (const vector of await embedder().embed(texts, never)) t.true(vector.every(number => number === 0));
  t.true((await likeness('Привет, my little dog', 'little dog')) > 0.95, 'the rest of such a text counts');
});

test('words yields to other work while it reads long texts', async t => {
  const { embed } = embedder();
  await embed(['hello'], never);
  let turns = 0;
  let reading = true;
  const take = () => {
    turns += 1;
    if (reading) setImmediate(take);
  };
  setImmediate(take);
  const texts = Array.from({ length: 100 }, () => 'a dog and a cat and a bird in the sun '.repeat(5));
  await embed(texts, never);
  reading = false;
  t.true(turns >= 20, `${turns}`);
});

test('words stops between texts when it is aborted', async t => {
  const { embed } = embedder();
  await embed(['hello'], never);
  const leaving = new AbortController();
  const reason = new Error('left');
  const embedding = embed(
    Array.from({ length: 256 }, () => 'many words to read '.repeat(20)),
    leaving.signal,
  );
  leaving.abort(reason);
  t.is(await t.throwsAsync(embedding), reason);
});

test('a damaged table of words is reported', t => {
  const whole = writeTable([
    { word: 'sun', weight: 1, vector: Float32Array.from({ length: 100 }, (_, at) => at - 49.5) },
    { word: 'moon', weight: 0.5, vector: Float32Array.from({ length: 100 }, (_, at) => 49.5 - at) },
  ]);
  const sum = new Float32Array(100);
  const table = readTable(whole);
  t.true(table.add('moon', 2, sum) && table.add('sun', 1, sum), 'opposite vectors of the same weight');
  t.true(
    sum.every(number => Math.abs(number) < 0.01),
    'they cancel out',
  );
  t.false(table.add('star', 1, sum));
  for (const damaged of [
    whole.subarray(0, -1),
    Buffer.concat([whole, Buffer.from('x')]),
    whole.subarray(8),
    Buffer.alloc(0),
    Buffer.concat([whole.subarray(0, 8), Buffer.from('ffffffff', 'hex'), whole.subarray(12)]),
  ]) {
    t.throws(() => readTable(damaged), { message: /table of words/ });
  }
});
