import test from 'ava';
import { languageOf } from '../../../core/domain/languages.ts';

test('a language code is accepted in any case, and stored in its usual one', t => {
  const taken = { EN: 'en', 'PT-br': 'pt-BR', 'ZH-hant-tw': 'zh-Hant-TW', 'es-419': 'es-419', YUE: 'yue' };
  for (const [code, usual] of Object.entries(taken)) t.is(languageOf(code), usual, code);
});

test('auto and multi request detection', t => {
  for (const code of ['multi', 'auto', 'Auto']) t.is(languageOf(code), 'multi', code);
});

test('an unknown language is rejected', t => {
  for (const code of ['english', 'qq', 'und', '', 'e', 'en_US', 'en-', '-en', 'en US', '12', 'multi-en'])
    t.is(languageOf(code), null, code);
  t.is(languageOf(`en${'-a'.repeat(500_000)}`), null);
});
