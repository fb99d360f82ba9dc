/** Finds and ranks sources for a question: by words, by meaning where an embedder is available, and by time. */
import type { Embedder } from '../../contract/plugin.ts';
import { deadline } from '../../runtime/deadline.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import { cosineOf } from '../memories/memory-likeness.ts';
import { wordShares } from '../search/word-share.ts';
import type { Asked, Source, Sources, SourceType } from './sources.ts';

/** Maximum sources for a model, by type: a few pages in all. */
const MOST: Readonly<Record<SourceType, number>> = { conversation: 12, memory: 8, action_item: 8 };
/** Maximum texts that are compared by meaning for one question. */
const MAX_COMPARED = 60;
/** Time limit for the comparison by meaning, which is then left out. */
const MEANING_MS = 2000;
/** Weights relative to the share of the question's words, which counts from 0 to 1. */
const WEIGHTS = { earlier: 0.5, meaning: 0.6, cited: 0.3 };
/**
 * Unrelated sentences: a text that shares no word with a question must be more similar to it than these are. This
 * makes the threshold independent of the embedder.
 */
const UNRELATED = [
  'The train to the coast was late again this morning.',
  'She painted the garden fence green in spring.',
  'The committee will publish its report about taxes.',
  'Our dog sleeps on the sofa all day.',
  'Boil the potatoes with a little salt.',
  'The match ended two to one after extra time.',
  'A new printer was delivered to the office.',
  'He plays the violin in a small orchestra.',
];

export function createRetrieval({
  sources,
  embedder,
  log,
}: {
  sources: Pick<Sources, 'find'>;
  /** Throws while there is none. */
  embedder: () => Embedder;
  log: Log;
}) {
  /**
   * Most relevant first, without duplicates.
   * @param cited ids of the previous answer's sources
   */
  return async function retrieve(asked: Asked, cited: ReadonlySet<string>): Promise<Source[]> {
    const found = distinct(await sources.find(asked));
    const texts = found.map(({ title, text }) => `${title} ${text}`);
    const shares = wordShares(asked.words, texts);
    const earlier = wordShares(asked.earlier, texts);
    const scored = found.map((source, place) => ({
      source,
      text: texts[place] ?? '',
      score:
        (shares[place] ?? 0) +
        WEIGHTS.earlier * (earlier[place] ?? 0) +
        (cited.has(source.id) ? WEIGHTS.cited : 0),
    }));
    scored.sort((a, b) => b.score - a.score);
    const meaning = await likeness(
      `${asked.words} ${asked.earlier}`.trim(),
      scored.slice(0, MAX_COMPARED).map(({ text }) => text),
    );
    const isFound = ({ source, score }: (typeof scored)[number], place: number) =>
      score > 0 ||
      asked.spans.length > 0 ||
      source.type === 'action_item' ||
      (meaning?.[place]?.isAlike ?? true);
    const related = scored.map((each, place) => ({
      source: each.source,
      isFound: isFound(each, place),
      score: each.score + WEIGHTS.meaning * (meaning?.[place]?.rank ?? 0),
    }));
    const ranked = related
      .filter(each => each.isFound)
      .sort((a, b) => b.score - a.score)
      .map(({ source }) => source);
    const counts = new Map<SourceType, number>();
    return ranked.filter(({ type }) => {
      const count = (counts.get(type) ?? 0) + 1;
      counts.set(type, count);
      return count <= MOST[type];
    });
  };

  /**
   * Compares texts with a question: `rank` goes from 0 for the least to 1 for the most similar one, and `isAlike`
   * tells whether a text is more similar than unrelated sentences. Null while no embedder is available.
   */
  async function likeness(
    asked: string,
    texts: readonly string[],
  ): Promise<{ rank: number; isAlike: boolean }[] | null> {
    if (asked === '' || texts.length === 0) return null;
    try {
      const late = () => new AppError('timeout', `no vectors within ${MEANING_MS} ms`);
      const [question, ...vectors] = await deadline({ limitMs: MEANING_MS, late }, signal =>
        embedder().embed([asked, ...UNRELATED, ...texts], signal),
      );
      if (!question) return null;
      const all = vectors.map(vector => cosineOf(question, vector));
      const floor = Math.max(...all.slice(0, UNRELATED.length));
      const cosines = all.slice(UNRELATED.length);
      const [least, most] = [Math.min(...cosines), Math.max(...cosines)];
      const rankOf = (cosine: number) => (most > least ? (cosine - least) / (most - least) : 0);
      return cosines.map(cosine => ({ rank: rankOf(cosine), isAlike: cosine > floor }));
    } catch (error) {
      log.debug({ err: error }, 'a question is answered by words alone');
      return null;
    }
  }
}

export type Retrieve = ReturnType<typeof createRetrieval>;

function distinct(sources: readonly Source[]): Source[] {
  return [...new Map(sources.map(source => [`${source.type} ${source.id} ${source.text}`, source])).values()];
}
