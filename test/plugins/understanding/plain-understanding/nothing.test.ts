import test from 'ava';
import { saysNothing } from '../../../../plugins/understanding/plain-understanding/nothing.ts';

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

test('Greetings, talk of the weather and scraps of several people say nothing worth keeping', t => {
  t.true(of('the', 'you you you', 'okay', 'all right then', 'and a'));
  t.true(of('morning', 'good morning', 'cold today', 'bye then'));
  t.true(of('Guten Morgen', 'hallo', 'es regnet ja schon wieder', 'tschüss'));
  t.true(of('Bonjour', 'bonjour', 'il pleut', 'merci au revoir'));
  t.true(of('Hola', 'qué tal', 'buenos días', 'gracias adiós'));
  t.false(of('morning', 'good morning', 'the flat is sold', 'bye then'));
  t.false(of('Guten Morgen', 'hallo', 'Opa liegt im Krankenhaus', 'tschüss'));
});

test('Credits of subtitles, which recognisers write where nobody speaks, say nothing', t => {
  for (const text of [
    'Thanks for watching!',
    'Untertitel im Auftrag des ZDF, 2021',
    "Sous-titres réalisés par la communauté d'Amara.org",
    '¡Gracias por ver el vídeo!',
  ])
    t.true(of(text), text);
  t.false(
    of(
      'Thanks for watching the children, I will bring you the money for it tomorrow, and the keys of the car.',
    ),
  );
});
