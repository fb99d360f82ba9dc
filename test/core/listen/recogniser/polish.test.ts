import test from 'ava';
import { polish } from '../../../../core/listen/recogniser/polish.ts';

const en = (text: string, vocabulary: string[] = []) => polish(text, { language: 'en', vocabulary });

test('lower-case text becomes a sentence: an initial capital, names as configured, a full stop', t => {
  t.is(en('we meet anna at ten'), 'We meet anna at ten.');
  t.is(en('we meet anna at ten', ['Anna']), 'We meet Anna at ten.');
  t.is(en("i think i'm late"), "I think I'm late.");
  t.is(en('ask doctor okonkwo', ['Okonkwo', 'Doctor Okonkwo']), 'Ask Doctor Okonkwo.');
  t.is(en('annabel called', ['Anna']), 'Annabel called.', 'a name within a word is none');
  t.is(en('iphone costs', ['iPhone']), 'IPhone costs.', 'a sentence begins with a capital');
  t.is(en(''), '');
});

test('text that ends with a punctuation mark keeps it, and text without letters gets one, too', t => {
  t.is(en('is it late?'), 'Is it late?');
  t.is(en('24 7'), '24 7.');
});

test('each language has its own rules', t => {
  t.is(polish('istanbul’a gidiyorum', { language: 'tr', vocabulary: [] }), 'İstanbul’a gidiyorum.');
  t.is(polish('ich komme um i', { language: 'de-AT', vocabulary: [] }), 'Ich komme um i.');
  t.is(polish('привет', { language: 'ru', vocabulary: [] }), 'Привет.');
  for (const [language, text] of [
    ['ja', 'こんにちは'],
    ['ar', 'مرحبا'],
    ['th', 'สวัสดี'],
    ['multi', 'hello'],
  ] as const)
    t.is(polish(text, { language, vocabulary: ['Hello'] }), text, language);
});
