import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import type { Embedder, LanguageModel } from '../../../../core/contract/plugin.ts';
import { createCategorise } from '../../../../core/domain/memories/memory-category.ts';
import { AppError } from '../../../../core/runtime/errors.ts';
import words from '../../../../plugins/embedder/words/index.ts';
import openai from '../../../../plugins/llm/openai-llm/index.ts';
import { refuse, say, startChatServer } from '../../../helpers/chat-server.ts';
import { manualClock } from '../../../helpers/manual-clock.ts';
import { rightCategories } from '../../../helpers/recall.ts';
import { contextOf } from '../../../plugins/stt/context.ts';

const LIMIT_MS = 5000;
const ADVENTURE = 'Sailed alone around Iceland';
const JOB = 'Works as a nurse at the county hospital';

function wordEmbedder(): Embedder {
  return words.setup({ ...contextOf().context, options: {} as never, dataDir: '' }).embedder;
}

function noEmbedder(): Embedder {
  throw new AppError('unavailable', 'No plugin gives embedder now');
}

function setUp({
  models = [],
  embedder = wordEmbedder,
}: {
  models?: LanguageModel[];
  embedder?: () => Embedder;
}) {
  const clock = manualClock();
  const { context, logged } = contextOf(clock);
  const categorise = createCategorise({ models: () => models, embedder, clock, log: context.log });
  return { clock, categorise, logged };
}

/** The real plugin, with a local server that speaks the protocol. */
async function model(t: ExecutionContext) {
  const server = await startChatServer();
  t.teardown(() => server.close());
  const { context, stop } = contextOf();
  t.teardown(stop);
  const options = openai.options(z).parse({ baseUrl: server.baseUrl });
  const { llm } = await openai.setup({ ...context, options, dataDir: '' });
  return { server, llm };
}

test('8 of 10 unlabelled memories get the right category without a language model', async t => {
  const { categorise } = setUp({});
  t.true((await rightCategories(categorise, 'test')) >= 0.8);
});

test('a language model decides if there is one, and receives the memory as data', async t => {
  const { server, llm } = await model(t);
  server.chat = (_, response) => say(response, '{"category":"interesting"}');
  const { categorise, logged } = setUp({ models: [llm], embedder: noEmbedder });
  t.is(await categorise(JOB), 'interesting');
  const [asked] = server.asked;
  t.is(asked?.messages[1]?.content, JOB);
  t.false(String(asked?.messages[0]?.content).includes(JOB));
  t.deepEqual(logged, []);
});

test('similarity decides if the language model fails, or invents a category', async t => {
  const { server, llm } = await model(t);
  const { categorise, logged } = setUp({ models: [llm] });
  server.chat = (_, response) => refuse(response, 500, {});
  t.is(await categorise(ADVENTURE), 'interesting');
  t.is(await categorise(JOB), 'system');
  server.chat = (_, response) => say(response, '{"category":"auto"}');
  t.is(await categorise(ADVENTURE), 'interesting');
  t.is(logged.length, 3);
  t.false(JSON.stringify(logged).includes('Iceland'), 'what was said is in no log');
});

test('similarity decides if the language model takes longer than 5 seconds, whether or not it honours its signal', async t => {
  const { server, llm } = await model(t);
  const stubborn: LanguageModel = { ...llm, object: () => new Promise(() => undefined) };
  for (const slow of [llm, stubborn]) {
    const { categorise, clock } = setUp({ models: [slow] });
    const arrived = Promise.withResolvers<void>();
    server.chat = () => arrived.resolve();
    const deciding = categorise(ADVENTURE);
    if (slow === llm) await arrived.promise;
    await clock.asleep(LIMIT_MS);
    clock.advance(LIMIT_MS);
    t.is(await deciding, 'interesting');
  }
});

test('a memory gets the category system if nothing can classify it, or none of its words is known', async t => {
  t.is(await setUp({ embedder: noEmbedder }).categorise(ADVENTURE), 'system');
  t.is(await setUp({}).categorise('Привет'), 'system');
  const failing: Embedder = {
    ...wordEmbedder(),
    embed: () => Promise.reject(new AppError('upstream_error', 'away')),
  };
  t.is(await setUp({ embedder: () => failing }).categorise(ADVENTURE), 'system');
  t.is(await setUp({}).categorise(ADVENTURE, AbortSignal.abort()), 'system');
});

test('example embeddings are computed again for another embedder, and once for each', async t => {
  const embedders = [wordEmbedder(), { ...wordEmbedder(), id: 'other' }].map(embedder => {
    const counted = { ...embedder, asked: 0 };
    counted.embed = (texts, signal) => {
      counted.asked += texts.length;
      return embedder.embed(texts, signal);
    };
    return counted;
  });
  let current = 0;
  const { categorise } = setUp({ embedder: () => embedders[current] ?? noEmbedder() });
  for (current of [0, 0, 1]) t.is(await categorise(ADVENTURE), 'interesting');
  const [first, second] = embedders;
  t.is(first?.asked, (second?.asked ?? 0) + 1);
});
