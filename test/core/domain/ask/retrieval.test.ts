import test from 'ava';
import { pino } from 'pino';
import type { Embedder } from '../../../../core/contract/plugin.ts';
import { createRetrieval } from '../../../../core/domain/ask/retrieval.ts';
import type { Asked, Source } from '../../../../core/domain/ask/sources.ts';
import { AppError } from '../../../../core/runtime/errors.ts';
import { openWords } from '../../../helpers/meaning.ts';

const none = () => {
  throw new AppError('unavailable', 'there is no embedder');
};

function retrieverOf(found: Source[], embedder: () => Embedder) {
  const sources = { find: async () => found };
  const retrieve = createRetrieval({ sources, embedder, log: pino({ level: 'silent' }) });
  return async (words: string, { spans = [] as Asked['spans'], cited = [] as string[] } = {}) => {
    const reader = { timeZone: 'UTC', language: 'en' } as const;
    const asked = { words, earlier: '', spans, ...reader, principal: {} as Asked['principal'] };
    return (await retrieve(asked, new Set(cited))).map(({ id }) => id);
  };
}

const memory = (id: string, text: string): Source => ({
  ...{ type: 'memory', id, title: text, text, createdAt: 0, segmentId: null },
});
const FOUND = [
  memory('surgeon', 'Her surgeon said the hospital keeps her until Friday'),
  memory('boat', 'Bought varnish for the hull of the boat'),
  memory('tax', 'The accountant wants the receipts of last year'),
];

test('A passage without shared words or similar meaning is not a source', async t => {
  const words = openWords();
  const retrieve = retrieverOf(FOUND, () => words);
  t.deepEqual(await retrieve('doctor clinic patient'), ['surgeon']);
  t.deepEqual(await retrieve('boat'), ['boat']);
});

test('Passages from the requested period or cited before remain sources', async t => {
  const words = openWords();
  const retrieve = retrieverOf(FOUND, () => words);
  t.is((await retrieve('doctor clinic patient', { spans: [{ from: 0, to: 1 }] })).length, 3);
  t.deepEqual(
    new Set(await retrieve('doctor clinic patient', { cited: ['tax'] })),
    new Set(['surgeon', 'tax']),
  );
});

test('Without an embedder all passages were found by words, and remain sources', async t => {
  t.is((await retrieverOf(FOUND, none)('doctor clinic patient')).length, 3);
});
