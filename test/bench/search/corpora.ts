/** Corpora for search, the same for each seed. */
import type { Embedder } from '../../../core/contract/plugin.ts';
import words from '../../../plugins/embedder/words/index.ts';

export interface Corpus {
  dimensions: number;
  /** Yields this many vectors of length 1. */
  memories(count: number, seed: number): AsyncIterable<Float32Array>;
  queries(count: number, seed: number): Promise<Float32Array[]>;
}

export const CORPORA = { words: ofWords, clusters: ofClusters } as const;

const AT_ONCE = 256;

// ── sentences, with the built-in embedder ───────────────────────────────────────────────────────────────────────────

const WHO = split(
  'Anna,her brother Tom,the neighbour,Dr. Okafor,my manager,our daughter Mia,his wife,grandmother,the new colleague,Ben,aunt Rosa,the landlord,coach Lee,an old friend from Oslo,the plumber,their son,Priya,uncle Jorge,the teacher,Sam',
);
const DOES = split(
  'likes,cannot stand,is allergic to,collects,wants to learn about,teaches,sold,bought,is afraid of,recommends,dreams of,writes about,takes pictures of,forgot,repairs,grew up with,studies,lost,is saving for,talks about,stopped with,plans,gave away,reads about,cooks,paints,waits for,was promoted because of,moved away for,looks after',
);
const WHAT = split(
  'peanuts,vintage stamps,a red pickup truck,the cello,long distance running,black coffee,green tea,a sailing boat,the house in Lisbon,electric bicycles,chess,the garden,high blood pressure,Portuguese,a small dog,three cats,marathon training,solar panels,the mortgage,oil painting,Italian opera,jazz records,mountain climbing,fresh bread,spicy food,tax returns,an apartment on the fifth floor,old maps,the night train,science fiction,knitting,tomatoes,horses,diabetes,a broken ankle,the school choir,volunteering,pottery,astronomy,mushrooms,a wedding dress,the tennis club,poetry,beekeeping,goats,a violin,yoga,migraines,insurance,basketball,the library,fishing,a motorcycle,woodwork,cheese,wine,meditation,the theatre,swimming,birdwatching',
);
const HOW = split(
  'every morning,since university,in October,at the weekend,after work,with the children,because of a bad knee,near the river,for ten years,in Edinburgh,on the phone,before breakfast,at the hospital,last winter,during the holidays,for the first time,on doctor’s orders,with great patience,in the city centre,every second Tuesday,together with the neighbours,without much luck,in the mountains,next spring,on the farm,for a birthday,by accident,at 7 o’clock,in 1998,on the way to Berlin',
);

/** Yields this many memory-like sentences, in batches. */
export function* sentences(count: number, seed: number): Generator<string[]> {
  const pick = picker(seed);
  const sentence = () => `${pick(WHO)} ${pick(DOES)} ${pick(WHAT)} and ${pick(WHAT)} ${pick(HOW)}`;
  for (let done = 0; done < count; done += AT_ONCE)
    yield Array.from({ length: Math.min(AT_ONCE, count - done) }, sentence);
}

export function questions(count: number, seed: number): string[] {
  const pick = picker(seed);
  return Array.from({ length: count }, () => `${pick(WHO)} ${pick(WHAT)} ${pick(HOW)}`);
}

function ofWords(): Corpus {
  const embedder = embedderOf();
  const signal = new AbortController().signal;
  async function embed(texts: string[]) {
    const { embed } = await embedder;
    return embed(texts, signal);
  }
  return {
    dimensions: 100,
    async *memories(count, seed) {
      for (const texts of sentences(count, seed)) yield* await embed(texts);
    },
    queries: (count, seed) => embed(questions(count, seed)),
  };
}

export async function embedderOf(): Promise<Embedder> {
  const context = { error: (_: string, message: string) => new Error(message) };
  const { embedder } = await words.setup(context as unknown as Parameters<typeof words.setup>[0]); // it uses only this
  if (!embedder) throw new Error('words embeds nothing');
  return embedder;
}

function split(list: string): string[] {
  return list.split(',');
}

// ── vectors as of larger models ─────────────────────────────────────────────────────────────────────────────────────

const DIMENSIONS = 384;
const TOPICS = 2000;

/** Two topics each, with noise; all share a bias, and earlier dimensions have more weight. */
function ofClusters(): Corpus {
  const normal = normalsOf(randomOf(1));
  const weight = Float32Array.from({ length: DIMENSIONS }, (_, at) => 1 / Math.sqrt(1 + at / 20));
  const noise = (by: number, from: () => number) => weight.map(each => each * by * from());
  const lean = Float32Array.from({ length: DIMENSIONS }, () => normal());
  const topics = Array.from({ length: TOPICS }, () => noise(2, normal));
  function* make(count: number, seed: number): Generator<Float32Array> {
    const random = randomOf(seed);
    const own = normalsOf(random);
    const topic = () => topics[Math.floor(random() * TOPICS)] ?? lean;
    for (let done = 0; done < count; done++) {
      const [one, two, rest] = [topic(), topic(), noise(0.9, own)];
      const sum = lean.map((value, at) => value + (one[at] ?? 0) + (two[at] ?? 0) / 2 + (rest[at] ?? 0));
      const length = Math.hypot(...sum);
      yield sum.map(value => value / length);
    }
  }
  return {
    dimensions: DIMENSIONS,
    async *memories(count, seed) {
      yield* make(count, seed);
    },
    queries: async (count, seed) => [...make(count, seed)],
  };
}

// ── random numbers ──────────────────────────────────────────────────────────────────────────────────────────────────

function picker(seed: number): (list: readonly string[]) => string {
  const random = randomOf(seed);
  return list => list[Math.floor(random() * list.length)] ?? '';
}

/** In the range from 0 to below 1. */
function randomOf(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function normalsOf(random: () => number): () => number {
  return () => Math.sqrt(-2 * Math.log(random() + 2 ** -33)) * Math.cos(2 * Math.PI * random());
}
