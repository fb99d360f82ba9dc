import test, { type ExecutionContext } from 'ava';
import type { Embedder, VectorIndex } from '../../../../core/contract/plugin.ts';
import type { MemoryDraft } from '../../../../core/domain/memories/memories.ts';
import { EMBED_CHECK_JOB, EMBED_JOB } from '../../../../core/domain/search/embedding.ts';
import { createJobs } from '../../../../core/runtime/jobs.ts';
import { openDatabases } from '../../../helpers/databases.ts';
import { openDomain } from '../../../helpers/domain.ts';
import { openVectors, openWords } from '../../../helpers/meaning.ts';

const DRAFT: Omit<MemoryDraft, 'content'> = { category: 'other', visibility: 'private', tags: [] };
const MINUTE_MS = 60_000;
const IDLE_MS = 3_600_000;

type Setup = Awaited<ReturnType<typeof start>>;

/** A domain with the real word embedder and a real index, and one user. */
async function start(t: ExecutionContext, open?: Parameters<typeof openDomain>[1]) {
  const domain = await openDomain(t, open);
  const { storage, clock, memories, search, embedding, meaning } = domain;
  const [embedder, vectors] = [openWords(), await openVectors(t)];
  const user = await domain.users.add('anna');
  const use = (given: { embedder?: Embedder; index?: VectorIndex }) => {
    if (given.embedder) meaning.embedder = () => given.embedder as Embedder;
    if (given.index) meaning.vectors = () => given.index as VectorIndex;
  };
  use({ embedder, index: vectors.index });

  /** Runs the jobs that are due, as a server would; resolves to the number of runs. */
  async function work(kind = EMBED_JOB): Promise<number> {
    const run = kind === EMBED_JOB ? embedding.embed : embedding.check;
    for (let runs = 0; ; runs += 1) {
      const [job] = await storage.jobs.claim([kind], clock.now(), MINUTE_MS, 1);
      if (!job) return runs;
      const result = await run(job, new AbortController().signal);
      if (result && 'again' in result) await storage.jobs.retryAt(job, result.again, null);
      else await storage.jobs.done(job);
    }
  }

  async function check(): Promise<void> {
    await embedding.begin();
    await work(EMBED_CHECK_JOB);
  }

  async function tell(...contents: string[]): Promise<string[]> {
    const made = await memories.create(
      user.id,
      contents.map(content => ({ ...DRAFT, content })),
    );
    return made.map(({ id }) => id);
  }

  const find = async (text: string, limit = 3) =>
    (await search.search(user.id, text, limit)).map(({ memory }) => memory.content);
  /** Queries the index directly, without the store. */
  const indexed = async (text: string, maker = embedder) => {
    const [vector] = await maker.embed([text], new AbortController().signal);
    const space = { name: `memories.${maker.id}`, dimensions: maker.dimensions };
    const found = await meaning
      .vectors()
      .search(space, user.id, vector as Float32Array, 1000, new AbortController().signal);
    return found.map(({ id }) => id);
  };
  const spaces = async () => (await meaning.vectors().spaces()).map(({ name }) => name);
  const state = async () => (await storage.embeddings.get(user.id))?.cursor;
  return { ...domain, user, embedder, vectors, use, work, check, tell, find, indexed, spaces, state };
}

const FACTS = ['Drinks green tea every morning', 'Plays the violin in an orchestra', 'His dog is called Rex'];

for (const { name, open } of await openDatabases(test)) {
  const on = (title: string, run: (t: ExecutionContext, setup: Setup) => Promise<void>) =>
    test(`${name}: ${title}`, async t => run(t, await start(t, open)));

  on(
    'texts with the same meaning are found without a common word, and names by their words',
    async (t, setup) => {
      const { tell, work, find } = setup;
      await tell(...FACTS);
      t.is(await work(), 1);
      t.is((await find('a hot beverage at breakfast'))[0], FACTS[0]);
      t.is((await find('which instrument does the musician perform'))[0], FACTS[1]);
      t.is((await find('Rex'))[0], FACTS[2]);
      t.is((await find('what is the pet of his'))[0], FACTS[2]);
      t.is(
        (await find('which of them is in his morning cup?'))[0],
        FACTS[0],
        'his, is, in: they decide nothing',
      );
    },
  );

  on('scores range from 0 to 1, descending; the best by words and by meaning has 1', async (t, setup) => {
    const { tell, work, search, user } = setup;
    await tell(...FACTS, 'Likes black tea');
    await work();
    const hits = await search.search(user.id, 'green tea', 10);
    t.is(hits[0]?.memory.content, FACTS[0]);
    t.is(hits[0]?.relevance, 1);
    const relevances = hits.map(({ relevance }) => relevance);
    t.true(relevances.length > 1);
    t.deepEqual(
      relevances,
      relevances.toSorted((a, b) => b - a),
    );
    t.true(relevances.every(relevance => relevance > 0 && relevance <= 1));
  });

  on('memories of another user are never found', async (t, setup) => {
    const { tell, work, users, search } = setup;
    await tell(...FACTS);
    await work();
    const ben = await users.add('ben');
    t.deepEqual(await search.search(ben.id, 'green tea', 10), []);
  });

  on('a memory that was changed, deleted or locked is never found in its old form', async (t, setup) => {
    const { tell, work, find, memories, user, indexed } = setup;
    const [tea = '', violin = '', dog = ''] = await tell(...FACTS);
    await work();
    await memories.edit(user.id, tea, { content: 'Collects stamps from Peru' });
    await memories.remove(user.id, violin);
    await setup.storage.memories.update(user.id, dog, { locked: true });
    t.deepEqual(
      (await indexed('green tea')).toSorted(),
      [tea, violin, dog].toSorted(),
      'the index does not know yet',
    );
    for (const text of ['green tea', 'violin orchestra', 'dog Rex', 'stamps'])
      t.true(
        (await find(text)).every(content => content === 'Collects stamps from Peru'),
        text,
      );
    await work();
    t.deepEqual((await indexed('stamps')).toSorted(), [tea, dog].toSorted(), 'now it does');
    t.deepEqual(await find('philately'), ['Collects stamps from Peru']);
  });

  on(
    'while the index is unavailable only words are searched, which is logged once; then all changes are applied',
    async (t, setup) => {
      const { tell, work, find, vectors, use, memories, user, storage, logged, indexed } = setup;
      const [tea = '', violin = ''] = await tell(...FACTS);
      await work();
      await vectors.stop();
      for (let n = 0; n < 3; n += 1) t.deepEqual(await find('green tea'), [FACTS[0]]);
      t.deepEqual(await find('a hot beverage'), []);
      const warnings = logged.filter(({ msg }) => msg === 'memories are searched by their words alone');
      t.is(warnings.length, 1);

      await memories.edit(user.id, tea, { content: 'Collects stamps' });
      await memories.remove(user.id, violin);
      const [boat] = await tell('Sails a small boat');
      await t.throwsAsync(work());
      t.is((await storage.embeddings.changes(user.id, 10)).length, 3);

      use({ index: await vectors.restart() });
      t.true(
        (await find('green tea')).every(content => !FACTS.slice(0, 2).includes(content)),
        'not even now',
      );
      setup.clock.advance(MINUTE_MS * 2);
      await work();
      t.deepEqual(await storage.embeddings.changes(user.id, 10), []);
      t.is((await find('yacht on the ocean'))[0], 'Sails a small boat');
      t.is((await indexed('music')).includes(violin), false);
      t.true((await indexed('boat')).includes(String(boat)));
      t.is(logged.filter(({ msg }) => msg === 'memories are searched by meaning again').length, 1);
    },
  );

  on('the job is retried, with growing delays, until the index is available', async (t, setup) => {
    const { tell, storage, clock, log, embedding, vectors, use, find } = setup;
    await vectors.stop();
    await tell(...FACTS);
    const jobs = createJobs({ storage, clock, log, random: () => 0.5, pollMs: IDLE_MS });
    jobs.handle(EMBED_JOB, embedding.embed);
    jobs.start();
    t.teardown(() => jobs.stop());
    for (const waitMs of [5000, 30_000]) {
      await clock.asleep(waitMs);
      t.is((await storage.jobs.counts(clock.now()))[0]?.state, 'failed');
      clock.advance(waitMs - 1);
      if (waitMs === 30_000) use({ index: await vectors.restart() });
      clock.advance(1);
    }
    await clock.asleep(IDLE_MS);
    t.deepEqual(await storage.jobs.counts(clock.now()), []);
    t.is((await find('a hot beverage at breakfast'))[0], FACTS[0]);
  });

  on(
    'with another embedder everything is embedded again, page by page, and the old space is dropped at the end',
    async (t, setup) => {
      const { tell, work, check, find, embedder, use, spaces, storage, user, indexed, state } = setup;
      for (let n = 0; n < 20; n += 1)
        await tell(...Array.from({ length: 30 }, (_, at) => `He has visited the city number ${n * 30 + at}`));
      const [last] = await tell(...FACTS);
      await work();
      await check();
      t.deepEqual(await spaces(), ['memories.words-en-1']);
      t.is(await state(), null);

      const next = { ...embedder, id: 'words-en-2' };
      use({ embedder: next });
      t.deepEqual(await find('green tea'), [FACTS[0]], 'by its words, while there are no vectors yet');
      const stopping = new AbortController();
      let texts = 0;
      const embed: Embedder['embed'] = (given, signal) => {
        texts += given.length;
        return embedder.embed(given, signal);
      };
      use({ embedder: { ...next, embed: (...given) => embed(...given).finally(() => stopping.abort()) } });
      await check();
      const [job] = await storage.jobs.claim([EMBED_JOB], setup.clock.now(), 1, 1);
      if (!job) return t.fail('there is a job for it');
      await t.throwsAsync(async () => setup.embedding.embed(job, stopping.signal));
      await storage.jobs.retryAt(job, setup.clock.now(), null);
      const all = await storage.memories.page(user.id, null, 1000);
      t.is(await state(), all[255]?.id, 'the first page is done');

      use({ embedder: { ...next, embed } });
      await work();
      t.is(await state(), null);
      t.is(texts, all.length, 'nothing twice');
      t.is((await indexed('tea', next)).length, all.length);
      t.true((await indexed('tea', next)).includes(String(last)));
      await check();
      t.deepEqual(await spaces(), ['memories.words-en-2']);
      t.is((await find('a hot beverage at breakfast'))[0], FACTS[0]);
    },
  );

  on('a lost index is filled again without a command', async (t, setup) => {
    const { tell, work, check, find, use, indexed } = setup;
    const ids = await tell(...FACTS);
    await work();
    use({ index: (await openVectors(t)).index });
    t.deepEqual(await find('a hot beverage at breakfast'), []);
    await check();
    t.is(await work(), 1);
    t.deepEqual((await indexed('tea')).toSorted(), ids.toSorted());
    t.is((await find('a hot beverage at breakfast'))[0], FACTS[0]);
    setup.clock.advance(5 * MINUTE_MS);
    await work(EMBED_CHECK_JOB);
    t.is(await work(), 0, 'and then there is nothing to do');
  });

  on('a lost index that a change started to fill is filled completely', async (t, setup) => {
    const { tell, work, use, indexed } = setup;
    const ids = await tell(...FACTS);
    await work();
    use({ index: (await openVectors(t)).index });
    ids.push(...(await tell('Sails a small boat')));
    await work();
    t.deepEqual((await indexed('tea')).toSorted(), ids.toSorted());
  });

  on(
    'text without a vector from the embedder is not indexed, and its old vector is removed',
    async (t, setup) => {
      const { tell, work, find, memories, user, indexed } = setup;
      const [id = ''] = await tell('Drinks green tea');
      await work();
      t.deepEqual(await indexed('tea'), [id]);
      await memories.edit(user.id, id, { content: '🎻 🎻' });
      await work();
      t.deepEqual(await indexed('tea'), []);
      t.deepEqual(await find('???'), []);
    },
  );

  on('text changed while it is embedded is embedded again', async (t, setup) => {
    const { tell, work, embedder, use, memories, user, storage, find } = setup;
    const [id = ''] = await tell('Drinks green tea');
    let edited = false;
    use({
      embedder: {
        ...embedder,
        async embed(texts, signal) {
          const made = await embedder.embed(texts, signal);
          if (!edited) await memories.edit(user.id, id, { content: 'Collects stamps' });
          edited = true;
          return made;
        },
      },
    });
    await work();
    t.deepEqual(await storage.embeddings.changes(user.id, 10), []);
    t.deepEqual(await find('philately', 1), ['Collects stamps']);
  });
}
