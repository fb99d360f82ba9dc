import test from 'ava';
import type { z } from 'zod';
import type { LanguageModel, Prompt } from '../../../../core/contract/plugin.ts';
import { llmChecks, visionChecks } from '../../../../plugins/kit/suites/llm.ts';

type Fault =
  | 'ignores the schema'
  | 'cannot leave anything out'
  | 'says nothing'
  | 'gives pieces that are empty'
  | 'chokes on odd Unicode'
  | 'mixes up who asked what'
  | 'goes on though aborted'
  | 'throws something else when aborted'
  | 'talks on when aborted half-way'
  | 'is busy for ever when left early';

const COLOUR = { name: 'red', warm: true };
const SHOPPING = { items: [{ name: 'bread', amount: 2 }], shop: 'bakery', note: null };

/** Knows what the checks ask; with `fault`, wrong in one way. */
function parrot(fault?: Fault): LanguageModel {
  let busy = false;
  let last: unknown = null;
  return { model: 'parrot', object, text };

  async function object<T>(schema: z.ZodType<T>, prompt: Prompt): Promise<T> {
    if (fault === 'chokes on odd Unicode' && !prompt.user.isWellFormed()) throw new Error('odd');
    refuseAborted(prompt);
    const right = schema.safeParse(COLOUR).success ? COLOUR : SHOPPING;
    last = right;
    await new Promise(resolve => setImmediate(resolve));
    refuseAborted(prompt);
    if (fault === 'ignores the schema') return 'red' as T;
    if (fault === 'cannot leave anything out' && right === SHOPPING) return { ...SHOPPING, due: null } as T;
    return (fault === 'mixes up who asked what' ? last : right) as T;
  }

  async function* text(prompt: Prompt): AsyncGenerator<string> {
    refuseAborted(prompt);
    if (busy) throw new Error('busy');
    if (fault === 'says nothing') return;
    if (fault === 'gives pieces that are empty') yield '';
    busy = fault === 'is busy for ever when left early';
    for (const piece of ['It ', 'is ', 'red.']) {
      yield piece;
      if (fault !== 'talks on when aborted half-way') refuseAborted(prompt);
    }
    busy = false;
  }

  function refuseAborted({ signal }: Prompt): void {
    if (fault === 'goes on though aborted') return;
    if (fault === 'throws something else when aborted' && signal.aborted) throw new Error('aborted');
    signal.throwIfAborted();
  }
}

/** Which check has to catch which fault. */
const CAUGHT: Record<Fault, string> = {
  'ignores the schema': 'answers with an object of the schema',
  'cannot leave anything out': 'answers with lists, choices and optional fields',
  'says nothing': 'streams text',
  'gives pieces that are empty': 'streams text',
  'chokes on odd Unicode': 'accepts any Unicode',
  'mixes up who asked what': 'serves several at once, each with its own schema',
  'goes on though aborted': 'rejects with the reason when it is aborted',
  'throws something else when aborted': 'rejects with the reason when it is aborted',
  'talks on when aborted half-way': 'ends its text with the reason when it is aborted midway',
  'is busy for ever when left early': 'is available again when the reader stops early',
};

test('a model without fault passes every check, of its eyes too', async t => {
  for (const check of llmChecks) await t.notThrowsAsync(check.run({ llm: parrot() }), check.title);
  for (const check of visionChecks) await t.notThrowsAsync(check.run({ vision: parrot() }), check.title);
});

for (const [fault, title] of Object.entries(CAUGHT)) {
  test(`a model that ${fault} is caught`, async t => {
    const check = llmChecks.find(each => each.title === title);
    await t.throwsAsync(async () => check?.run({ llm: parrot(fault as Fault) }));
  });
}

test('a model that sees and ignores the schema, or goes on though aborted, is caught', async t => {
  const [sees, looksAway] = visionChecks;
  await t.throwsAsync(async () => sees?.run({ vision: parrot('ignores the schema') }));
  await t.throwsAsync(async () => looksAway?.run({ vision: parrot('goes on though aborted') }));
});
