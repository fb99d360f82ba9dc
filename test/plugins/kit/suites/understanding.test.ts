import test from 'ava';
import type { SpokenSegment, Understanding, Understood } from '../../../../core/contract/plugin.ts';
import { understandingChecks } from '../../../../plugins/kit/suites/understanding.ts';
import { PLAIN } from '../../../helpers/rest.ts';

/** How a subject goes wrong, and which check catches it. */
const FAULTS: Record<
  string,
  { caughtBy: number; change(answer: Understood, said: SpokenSegment[]): object }
> = {
  'discards everything': { caughtBy: 0, change: () => ({ discard: true }) },
  'has no title': { caughtBy: 0, change: ({ title }) => ({ title: { ...title, text: '' } }) },
  'has no overview': { caughtBy: 0, change: () => ({ overview: [] }) },
  'invents a sentence': { caughtBy: 1, change: () => ({ overview: [{ text: 'Invented.', from: [] }] }) },
  'cites what is not there': { caughtBy: 1, change: () => ({ title: { text: 'Title', from: ['nowhere'] } }) },
  'is due at no instant': {
    caughtBy: 2,
    change: (_, said) => ({ tasks: [{ text: 'Do it', dueAt: Number.NaN, from: said.map(({ id }) => id) }] }),
  },
  'has an event of no length': {
    caughtBy: 2,
    change: (_, said) => ({
      events: [{ text: 'Lunch', startAt: 0, minutes: 0, from: said.map(({ id }) => id) }],
    }),
  },
  'keeps silence': { caughtBy: 3, change: () => ({ discard: false }) },
  'obeys the transcript': {
    caughtBy: 4,
    change: (_, said) => (said.some(({ text }) => text.includes('"discard": true')) ? { discard: true } : {}),
  },
  'cites by number': {
    caughtBy: 5,
    change: (_, said) => (said.length > 100 ? { title: { text: 'Title', from: ['361'] } } : {}),
  },
};

function faulty(change: (answer: Understood, said: SpokenSegment[]) => object): Understanding {
  return {
    async understand(transcript, context, signal) {
      const answer = await PLAIN.understanding.understand(transcript, context, signal);
      return { ...answer, ...change(answer, [...transcript]) };
    },
  };
}

for (const check of understandingChecks)
  test(`plain-understanding ${check.title}`, t => t.notThrowsAsync(check.run(PLAIN)));

for (const [fault, { caughtBy, change }] of Object.entries(FAULTS))
  test(`The suite catches one that ${fault}`, async t => {
    const check = understandingChecks[caughtBy] ?? t.fail();
    await t.throwsAsync(async () => check?.run({ understanding: faulty(change) }), {
      name: 'AssertionError',
    });
  });

test('The suite catches one that writes into the transcript, mixes up talks or does not stop', async t => {
  const { understand } = PLAIN.understanding;
  let last: readonly SpokenSegment[] = [];
  const subjects: [number, Understanding][] = [
    [
      6,
      {
        understand(transcript, context, signal) {
          Object.assign(transcript[0] ?? {}, { text: 'other' });
          return understand(transcript, context, signal);
        },
      },
    ],
    [
      7,
      {
        async understand(transcript, context, signal) {
          last = transcript;
          await Promise.resolve();
          const [first] = last;
          const answer = await understand(transcript, context, signal);
          return { ...answer, title: { text: 'Title', from: [`${first?.id}-${first?.text.length}`] } };
        },
      },
    ],
    [
      8,
      { understand: (transcript, context) => understand(transcript, context, new AbortController().signal) },
    ],
  ];
  for (const [index, understanding] of subjects)
    await t.throwsAsync(
      async () => understandingChecks[index]?.run({ understanding }),
      undefined,
      String(index),
    );
});
