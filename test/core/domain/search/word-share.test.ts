import test from 'ava';
import { wordShares } from '../../../../core/domain/search/word-share.ts';
import words from '../../../../plugins/embedder/words/index.ts';
import { DISTRACTORS, PAIRS, recallOfSearch } from '../../../helpers/recall.ts';
import { contextOf } from '../../../plugins/stt/context.ts';

const { embedder } = words.setup({ ...contextOf().context, options: {} as never, dataDir: '' });

test('a word weighs more the fewer texts contain it', t => {
  const texts = ['His dog is called Rex', 'His cat is old', 'His aunt knows Kvetoslava', 'Nothing of it'];
  const [dog = 0, cat = 0, name = 0, nothing] = wordShares('is Kvetoslava his sister', texts);
  t.is(nothing, 0);
  t.true(name > dog, `${name} ${dog}`);
  t.is(dog, cat);
  t.true(name < 1, 'sister is nowhere');
  t.is(wordShares('KVETÓSLAVA, his!', texts)[2], 1, 'case, accents and signs do not count');
});

test('an empty query, and an empty list of texts, have no shares', t => {
  t.deepEqual(wordShares('?!', ['one', 'two']), [0, 0]);
  t.deepEqual(wordShares('one', []), []);
  t.deepEqual(wordShares('one', ['', 'one']), [0, 1]);
});

test('the whole search finds the intended text among the best 5 for 85 of 100 paraphrases', async t => {
  const { at5 } = await recallOfSearch(t, embedder, PAIRS.test);
  t.true(at5 >= 0.85, `${at5}`);
});

test('the whole search ranks the one memory with a name first, also among hundreds', async t => {
  const { at1 } = await recallOfSearch(t, embedder, PAIRS.names, DISTRACTORS);
  t.true(at1 >= 0.9, `${at1}`);
});
