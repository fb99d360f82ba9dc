import test from 'ava';
import type { TranslationRequest, Translator } from '../../../../core/contract/plugin.ts';
import { translatorChecks } from '../../../../plugins/kit/suites/translator.ts';

type Fault =
  | 'answers with nothing'
  | 'needs to know the language'
  | 'knows no regions'
  | 'chokes on odd Unicode'
  | 'mixes texts up'
  | 'goes on though aborted'
  | 'throws something else when aborted';

/** Which check has to catch which fault. */
const CAUGHT: Record<Fault, string> = {
  'answers with nothing': 'answers with a text',
  'needs to know the language': 'accepts a text of unknown language',
  'knows no regions': 'accepts languages with a region',
  'chokes on odd Unicode': 'accepts any Unicode',
  'mixes texts up': 'serves several at once, each with its own text',
  'goes on though aborted': 'rejects with the reason when it is aborted',
  'throws something else when aborted': 'rejects with the reason when it is aborted',
};

/** Translates into capital letters; with `fault`, wrong in one way. */
function loud(fault?: Fault): Translator {
  let last = '';
  return { languages: ['es', 'de'], translate };

  async function translate({ text, from }: TranslationRequest, signal: AbortSignal): Promise<string> {
    if (fault === 'needs to know the language' && from === null) throw new Error('which?');
    if (fault === 'knows no regions' && from?.includes('-')) throw new Error('which?');
    if (fault === 'chokes on odd Unicode' && !text.isWellFormed()) throw new Error('odd');
    last = text;
    await new Promise(resolve => setImmediate(resolve));
    if (fault === 'throws something else when aborted' && signal.aborted) throw new Error('aborted');
    if (fault !== 'goes on though aborted') signal.throwIfAborted();
    if (fault === 'answers with nothing') return ' ';
    return (fault === 'mixes texts up' ? last : text).toUpperCase();
  }
}

for (const check of translatorChecks) {
  test(`a good translator ${check.title}`, async t => {
    await t.notThrowsAsync(check.run({ translator: loud(), models: [] }));
  });
}

for (const [fault, title] of Object.entries(CAUGHT)) {
  test(`a translator that ${fault} is caught`, async t => {
    const check = translatorChecks.find(each => each.title === title);
    await t.throwsAsync(async () => check?.run({ translator: loud(fault as Fault), models: [] }));
  });
}
