import test from 'ava';
import { hotwordsOf, readPieces } from '../../../../plugins/kit/sherpa/hotwords.ts';

const PIECES = readPieces('<blk> 0\n<unk> 1\n▁ANN 2\n▁AN 3\nN 4\nA 5\n▁B 6\nOB 7\n▁ 8\n');

test('words to expect are given in the pieces that the model knows, and in its letters', t => {
  t.is(hotwordsOf(['Anna', 'bob anna'], PIECES), '▁ANN A/▁B OB ▁ANN A');
  t.is(hotwordsOf(['Anna/Bob'], PIECES), '▁ANN A ▁B OB', 'a slash in a name does not begin another phrase');
});

test('a phrase that the model has no pieces for is left out: it never reaches the engine', t => {
  t.is(hotwordsOf(['Zoë', 'Anna', '…', ''], PIECES), '▁ANN A');
  t.is(hotwordsOf([], PIECES), '');
});
