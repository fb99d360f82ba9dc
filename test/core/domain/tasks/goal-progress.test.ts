import test from 'ava';
import type { Goal } from '../../../../core/contract/model.ts';
import { type Progress, readerOf, reportsIn } from '../../../../core/domain/tasks/goal-progress.ts';
import { goal } from '../../../../plugins/kit/suites/storage/rows.ts';

function heard(of: Partial<Goal>, text: string): Progress | null {
  const read = readerOf(goal('g', 'anna', of));
  for (const sentence of reportsIn(text)) {
    const found = read(sentence);
    if (found) return found;
  }
  return null;
}

const added = (value: number) => ({ value, adds: true });
const set = (value: number) => ({ value, adds: false });

const RUN = { title: 'Run 100 km', unit: 'km', targetValue: 100 };
const LAUFEN = { title: '100 km laufen', unit: 'km', targetValue: 100 };
const WALK = { title: 'Walk 10,000 steps', unit: 'steps' };
const CYCLE = { title: 'Cycling this summer', unit: 'kilometres' };
const NOVELS = { title: 'Read 12 English books this year', unit: 'books' };
const WATER = { title: 'Drink 100 litres of water', unit: 'litres' };
const TEST = { title: 'Pass the driving test', goalType: 'boolean' } as const;
const PRUEFUNG = { title: 'Die Führerprüfung bestehen', goalType: 'boolean' } as const;
const SLEEP = { title: 'Sleep quality', goalType: 'scale', minValue: 0, maxValue: 10 } as const;
const SCHLAF = { title: 'Schlaf', goalType: 'scale', minValue: 0, maxValue: 10 } as const;

const REPORTS: [goal: Partial<Goal>, text: string, progress: Progress][] = [
  [RUN, 'I ran five kilometres today.', added(5)],
  [RUN, 'Good morning. I ran 5.5 km, and it was hot.', added(5.5)],
  [RUN, "I've just run home. Yesterday I ran 12 kilometers", added(12)],
  [RUN, 'I RAN 5KM!', added(5)],
  [RUN, 'I actually ran for another twenty kilometres this morning.', added(20)],
  [WALK, 'Today I walked 12,345 steps.', added(12_345)],
  [CYCLE, 'I cycled 30 km with Tom.', added(30)],
  [NOVELS, 'I have read two English books this week.', added(2)],
  [WATER, 'I drank 2 litres of water.', added(2)],
  [LAUFEN, 'Heute bin ich fünf Kilometer gelaufen.', added(5)],
  [LAUFEN, 'Ich bin gestern 7,5 km gelaufen und dann nach Hause gefahren.', added(7.5)],
  [TEST, 'Guess what. I finally passed my driving test!', set(1)],
  [PRUEFUNG, 'Ich habe endlich die Führerprüfung bestanden.', set(1)],
  [SLEEP, 'My sleep quality was seven out of ten.', set(7)],
  [SCHLAF, 'Mein Schlaf war heute 6 von 10.', set(6)],
];

test('A plain report of the owner is progress', t => {
  for (const [of, text, progress] of REPORTS) t.deepEqual(heard(of, text), progress, text);
});

const NONE: [goal: Partial<Goal>, texts: string[]][] = [
  [
    RUN,
    [
      'I want to run five kilometres.',
      'I will run five kilometres tomorrow.',
      'I run five kilometres.',
      "I didn't run five kilometres.",
      'I have never run five kilometres.',
      'I nearly ran five kilometres.',
      'I ran about five kilometres.',
      'I ran five kilometres every day.',
      'I ran five kilometres a day.',
      'I ran five kilometres a week.',
      'I ran five kilometres ten years ago.',
      'I ran fifty kilometres so far.',
      'I ran less than five kilometres.',
      'I ran five kilometres less.',
      'I ran five of the ten kilometres.',
      'I ran twenty five kilometres.',
      'I ran five miles today.',
      'I ran five times today.',
      'I drove five kilometres today.',
      'If I ran five kilometres, I would be tired.',
      'I wish I ran five kilometres.',
      'I dreamed I ran five kilometres.',
      'I heard Tom ran five kilometres.',
      'Tom ran five kilometres.',
      'He said I ran five kilometres.',
      'You ran five kilometres today.',
      'Have I run five kilometres?',
      'I ran five kilometres?',
      'I ran five kilometres and ten kilometres.',
      'I ran zero kilometres.',
      'I ran 0 km.',
      'I ran -0 km.',
      'I ran 1.2.3 km.',
      'I ran 1,23 km.',
      'I ran five and a half kilometres.',
      `I ran five kilometres ${'and so on '.repeat(60)}`,
    ],
  ],
  [{ ...RUN, unit: null }, ['I ran five kilometres today.']],
  [{ ...RUN, unit: 'km a day' }, ['I ran five kilometres today.']],
  [{ title: 'Weigh less', unit: 'kg', startValue: 90, targetValue: 80 }, ['I weighed 85 kilos.']],
  [{ title: '100', unit: 'km' }, ['I ran five kilometres today.']],
  [
    LAUFEN,
    [
      'Ich will fünf Kilometer laufen.',
      'Ich bin nicht fünf Kilometer gelaufen.',
      'Ich habe gehört, dass Tom fünf Kilometer gelaufen ist.',
      'Tom ist fünf Kilometer gelaufen.',
      'Ich bin fast fünf Kilometer gelaufen.',
      'Ich wäre gern fünf Kilometer gelaufen.',
      'Bin ich fünf Kilometer gelaufen?',
      'Ich bin fünf Kilometer gefahren.',
      'Ich bin insgesamt 50 Kilometer gelaufen.',
    ],
  ],
  [NOVELS, ['I read two books this week.', 'I read two English poems.']],
  [WATER, ['I drank two litres of beer.', 'I drank two litres.']],
  [
    TEST,
    [
      'I hope I passed my driving test.',
      'I passed the test.',
      'Tom passed his driving test.',
      'I failed my driving test.',
      'I passed my driving test centre.',
      'I passed the driving test last year.',
    ],
  ],
  [{ ...TEST, currentValue: 1 }, ['I passed my driving test.']],
  [{ title: 'Call mum every week', goalType: 'boolean' }, ['I called mum every week.', 'I called mum.']],
  [{ title: 'Swim', goalType: 'boolean' }, ['I swam.']],
  [
    SLEEP,
    [
      'My sleep quality was seven.',
      'My sleep quality was seven out of twelve.',
      'My sleep quality was twelve out of ten.',
      'His sleep quality was seven out of ten.',
      'My sleep was seven out of ten.',
      'My sleep quality is usually seven out of ten.',
    ],
  ],
];

test('Negations, wishes, plans, habits, inexact reports and those about others are not progress', t => {
  for (const [of, texts] of NONE) for (const text of texts) t.is(heard(of, text), null, text);
});

test('Long and unusual texts take no longer than others', t => {
  const odd = [
    '\ud800',
    'I ran '.repeat(50_000),
    '1,'.repeat(100_000),
    '.'.repeat(200_000),
    '5.'.repeat(100_000),
  ];
  for (const text of odd) t.is(heard(RUN, text), null);
});
