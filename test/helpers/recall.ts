import type { ExecutionContext } from 'ava';
import type { Embedder } from '../../core/contract/plugin.ts';
import { EMBED_JOB } from '../../core/domain/search/embedding.ts';
import sqliteVectors from '../../plugins/vectors/sqlite-vectors/index.ts';
import categories from '../fixtures/memory-categories.json' with { type: 'json' };
import paraphrases from '../fixtures/paraphrases.json' with { type: 'json' };
import { startIndex } from '../plugins/vectors/context.ts';
import { openDomain, temporaryDirectory } from './domain.ts';

/** A statement, and a query for it in other words. */
export type Pair = readonly [memory: string, query: string];

/**
 * Options were tuned on `tune` alone; `test` was written before that, and only measures. In `names`, query and memory share
 * a name or a number that is in no vocabulary.
 */
export const PAIRS = paraphrases as unknown as Record<'tune' | 'test' | 'names', Pair[]>;

/** Returns the share of labelled memories that get their label. */
export async function rightCategories(
  categorise: (content: string) => Promise<string>,
  half: 'tune' | 'test',
): Promise<number> {
  const labelled = Object.entries(categories[half]).flatMap(([label, memories]) =>
    memories.map(memory => ({ label, memory })),
  );
  const decided = await Promise.all(
    labelled.map(async ({ label, memory }) => (await categorise(memory)) === label),
  );
  return decided.filter(isRight => isRight).length / decided.length;
}

/** Share of queries whose memory is among the best 1, 5 and 10 results. */
export interface Recall {
  at1: number;
  at5: number;
  at10: number;
}

const never = new AbortController().signal;

/** Measures vectors alone: each query is compared with the memories of all pairs and `others`. */
export async function recallOf(
  embedder: Embedder,
  pairs: readonly Pair[],
  others: readonly string[] = [],
): Promise<Recall> {
  const memories = await embedAll(embedder, [...pairs.map(([memory]) => memory), ...others]);
  const queries = await embedAll(
    embedder,
    pairs.map(([, query]) => query),
  );
  return recallAt(
    queries.map((query, index) =>
      rankOf(
        index,
        memories.map(memory => dot(query, memory)),
      ),
    ),
  );
}

/** Measures the whole search, by words and by meaning, with a real database and a real index. */
export async function recallOfSearch(
  t: Pick<ExecutionContext, 'teardown'>,
  embedder: Embedder,
  pairs: readonly Pair[],
  others: readonly string[] = [],
): Promise<Recall> {
  const domain = await openDomain(t);
  const { index, stop } = await startIndex(sqliteVectors, await temporaryDirectory(t));
  t.teardown(stop);
  domain.meaning.embedder = () => embedder;
  domain.meaning.vectors = () => index;
  const { id: userId } = await domain.users.add('searcher');
  const drafts = [...pairs.map(([memory]) => memory), ...others].map(content => ({
    content,
    category: 'other' as const,
    visibility: 'private' as const,
    tags: [],
  }));
  const memories = await domain.memories.create(userId, drafts);
  const [job] = await domain.storage.jobs.claim([EMBED_JOB], domain.clock.now(), 60_000, 1);
  if (!job) throw new Error('nobody asked for vectors');
  if (await domain.embedding.embed(job, never)) throw new Error('not all memories have their vectors');
  const ranks: number[] = [];
  for (const [place, [, query]] of pairs.entries()) {
    const hits = await domain.search.search(userId, query, 10);
    const rank = hits.findIndex(({ memory }) => memory.id === memories[place]?.id);
    ranks.push(rank === -1 ? Number.POSITIVE_INFINITY : rank);
  }
  return recallAt(ranks);
}

function recallAt(ranks: readonly number[]): Recall {
  const within = (k: number) => ranks.filter(rank => rank < k).length / ranks.length;
  return { at1: within(1), at5: within(5), at10: within(10) };
}

async function embedAll({ embed }: Embedder, texts: readonly string[]): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (let at = 0; at < texts.length; at += 256)
    vectors.push(...(await embed(texts.slice(at, at + 256), never)));
  return vectors;
}

/** Counts the other memories that are at least as similar: a tie is a miss. */
function rankOf(index: number, scores: readonly number[]): number {
  const own = scores[index] ?? 0;
  return scores.filter((score, at) => at !== index && score >= own).length;
}

function dot(one: Float32Array, other: Float32Array): number {
  return one.reduce((sum, number, index) => sum + number * (other[index] ?? 0), 0);
}

const PEOPLE = [
  'His uncle',
  'Her neighbour',
  'A friend from school',
  'The cousin in Leeds',
  'His flatmate',
  'Her aunt',
];
const FACTS = [
  'prefers window seats on long journeys',
  'has a subscription to a wine magazine',
  'bought a new washing machine in June',
  'studied chemistry for two semesters',
  'keeps the spare key under a flower pot',
  'works night shifts at the airport',
  'has a scar above the left eye',
  'likes to sit on the terrace after dinner',
  'never learned to ride a horse',
  'takes the tram to the market on Saturdays',
  'is fond of opera and ballet',
  'had a pacemaker fitted',
  'sells second-hand furniture',
  'is writing a thesis about volcanoes',
  'orders groceries by telephone',
  'has twin girls who go to kindergarten',
  'broke a wrist on the ice',
  'drinks a glass of milk before bed',
  'rents a garage for a caravan',
  'was born during a snowstorm',
  'trains for a triathlon',
  'cannot stand the smell of garlic',
  'repaired the roof without help',
  'plays the lottery with the same numbers',
  'used to be a ship cook',
  'has an account with the savings bank',
  'wants the heating at twenty degrees',
  'speaks Italian with the waiters',
  'is left with a limp after a fall',
  'goes to the cinema alone',
  'breeds canaries in the attic',
  'got a new laptop from the company',
  'is a godparent of the youngest boy',
  'follows a course in bookkeeping',
  'has lived in seven different towns',
  'votes by post',
  'carries an umbrella on sunny days',
  'lost a suitcase in Madrid',
  'is on first-name terms with the mayor',
  'eats soup on Mondays',
  'knits socks for the whole family',
  'reads the newspaper from back to front',
  'saw a whale near Iceland',
  'sleeps with the window open',
  'does not trust elevators',
  'owns three typewriters',
  'gave a speech at the reunion',
  'looks after the grandchildren on Wednesdays',
  'has a tattoo of an anchor',
  'retired from the post office',
];

/** Three hundred further memories about similar subjects. */
export const DISTRACTORS: readonly string[] = PEOPLE.flatMap(person =>
  FACTS.map(fact => `${person} ${fact}`),
);
