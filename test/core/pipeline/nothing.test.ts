import test from 'ava';
import { saysNothing } from '../../../core/pipeline/nothing.ts';

const of = (...texts: string[]) => saysNothing(texts.map(text => ({ text })));

test('Sounds, and words that only show that somebody listens, say nothing', t => {
  for (const text of [
    '',
    ' ',
    'Um.',
    'Uh-huh, mhm.',
    'Hmm… ok',
    'Okay. Yeah.',
    'Äh, ähm',
    'Oh!',
    'Hm-hm',
    '… — !',
  ])
    t.true(of(text), text);
  t.true(of('Um', 'uh', '', 'Mm-hmm'));
  t.true(of());
});

test('What a recogniser writes where it hears no words says nothing', t => {
  for (const text of [
    '[Music]',
    '(laughs) [BLANK_AUDIO]',
    '*coughs* um',
    '♪ ♪',
    '<noise>',
    '(speaking foreign language)',
  ])
    t.true(of(text), text);
});

test('One word that may mean something is enough, in any language', t => {
  for (const text of [
    'Milk',
    'No.',
    'Yes',
    'Um, Eve',
    '[Music] Seven',
    'ja',
    'да',
    '嗯',
    'はい',
    '7',
    'x',
    '🙂',
    '(aside) Buy tea',
    'Okay then',
  ])
    t.false(of(text), text);
  t.false(of('Um', 'uh', 'tomorrow'));
});
